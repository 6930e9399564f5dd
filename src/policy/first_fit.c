/*
 * first_fit.c - what waits together runs together, on the first worker with room for it.
 *
 * Rule: tasks wait in home queues, oldest job first. Of each queue up to `batch` items are
 * taken, with `gpu` units of a device and `cpu` of its machine, on the worker that holds
 * the inputs of most of them if that has room, else on the first that has. With `paying`, no more
 * items are taken than pay, and with `gpu=0` as much of the device: see paying.h.
 * Source: first fit of bin packing (Johnson 1974), as a controller of functions would use it.
 * Ignores: models in memory, transfers, deadlines, and run times but for `paying`.
 * Not for: loads that need different shares: it is the least that a home queue can be given.
 */
#include "base/numbers.h"
#include "policy/choose.h"
#include "policy/paying.h"
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
        config = paying_config(input, queue, worker, config);
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
