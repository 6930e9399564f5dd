/*
 * back_ends.h - the implementations of directory.h, and what they have in common. For this layer.
 */
#ifndef DIRECTORY_BACK_ENDS_H
#define DIRECTORY_BACK_ENDS_H

#include "directory/directory.h"

/* A folder of small files, on one machine or on a volume that several share. Errors: WEFT_IO. */
enum weft_status directory_file_open(
    const char *folder, struct directory **directory_out, struct weft_error *error);

/*
 * The members of an etcd, by its JSON gateway; @where without its scheme.
 *
 * Errors: WEFT_INVALID, WEFT_IO.
 */
enum weft_status directory_etcd_open(
    const char *where, bool is_tls, const struct directory_options *options,
    struct directory **directory_out, struct weft_error *error);

/*
 * What is kept of @member, with @beat, as JSON in @text. Returns its length; 0 if it does not fit.
 */
size_t member_encode(
    const struct member *member, uint64_t beat, char text[static MEMBER_TEXT_BYTES]);

/* The reverse, for a member called @name; false if @text is something else. */
bool member_decode(
    const char *text, size_t bytes, const char *name, struct member *member_out,
    uint64_t *beat_out);

#endif /* DIRECTORY_BACK_ENDS_H */
