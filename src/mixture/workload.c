#include "mixture/workload.h"

#include <math.h>
#include <stdlib.h>

#include "base/bitset.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"
#include "mixture/program.h"
#include "model/catalogue.h"
#include "model/contract.h"
#include "model/digraph.h"
#include "profile/need.h"

enum { SMALL_TASKS = 32 };

/* The second moment that draws from an estimate have: see profile/draw.h. */
static double variance_of(const struct estimate *estimate)
{
    const double mean_ns = (double)estimate->run_ns;
    const double sd_ns = (double)estimate->sd_ns;
    switch (estimate->distribution) {
    case DISTRIBUTION_EXPONENTIAL:
        return mean_ns * mean_ns;
    case DISTRIBUTION_DETERMINISTIC:
        return 0;
    case DISTRIBUTION_NORMAL:
    case DISTRIBUTION_GAMMA:
        break;
    }
    return sd_ns * sd_ns;
}

/* Items are known as producers end; until then, the middle of what they may give. */
static void expect_items(
    const struct workflow *workflow, uint32_t items, uint32_t *in_out, uint32_t *made_out)
{
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const uint32_t number = workflow->order[i];
        const struct workflow_task *task = &workflow->tasks[number];
        uint32_t in = task->in_count == 0 ? items : 0;
        for (uint32_t k = 0; k < task->in_count; k++) {
            const uint32_t made = made_out[workflow_in(workflow, number, k)->from];
            in = made > in ? made : in;
        }
        const struct items_rule gives = task->gives;
        in_out[number] = in;
        made_out[number] =
            gives.low == 0 && gives.high == 0 ? in : gives.low + (gives.high - gives.low) / 2;
    }
}

/* What kinds of devices there are, and how large: only these are asked for. */
static struct need_room find_devices(const struct program_input *input)
{
    struct need_room room = {0};
    for (uint32_t i = 0; i < input->fleet->worker_count; i++) {
        const struct fleet_worker *worker = &input->fleet->workers[i];
        if (input->away == NULL || !bitset_has(input->away, worker->node)) {
            need_room_add(&room, worker);
        }
    }
    return room;
}

static bool look_up_task(
    const struct program_input *input, const struct workflow_task *task, uint32_t items,
    struct task_time *times_out)
{
    const struct need_room room = find_devices(input);
    const struct need need = need_of(input->profile, task, items);
    const uint32_t model = task->run;
    bool is_measured = false;
    for (uint32_t device = 0; device < DEVICE_KINDS_MAX; device++) {
        times_out[device].mean_ns = -1;
        if (!need_room_has(&room, need, device) ||
            !profile_is_measured(input->profile, model, device)) {
            continue;
        }
        const struct config config = {.batch = items};
        const struct estimate estimate = profile_run(input->profile, model, device, items, config);
        times_out[device].mean_ns = (double)estimate.run_ns;
        times_out[device].variance = variance_of(&estimate);
        is_measured = true;
    }
    return is_measured;
}

static enum weft_status look_up(
    struct stream *stream, const struct program_input *input, uint32_t items,
    struct weft_error *error)
{
    const struct workflow *workflow = stream->workflow;
    uint32_t *in = memory_zeroed(workflow->task_count, sizeof(*in));
    uint32_t *made = memory_zeroed(workflow->task_count, sizeof(*made));
    enum weft_status status = WEFT_OK;
    expect_items(workflow, items, in, made);
    for (uint32_t task = 0; task < workflow->task_count && status == WEFT_OK; task++) {
        struct task_time *times = stream->times + (size_t)task * DEVICE_KINDS_MAX;
        if (!look_up_task(input, &workflow->tasks[task], in[task], times)) {
            status = error_set(
                error, WEFT_NOT_FOUND, "task %s of workflow %s can run on no device here",
                workflow->tasks[task].name, workflow->name);
        }
    }
    for (uint32_t edge = 0; edge < workflow->edge_count; edge++) {
        const struct workflow_edge *crossed = &workflow->edges[edge];
        stream->edge_bytes[edge] = (double)workflow_edge_bytes(crossed, made[crossed->from]);
    }
    free(in);
    free(made);
    return status;
}

/* Every task a unit of its own. */
static struct contraction *take_apart(struct digraph *graph)
{
    const uint32_t count = graph->vertex_count;
    struct contraction *units = memory_zeroed(1, sizeof(*units));
    units->graph = graph;
    units->group_of = memory_zeroed(count, sizeof(*units->group_of));
    units->member_first = memory_zeroed(count + 1, sizeof(*units->member_first));
    units->members = memory_zeroed(count, sizeof(*units->members));
    for (uint32_t i = 0; i < count; i++) {
        units->group_of[i] = i;
        units->member_first[i] = i;
        units->members[i] = i;
    }
    units->member_first[count] = count;
    return units;
}

/* Whether each unit can run as a whole on every device on which any of its tasks can. */
static bool runs_together(const struct stream *stream, const struct contraction *units)
{
    for (uint32_t task = 0; task < stream->workflow->task_count; task++) {
        const uint32_t first = units->members[units->member_first[units->group_of[task]]];
        for (uint32_t device = 0; device < DEVICE_KINDS_MAX; device++) {
            if ((stream_time(stream, task, device)->mean_ns < 0) !=
                (stream_time(stream, first, device)->mean_ns < 0)) {
                return false;
            }
        }
    }
    return true;
}

/*
 * Together is better on equal devices. On different ones each task may have its own that
 * suits it best, so small workflows are left as they are.
 */
static void find_units(struct stream *stream, const struct program_input *input, uint32_t items)
{
    struct digraph *graph = digraph_from_workflow(stream->workflow, NULL, items);
    struct contraction *units = contraction_create(graph, CONTRACT_NEIGHBOURS);
    const uint32_t kinds = find_devices(input).kinds;
    const bool is_mixed = (kinds & (kinds - 1)) != 0;
    const bool is_small = stream->workflow->task_count <= SMALL_TASKS;
    if ((is_mixed && is_small) || !runs_together(stream, units)) {
        contraction_destroy(units);
        stream->units = take_apart(graph);
    } else {
        digraph_destroy(graph);
        stream->units = units;
    }
}

static enum weft_status open_stream(
    struct stream *stream, const struct program_input *input, uint32_t number, uint32_t items,
    struct weft_error *error)
{
    const struct workflow *workflow = input->catalogue->workflows[number];
    stream->number = number;
    stream->workflow = workflow;
    stream->rate = input->rates_per_s[number] / NS_PER_S;
    stream->input_bytes = (double)workflow->input_bytes;
    stream->times =
        memory_zeroed((size_t)workflow->task_count * DEVICE_KINDS_MAX, sizeof(*stream->times));
    stream->edge_bytes = memory_zeroed(workflow->edge_count + 1, sizeof(*stream->edge_bytes));
    const enum weft_status status = look_up(stream, input, items, error);
    if (status == WEFT_OK) {
        find_units(stream, input, items);
    }
    return status;
}

enum weft_status workload_create(
    const struct program_input *input, uint32_t items, struct workload **workload_out,
    struct weft_error *error)
{
    const uint32_t workflow_count = input->catalogue->workflow_count;
    struct workload *workload = memory_zeroed(1, sizeof(*workload));
    workload->streams = memory_zeroed(workflow_count + 1, sizeof(*workload->streams));
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < workflow_count && status == WEFT_OK; i++) {
        const double rate = input->rates_per_s[i];
        if (!(rate >= 0) || isinf(rate)) {
            status = error_set(
                error, WEFT_INVALID, "the rate of workflow %s is %g per second",
                input->catalogue->workflows[i]->name, rate);
        } else if (rate > 0) {
            struct stream *stream = &workload->streams[workload->stream_count++];
            status = open_stream(stream, input, i, items, error);
            workload->rate += stream->rate;
        }
    }
    if (status == WEFT_OK && workload->stream_count == 0) {
        status = error_set(error, WEFT_INVALID, "no workflow has a rate");
    }
    if (status != WEFT_OK) {
        workload_destroy(workload);
        return status;
    }
    *workload_out = workload;
    return WEFT_OK;
}

void workload_destroy(struct workload *workload)
{
    if (workload == NULL) {
        return;
    }
    for (uint32_t i = 0; i < workload->stream_count; i++) {
        free(workload->streams[i].times);
        free(workload->streams[i].edge_bytes);
        contraction_destroy(workload->streams[i].units);
    }
    free(workload->streams);
    free(workload);
}
