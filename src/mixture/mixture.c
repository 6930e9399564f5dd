#include "mixture/mixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/catalogue.h"
#include "model/grow.h"
#include "model/links_route.h"

#define SUM_TOLERANCE 1e-9

/* At least one element, so that an empty fleet needs no special case. */
static void *zeroed(uint32_t count, size_t element_bytes)
{
    return memory_zeroed(count > 0 ? count : 1, element_bytes);
}

struct mixture *mixture_create(uint32_t workflow_count, uint32_t worker_count, uint32_t link_count)
{
    ASSERT(workflow_count <= WORKFLOWS_MAX);
    ASSERT(worker_count <= WORKERS_MAX);
    struct mixture *mixture = memory_zeroed(1, sizeof(*mixture));
    mixture->workflow_count = workflow_count;
    mixture->worker_count = worker_count;
    mixture->link_count = link_count;
    mixture->workflows = zeroed(workflow_count, sizeof(*mixture->workflows));
    mixture->worker_load = zeroed(worker_count, sizeof(*mixture->worker_load));
    mixture->link_load = zeroed(link_count, sizeof(*mixture->link_load));
    return mixture;
}

void mixture_destroy(struct mixture *mixture)
{
    if (mixture == NULL) {
        return;
    }
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        free(mixture->workflows[i].placements);
        free(mixture->workflows[i].weights);
        free(mixture->workflows[i].table);
    }
    free(mixture->workflows);
    free(mixture->worker_load);
    free(mixture->link_load);
    free(mixture);
}

void mixture_set_workflow(
    struct mixture *mixture, uint32_t workflow, uint32_t task_count, double rate_per_s)
{
    ASSERT(!mixture->sealed);
    ASSERT(workflow < mixture->workflow_count);
    ASSERT(task_count > 0);
    struct mixture_workflow *mixed = &mixture->workflows[workflow];
    ASSERT(mixed->task_count == 0);
    mixed->task_count = task_count;
    mixed->rate_per_s = rate_per_s;
}

enum weft_status mixture_add_pattern(
    struct mixture *mixture, uint32_t workflow, const uint16_t *placement, double weight)
{
    ASSERT(!mixture->sealed);
    if (workflow >= mixture->workflow_count || mixture->workflows[workflow].task_count == 0) {
        return WEFT_NOT_FOUND;
    }
    struct mixture_workflow *mixed = &mixture->workflows[workflow];
    if (!(weight >= 0) || isinf(weight)) {
        return WEFT_INVALID;
    }
    for (uint32_t i = 0; i < mixed->task_count; i++) {
        if (placement[i] >= mixture->worker_count) {
            return WEFT_INVALID;
        }
    }
    if (mixed->pattern_count >= MIXTURE_PATTERNS_MAX) {
        return WEFT_LIMIT;
    }
    const size_t pattern_bytes = mixed->task_count * sizeof(*placement);
    const uint32_t count = mixed->pattern_count;
    mixed->placements = grow(mixed->placements, count, pattern_bytes);
    mixed->weights = grow(mixed->weights, count, sizeof(*mixed->weights));
    memcpy(mixed->placements + (size_t)count * mixed->task_count, placement, pattern_bytes);
    mixed->weights[count] = weight;
    mixed->pattern_count++;
    return WEFT_OK;
}

static double weight_sum(const struct mixture_workflow *mixed)
{
    double sum = 0;
    for (uint32_t i = 0; i < mixed->pattern_count; i++) {
        sum += mixed->weights[i];
    }
    return sum;
}

enum weft_status mixture_seal(struct mixture *mixture, struct weft_error *error)
{
    ASSERT(!mixture->sealed);
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        const struct mixture_workflow *mixed = &mixture->workflows[i];
        const double sum = weight_sum(mixed);
        if (mixed->task_count > 0 && (!(sum > 0) || isinf(sum))) {
            return error_set(
                error, WEFT_INVALID, "workflow %u has no pattern with a positive weight", i);
        }
    }
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        struct mixture_workflow *mixed = &mixture->workflows[i];
        if (mixed->task_count == 0) {
            continue;
        }
        const double sum = weight_sum(mixed);
        const bool is_exact = fabs(sum - 1) <= SUM_TOLERANCE;
        for (uint32_t k = 0; k < mixed->pattern_count && !is_exact; k++) {
            mixed->weights[k] /= sum;
        }
        mixed->table = memory_lines(mixed->pattern_count, sizeof(*mixed->table));
        alias_build(mixed->weights, mixed->pattern_count, mixed->table);
    }
    mixture->sealed = true;
    return WEFT_OK;
}

enum weft_status mixture_check(
    const struct mixture *mixture, const struct catalogue *catalogue, const struct fleet *fleet,
    struct weft_error *error)
{
    if (mixture->worker_count != fleet->worker_count) {
        return error_set(
            error, WEFT_INVALID, "the mixture is for %u workers, the fleet has %u",
            mixture->worker_count, fleet->worker_count);
    }
    if (mixture->link_count != links_count(fleet)) {
        return error_set(
            error, WEFT_INVALID, "the mixture is for %u links, the network has %u",
            mixture->link_count, links_count(fleet));
    }
    if (mixture->workflow_count != catalogue->workflow_count) {
        return error_set(
            error, WEFT_INVALID, "the mixture is for %u workflows, there are %u",
            mixture->workflow_count, catalogue->workflow_count);
    }
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        const uint32_t task_count = mixture->workflows[i].task_count;
        if (task_count != 0 && task_count != workflow->task_count) {
            return error_set(
                error, WEFT_INVALID, "patterns of workflow %s have %u tasks, it has %u",
                workflow->name, task_count, workflow->task_count);
        }
    }
    return WEFT_OK;
}
