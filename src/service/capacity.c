#include "service/capacity.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/log.h"
#include "base/units.h"
#include "console/progress.h"
#include "service/rehearsal.h"

enum {
    OPEN_PER_WORKER = 2,   /* One runs, the next one waits. */
    ANSWERS_PER_FLOW = 4,  /* Fewer would say little of the proportions. */
    SHOWS_PER_SECOND = 10, /* Of the progress bar. */
};

#define ENOUGH_NS (6 * NS_PER_S)  /* If there are enough answers. */
#define END_NS    (20 * NS_PER_S) /* In any case. */

struct loop {
    const struct service_options *options;
    struct runtime *runtime;
    struct progress progress;
    double rates[WORKFLOWS_MAX]; /* Only their proportions matter. */
    uint32_t sent[WORKFLOWS_MAX];
    uint32_t flow_count; /* That are asked for at all. */
    uint32_t answered;
    int64_t last_ns; /* When the last of them was. */
};

/* The workflow that is furthest behind its share. */
static uint32_t next_workflow(const struct loop *loop)
{
    const struct catalogue *catalogue = loop->options->scenario->catalogue;
    uint32_t next = UINT32_MAX;
    double due = 0;
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const double at = loop->rates[i] > 0 ? (loop->sent[i] + 1) / loop->rates[i] : 0;
        if (at > 0 && (next == UINT32_MAX || at < due)) {
            next = i;
            due = at;
        }
    }
    ASSERT(next != UINT32_MAX);
    return next;
}

static void send_next(struct loop *loop);

static void on_answered(void *context, const struct runtime_answer *answer)
{
    struct loop *loop = context;
    for (uint32_t i = 0; i < answer->output_count; i++) {
        runtime_release(loop->runtime, answer->outputs[i]);
    }
    if (answer->status == WEFT_OK) {
        loop->answered++;
        loop->last_ns = runtime_now_ns(loop->runtime);
    }
    if (loop->last_ns >= ENOUGH_NS && loop->answered >= ANSWERS_PER_FLOW * loop->flow_count) {
        runtime_stop(loop->runtime);
    } else {
        send_next(loop);
    }
}

static void send_next(struct loop *loop)
{
    const struct service_options *options = loop->options;
    const struct service_parts *parts = options->parts;
    const uint32_t workflow = next_workflow(loop);
    const struct workflow *graph = options->scenario->catalogue->workflows[workflow];
    uint32_t number;
    loop->sent[workflow]++;
    const struct runtime_request request = {
        .workflow = workflow,
        .inputs = parts == NULL || parts->make_inputs == NULL
                      ? runtime_tensor(loop->runtime, NULL, graph->input_bytes, NULL)
                      : parts->make_inputs(
                            parts->context, loop->runtime, workflow, /* items */ 1, &number),
        .answered = on_answered,
        .context = loop,
    };
    (void)runtime_request(loop->runtime, NODE_NONE, &request);
}

static void on_time(void *context)
{
    struct loop *loop = context;
    const int64_t now_ns = runtime_now_ns(loop->runtime);
    if (now_ns >= END_NS) {
        runtime_stop(loop->runtime);
        return;
    }
    if (!loop->options->silent) {
        const int64_t all_ns = now_ns < ENOUGH_NS ? ENOUGH_NS : END_NS;
        progress_show(&loop->progress, (uint64_t)now_ns, (uint64_t)all_ns);
    }
    runtime_call_at(
        loop->runtime, now_ns + NS_PER_S / SHOWS_PER_SECOND, /* background */ true, on_time, loop);
}

/* Prepare the loop; false if nothing is asked for. */
static bool find_flows(struct loop *loop)
{
    const struct scenario *scenario = loop->options->scenario;
    if (!arrivals_rates(&scenario->arrivals, scenario->catalogue, loop->rates)) {
        return false;
    }
    for (uint32_t i = 0; i < scenario->catalogue->workflow_count; i++) {
        loop->flow_count += loop->rates[i] > 0 ? 1 : 0;
    }
    return loop->flow_count > 0;
}

static void run(struct loop *loop)
{
    const uint32_t open = OPEN_PER_WORKER * loop->options->scenario->fleet->worker_count;
    log_say(loop->options->log, LOG_INFO, "measuring capacity", 0, NULL);
    progress_start(&loop->progress, "trying how much this machine can carry");
    for (uint32_t i = 0; i < open; i++) {
        send_next(loop);
    }
    on_time(loop);
    runtime_run(loop->runtime);
    progress_clear(&loop->progress);
}

enum weft_status capacity_measure(
    const struct service_options *options, struct capacity *capacity_out, struct weft_error *error)
{
    struct loop loop = {.options = options};
    if (!find_flows(&loop)) {
        return error_set(error, WEFT_INVALID, "there is no workflow to measure");
    }
    const enum weft_status status = rehearsal_open(options, &loop.runtime, error);
    if (status != WEFT_OK) {
        return status;
    }
    run(&loop);
    rehearsal_close(options, loop.runtime);
    if (loop.answered == 0) {
        return error_set(
            error, WEFT_INVALID,
            "no request was answered in %d s: too few to find a rate; say '--rate N/s'",
            (int)(END_NS / NS_PER_S));
    }
    *capacity_out = (struct capacity){
        .per_s = (double)loop.answered * 1e9 / (double)loop.last_ns,
        .answered = loop.answered,
        .seconds = (double)loop.last_ns / 1e9,
    };
    return WEFT_OK;
}
