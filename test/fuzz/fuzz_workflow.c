/* fuzz_workflow.c - any bytes as a workflow document, in YAML and as strict JSON. */
#include <stdlib.h>

#include "base/assert.h"
#include "document/workflow_document.h"
#include "fuzz/fuzz.h"
#include "fuzz/listened.h"

static void read_as(const char *file, const uint8_t *data, size_t size)
{
    struct tree *tree = NULL;
    struct workflow *workflow = NULL;
    struct weft_error error = {0};

    if (tree_parse(file, (const char *)data, size, &tree, &error) != WEFT_OK) {
        ASSERT(tree == NULL);
        ASSERT(error.message[0] != '\0');
        return;
    }
    struct tree_listener listener;
    listen(tree, &listener);
    struct catalogue *catalogue = catalogue_create();
    const enum weft_status status = workflow_read(tree->root, catalogue, &workflow, &error);
    ASSERT((status == WEFT_OK) == (workflow != NULL));
    ASSERT((status == WEFT_OK) == (error.message[0] == '\0'));
    ASSERT((status == WEFT_OK) == (listener.count == 0));
    ASSERT(workflow == NULL || (workflow->sealed && workflow->source_count > 0));
    workflow_destroy(workflow);
    catalogue_destroy(catalogue);
    tree_destroy(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as("fuzz.yaml", data, size);
    read_as("fuzz.json", data, size);
    return 0;
}
