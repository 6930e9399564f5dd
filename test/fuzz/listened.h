/* listened.h - documents are read to the end, past their errors. */
#ifndef FUZZ_LISTENED_H
#define FUZZ_LISTENED_H

#include "base/assert.h"
#include "document/tree.h"

static void on_error(void *context, const struct weft_error *error)
{
    (void)context;
    ASSERT(error->status != WEFT_OK);
    ASSERT(error->message[0] != '\0');
}

/* Let @listener, which counts, hear of the errors of @tree. */
static void listen(struct tree *tree, struct tree_listener *listener)
{
    *listener = (struct tree_listener){.on_error = on_error};
    tree->listener = listener;
}

#endif /* FUZZ_LISTENED_H */
