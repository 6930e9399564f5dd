/*
 * tree.h - a YAML or JSON document as a tree in which every node knows its line.
 *
 * Scalars stay text: their readers decide what they mean. What makes YAML
 * surprising is refused: anchors, aliases, tags, merge keys, keys that are not text, keys
 * that occur twice, a second document. A file whose name ends in .json is JSON and must
 * be so strictly. A tree is read-only once loaded.
 */
#ifndef DOCUMENT_TREE_H
#define DOCUMENT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

#include "base/arena.h"

enum {
    TREE_BYTES_MAX = 16 * 1024 * 1024, /* Of a file. */
    TREE_DEPTH_MAX = 64,               /* Our own documents need eight. */
    TREE_NODES_MAX = 1000 * 1000,
    TREE_ERRORS_MAX = 20, /* Told of one document: what follows is mostly of the same cause. */
};

enum tree_kind { TREE_SCALAR, TREE_LIST, TREE_MAPPING };

struct tree_node {
    const struct tree *tree; /* NULL: it does not come from a document. */
    enum tree_kind kind;
    bool quoted;          /* A scalar written in quotes is text, even if it is empty. */
    uint32_t line;        /* From 1. */
    uint32_t key_line;    /* Of the key, in a mapping; else the same as line. */
    uint32_t child_count; /* Of a list or a mapping. */
    const char *file;     /* As it was opened. */
    const char *key;      /* In a mapping; an item has the key of its list. NULL at the root. */
    const char *text;     /* Of a scalar; "" otherwise. */
    const struct tree_node *first; /* Child, in the order of the document. */
    const struct tree_node *next;  /* Sibling. */
};

/* Told of every error in a document. Without one, readers stop at the first error. */
struct tree_listener {
    void (*on_error)(void *context, const struct weft_error *error);
    void *context;
    uint32_t count; /* Of errors so far; readers stop at TREE_ERRORS_MAX. */
};

struct tree {
    struct arena arena;
    const struct tree_node *root;   /* A mapping or a list. */
    struct tree_listener *listener; /* Borrowed; NULL: none. Set it before the tree is read. */
};

/*
 * Read the file at @path. On success the caller owns *tree_out.
 *
 * Errors: WEFT_IO if it cannot be read, with "file: cause"; WEFT_INVALID for what it
 * says and WEFT_LIMIT for how much, with "file:line: cause".
 */
enum weft_status tree_load(const char *path, struct tree **tree_out, struct weft_error *error);

/* The same for @size bytes in memory, which errors call @file. */
enum weft_status tree_parse(
    const char *file, const char *bytes, size_t size, struct tree **tree_out,
    struct weft_error *error);

/* The value of @key in @mapping. NULL if there is none, or if @mapping is not a mapping. */
const struct tree_node *tree_find(const struct tree_node *mapping, const char *key);

/*
 * @root with another value at @path, such as "cluster.network.link": a copy in @arena that shares
 * what stays the same. Mappings on the way are made where they are missing; of a list, every item
 * is changed. Without @value the key is taken away. Scalars on the way stay as they are.
 */
const struct tree_node *tree_with(
    struct arena *arena, const struct tree_node *root, const char *path,
    const struct tree_node *value);

/* Tell @listener of one more error. NULL is allowed. */
void tree_tell(struct tree_listener *listener, const struct weft_error *error);

/* Release @tree. NULL is allowed. */
void tree_destroy(struct tree *tree);

#endif /* DOCUMENT_TREE_H */
