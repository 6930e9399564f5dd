/* document_fixture.h - documents that tests write down as text. */
#ifndef UNIT_DOCUMENT_FIXTURE_H
#define UNIT_DOCUMENT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "document/tree.h"

/* The tree of @text as the file "t.yaml"; the test fails if it has none. */
static inline struct tree *parsed(const char *text)
{
    struct tree *tree = NULL;
    struct weft_error error = {0};

    const enum weft_status status = tree_parse("t.yaml", text, strlen(text), &tree, &error);
    if (status != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    return tree;
}

/* The tree of the file at @path. */
static inline struct tree *loaded(const char *path)
{
    struct tree *tree = NULL;
    struct weft_error error = {0};

    const enum weft_status status = tree_load(path, &tree, &error);
    if (status != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    return tree;
}

/* Whether @status is what it should be; shows the message if not. */
static inline void assert_good(enum weft_status status, const struct weft_error *error)
{
    if (status != WEFT_OK) {
        fail_msg("%s", error->message);
    }
}

#endif /* UNIT_DOCUMENT_FIXTURE_H */
