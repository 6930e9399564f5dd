/* fuzz_profile.c - any bytes as a profile, with names that are all new or nearly all unknown. */
#include <stdlib.h>

#include "base/assert.h"
#include "document/profile_document.h"
#include "fuzz/fuzz.h"
#include "fuzz/listened.h"

static void read_as(const char *file, enum profile_scope scope, const uint8_t *data, size_t size)
{
    struct tree *tree = NULL;
    struct profile_document document = {0};
    struct weft_error error = {0};

    if (tree_parse(file, (const char *)data, size, &tree, &error) != WEFT_OK) {
        ASSERT(error.message[0] != '\0');
        return;
    }
    struct tree_listener listener;
    listen(tree, &listener);
    struct catalogue *catalogue = catalogue_create();
    struct fleet *fleet = fleet_create();
    (void)catalogue_model(catalogue, "m");
    (void)fleet_device(fleet, "t4");
    const enum weft_status status =
        profile_read(tree->root, scope, catalogue, fleet, &document, &error);
    ASSERT((status == WEFT_OK) == (document.profile != NULL));
    ASSERT((status == WEFT_OK) == (error.message[0] == '\0'));
    ASSERT((status == WEFT_OK) == (listener.count == 0));
    profile_destroy(document.profile);
    fleet_destroy(fleet);
    catalogue_destroy(catalogue);
    tree_destroy(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as("fuzz.json", PROFILE_ALL, data, size);
    read_as("fuzz.yaml", PROFILE_KNOWN, data, size);
    return 0;
}
