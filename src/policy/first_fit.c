/*
 * first_fit.c - what waits together runs together, on the first worker with room for it.
 *
 * Rule: tasks wait in home queues, oldest job first. Of each queue up to `batch` items are
 * taken, with `gpu` units of a device and `cpu` of its machine, on the worker that holds
 * the inputs of most of them if that has room, else on the first that has. With `paying`, no more
 * items are taken than pay, and with `gpu=0` as much of the device: see paying_config().
 * Source: first fit of bin packing (Johnson 1974), as a controller of functions would use it.
 * Ignores: models in memory, transfers, deadlines, and run times but for `paying`.
 * Not for: loads that need different shares: it is the least that a home queue can be given.
 */
#include "base/numbers.h"
#include "model/sharing.h"
#include "policy/choose.h"
#include "policy/registry.h"

enum { OPTION_BATCH, OPTION_GPU, OPTION_CPU, OPTION_PAYING };

static const struct policy_option options[] = {
    {"batch", 8, 1, 65536, true, "largest number of items run together"},
    {"gpu", 1, 0, 255, true,
     "units of the device, as far as it has them; 0: all, or with paying what pays"},
    {"cpu", 0, 0, 65536, true, "units of the machine, as far as it has them"},
    {"paying", 0, 0, 1, true, "1: only as many items as end sooner together, by the profile"},
    {.name = NULL},
};

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

/*
 * Parts of a device help as long as what waits cannot fill it: a batch takes hardly longer on a
 * part, and others run beside it. Once whole batches wait, they are as fast on the whole.
 */
static struct asked asked_of(
    const struct policy_input *input, const struct queue_facts *queue, uint32_t worker,
    struct config most)
{
    const struct workflow *workflow = input->catalogue->workflows[queue->workflow];
    const struct fleet_worker *spec = &input->view->fleet->workers[worker];
    struct asked asked = {
        .spec = spec,
        .most = most,
        .model = workflow->tasks[queue->task].run,
        .items_most = max_u32(min_u32(most.batch, queue->items), 1),
        .waiting = queue->items,
        .units_free = spec->gpu_units,
        .parts_most = 1,
    };
    if (most.gpu == 0 && spec->gpu_units > 1) {
        asked.waiting = max_u32(queue->items, view_load(input->view, worker)->queued_items);
        asked.units_free = queue->worker == WORKER_NONE ? view_free_units(input->view, worker).gpu
                                                        : queue->gpu_free;
        asked.parts_most = asked.waiting <= most.batch ? spec->gpu_units : 1;
    }
    return asked;
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

/*
 * The config with which all that waits ends soonest on average: 1, 2, 4 ... items or all that may
 * be taken, on the whole device, a half of it, a quarter ... So a batch that takes as long as its
 * items one by one never pays, one that takes half as long pays more the more wait, and an item
 * that is alone has the whole device.
 */
static struct config paying_config(const struct policy_input *input, const struct asked *asked)
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

/* What to ask of @worker: no more than it has. */
static struct config config_of(
    const struct policy_input *input, const struct queue_facts *queue, uint32_t worker)
{
    const struct fleet_worker *spec = &input->view->fleet->workers[worker];
    const uint32_t cpu_units = input->view->fleet->nodes[spec->node].cpu_units;
    const uint32_t gpu = (uint32_t)input->options[OPTION_GPU];
    const uint32_t cpu = (uint32_t)input->options[OPTION_CPU];
    struct config config = {
        .batch = (uint32_t)input->options[OPTION_BATCH],
        .gpu = min_u32(gpu, spec->gpu_units),
        .cpu = min_u32(cpu, cpu_units),
    };
    if (input->options[OPTION_PAYING] > 0) {
        const struct asked asked = asked_of(input, queue, worker, config);
        config = paying_config(input, &asked);
    }
    return config;
}

static bool add_if_free(
    const struct policy_input *input, const struct queue_facts *queue, struct need need,
    uint32_t worker, struct dispatch_answer *answer)
{
    const struct config config = config_of(input, queue, worker);
    if (!choose_can_use(input->view, worker, need) ||
        !view_fits(input->view, worker, config.cpu, config.gpu)) {
        return false;
    }
    answer->configs[0] = config;
    answer->workers[0] = worker;
    answer->count = 1;
    return true;
}

static void dispatch(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    if (queue->worker != WORKER_NONE) { /* It was placed by another policy. */
        answer_out->configs[0] = config_of(input, queue, queue->worker);
        answer_out->count = 1;
        return;
    }
    const struct workflow *workflow = input->catalogue->workflows[queue->workflow];
    const struct need need =
        need_of(input->profile, &workflow->tasks[queue->task], queue->head_items);
    bool found = add_if_free(input, queue, need, queue->holder, answer_out);
    for (uint32_t worker = 0; !found && worker < input->view->fleet->worker_count; worker++) {
        found = add_if_free(input, queue, need, worker, answer_out);
    }
}

static int64_t order(ATTR_UNUSED const struct policy_input *input, const struct ready_facts *task)
{
    return task->job->arrived_ns;
}

const struct policy policy_first_fit = {
    .name = "first-fit",
    .summary = "batches from home queues, on the first worker with room for them",
    .source = "first fit of bin packing (Johnson 1974)",
    .ignores = "models in memory, transfers, deadlines, and run times but for paying",
    .binds = true,
    .options = options,
    .order = order,
    .dispatch = dispatch,
};
