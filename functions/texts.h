/*
 * texts.h - outputs that are texts, and lists of texts beside a shared object.
 */
#ifndef TEXTS_H
#define TEXTS_H

#include <stddef.h>

#include <weft/function.h>

/* A text that grows. All zero: empty. */
struct text {
    char *bytes;
    size_t length;
    size_t room;
    int is_short; /* Memory ran out, and something is missing. */
};

void text_add(struct text *text, const char *bytes, size_t length);
void text_release(struct text *text);

/* Make @count texts output @name of @call: one per line of a tensor [count]. */
enum weft_status texts_give(
    const struct weft_call *call, const char *name, const struct text *texts, uint32_t count);

/* The lines of a file: read once, kept for ever. */
struct lines {
    uint32_t count;
    char **items;
    char *contents;
};

/* NULL, and the call has failed, if @file is not beside the shared object. */
struct lines *lines_read(const struct weft_call *call, const char *file);

void lines_release(struct lines *lines);

#endif /* TEXTS_H */
