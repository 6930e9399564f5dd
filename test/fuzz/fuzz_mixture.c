/* fuzz_mixture.c - any bytes as a mixture of two small workflows on three workers. */
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "document/mixture_document.h"
#include "fuzz/fuzz.h"
#include "fuzz/listened.h"
#include "mixture/mixture.h"
#include "model/catalogue.h"
#include "model/fleet.h"

static void add_workflow(struct catalogue *catalogue, const char *name, uint32_t task_count)
{
    struct workflow *workflow = workflow_create(name);
    for (uint32_t i = 0; i < task_count; i++) {
        struct workflow_task task = {0};
        uint32_t number;
        (void)snprintf(task.name, sizeof(task.name), "t%u", i);
        ASSERT(workflow_add_task(workflow, &task, &number) == WEFT_OK);
    }
    ASSERT(workflow_seal(workflow, NULL) == WEFT_OK);
    ASSERT(catalogue_add_workflow(catalogue, workflow) == WEFT_OK);
}

static void check(const struct mixture *mixture, const struct catalogue *catalogue)
{
    struct rng rng = rng_from_seed(1);
    char *text = NULL;
    size_t size = 0;
    ASSERT(mixture->sealed);
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        for (uint32_t k = 0; k < 8 && mixture_has(mixture, i); k++) {
            const uint16_t *placement = mixture_draw(mixture, i, &rng);
            ASSERT(placement[0] < mixture->worker_count);
        }
    }
    FILE *file = open_memstream(&text, &size);
    ASSERT(file != NULL);
    mixture_print(mixture, catalogue, file);
    ASSERT(fclose(file) == 0);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weft_error error = {0};
    struct tree *tree = NULL;
    struct mixture *mixture = NULL;
    if (tree_parse("/nowhere/f.yaml", (const char *)data, size, &tree, &error) != WEFT_OK) {
        ASSERT(error.message[0] != '\0');
        return 0;
    }
    struct tree_listener listener;
    listen(tree, &listener);
    struct catalogue *catalogue = catalogue_create();
    struct fleet *fleet = fleet_create();
    const struct fleet_worker device = {.device = fleet_device(fleet, "d"), .gpu_units = 1};
    add_workflow(catalogue, "one", 1);
    add_workflow(catalogue, "two", 2);
    ASSERT(fleet_add_machine(fleet, &device, /* device_count */ 3, /* cpu_units */ 1));
    const enum weft_status status = mixture_read(tree->root, catalogue, fleet, &mixture, &error);
    ASSERT((status == WEFT_OK) == (mixture != NULL));
    ASSERT((status == WEFT_OK) == (error.message[0] == '\0'));
    ASSERT((status == WEFT_OK) == (listener.count == 0));
    if (mixture != NULL) {
        check(mixture, catalogue);
    }
    mixture_destroy(mixture);
    fleet_destroy(fleet);
    catalogue_destroy(catalogue);
    tree_destroy(tree);
    return 0;
}
