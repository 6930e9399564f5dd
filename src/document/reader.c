#include "document/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "base/text.h"

enum { MESSAGE_BYTES_MAX = 240 };

const struct reader_range reader_any_duration = {0, 8.64e14, "between 0 and 240h"};
const struct reader_range reader_any_bytes = {0, 1e15, "between 0 and 1000TB"};
const struct reader_range reader_edge_bytes = {0, 1e12, "between 0 and 1TB"};
const struct reader_range reader_bandwidth = {0, 1e15, "between 0 and 1000TB/s"};
const struct reader_range reader_memory = {1e6, 1e15, "between 1MB and 1000TB"};
const struct reader_range reader_latency = {0, 60e9, "between 0 and 1m"};
const struct reader_range reader_items = {1, ITEMS_MAX, "between 1 and 1000000"};

void reader_fail(struct reader *reader, const struct tree_node *node, const char *format, ...)
{
    char cause[MESSAGE_BYTES_MAX];
    struct weft_error located;
    va_list arguments;

    if (reader->status != WEFT_OK) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(cause, sizeof(cause), format, arguments);
    va_end(arguments);
    if (node->file == NULL) {
        reader_report(reader, node, WEFT_INVALID, cause);
        return;
    }
    (void)error_set(&located, WEFT_INVALID, "%s:%u: %s", node->file, node->key_line, cause);
    reader_report(reader, node, WEFT_INVALID, located.message);
}

void reader_report(
    struct reader *reader, const struct tree_node *node, enum weft_status status,
    const char *message)
{
    struct weft_error told;

    if (reader->status != WEFT_OK) {
        return;
    }
    (void)reader_mark(reader, node); /* It may be the first node of this reader. */
    (void)error_set(reader_error(reader), status, "%s", message);
    reader_keep(reader, status);
    (void)error_set(&told, status, "%s", message);
    tree_tell(reader->listener, &told);
}

void reader_keep(struct reader *reader, enum weft_status status)
{
    if (reader->status != WEFT_OK || status == WEFT_OK) {
        return;
    }
    reader->status = status;
    reader->failed = reader->failures == 0 ? status : reader->failed;
    reader->failures++;
}

struct weft_error *reader_error(const struct reader *reader)
{
    return reader->failures == 0 ? reader->error : NULL;
}

uint32_t reader_mark(struct reader *reader, const struct tree_node *node)
{
    if (reader->listener == NULL && node != NULL && node->tree != NULL) {
        reader->listener = node->tree->listener;
    }
    return reader->failures;
}

void reader_go_on(struct reader *reader)
{
    if (reader->listener != NULL && reader->listener->count < TREE_ERRORS_MAX &&
        reader->status != WEFT_NO_MEMORY) {
        reader->status = WEFT_OK;
    }
}

void reader_settle(struct reader *reader, uint32_t mark)
{
    if (reader->failures != mark) {
        reader->status = reader->failed;
    }
}

struct reader_loop reader_loop(struct reader *reader, const struct tree_node *node)
{
    return (struct reader_loop){
        .at = node == NULL || !reader_is_good(reader) ? NULL : node->first,
        .mark = reader_mark(reader, node),
    };
}

void reader_loop_next(struct reader *reader, struct reader_loop *loop)
{
    reader_go_on(reader);
    loop->at = reader_is_good(reader) ? loop->at->next : NULL;
    if (loop->at == NULL) {
        reader_settle(reader, loop->mark);
    }
}

/* Whether @byte starts a character, or is one: a cut must not fall inside. */
static bool starts_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

char *reader_quote_text(char out[READER_QUOTE_BYTES], const char *text)
{
    static const char dots[] = "...";
    const size_t room = READER_QUOTE_BYTES - sizeof("''") - (sizeof(dots) - 1);
    size_t length = strlen(text);
    const bool is_cut = length > room;

    if (is_cut) {
        length = room;
        while (length > 0 && !starts_character(text[length])) {
            length--;
        }
    }
    (void)snprintf(out, READER_QUOTE_BYTES, "'%.*s%s'", (int)length, text, is_cut ? dots : "");
    for (char *c = out; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) {
            *c = '?';
        }
    }
    return out;
}

char *reader_quote(char out[READER_QUOTE_BYTES], const struct tree_node *node)
{
    if (node->kind == TREE_SCALAR && (node->quoted || node->text[0] != '\0')) {
        return reader_quote_text(out, node->text);
    }
    (void)snprintf(
        out, READER_QUOTE_BYTES, "%s",
        node->kind == TREE_LIST      ? "a list"
        : node->kind == TREE_MAPPING ? "a mapping"
                                     : "nothing");
    return out;
}

/* "'rate'", or for the root of a document, which has no key, what it is. */
static char *quote_key(char out[READER_QUOTE_BYTES], const struct tree_node *node)
{
    if (node->key != NULL) {
        return reader_quote_text(out, node->key);
    }
    (void)snprintf(out, READER_QUOTE_BYTES, "the document");
    return out;
}

static void fail_wants(struct reader *reader, const struct tree_node *node, const char *wanted)
{
    char key[READER_QUOTE_BYTES];
    char value[READER_QUOTE_BYTES];

    reader_fail(
        reader, node, "%s wants %s, not %s", quote_key(key, node), wanted,
        reader_quote(value, node));
}

const char *reader_suggestion(
    const char *text, const char *const *known, char out[READER_QUOTE_BYTES])
{
    struct suggestion suggestion = suggest_for(text);
    for (; *known != NULL; known++) {
        suggest_consider(&suggestion, *known);
    }
    out[0] = '\0';
    if (suggestion.name != NULL) {
        (void)snprintf(out, READER_QUOTE_BYTES, "; did you mean '%s'?", suggestion.name);
    }
    return out;
}

void reader_any_mapping(struct reader *reader, const struct tree_node *node)
{
    if (node != NULL && node->kind != TREE_MAPPING) {
        fail_wants(reader, node, "a mapping");
    }
}

void reader_list(struct reader *reader, const struct tree_node *node)
{
    if (node != NULL && node->kind != TREE_LIST) {
        fail_wants(reader, node, "a list");
    }
}

void reader_filled(struct reader *reader, const struct tree_node *node)
{
    if (node->child_count == 0) {
        reader_fail(reader, node, "'%s' is empty", node->key);
    }
}

static bool is_among(const char *text, const char *const *known)
{
    while (*known != NULL && strcmp(*known, text) != 0) {
        known++;
    }
    return *known != NULL;
}

void reader_mapping(struct reader *reader, const struct tree_node *node, const char *const *keys)
{
    char quoted[READER_QUOTE_BYTES];
    char suggestion[READER_QUOTE_BYTES];

    reader_any_mapping(reader, node);
    READER_EACH (child, reader, node) {
        if (!is_among(child->key, keys)) {
            reader_fail(
                reader, child, "unknown key %s%s", reader_quote_text(quoted, child->key),
                reader_suggestion(child->key, keys, suggestion));
        }
    }
}

const struct tree_node *reader_need(
    struct reader *reader, const struct tree_node *mapping, const char *key)
{
    if (mapping == NULL || !reader_is_good(reader)) {
        return NULL;
    }
    const struct tree_node *found = tree_find(mapping, key);
    if (found == NULL) {
        reader_fail(reader, mapping, "'%s' is missing", key);
    }
    return found;
}

const char *reader_text(struct reader *reader, const struct tree_node *node)
{
    char key[READER_QUOTE_BYTES];

    if (node == NULL || !reader_is_good(reader)) {
        return "";
    }
    if (node->kind != TREE_SCALAR || node->text[0] == '\0') {
        fail_wants(reader, node, "a text");
        return "";
    }
    for (const char *c = node->text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) {
            reader_fail(reader, node, "%s holds a control character", quote_key(key, node));
            return "";
        }
    }
    return node->text;
}

static void take_name(
    struct reader *reader, const struct tree_node *node, const char *text, char out[NAME_BYTES_MAX])
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    char quoted[READER_QUOTE_BYTES];
    const size_t length = strlen(text);

    if (length == 0 || text[strspn(text, allowed)] != '\0') {
        reader_fail(
            reader, node, "a name has letters, digits, '.', '_' and '-', unlike %s",
            reader_quote_text(quoted, text));
        return;
    }
    if (length >= NAME_BYTES_MAX) {
        reader_fail(
            reader, node, "the name %s is longer than %d letters", reader_quote_text(quoted, text),
            NAME_BYTES_MAX - 1);
        return;
    }
    memcpy(out, text, length + 1);
}

void reader_name(struct reader *reader, const struct tree_node *node, char out[NAME_BYTES_MAX])
{
    const char *text = reader_text(reader, node);

    if (node != NULL && reader_is_good(reader)) {
        take_name(reader, node, text, out);
    }
}

void reader_key_name(struct reader *reader, const struct tree_node *node, char out[NAME_BYTES_MAX])
{
    if (node != NULL && reader_is_good(reader)) {
        take_name(reader, node, node->key, out);
    }
}

double reader_quantity(
    struct reader *reader, const struct tree_node *node, enum quantity_kind kind,
    const struct reader_range *range)
{
    char key[READER_QUOTE_BYTES];
    char quoted[READER_QUOTE_BYTES];
    double value = 0;

    if (node == NULL || !reader_is_good(reader)) {
        return 0;
    }
    if (node->kind != TREE_SCALAR || !quantity_parse(kind, node->text, &value)) {
        fail_wants(reader, node, quantity_example(kind));
        return 0;
    }
    if (!(value >= range->min && value <= range->max)) {
        reader_fail(
            reader, node, "%s must be %s, not %s", quote_key(key, node), range->text,
            reader_quote(quoted, node));
        return 0;
    }
    return value;
}

/* "star", "a or b", "a, b or c". */
static char *enumerate(char out[MESSAGE_BYTES_MAX], const char *const *words)
{
    struct text text;

    text_init(&text, out, MESSAGE_BYTES_MAX);
    for (uint32_t i = 0; words[i] != NULL; i++) {
        const char *between = i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ";
        text_add(&text, "%s%s", between, words[i]);
    }
    return out;
}

uint32_t reader_word(struct reader *reader, const struct tree_node *node, const char *const *words)
{
    char quoted[READER_QUOTE_BYTES];
    char known[MESSAGE_BYTES_MAX];
    const char *text = reader_text(reader, node);

    if (node == NULL || !reader_is_good(reader)) {
        return 0;
    }
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            return i;
        }
    }
    reader_fail(
        reader, node, "%s %s is not known; use %s", node->key, reader_quote_text(quoted, text),
        enumerate(known, words));
    return 0;
}
