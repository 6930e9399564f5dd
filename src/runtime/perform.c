/* perform.c - effects become calls of the net, the engine and clients. Nothing decides here. */
#include <stdlib.h>

#include "base/memory.h"
#include "runtime/inside.h"

struct search {
    struct runtime *runtime;
    uint32_t node;
    uint64_t problem;
    void *result;
};

void runtime_finish(struct runtime *runtime, uint32_t slot, struct runtime_answer *answer)
{
    /* A copy: the client may make another request, which moves the tickets. */
    const struct ticket ticket = *(struct ticket *)pool_at(&runtime->tickets, slot);
    answer->latency_ns = runtime->clock.now_ns - ticket.arrived_ns;
    pool_give(&runtime->tickets, slot);
    runtime->answered++;
    for (uint32_t i = 0; i < answer->output_count; i++) {
        if (ticket.request.answered == NULL) {
            tensors_release(&runtime->tensors, answer->outputs[i]);
        } else {
            tensors_pass(&runtime->tensors, answer->outputs[i], HOLDER_HOST);
        }
    }
    if (ticket.request.answered != NULL) {
        ticket.request.answered(ticket.request.context, answer);
    }
}

static void accept(struct runtime *runtime, uint64_t ticket, struct job_id job)
{
    ASSERT(pool_is_live(&runtime->tickets, (uint32_t)ticket, (uint32_t)(ticket >> 32)));
    ((struct ticket *)pool_at(&runtime->tickets, (uint32_t)ticket))->job = job;
}

static void answer(struct runtime *runtime, const struct effect_answer *effect)
{
    const uint32_t slot = (uint32_t)effect->ticket;
    ASSERT(pool_is_live(&runtime->tickets, slot, (uint32_t)(effect->ticket >> 32)));
    struct runtime_answer given = {
        .ticket = effect->ticket,
        .job = effect->job,
        .status = effect->status,
        .reason = effect->reason,
        .retry_after_ns = effect->retry_after_ns,
        .output_count = effect->output_count,
        .outputs = effect->outputs,
    };
    runtime_finish(runtime, slot, &given);
}

/* The part that the edge names is the receiver's to cut out: contents are never copied here. */
static void send(struct runtime *runtime, const struct effect *effect)
{
    struct handle tensor = {0};
    if (effect->kind == EFFECT_MOVE && effect->send.tensor.id != 0) {
        tensor = tensors_share(&runtime->tensors, effect->send.tensor, HOLDER_HOST);
    }
    net_send(runtime->net, effect->send.node, &effect->send.message, tensor.id);
}

static struct engine_input *input_at(struct runtime *runtime, uint32_t index)
{
    if (index >= runtime->inputs_max) {
        const uint32_t count = 2 * (index + 1);
        struct engine_input *larger = memory_zeroed(count, sizeof(*larger));
        for (uint32_t i = 0; i < runtime->inputs_max; i++) {
            larger[i] = runtime->inputs[i];
        }
        free(runtime->inputs);
        runtime->inputs = larger;
        runtime->inputs_max = count;
    }
    return &runtime->inputs[index];
}

static void launch(struct runtime *runtime, uint32_t number, const struct effect_launch *effect)
{
    const struct node *node = runtime->nodes[number].node;
    struct engine_task tasks[BATCH_TASKS_MAX];
    uint32_t first[BATCH_TASKS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < effect->task_count; i++) {
        const struct batch_task task = node_batch_task(node, effect->batch, i);
        tasks[i] = (struct engine_task){
            .job = task.job, .items = task.items, .input_count = task.input_count};
        first[i] = count;
        for (uint32_t k = 0; k < task.input_count; k++) {
            const struct handle handle = node_batch_input(node, effect->batch, i, k);
            struct engine_input *input = input_at(runtime, count);
            *input = (struct engine_input){.contents = NULL};
            if (handle.id != 0) {
                input->contents = tensors_contents(&runtime->tensors, handle, &input->bytes);
            }
            count++;
        }
    }
    for (uint32_t i = 0; i < effect->task_count; i++) {
        tasks[i].inputs = runtime->inputs + first[i]; /* It may have moved until now. */
    }
    const struct engine_batch batch = {
        .worker = effect->worker,
        .batch = batch_key(number, effect->batch),
        .workflow = effect->workflow,
        .task = effect->task,
        .config = effect->config,
        .items = effect->items,
        .task_count = effect->task_count,
        .tasks = tasks,
    };
    engine_launch(runtime->engine, &batch);
}

static void wake_at(
    struct runtime *runtime, uint32_t node, int64_t at_ns, const struct timer *timer)
{
    const struct due due = {
        .kind = DUE_TIMER,
        .node = node,
        .timer = *timer,
        .background = timer->kind == TIMER_TICK,
    };
    runtime_promise(runtime, at_ns, &due);
}

static void search_run(void *argument)
{
    struct search *search = argument;
    const struct runtime_options *options = &search->runtime->options;
    search->result = options->solve(options->context, search->node, search->problem);
}

static void search_done(void *argument)
{
    struct search *search = argument;
    const struct due due = {
        .kind = DUE_SOLVED,
        .node = search->node,
        .token = search->problem,
        .context = search->result,
    };
    runtime_promise(search->runtime, search->runtime->clock.now_ns, &due);
    free(search);
}

static void solve(struct runtime *runtime, uint32_t node, uint64_t problem)
{
    if (runtime->options.solve == NULL) {
        const struct due due = {.kind = DUE_SOLVED, .node = node, .token = problem};
        runtime_promise(runtime, runtime->clock.now_ns, &due);
        return;
    }
    struct search *search = memory_zeroed(1, sizeof(*search));
    *search = (struct search){.runtime = runtime, .node = node, .problem = problem};
    loop_work(runtime->loop, search_run, search_done, search);
}

static void perform(struct runtime *runtime, uint32_t node, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_ACCEPT:
        accept(runtime, effect->accept.ticket, effect->accept.job);
        return;
    case EFFECT_REFUSE:
    case EFFECT_ANSWER:
        answer(runtime, &effect->answer);
        return;
    case EFFECT_SEND:
    case EFFECT_MOVE:
        send(runtime, effect);
        return;
    case EFFECT_RELEASE:
        tensors_release(&runtime->tensors, effect->release);
        return;
    case EFFECT_LOAD:
        engine_load(runtime->engine, effect->load.worker, effect->load.model);
        return;
    case EFFECT_CANCEL_LOAD:
        engine_cancel_load(runtime->engine, effect->load.worker, effect->load.model);
        return;
    case EFFECT_UNLOAD:
        engine_unload(runtime->engine, effect->load.worker, effect->load.model);
        return;
    case EFFECT_RESHAPE:
        engine_reshape(runtime->engine, effect->reshape.worker, effect->reshape.gpu);
        return;
    case EFFECT_LAUNCH:
        launch(runtime, node, &effect->launch);
        return;
    case EFFECT_CANCEL_BATCH:
        engine_cancel(runtime->engine, batch_key(node, effect->batch));
        return;
    case EFFECT_PUBLISH:
        net_publish(runtime->net, node, effect->row);
        return;
    case EFFECT_WAKE_AT:
        wake_at(runtime, node, effect->wake.at_ns, &effect->wake.timer);
        return;
    case EFFECT_SOLVE:
        solve(runtime, node, effect->solve.problem);
        return;
    case EFFECT_TRACE:
        if (runtime->options.on_record != NULL) {
            runtime->options.on_record(runtime->options.context, &effect->record);
        }
        return;
    case EFFECT_KINDS:
        break;
    }
    ASSERT(false);
}

void runtime_perform(struct runtime *runtime, uint32_t node)
{
    for (uint32_t i = 0; i < runtime->effects.count; i++) {
        perform(runtime, node, &runtime->effects.items[i]);
    }
}
