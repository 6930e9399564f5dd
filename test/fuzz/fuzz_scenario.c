/* fuzz_scenario.c - any bytes as a scenario. The files it names are in no folder there is. */
#include <stdlib.h>

#include "base/assert.h"
#include "document/scenario.h"
#include "fuzz/fuzz.h"
#include "fuzz/listened.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tree *tree = NULL;
    struct scenario *scenario = NULL;
    struct weft_error error = {0};
    struct policy_set set;

    if (tree_parse("/nowhere/f.yaml", (const char *)data, size, &tree, &error) != WEFT_OK) {
        ASSERT(error.message[0] != '\0');
        return 0;
    }
    struct tree_listener listener;
    listen(tree, &listener);
    const enum weft_status status = scenario_read(tree->root, &scenario, &error);
    ASSERT((status == WEFT_OK) == (scenario != NULL));
    ASSERT((status == WEFT_OK) == (error.message[0] == '\0'));
    ASSERT((status == WEFT_OK) == (listener.count == 0));
    if (scenario != NULL) {
        ASSERT(policy_set_parse(scenario->policy, &set, &error) == WEFT_OK);
        ASSERT(scenario->jobs > 0 && scenario->seed_count > 0);
        ASSERT(scenario->rows.load_ns > 0 && scenario->rows.cache_ns > 0);
    }
    scenario_destroy(scenario);
    tree_destroy(tree);
    return 0;
}
