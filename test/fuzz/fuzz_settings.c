/* fuzz_settings.c - any bytes as the settings of a repository, in YAML and as strict JSON. */
#include <stdlib.h>

#include "base/assert.h"
#include "document/settings.h"
#include "fuzz/fuzz.h"
#include "fuzz/listened.h"

static void read_as(const char *file, const uint8_t *data, size_t size)
{
    struct tree *tree = NULL;
    struct settings settings = {.nodes = 0};
    struct weft_error error = {0};

    if (tree_parse(file, (const char *)data, size, &tree, &error) != WEFT_OK) {
        return;
    }
    struct tree_listener listener;
    listen(tree, &listener);
    const enum weft_status status = settings_read(tree->root, &settings, &error);
    ASSERT((status == WEFT_OK) == (settings.nodes > 0));
    ASSERT((status == WEFT_OK) == (error.message[0] == '\0'));
    ASSERT((status == WEFT_OK) == (listener.count == 0));
    ASSERT(settings.model_count <= MODELS_MAX);
    tree_destroy(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as("fuzz.yaml", data, size);
    read_as("fuzz.json", data, size);
    return 0;
}
