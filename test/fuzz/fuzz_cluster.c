/* fuzz_cluster.c - any bytes as a cluster document. */
#include <stdlib.h>

#include "base/assert.h"
#include "document/cluster_document.h"
#include "fuzz/fuzz.h"
#include "fuzz/listened.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tree *tree = NULL;
    struct fleet *fleet = NULL;
    struct weft_error error = {0};

    if (tree_parse("fuzz.yaml", (const char *)data, size, &tree, &error) != WEFT_OK) {
        ASSERT(error.message[0] != '\0');
        return 0;
    }
    struct tree_listener listener;
    listen(tree, &listener);
    const enum weft_status status = cluster_read(tree->root, &fleet, &error);
    ASSERT((status == WEFT_OK) == (fleet != NULL));
    ASSERT((status == WEFT_OK) == (error.message[0] == '\0'));
    ASSERT((status == WEFT_OK) == (listener.count == 0));
    ASSERT(fleet == NULL || (fleet->node_count > 0 && fleet->worker_count >= fleet->node_count));
    fleet_destroy(fleet);
    tree_destroy(tree);
    return 0;
}
