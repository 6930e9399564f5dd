#include "document/tree.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "document/bytes.h"
#include "document/reader.h"

/* A list or mapping that is still open. */
struct level {
    struct tree_node *node;
    const struct tree_node **link; /* Where the next child is hung. */
    const char *key;               /* Of the value to come; NULL while a key is due. */
    uint32_t key_line;
};

struct builder {
    yaml_parser_t parser;
    struct tree *tree;
    const char *file;
    struct weft_error *error;
    struct tree_node *root;
    struct level levels[TREE_DEPTH_MAX];
    uint32_t depth;
    uint32_t node_count;
};

static uint32_t line_of(const yaml_mark_t *mark)
{
    return (uint32_t)mark->line + 1;
}

static enum weft_status refuse(
    struct builder *builder, const yaml_event_t *event, const char *cause)
{
    return error_set(
        builder->error, WEFT_INVALID, "%s:%u: %s", builder->file, line_of(&event->start_mark),
        cause);
}

/* What the parser itself could not read. */
static enum weft_status refuse_syntax(struct builder *builder)
{
    const yaml_parser_t *parser = &builder->parser;

    if (parser->error == YAML_MEMORY_ERROR) {
        return error_set(builder->error, WEFT_NO_MEMORY, "%s: out of memory", builder->file);
    }
    const char *context = parser->context != NULL ? parser->context : "";
    return error_set(
        builder->error, WEFT_INVALID, "%s:%u: not YAML: %s%s%s", builder->file,
        line_of(&parser->problem_mark), context, context[0] != '\0' ? ", " : "",
        parser->problem != NULL ? parser->problem : "unreadable");
}

/* A node of @kind at its place in the tree. NULL with the error set if it must not be there. */
static struct tree_node *hang(
    struct builder *builder, const yaml_event_t *event, enum tree_kind kind)
{
    if (builder->node_count == TREE_NODES_MAX) {
        (void)error_set(
            builder->error, WEFT_LIMIT, "%s:%u: more than %d values in one document", builder->file,
            line_of(&event->start_mark), TREE_NODES_MAX);
        return NULL;
    }
    builder->node_count++;
    struct tree_node *node = arena_alloc(&builder->tree->arena, sizeof(*node));
    node->kind = kind;
    node->tree = builder->tree;
    node->file = builder->file;
    node->text = "";
    node->line = line_of(&event->start_mark);
    node->key_line = node->line;
    if (builder->depth == 0) {
        builder->root = node;
        return node;
    }
    struct level *level = &builder->levels[builder->depth - 1];
    node->key = level->node->key;
    if (level->node->kind == TREE_MAPPING) {
        node->key = level->key;
        node->key_line = level->key_line;
        level->key = NULL;
    }
    level->node->child_count++;
    *level->link = node;
    level->link = &node->next;
    return node;
}

static bool wants_key(const struct builder *builder)
{
    if (builder->depth == 0) {
        return false;
    }
    const struct level *level = &builder->levels[builder->depth - 1];
    return level->node->kind == TREE_MAPPING && level->key == NULL;
}

static enum weft_status on_key(struct builder *builder, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    const bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

    if (is_plain && strcmp(text, "<<") == 0) {
        return refuse(builder, event, "the merge key '<<' is not supported");
    }
    struct level *level = &builder->levels[builder->depth - 1];
    level->key = arena_text(&builder->tree->arena, text);
    level->key_line = line_of(&event->start_mark);
    return WEFT_OK;
}

static enum weft_status on_scalar(struct builder *builder, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;

    if (event->data.scalar.anchor != NULL) {
        return refuse(builder, event, "anchors and aliases are not supported");
    }
    if (event->data.scalar.tag != NULL) {
        return refuse(builder, event, "tags are not supported");
    }
    if (strlen(text) != event->data.scalar.length) {
        return refuse(builder, event, "a text holds a zero byte");
    }
    if (wants_key(builder)) {
        return on_key(builder, event);
    }
    struct tree_node *node = hang(builder, event, TREE_SCALAR);
    if (node == NULL) {
        return WEFT_LIMIT;
    }
    node->text = arena_text(&builder->tree->arena, text);
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return WEFT_OK;
}

static enum weft_status on_open(
    struct builder *builder, const yaml_event_t *event, enum tree_kind kind)
{
    const bool is_list = kind == TREE_LIST;
    const void *anchor =
        is_list ? event->data.sequence_start.anchor : event->data.mapping_start.anchor;
    const void *tag = is_list ? event->data.sequence_start.tag : event->data.mapping_start.tag;

    if (anchor != NULL) {
        return refuse(builder, event, "anchors and aliases are not supported");
    }
    if (tag != NULL) {
        return refuse(builder, event, "tags are not supported");
    }
    if (wants_key(builder)) {
        return refuse(builder, event, "a key must be text, not a list or a mapping");
    }
    if (builder->depth == TREE_DEPTH_MAX) {
        return error_set(
            builder->error, WEFT_LIMIT, "%s:%u: nested more than %d deep", builder->file,
            line_of(&event->start_mark), TREE_DEPTH_MAX);
    }
    struct tree_node *node = hang(builder, event, kind);
    if (node == NULL) {
        return WEFT_LIMIT;
    }
    builder->levels[builder->depth++] = (struct level){.node = node, .link = &node->first};
    return WEFT_OK;
}

/* By key; equal keys by place. Addresses do not tell the place, and a line may hold several. */
struct keyed {
    const struct tree_node *node;
    uint32_t place;
};

static int compare_keys(const void *left, const void *right)
{
    const struct keyed *a = left;
    const struct keyed *b = right;
    const int order = strcmp(a->node->key, b->node->key);

    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

/* Sorting keeps a mapping of a million keys from taking a million squared. */
static enum weft_status check_keys(struct builder *builder, const struct tree_node *mapping)
{
    const struct tree_node *twice = NULL;
    uint32_t count = 0;

    if (mapping->child_count < 2) {
        return WEFT_OK;
    }
    struct keyed *keys = memory_zeroed(mapping->child_count, sizeof(*keys));
    for (const struct tree_node *child = mapping->first; child != NULL; child = child->next) {
        keys[count] = (struct keyed){.node = child, .place = count};
        count++;
    }
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (uint32_t i = 1; i < count; i++) {
        const bool is_equal = strcmp(keys[i - 1].node->key, keys[i].node->key) == 0;
        if (is_equal && (twice == NULL || keys[i].node->key_line < twice->key_line)) {
            twice = keys[i].node;
        }
    }
    free(keys);
    if (twice == NULL) {
        return WEFT_OK;
    }
    char quoted[READER_QUOTE_BYTES];
    return error_set(
        builder->error, WEFT_INVALID, "%s:%u: key %s occurs twice", builder->file, twice->key_line,
        reader_quote_text(quoted, twice->key));
}

static enum weft_status on_close(struct builder *builder)
{
    const struct tree_node *node = builder->levels[--builder->depth].node;

    return node->kind == TREE_MAPPING ? check_keys(builder, node) : WEFT_OK;
}

static enum weft_status on_event(struct builder *builder, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (builder->root != NULL) {
            return refuse(builder, event, "a second document starts here; a file holds one");
        }
        return WEFT_OK;
    case YAML_ALIAS_EVENT:
        return refuse(builder, event, "anchors and aliases are not supported");
    case YAML_SCALAR_EVENT:
        return on_scalar(builder, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(builder, event, TREE_LIST);
    case YAML_MAPPING_START_EVENT:
        return on_open(builder, event, TREE_MAPPING);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_close(builder);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return WEFT_OK;
    }
    return WEFT_OK;
}

static enum weft_status build(struct builder *builder)
{
    yaml_event_t event;
    bool at_end = false;

    while (!at_end) {
        if (yaml_parser_parse(&builder->parser, &event) == 0) {
            return refuse_syntax(builder);
        }
        const enum weft_status status = on_event(builder, &event);
        at_end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (status != WEFT_OK) {
            return status;
        }
    }
    const struct tree_node *root = builder->root;
    const bool is_scalar = root != NULL && root->kind == TREE_SCALAR;
    if (root == NULL || (is_scalar && !root->quoted && root->text[0] == '\0')) {
        return error_set(
            builder->error, WEFT_INVALID, "%s:1: the document is empty", builder->file);
    }
    if (is_scalar) {
        char quoted[READER_QUOTE_BYTES];
        return error_set(
            builder->error, WEFT_INVALID, "%s:%u: a document is a mapping, not %s", builder->file,
            root->line, reader_quote(quoted, root));
    }
    return WEFT_OK;
}

enum weft_status tree_parse(
    const char *file, const char *bytes, size_t size, struct tree **tree_out,
    struct weft_error *error)
{
    struct builder builder = {.error = error};

    enum weft_status status = bytes_check_utf8(file, bytes, size, error);
    if (status == WEFT_OK && bytes_is_json_name(file)) {
        status = bytes_check_json(file, bytes, size, error);
    }
    if (status != WEFT_OK) {
        return status;
    }
    if (yaml_parser_initialize(&builder.parser) == 0) {
        return error_set(error, WEFT_NO_MEMORY, "%s: out of memory", file);
    }
    struct tree *tree = memory_zeroed(1, sizeof(*tree));
    arena_init(&tree->arena);
    builder.tree = tree;
    builder.file = arena_text(&tree->arena, file);
    yaml_parser_set_input_string(&builder.parser, (const unsigned char *)bytes, size);
    status = build(&builder);
    if (status == WEFT_OK) {
        tree->root = builder.root;
        *tree_out = tree;
        tree = NULL;
    }
    tree_destroy(tree);
    yaml_parser_delete(&builder.parser);
    return status;
}

enum weft_status tree_load(const char *path, struct tree **tree_out, struct weft_error *error)
{
    char *bytes = NULL;
    size_t size = 0;

    enum weft_status status = bytes_load(path, &bytes, &size, error);
    if (status != WEFT_OK) {
        return status;
    }
    status = tree_parse(path, bytes, size, tree_out, error);
    free(bytes);
    return status;
}

const struct tree_node *tree_find(const struct tree_node *mapping, const char *key)
{
    if (mapping == NULL || mapping->kind != TREE_MAPPING) {
        return NULL;
    }
    for (const struct tree_node *child = mapping->first; child != NULL; child = child->next) {
        if (strcmp(child->key, key) == 0) {
            return child;
        }
    }
    return NULL;
}

static struct tree_node *copy_node(struct arena *arena, const struct tree_node *node)
{
    struct tree_node *copy = arena_alloc(arena, sizeof(*copy));
    *copy = *node;
    copy->next = NULL;
    return copy;
}

/* What takes the place of @old, the child of a mapping at the start of @path; NULL: nothing. */
static struct tree_node *replace_child(
    struct arena *arena, const struct tree_node *old, const char *path,
    const struct tree_node *value)
{
    const size_t length = strcspn(path, ".");
    const struct tree_node missing = {.kind = TREE_MAPPING, .text = ""};
    struct tree_node *child = NULL;

    if (path[length] != '\0') { /* As deep as the path has dots. */
        const struct tree_node *below =
            tree_with(arena, old == NULL ? &missing : old, path + length + 1, value);
        child = copy_node(arena, below);
    } else if (value != NULL) {
        child = copy_node(arena, value);
    } else {
        return NULL;
    }
    char *key = arena_alloc(arena, length + 1);
    memcpy(key, path, length);
    key[length] = '\0';
    child->key = key;
    return child;
}

const struct tree_node *tree_with(
    struct arena *arena, const struct tree_node *root, const char *path,
    const struct tree_node *value)
{
    const size_t length = strcspn(path, ".");
    ASSERT(length > 0);
    struct tree_node *copy = copy_node(arena, root);
    const struct tree_node **link = &copy->first;
    bool is_found = root->kind != TREE_MAPPING;

    for (const struct tree_node *old = root->first; old != NULL; old = old->next) {
        struct tree_node *child = NULL;
        if (root->kind == TREE_LIST) {
            child = copy_node(arena, tree_with(arena, old, path, value));
        } else if (strlen(old->key) == length && strncmp(old->key, path, length) == 0) {
            child = replace_child(arena, old, path, value);
            is_found = true;
        } else {
            child = copy_node(arena, old);
        }
        if (child != NULL) {
            *link = child;
            link = &child->next;
        }
    }
    *link = is_found ? NULL : replace_child(arena, NULL, path, value);
    copy->child_count = 0;
    for (const struct tree_node *child = copy->first; child != NULL; child = child->next) {
        copy->child_count++;
    }
    return copy;
}

void tree_tell(struct tree_listener *listener, const struct weft_error *error)
{
    if (listener != NULL) {
        listener->count++;
        listener->on_error(listener->context, error);
    }
}

void tree_destroy(struct tree *tree)
{
    if (tree == NULL) {
        return;
    }
    arena_deinit(&tree->arena);
    free(tree);
}
