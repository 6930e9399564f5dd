/*
 * record.h - documents described once: a table of fields for every kind of mapping.
 *
 * A table says of each key what it holds, where in a struct that goes, and what is meant if it is
 * left out. A mapping is read, checked and written by its table, and the tables of keys in
 * docs/DOCUMENTS.md are printed from it. The order of a table is that of reading and writing.
 *
 *     static const struct field burst_fields[] = {
 *         {"rate", FIELD_RATE(struct burst, rate_per_s), .range = &rate_range, .needed = true,
 *          .help = "the rate while a burst lasts"},
 *         {"every", FIELD_DURATION(struct burst, every_ns), .range = &reader_any_duration,
 *          .fallback = "10s", .help = "from burst to burst"},
 *         {0},
 *     };
 *     record_read(&reader, node, burst_fields, &burst);
 *
 * A member of another type than the kind of its field does not compile. What follows no rule is
 * read and written by functions of its own; what they need besides the struct is the context of the
 * reader or writer.
 */
#ifndef DOCUMENT_RECORD_H
#define DOCUMENT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "document/reader.h"
#include "document/writer.h"

enum { FIELDS_MAX = 32 }; /* Of one table. */

enum field_kind {
    FIELD_OWN, /* Has functions of its own; without them, the code around the table reads it. */
    FIELD_IS_COUNT,
    FIELD_IS_DURATION,
    FIELD_IS_MS, /* A plain number of milliseconds. */
    FIELD_IS_BYTES,
    FIELD_IS_BANDWIDTH,
    FIELD_IS_RATE,
    FIELD_IS_FRACTION,
    FIELD_IS_NUMBER,
    FIELD_IS_WORD, /* One of several: its index. */
    FIELD_IS_FLAG, /* One of two. */
    FIELD_IS_NAME,
    FIELD_IS_TEXT,
    FIELD_IS_RECORD, /* A mapping with a table of its own. */
};

struct field {
    const char *key; /* NULL ends a table. */
    enum field_kind kind;
    uint32_t only; /* Kinds of the record it goes with, in bits of its first field. 0: all. */
    size_t place;  /* Of the member in the struct. */
    size_t size;   /* Of the member. */

    const struct reader_range *range; /* Of numbers. */
    const char *const *words;         /* Of WORD and FLAG; ends with NULL. */
    const struct field *fields;       /* Of RECORD. */

    const char *fallback; /* What is meant if it is left out, as one would write it. NULL: zero. */
    bool needed;          /* It may not be left out. */
    bool relies;          /* On the fields above it: it is not read if one of them is wrong. */
    bool always;          /* It is written even where it could be left out. */

    /*
     * Used instead of what the kind says: @record is the struct, or the member that FIELD_PART
     * names; @node is the value. write() writes the key and the value, or nothing.
     */
    void (*read)(struct reader *reader, const struct tree_node *node, void *record);
    void (*write)(struct writer *writer, const void *record);

    /* For docs/DOCUMENTS.md. */
    const char *form;     /* What is written there, where the kind does not say it. */
    const char *help;     /* What it means. */
    const char *left_out; /* What is meant if it is left out, where no value says it. */
};

/* Types and members cannot stand in parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */

/* The place of a member, which must be of @type. */
#define FIELD_PLACE(record, member, type)                                                          \
    .place = _Generic(&((record *)NULL)->member, type *                                            \
                      : offsetof(record, member)),                                                 \
    .size = sizeof(type)

#define FIELD_COUNT(record, member) .kind = FIELD_IS_COUNT, FIELD_PLACE(record, member, uint32_t)
#define FIELD_LONG_COUNT(record, member)                                                           \
    .kind = FIELD_IS_COUNT, FIELD_PLACE(record, member, uint64_t)
#define FIELD_DURATION(record, member)                                                             \
    .kind = FIELD_IS_DURATION, FIELD_PLACE(record, member, int64_t)
#define FIELD_MS(record, member)    .kind = FIELD_IS_MS, FIELD_PLACE(record, member, int64_t)
#define FIELD_BYTES(record, member) .kind = FIELD_IS_BYTES, FIELD_PLACE(record, member, uint64_t)
#define FIELD_BANDWIDTH(record, member)                                                            \
    .kind = FIELD_IS_BANDWIDTH, FIELD_PLACE(record, member, uint64_t)
#define FIELD_RATE(record, member) .kind = FIELD_IS_RATE, FIELD_PLACE(record, member, double)
#define FIELD_FRACTION(record, member)                                                             \
    .kind = FIELD_IS_FRACTION, FIELD_PLACE(record, member, double)
#define FIELD_NUMBER(record, member) .kind = FIELD_IS_NUMBER, FIELD_PLACE(record, member, double)
#define FIELD_WORD(record, member)   .kind = FIELD_IS_WORD, FIELD_PLACE(record, member, uint32_t)
#define FIELD_FLAG(record, member)   .kind = FIELD_IS_FLAG, FIELD_PLACE(record, member, bool)
#define FIELD_NAME(record, member)                                                                 \
    .kind = FIELD_IS_NAME,                                                                         \
    .place = _Generic(&((record *)NULL)->member, char(*)[NAME_BYTES_MAX]                           \
                      : offsetof(record, member)),                                                 \
    .size = NAME_BYTES_MAX
#define FIELD_TEXT(record, member)                                                                 \
    .kind = FIELD_IS_TEXT, .place = offsetof(record, member),                                      \
    .size = sizeof(((record *)NULL)->member)

/* A member with functions of its own. */
#define FIELD_PART(record, member) .kind = FIELD_OWN, .place = offsetof(record, member)

/* Members of @member, which has @table; or of the same struct. */
#define FIELD_RECORD(record, member, table)                                                        \
    .kind = FIELD_IS_RECORD, .place = offsetof(record, member), .fields = (table)
#define FIELD_SAME_RECORD(table) .kind = FIELD_IS_RECORD, .fields = (table)

/* One that only this field has. */
#define FIELD_RANGE(min, max, text)                                                                \
    &(const struct reader_range)                                                                   \
    {                                                                                              \
        (min), (max), (text)                                                                       \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

/*
 * Read the mapping at @node by @fields into @record. Keys that are not in the table are refused.
 * What is left out becomes its fallback, or stays as it is. Without @node, everything is left out.
 */
void record_read(
    struct reader *reader, const struct tree_node *node, const struct field *fields, void *record);

/* Fail unless @node is a mapping with no other keys than those of @fields. */
void record_check_keys(
    struct reader *reader, const struct tree_node *node, const struct field *fields);

/* Write what @record says into an open mapping; record_write_inline() is all of that mapping. */
void record_write(struct writer *writer, const struct field *fields, const void *record);
void record_write_inline(struct writer *writer, const struct field *fields, const void *record);

/* Print @fields as a table of Markdown. */
void record_print(const struct field *fields, FILE *file);

#endif /* DOCUMENT_RECORD_H */
