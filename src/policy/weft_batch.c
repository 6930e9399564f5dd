#include "policy/weft_batch.h"

#include "base/numbers.h"
#include "policy/paying.h"
#include "policy/weft_options.h"

/* The units that a batch has at @worker; 0: all. */
static uint32_t part_of(const struct policy_input *input, uint32_t worker)
{
    const struct fleet *fleet = input->view->fleet;
    const struct fleet_worker *spec = &fleet->workers[worker];
    const uint32_t all = spec->gpu_units * fleet_partitions(spec);
    const uint32_t parts = (uint32_t)input->options[WEFT_PARTS];
    const uint32_t units = (all + parts - 1) / parts;
    return fleet->prices.gpu > 0 || units >= spec->gpu_units ? 0 : units;
}

struct config weft_batch(const struct policy_input *input, const struct queue_facts *queue)
{
    struct config config = {.gpu = part_of(input, queue->worker)};
    if (input->options[WEFT_PAYING] == 0 || queue->items <= 1) {
        config.batch = queue->head_items;
        return config;
    }
    config.batch = UINT32_MAX;
    return paying_batch(input, queue, queue->worker, config);
}
