#include "document/policy_document.h"

#include <string.h>

#include "base/text.h"

static const struct reader_range option_range = {-1e300, 1e300, "a finite number"};

/* ":option=value". What is true is 1. */
static void add_option(struct reader *reader, const struct tree_node *node, struct text *policy)
{
    char name[NAME_BYTES_MAX] = "";

    reader_key_name(reader, node, name);
    if (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0) {
        text_add(policy, ":%s=%d", name, node->text[0] == 't' ? 1 : 0);
        return;
    }
    (void)reader_quantity(reader, node, QUANTITY_NUMBER, &option_range);
    if (reader_is_good(reader)) {
        text_add(policy, ":%s=%s", name, node->text);
    }
}

/* A policy as text, or as {name, option: value...}. */
static void add_choice(struct reader *reader, const struct tree_node *node, struct text *policy)
{
    char name[NAME_BYTES_MAX] = "";

    if (node->kind != TREE_MAPPING) {
        text_add(policy, "%s", reader_text(reader, node));
        return;
    }
    reader_name(reader, reader_need(reader, node, "name"), name);
    text_add(policy, "%s", name);
    READER_EACH (option, reader, node) {
        if (strcmp(option->key, "name") != 0) {
            add_option(reader, option, policy);
        }
    }
}

static void add_roles(struct reader *reader, const struct tree_node *node, struct text *policy)
{
    char role[NAME_BYTES_MAX] = "";

    READER_EACH (choice, reader, node) {
        reader_key_name(reader, choice, role);
        text_add(policy, "%s%s=", choice == node->first ? "" : ",", role);
        add_choice(reader, choice, policy);
    }
}

void policy_read(struct reader *reader, const struct tree_node *node, void *policy)
{
    char bytes[POLICY_TEXT_BYTES_MAX];
    struct policy_set set;
    struct weft_error cause = {0};
    struct text text;

    text_init(&text, bytes, sizeof(bytes));
    if (node->kind == TREE_MAPPING && tree_find(node, "name") == NULL) {
        add_roles(reader, node, &text);
    } else {
        add_choice(reader, node, &text);
    }
    if (text.cut) {
        reader_fail(reader, node, "'policy' is longer than %d letters", POLICY_TEXT_BYTES_MAX - 1);
    }
    if (!reader_is_good(reader)) {
        return;
    }
    if (policy_set_parse(bytes, &set, &cause) != WEFT_OK) {
        reader_fail(reader, node, "%s", cause.message);
        return;
    }
    memcpy(policy, bytes, sizeof(bytes));
}

void policy_write(struct writer *writer, const void *policy)
{
    writer_key(writer, "policy");
    writer_text(writer, policy);
}
