/*
 * json_tree.h - an inference request as a tree, without its numbers.
 *
 * Nodes point into the text, which stays the caller's and must stay as long as the tree. The arrays
 * inputs[i].data are not read: a node for each number would take many times the memory of the
 * tensor. Each is one node, for json_data_read(). A tree of a few nodes takes no memory of its own.
 */
#ifndef PROTOCOL_JSON_TREE_H
#define PROTOCOL_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

enum {
    JSON_DEPTH_MAX = 16,             /* Of what is not data. */
    JSON_BESIDE_BYTES_MAX = 1048576, /* The same. */
    JSON_NODES_FEW = 32,             /* Two inputs and an output have 20. */
};

enum json_kind {
    JSON_NODE_NULL,
    JSON_NODE_FALSE,
    JSON_NODE_TRUE,
    JSON_NODE_NUMBER,
    JSON_NODE_TEXT,
    JSON_NODE_DATA, /* An array inputs[i].data. */
    JSON_NODE_ARRAY,
    JSON_NODE_OBJECT,
};

struct json_node {
    enum json_kind kind;
    uint32_t count;  /* Of an array or object: its members. */
    uint32_t next;   /* The node of the next member of the same one. 0: there is none. */
    double number;   /* Finite. */
    const char *key; /* In an object; its escapes are decoded, like those of a text. */
    size_t key_bytes;
    const char *text; /* Of a text; of data, with its brackets. Not ended by a zero. */
    size_t text_bytes;
};

struct json_piece;

struct json_tree {
    struct json_node *nodes; /* The first is the root. */
    uint32_t count;
    uint32_t room;
    struct json_piece *pieces; /* Texts that had escapes. */
    struct json_node few[JSON_NODES_FEW];
};

/*
 * Read @text into *tree_out, which the caller does not move, and deinitialises if that succeeds.
 * Names in an object are all different; texts hold no zero.
 *
 * Errors: WEFT_INVALID with *cause_out; WEFT_LIMIT: a number is too large for a double;
 * WEFT_NO_MEMORY.
 */
enum weft_status json_tree_read(
    const char *text, size_t length, struct json_tree *tree_out, const char **cause_out);

/* The member called @name of @node. NULL if it has none, is no object, or is NULL. */
const struct json_node *json_tree_member(
    const struct json_tree *tree, const struct json_node *node, const char *name);

/* The first member of @node. NULL if it has none, is neither array nor object, or is NULL. */
const struct json_node *json_tree_first(const struct json_node *node);

/* The member after @node; NULL if it is the last. */
const struct json_node *json_tree_next(const struct json_tree *tree, const struct json_node *node);

/* Whether @node, which may be NULL, is of @kind. */
bool json_node_is(const struct json_node *node, enum json_kind kind);

void json_tree_deinit(struct json_tree *tree);

#endif /* PROTOCOL_JSON_TREE_H */
