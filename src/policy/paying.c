#include "policy/paying.h"

#include "base/numbers.h"
#include "model/sharing.h"

/* What a queue may ask of a worker, and what waits there. */
struct asked {
    const struct fleet_worker *spec;
    struct config most;
    uint32_t model;
    uint32_t items_most;
    uint32_t waiting; /* Items. */
    uint32_t units_free;
    uint32_t parts_most; /* Into how many parts its device may be split. */
};

static struct asked asked_of(
    const struct policy_input *input, const struct queue_facts *queue, uint32_t worker,
    struct config most)
{
    const struct workflow *workflow = input->catalogue->workflows[queue->workflow];
    const struct fleet_worker *spec = &input->view->fleet->workers[worker];
    return (struct asked){
        .spec = spec,
        .most = most,
        .model = workflow->tasks[queue->task].run,
        .items_most = max_u32(min_u32(most.batch, queue->items), 1),
        .waiting = queue->items,
        .units_free = spec->gpu_units,
        .parts_most = 1,
    };
}

/*
 * When all that waits has ended, on average and but for a factor, if it runs like @config, @parts
 * at a time: w items in batches of n take w / n / parts rounds, and end after half of them and
 * half a round. Others on the device make each of them longer.
 */
static double mean_end_ns(
    const struct policy_input *input, const struct asked *asked, struct config config,
    uint32_t parts)
{
    const struct estimate run =
        profile_run(input->profile, asked->model, asked->spec->device, config.batch, config);
    const double beside =
        1 + sharing_interference(asked->spec, run.interference) * (1 - 1.0 / parts);
    const double rounds = (double)asked->waiting / config.batch / parts;
    return (double)run.run_ns * beside * ((parts > 1 && rounds < 1 ? 1 : rounds) + 1);
}

static struct config best_of(const struct policy_input *input, const struct asked *asked)
{
    struct config best = asked->most;
    double best_ns = 0;
    best.batch = 1;
    for (uint32_t parts = 1; parts <= asked->parts_most; parts *= 2) {
        struct config config = asked->most;
        const uint32_t units = asked->spec->gpu_units / parts;
        config.gpu = parts == 1 ? config.gpu : units;
        if (asked->parts_most > 1 && units > asked->units_free) {
            continue;
        }
        for (uint32_t items = 1; items < 2 * asked->items_most; items *= 2) {
            config.batch = min_u32(items, asked->items_most);
            const double end_ns = mean_end_ns(input, asked, config, parts);
            if (best_ns == 0 || end_ns < best_ns) {
                best = config;
                best_ns = end_ns;
            }
        }
    }
    return best;
}

struct config paying_batch(
    const struct policy_input *input, const struct queue_facts *queue, uint32_t worker,
    struct config most)
{
    const struct asked asked = asked_of(input, queue, worker, most);
    return best_of(input, &asked);
}

/*
 * Parts of a device help as long as what waits cannot fill it: a batch takes hardly longer on a
 * part, and others run beside it. Once whole batches wait, they are as fast on the whole.
 */
struct config paying_config(
    const struct policy_input *input, const struct queue_facts *queue, uint32_t worker,
    struct config most)
{
    struct asked asked = asked_of(input, queue, worker, most);
    if (most.gpu == 0 && asked.spec->gpu_units > 1) {
        asked.waiting = max_u32(queue->items, view_load(input->view, worker)->queued_items);
        asked.units_free = queue->worker == WORKER_NONE ? view_free_units(input->view, worker).gpu
                                                        : queue->gpu_free;
        asked.parts_most = asked.waiting <= most.batch ? asked.spec->gpu_units : 1;
    }
    return best_of(input, &asked);
}
