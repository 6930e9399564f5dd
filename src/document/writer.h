/*
 * writer.h - documents as text that reads as the same values: YAML, or JSON.
 *
 *     struct writer writer;
 *     writer_init(&writer, file, WRITER_YAML);            cluster: racks
 *     writer_open_mapping(&writer, WRITER_LINES);         prices: {gpu: 0.67}
 *     writer_key(&writer, "cluster");
 *     writer_text(&writer, "racks");
 *     writer_key(&writer, "prices");
 *     writer_open_mapping(&writer, WRITER_INLINE);
 *     writer_key(&writer, "gpu");
 *     writer_quantity(&writer, QUANTITY_NUMBER, 0.67);
 *     writer_close(&writer);
 *     writer_close(&writer);
 *
 * A mapping is a key and a value, and so on; a list is values. Closing the outermost ends its last
 * line. Whether it could be written, the file knows.
 */
#ifndef DOCUMENT_WRITER_H
#define DOCUMENT_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "document/quantity.h"

enum { WRITER_DEPTH_MAX = 16 };

enum writer_style {
    WRITER_YAML,
    WRITER_JSON,
    WRITER_JSON_SPREAD, /* JSON in which everything is on a line of its own. */
};

enum writer_layout {
    WRITER_INLINE, /* All on this line. */
    WRITER_LINES,  /* Each entry on a line of its own. */
};

struct writer {
    FILE *file;
    const void *context; /* What functions of fields write with: record.h. Borrowed. */
    enum writer_style style;
    uint32_t depth;
    struct writer_level {
        enum writer_style outside; /* The style around it. */
        enum writer_layout layout;
        bool is_list;
        bool hangs; /* Behind the dash of a list: its first entry needs no new line. */
        uint32_t count;
    } levels[WRITER_DEPTH_MAX];
};

void writer_init(struct writer *writer, FILE *file, enum writer_style style);

void writer_open_mapping(struct writer *writer, enum writer_layout layout);
void writer_open_list(struct writer *writer, enum writer_layout layout);
void writer_close(struct writer *writer);

/* What is opened next, with all that is in it, is JSON. */
void writer_open_json(struct writer *writer);

/* The key of the next value; on a line of its own even in a mapping that is inline. */
void writer_key(struct writer *writer, const char *key);
void writer_key_below(struct writer *writer, const char *key);

/* A number as quantity_text() writes it; in JSON sizes are plain numbers. */
void writer_quantity(struct writer *writer, enum quantity_kind kind, double value);

/* @ns as a plain number of milliseconds: "0.25". */
void writer_ms(struct writer *writer, int64_t ns);

/* A key and a list of @numbers. */
void writer_numbers(struct writer *writer, const char *key, const double *numbers, uint32_t count);

/* @text, which is UTF-8, in quotes unless it is a plain name; a word that needs none in YAML. */
void writer_text(struct writer *writer, const char *text);
void writer_word(struct writer *writer, const char *word);

#endif /* DOCUMENT_WRITER_H */
