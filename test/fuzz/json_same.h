/* json_same.h - whether a tree of JSON is what jansson reads, too. */
#ifndef FUZZ_JSON_SAME_H
#define FUZZ_JSON_SAME_H

#include <string.h>

#include <jansson.h>

#include "protocol/json_tree.h"

static inline bool json_same_object(
    const struct json_tree *tree, const struct json_node *node, const json_t *value);

/* Whether @node of @tree says the same as @value. Data is not read, and is some array. */
static inline bool json_same(
    const struct json_tree *tree, const struct json_node *node, const json_t *value)
{
    switch (node->kind) {
    case JSON_NODE_NULL:
        return json_is_null(value);
    case JSON_NODE_FALSE:
        return json_is_false(value);
    case JSON_NODE_TRUE:
        return json_is_true(value);
    case JSON_NODE_NUMBER:
        return json_is_real(value) && json_real_value(value) == node->number;
    case JSON_NODE_TEXT:
        return json_is_string(value) && json_string_length(value) == node->text_bytes &&
               memcmp(json_string_value(value), node->text, node->text_bytes) == 0;
    case JSON_NODE_DATA:
        return json_is_array(value);
    case JSON_NODE_ARRAY:
    case JSON_NODE_OBJECT:
        break;
    }
    if (node->kind == JSON_NODE_OBJECT) {
        return json_same_object(tree, node, value);
    }
    const struct json_node *member = json_tree_first(node);
    bool is_same = json_is_array(value) && json_array_size(value) == node->count;
    for (uint32_t i = 0; i < node->count && is_same; i++) {
        is_same = json_same(tree, member, json_array_get(value, i));
        member = json_tree_next(tree, member);
    }
    return is_same && member == NULL;
}

static inline bool json_same_object(
    const struct json_tree *tree, const struct json_node *node, const json_t *value)
{
    bool is_same = json_is_object(value) && json_object_size(value) == node->count;
    for (const struct json_node *member = json_tree_first(node); member != NULL && is_same;
         member = json_tree_next(tree, member)) {
        const json_t *found = json_object_getn(value, member->key, member->key_bytes);
        is_same = found != NULL && json_same(tree, member, found);
    }
    return is_same;
}

/* Whether @tree has data, which was stepped over and not read. */
static inline bool json_has_data(const struct json_tree *tree)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        if (tree->nodes[i].kind == JSON_NODE_DATA) {
            return true;
        }
    }
    return false;
}

/*
 * Whether both readers agree on @text: that it is JSON and what it says, or that it is not. Bounds
 * that only the tree has, and what is wrong within data, do not count; nor do texts with a zero,
 * which jansson takes for the end of a word.
 */
static inline bool json_readers_agree(const char *text, size_t length)
{
    struct json_tree tree;
    json_error_t wrong;
    const char *cause = "";
    const enum weft_status status = json_tree_read(text, length, &tree, &cause);
    json_t *value =
        json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &wrong);
    bool agree;
    if (status == WEFT_OK) {
        agree = value == NULL ? json_has_data(&tree) : json_same(&tree, tree.nodes, value);
        json_tree_deinit(&tree);
    } else {
        const bool is_bound = strstr(cause, "too") != NULL; /* Too deep, too long, too much. */
        const bool has_zero = length > 0 && memchr(text, 0, length) != NULL;
        agree = value == NULL || (status == WEFT_INVALID && (is_bound || has_zero));
    }
    json_decref(value);
    return agree;
}

#endif /* FUZZ_JSON_SAME_H */
