#include "mixture/levels.h"

#include <stdlib.h>

#include "base/memory.h"
#include "mixture/background.h"
#include "mixture/program.h"
#include "mixture/sites.h"
#include "model/fleet.h"

struct ranked {
    double load; /* Of others, on all workers of the machine. */
    uint32_t node;
};

static int compare(const void *a, const void *b)
{
    const struct ranked *one = a;
    const struct ranked *two = b;
    if (one->load < two->load || one->load > two->load) {
        return one->load < two->load ? -1 : 1;
    }
    return one->node < two->node ? -1 : 1;
}

uint32_t *levels_find(const struct program_input *input)
{
    const struct sites_options average = {.average = true};
    struct sites *sites = sites_create(input, &average);
    uint32_t *levels = memory_zeroed(input->fleet->node_count, sizeof(*levels));
    struct ranked *ranked = memory_zeroed(input->fleet->node_count, sizeof(*ranked));
    for (uint32_t kind = 0; kind < sites->class_count; kind++) {
        const struct machine_class *machines = &sites->classes[kind];
        const uint32_t count = machines->node_count;
        const uint32_t used = count < LEVELS_COUNT ? count : (uint32_t)LEVELS_COUNT;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t node = machines->nodes[i];
            ranked[i] = (struct ranked){.load = background_of_machine(input, node), .node = node};
        }
        qsort(ranked, count, sizeof(*ranked), compare);
        for (uint32_t i = 0; i < count; i++) {
            levels[ranked[i].node] = kind * LEVELS_COUNT + i * used / count;
        }
    }
    free(ranked);
    sites_destroy(sites);
    return levels;
}
