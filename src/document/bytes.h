/*
 * bytes.h - what is asked of a document before anything looks at its structure.
 *
 * It must be UTF-8 without control characters, and JSON where its name says so. Errors
 * are "file:line: cause".
 */
#ifndef DOCUMENT_BYTES_H
#define DOCUMENT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <weft/status.h>

/* Errors: WEFT_INVALID. */
enum weft_status bytes_check_utf8(
    const char *file, const char *bytes, size_t size, struct weft_error *error);

/* Errors: WEFT_INVALID if it is not JSON; WEFT_LIMIT past TREE_NODES_MAX; WEFT_NO_MEMORY. */
enum weft_status bytes_check_json(
    const char *file, const char *bytes, size_t size, struct weft_error *error);

/* Whether a file of this name is JSON. */
bool bytes_is_json_name(const char *file);

/*
 * Read the file at @path, at most TREE_BYTES_MAX. On success the caller owns *bytes_out.
 *
 * Errors: WEFT_IO, also for anything but a regular file; WEFT_LIMIT; WEFT_NO_MEMORY. All are
 * "file: cause".
 */
enum weft_status bytes_load(
    const char *path, char **bytes_out, size_t *size_out, struct weft_error *error);

/* The same with a limit of @bytes_max instead. */
enum weft_status bytes_load_large(
    const char *path, size_t bytes_max, char **bytes_out, size_t *size_out,
    struct weft_error *error);

/* The same for what is left of @file, which may be a pipe; errors call it @name. */
enum weft_status bytes_load_stream(
    FILE *file, const char *name, size_t bytes_max, char **bytes_out, size_t *size_out,
    struct weft_error *error);

#endif /* DOCUMENT_BYTES_H */
