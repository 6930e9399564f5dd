#include "policy/weft_batch.h"

#include "base/numbers.h"
#include "policy/paying.h"
#include "policy/weft_options.h"

uint32_t weft_part(const struct fleet *fleet, const double *options, uint32_t worker)
{
    const struct fleet_worker *spec = &fleet->workers[worker];
    const uint32_t all = spec->gpu_units * fleet_partitions(spec);
    const uint32_t parts = (uint32_t)options[WEFT_PARTS];
    const uint32_t units = (all + parts - 1) / parts;
    return fleet->prices.gpu > 0 || units >= spec->gpu_units ? 0 : units;
}

struct config weft_batch(const struct policy_input *input, const struct queue_facts *queue)
{
    struct config config = {
        .gpu = weft_part(input->view->fleet, input->options, queue->worker),
    };
    if (input->options[WEFT_PAYING] == 0 || queue->items <= 1) {
        config.batch = queue->head_items;
        return config;
    }
    config.batch = UINT32_MAX;
    return paying_batch(input, queue, queue->worker, config);
}
