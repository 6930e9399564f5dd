/*
 * reader.h - typed values out of a tree, with the first failure kept.
 *
 * A reader that has failed answers everything with zero and changes nothing more, so
 * that a document is read without a check after every value: look at the status once
 * at the end, or before something is done that cannot be undone. All functions take a
 * NULL node and answer zero: reader_need() has then said what is missing.
 *
 * If the tree has a listener, a failure ends only the item of a list (READER_EACH) or the field of
 * a record (record.h) that it was found in. The reader goes on with the next one, so that the
 * listener hears of every error, and has failed again at the end of the list or record.
 */
#ifndef DOCUMENT_READER_H
#define DOCUMENT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

#include "base/attributes.h"
#include "base/limits.h"
#include "document/quantity.h"
#include "document/tree.h"

enum {
    READER_QUOTE_BYTES = 64, /* A value in a message: what is longer is cut. */
};

struct reader {
    struct weft_error *error; /* The first failure. Borrowed; may be NULL. */
    enum weft_status status;  /* As of now: a reader that went on is good again. */
    void *context;            /* What functions of fields read with: record.h. Borrowed. */

    enum weft_status failed; /* Of the first failure. */
    uint32_t failures;
    struct tree_listener *listener; /* Of the tree being read. */
};

/* A walk over a list or mapping: READER_EACH. */
struct reader_loop {
    const struct tree_node *at; /* NULL: the end. */
    uint32_t mark;
};

/* What a quantity may be, in its base unit, and how to say so. */
struct reader_range {
    double min;
    double max;
    const char *text; /* "between 1us and 1h" */
};

/* For values that several documents have. */
extern const struct reader_range reader_any_duration; /* 0 to ten days. */
extern const struct reader_range reader_latency;      /* 0 to a minute. */
extern const struct reader_range reader_any_bytes;    /* 0 to 1000TB. */
extern const struct reader_range reader_edge_bytes;   /* 0 to 1TB: items multiply it. */
extern const struct reader_range reader_memory;       /* 1MB to 1000TB. */
extern const struct reader_range reader_bandwidth;    /* 0, which is no limit, to 1000TB/s. */
extern const struct reader_range reader_items;        /* 1 to ITEMS_MAX. */

static inline bool reader_is_good(const struct reader *reader)
{
    return reader->status == WEFT_OK;
}

/*
 * Every item of a list, or value of a mapping, while the reader is good or can go on. NULL has
 * none. It is two loops: leave it with return, not with break.
 */
/* NOLINTBEGIN(bugprone-macro-parentheses): it declares @item. */
#define READER_EACH(item, reader, node)                                                            \
    for (struct reader_loop loop_##item = reader_loop(reader, node); loop_##item.at != NULL;       \
         reader_loop_next(reader, &loop_##item))                                                   \
        for (const struct tree_node *item = loop_##item.at, *next_##item = item;                   \
             next_##item != NULL; next_##item = NULL)
/* NOLINTEND(bugprone-macro-parentheses) */

struct reader_loop reader_loop(struct reader *reader, const struct tree_node *node);
void reader_loop_next(struct reader *reader, struct reader_loop *loop);

/*
 * Before parts of @node are read that do not depend on one another; reader_go_on() after each, so
 * that the next is read even if this one failed; reader_settle() after the last.
 */
uint32_t reader_mark(struct reader *reader, const struct tree_node *node);
void reader_go_on(struct reader *reader);
void reader_settle(struct reader *reader, uint32_t mark);

/*
 * Fail with "file:line: cause" at @node, or at its key if it has one. A value that does
 * not come from a document has no file, and the message is the cause alone.
 */
ATTR_PRINTF(3, 4)
void reader_fail(struct reader *reader, const struct tree_node *node, const char *format, ...);

/* Fail with another status and a whole message; @node is where it belongs. */
void reader_report(
    struct reader *reader, const struct tree_node *node, enum weft_status status,
    const char *message);

/*
 * Keep the failure of another reader, which was given reader_error() and has told the listener.
 * WEFT_OK changes nothing.
 */
void reader_keep(struct reader *reader, enum weft_status status);
struct weft_error *reader_error(const struct reader *reader);

/* Fail unless @node is a mapping with no other keys than @keys, which end with NULL. */
void reader_mapping(struct reader *reader, const struct tree_node *node, const char *const *keys);

/* Fail unless @node is a mapping, with any keys, or a list. */
void reader_any_mapping(struct reader *reader, const struct tree_node *node);
void reader_list(struct reader *reader, const struct tree_node *node);

/* Fail if the list or mapping @node is empty. */
void reader_filled(struct reader *reader, const struct tree_node *node);

/* The value of @key, which must be there. */
const struct tree_node *reader_need(
    struct reader *reader, const struct tree_node *mapping, const char *key);

/* Any text that is not empty; "" on failure. Borrowed from the tree. */
const char *reader_text(struct reader *reader, const struct tree_node *node);

/* A name of letters, digits, '.', '_' and '-': as a value, or as the key of @node. */
void reader_name(struct reader *reader, const struct tree_node *node, char out[NAME_BYTES_MAX]);
void reader_key_name(struct reader *reader, const struct tree_node *node, char out[NAME_BYTES_MAX]);

/* A number of @kind within @range, in its base unit. */
double reader_quantity(
    struct reader *reader, const struct tree_node *node, enum quantity_kind kind,
    const struct reader_range *range);

/* One of @words, which end with NULL: its index. 0 on failure. */
uint32_t reader_word(struct reader *reader, const struct tree_node *node, const char *const *words);

/* Of @known, which end with NULL, the nearest to @text: "; did you mean 'rate'?" or "". */
const char *reader_suggestion(
    const char *text, const char *const *known, char out[READER_QUOTE_BYTES]);

/* @node as a message shows it: "'fast'", "a list". Returns @out. */
char *reader_quote(char out[READER_QUOTE_BYTES], const struct tree_node *node);
char *reader_quote_text(char out[READER_QUOTE_BYTES], const char *text);

#endif /* DOCUMENT_READER_H */
