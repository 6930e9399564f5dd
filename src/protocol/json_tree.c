#include "protocol/json_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/json_number.h"
#include "protocol/json_text.h"

enum { NAMES_FEW = 16 }; /* Of an object: so many are compared each with each. */

/* A text whose escapes are decoded. */
struct json_piece {
    struct json_piece *next;
    uint8_t bytes[];
};

/* Which value of a request is read: only data is more than a value. */
enum place {
    PLACE_ROOT,
    PLACE_INPUTS,
    PLACE_INPUT,
    PLACE_DATA,
    PLACE_OTHER,
};

struct reader {
    const char *first;
    const char *at;
    const char *end;
    size_t data_bytes; /* That were stepped over. */
    uint32_t depth;
    struct json_tree *tree;
    enum weft_status status;
    const char *cause;
};

static bool fail(struct reader *reader, enum weft_status status, const char *cause)
{
    reader->status = status;
    reader->cause = cause;
    return false;
}

static bool fail_syntax(struct reader *reader, const char *cause)
{
    return fail(reader, WEFT_INVALID, cause);
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\r' || *reader->at == '\t')) {
        reader->at++;
    }
}

static bool is_at(const struct reader *reader, char c)
{
    return reader->at < reader->end && *reader->at == c;
}

/* Another node, and where it is. */
static bool add_node(struct reader *reader, enum json_kind kind, uint32_t *place_out)
{
    struct json_tree *tree = reader->tree;
    if (tree->count == tree->room) {
        const bool was_few = tree->nodes == tree->few;
        struct json_node *nodes =
            realloc(was_few ? NULL : tree->nodes, 2 * (size_t)tree->room * sizeof(*nodes));
        if (nodes == NULL) {
            return fail(reader, WEFT_NO_MEMORY, "no memory for the request");
        }
        if (was_few) {
            (void)memcpy(nodes, tree->few, sizeof(tree->few));
        }
        tree->nodes = nodes;
        tree->room *= 2;
    }
    *place_out = tree->count++;
    tree->nodes[*place_out] = (struct json_node){.kind = kind};
    return true;
}

/* Behind the closing quote of the string at @at; NULL if there is none. */
static const char *skip_string(const char *at, const char *end)
{
    const char *quote = NULL; /* The next one: looked for again only once it is passed. */
    at++;
    while (at < end) {
        if (quote == NULL || quote < at) {
            quote = memchr(at, '"', (size_t)(end - at));
        }
        const char *slash = quote == NULL ? NULL : memchr(at, '\\', (size_t)(quote - at));
        if (slash == NULL) {
            return quote == NULL ? NULL : quote + 1;
        }
        at = slash + 2;
    }
    return NULL;
}

/* Behind the bracket that closes the array at @at; NULL if there is none. */
static const char *skip_array(const char *at, const char *end)
{
    uint32_t depth = 0;
    while (at != NULL && at < end) {
        const char c = *at;
        if (c == '"') {
            at = skip_string(at, end);
            continue;
        }
        at++;
        if (c == '[') {
            depth++;
        } else if (c == ']') {
            depth--;
            if (depth == 0) {
                return at;
            }
        }
    }
    return NULL;
}

/* The string at the reader's place, which has escapes, into memory of the tree. */
static bool decode_text(
    struct reader *reader, size_t length, const char **text_out, size_t *bytes_out)
{
    struct json_piece *piece = malloc(sizeof(*piece) + length);
    uint64_t bytes = 0;
    if (piece == NULL) {
        return fail(reader, WEFT_NO_MEMORY, "no memory for the request");
    }
    piece->next = reader->tree->pieces;
    reader->tree->pieces = piece;
    (void)json_text_decode(reader->at, reader->end, piece->bytes, &bytes); /* It can: length. */
    if (memchr(piece->bytes, 0, (size_t)bytes) != NULL) {
        return fail_syntax(reader, "a string has a zero");
    }
    *text_out = (const char *)piece->bytes;
    *bytes_out = (size_t)bytes;
    return true;
}

/* Whether @c stands for itself in a string, and is a character of its own. */
static bool is_plain(char c)
{
    return (uint8_t)c >= ' ' && (uint8_t)c < 0x80 && c != '"' && c != '\\';
}

/* The string at the reader's place. */
static bool read_text(struct reader *reader, const char **text_out, size_t *bytes_out)
{
    const char *first = reader->at + 1;
    const char *at = first;
    while (at < reader->end && is_plain(*at)) {
        at++;
    }
    if (at < reader->end && *at == '"') {
        *text_out = first;
        *bytes_out = (size_t)(at - first);
        reader->at = at + 1;
        return true;
    }
    uint64_t length = 0;
    const char *behind = json_text_decode(reader->at, reader->end, /* out */ NULL, &length);
    if (behind == NULL) {
        return fail_syntax(reader, "a string is not closed, or not UTF-8");
    }
    *text_out = first;
    *bytes_out = (size_t)(behind - 1 - first);
    if (memchr(first, '\\', *bytes_out) != NULL &&
        !decode_text(reader, (size_t)length, text_out, bytes_out)) {
        return false;
    }
    reader->at = behind;
    return true;
}

static bool is_same(const struct json_node *a, const struct json_node *b)
{
    return a->key_bytes == b->key_bytes && memcmp(a->key, b->key, a->key_bytes) == 0;
}

static int compare_names(const void *a, const void *b)
{
    const struct json_node *x = *(const struct json_node *const *)a;
    const struct json_node *y = *(const struct json_node *const *)b;
    if (x->key_bytes != y->key_bytes) {
        return x->key_bytes < y->key_bytes ? -1 : 1;
    }
    return memcmp(x->key, y->key, x->key_bytes);
}

/* Whether two of many names are the same; or there is no memory to find out. */
static bool check_many(struct reader *reader, const struct json_node *object)
{
    const struct json_node **names = calloc(object->count, sizeof(struct json_node *));
    if (names == NULL) {
        return fail(reader, WEFT_NO_MEMORY, "no memory for the request");
    }
    uint32_t count = 0;
    for (const struct json_node *member = object + 1; member != NULL;
         member = json_tree_next(reader->tree, member)) {
        names[count++] = member;
    }
    qsort(names, count, sizeof(struct json_node *), compare_names);
    bool is_good = true;
    for (uint32_t i = 1; i < count && is_good; i++) {
        is_good = !is_same(names[i - 1], names[i]);
    }
    free(names);
    return is_good || fail_syntax(reader, "an object has a duplicate name");
}

/* Whether the names in the object at @place are all different. */
static bool check_names(struct reader *reader, uint32_t place)
{
    const struct json_tree *tree = reader->tree;
    const struct json_node *object = &tree->nodes[place];
    if (object->count > NAMES_FEW) {
        return check_many(reader, object);
    }
    for (const struct json_node *one = json_tree_first(object); one != NULL;
         one = json_tree_next(tree, one)) {
        for (const struct json_node *other = json_tree_next(tree, one); other != NULL;
             other = json_tree_next(tree, other)) {
            if (is_same(one, other)) {
                return fail_syntax(reader, "an object has a duplicate name");
            }
        }
    }
    return true;
}

static bool is_called(const char *key, size_t key_bytes, const char *name)
{
    return key_bytes == strlen(name) && memcmp(key, name, key_bytes) == 0;
}

static enum place place_of(enum place outside, const char *key, size_t key_bytes)
{
    if (outside == PLACE_ROOT && is_called(key, key_bytes, "inputs")) {
        return PLACE_INPUTS;
    }
    return outside == PLACE_INPUT && is_called(key, key_bytes, "data") ? PLACE_DATA : PLACE_OTHER;
}

static bool read_value(struct reader *reader, enum place place, uint32_t *node_out);

/* The name of a member and its colon. */
static bool read_name(struct reader *reader, const char **key_out, size_t *key_bytes_out)
{
    if (!is_at(reader, '"')) {
        return fail_syntax(reader, "an object has no name where one must be");
    }
    if (!read_text(reader, key_out, key_bytes_out)) {
        return false;
    }
    skip_blanks(reader);
    if (!is_at(reader, ':')) {
        return fail_syntax(reader, "a name is not followed by ':'");
    }
    reader->at++;
    return true;
}

/* The members of the array or object at @node, up to @close. */
static bool read_members(struct reader *reader, enum place place, uint32_t node, char close)
{
    uint32_t last = 0;
    reader->at++;
    skip_blanks(reader);
    if (is_at(reader, close)) {
        reader->at++;
        return true;
    }
    for (;;) {
        const char *key = NULL;
        size_t key_bytes = 0;
        uint32_t member;
        enum place inside = place == PLACE_INPUTS ? PLACE_INPUT : PLACE_OTHER;
        if (close == '}') {
            if (!read_name(reader, &key, &key_bytes)) {
                return false;
            }
            inside = place_of(place, key, key_bytes);
        }
        if (!read_value(reader, inside, &member)) {
            return false;
        }
        struct json_node *nodes = reader->tree->nodes;
        nodes[member].key = key;
        nodes[member].key_bytes = key_bytes;
        nodes[last == 0 ? member : last].next = last == 0 ? 0 : member;
        last = member;
        nodes[node].count++;
        skip_blanks(reader);
        if (is_at(reader, close)) {
            reader->at++;
            return true;
        }
        if (!is_at(reader, ',')) {
            return fail_syntax(reader, "a value is followed by neither ',' nor a bracket");
        }
        reader->at++;
        skip_blanks(reader);
    }
}

static bool read_inside(struct reader *reader, enum place place, uint32_t *node_out)
{
    const bool is_object = *reader->at == '{';
    if (reader->depth == JSON_DEPTH_MAX) {
        return fail_syntax(reader, "nested too deeply");
    }
    if (!add_node(reader, is_object ? JSON_NODE_OBJECT : JSON_NODE_ARRAY, node_out)) {
        return false;
    }
    /* Only an object is the request or an input of it, and only an array are the inputs. */
    const bool is_there =
        is_object ? place == PLACE_ROOT || place == PLACE_INPUT : place == PLACE_INPUTS;
    reader->depth++;
    const bool is_good =
        read_members(reader, is_there ? place : PLACE_OTHER, *node_out, is_object ? '}' : ']');
    reader->depth--;
    return is_good && (!is_object || check_names(reader, *node_out));
}

static bool step_over_data(struct reader *reader, uint32_t *node_out)
{
    const char *behind = skip_array(reader->at, reader->end);
    if (behind == NULL) {
        return fail_syntax(reader, "an array of data is not closed");
    }
    if (!add_node(reader, JSON_NODE_DATA, node_out)) {
        return false;
    }
    struct json_node *node = &reader->tree->nodes[*node_out];
    node->text = reader->at;
    node->text_bytes = (size_t)(behind - reader->at);
    reader->data_bytes += node->text_bytes;
    reader->at = behind;
    return true;
}

static bool read_word(
    struct reader *reader, const char *word, enum json_kind kind, uint32_t *node_out)
{
    const size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) {
        return fail_syntax(reader, "a value is none");
    }
    reader->at += length;
    return add_node(reader, kind, node_out);
}

static bool read_number(struct reader *reader, uint32_t *node_out)
{
    struct json_number number;
    const char *cause = NULL;
    const char *behind = json_number_read(reader->at, reader->end, &number, &cause);
    if (behind == NULL) {
        return fail_syntax(reader, "a value is none, or a number is wrong");
    }
    if (number.length >= JSON_NUMBER_BYTES_MAX) {
        return fail_syntax(reader, "a number is too long");
    }
    const double value = json_number_double(&number);
    if (!isfinite(value)) {
        return fail(reader, WEFT_LIMIT, "a number in the request is too large");
    }
    if (!add_node(reader, JSON_NODE_NUMBER, node_out)) {
        return false;
    }
    reader->tree->nodes[*node_out].number = value;
    reader->at = behind;
    return true;
}

static bool read_string(struct reader *reader, uint32_t *node_out)
{
    const char *text;
    size_t bytes;
    if (!read_text(reader, &text, &bytes) || !add_node(reader, JSON_NODE_TEXT, node_out)) {
        return false;
    }
    reader->tree->nodes[*node_out].text = text;
    reader->tree->nodes[*node_out].text_bytes = bytes;
    return true;
}

/* Recursion ends at JSON_DEPTH_MAX. */
static bool read_value(struct reader *reader, enum place place, uint32_t *node_out)
{
    skip_blanks(reader);
    if ((size_t)(reader->at - reader->first) - reader->data_bytes > JSON_BESIDE_BYTES_MAX) {
        return fail_syntax(reader, "too much JSON beside the data of tensors");
    }
    switch (reader->at == reader->end ? '\0' : *reader->at) {
    case '[':
        return place == PLACE_DATA ? step_over_data(reader, node_out)
                                   : read_inside(reader, place, node_out);
    case '{':
        return read_inside(reader, place, node_out);
    case '"':
        return read_string(reader, node_out);
    case 't':
        return read_word(reader, "true", JSON_NODE_TRUE, node_out);
    case 'f':
        return read_word(reader, "false", JSON_NODE_FALSE, node_out);
    case 'n':
        return read_word(reader, "null", JSON_NODE_NULL, node_out);
    default:
        return read_number(reader, node_out);
    }
}

static bool read_root(struct reader *reader)
{
    uint32_t root;
    skip_blanks(reader);
    if (!is_at(reader, '{') && !is_at(reader, '[')) {
        return fail_syntax(reader, "it begins with no bracket");
    }
    if (!read_value(reader, PLACE_ROOT, &root)) {
        return false;
    }
    skip_blanks(reader);
    if ((size_t)(reader->at - reader->first) - reader->data_bytes > JSON_BESIDE_BYTES_MAX) {
        return fail_syntax(reader, "too much JSON beside the data of tensors");
    }
    return reader->at == reader->end || fail_syntax(reader, "something follows its last bracket");
}

enum weft_status json_tree_read(
    const char *text, size_t length, struct json_tree *tree_out, const char **cause_out)
{
    struct reader reader = {
        .first = text,
        .at = text,
        .end = text + length,
        .tree = tree_out,
        .status = WEFT_OK,
    };
    tree_out->nodes = tree_out->few;
    tree_out->count = 0;
    tree_out->room = JSON_NODES_FEW;
    tree_out->pieces = NULL;
    if (!read_root(&reader)) {
        *cause_out = reader.cause;
        json_tree_deinit(tree_out);
    }
    return reader.status;
}

const struct json_node *json_tree_first(const struct json_node *node)
{
    return node == NULL || node->count == 0 ? NULL : node + 1;
}

const struct json_node *json_tree_next(const struct json_tree *tree, const struct json_node *node)
{
    return node->next == 0 ? NULL : &tree->nodes[node->next];
}

const struct json_node *json_tree_member(
    const struct json_tree *tree, const struct json_node *node, const char *name)
{
    if (!json_node_is(node, JSON_NODE_OBJECT)) {
        return NULL;
    }
    const struct json_node *member = json_tree_first(node);
    while (member != NULL && !is_called(member->key, member->key_bytes, name)) {
        member = json_tree_next(tree, member);
    }
    return member;
}

bool json_node_is(const struct json_node *node, enum json_kind kind)
{
    return node != NULL && node->kind == kind;
}

void json_tree_deinit(struct json_tree *tree)
{
    if (tree->nodes != tree->few) {
        free(tree->nodes);
    }
    tree->nodes = tree->few;
    tree->count = 0;
    while (tree->pieces != NULL) {
        struct json_piece *next = tree->pieces->next;
        free(tree->pieces);
        tree->pieces = next;
    }
}
