#include "lab/scenario_cut.h"

#include "base/assert.h"
#include "document/scenario.h"
#include "lab/scenario_cut_copy.h"

#define AT_NS_MAX INT64_C(864000000000000) /* What documents call a duration: ten days. */

/* By part. NULL: its pieces become plain. */
static const char *const names[CUT_PARTS] = {
    [CUT_JOBS] = "jobs",           [CUT_FAULTS] = "faults",
    [CUT_WORKFLOWS] = "workflows", [CUT_WORKFLOWS_MOVED] = "workflows",
    [CUT_NODES] = "nodes",         [CUT_TASKS] = "tasks",
    [CUT_TASKS_BETWEEN] = "tasks", [CUT_EDGES] = "edges",
    [CUT_WORKERS] = "workers",
};

const char *scenario_cut_name(enum scenario_part part)
{
    ASSERT(part < CUT_PARTS);
    return names[part];
}

bool scenario_cut_is_other_way(enum scenario_part part)
{
    return part == CUT_WORKFLOWS_MOVED || part == CUT_TASKS_BETWEEN;
}

static uint32_t task_count(const struct scenario *scenario)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < scenario->catalogue->workflow_count; i++) {
        count += scenario->catalogue->workflows[i]->task_count;
    }
    return count;
}

static uint32_t edge_count(const struct scenario *scenario)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < scenario->catalogue->workflow_count; i++) {
        count += scenario->catalogue->workflows[i]->edge_count;
    }
    return count;
}

static uint32_t list_count(const struct scenario *scenario)
{
    const bool is_list = scenario->arrivals.kind == ARRIVALS_LIST;
    return is_list ? scenario->arrivals.list_count : 0;
}

uint32_t scenario_cut_count(const struct scenario *scenario, enum scenario_part part)
{
    switch (part) {
    case CUT_JOBS:
    case CUT_ITEMS:
    case CUT_JOB_TIMES:
        return list_count(scenario);
    case CUT_FAULTS:
    case CUT_FAULT_TIMES:
        return scenario->fault_count;
    case CUT_WORKFLOWS:
    case CUT_WORKFLOWS_MOVED:
    case CUT_WORKFLOW_EXTRAS:
        return scenario->catalogue->workflow_count;
    case CUT_NODES:
    case CUT_MACHINES:
        return scenario->fleet->node_count;
    case CUT_WORKERS:
        return scenario->fleet->worker_count;
    case CUT_TASKS:
    case CUT_TASKS_BETWEEN:
    case CUT_GIVES:
        return task_count(scenario);
    case CUT_EDGES:
    case CUT_BYTES:
        return edge_count(scenario);
    case CUT_SETTINGS:
        return scenario_cut_setting_count();
    case CUT_POLICY:
        return scenario_cut_role_count(scenario);
    case CUT_SPREAD:
    case CUT_WORKSPACES:
    case CUT_MODEL_FIGURES:
        return scenario->profile->model_count;
    case CUT_PARTS:
        break;
    }
    ASSERT(false);
    return 0;
}

struct scenario *scenario_cut_apply(const struct scenario *scenario, const struct scenario_cut *cut)
{
    ASSERT(cut->count > 0);
    ASSERT(cut->first + cut->count <= scenario_cut_count(scenario, cut->part));
    struct scenario *copy = scenario_cut_copy(scenario, cut);
    if (copy == NULL || scenario_cut_name(cut->part) != NULL) {
        return copy;
    }
    bool is_changed = false;
    for (uint32_t i = cut->count; i-- > 0;) { /* From the end: roles behind others move up. */
        is_changed |= scenario_cut_make_plain(copy, cut->part, cut->first + i);
    }
    if (is_changed) {
        return copy;
    }
    scenario_destroy(copy);
    return NULL;
}

static const struct scenario_cut nothing = {.part = CUT_JOBS};

struct scenario *scenario_cut_to_jobs(const struct scenario *scenario, uint64_t jobs)
{
    ASSERT(jobs > 0);
    struct scenario *copy = scenario_cut_copy(scenario, &nothing);
    copy->jobs = jobs < copy->jobs ? jobs : copy->jobs;
    return copy;
}

struct scenario *scenario_cut_to_list(const struct scenario *scenario)
{
    struct arrival_stream stream;
    uint32_t count = 0;
    if (scenario->arrivals.kind == ARRIVALS_LIST || scenario->jobs > SCENARIO_LIST_MAX) {
        return NULL;
    }
    struct scenario *copy = scenario_cut_copy(scenario, &nothing);
    struct arrival *list = arena_alloc(&copy->arena, scenario->jobs * sizeof(*list));
    arrival_stream_init(&stream, &scenario->arrivals, scenario->catalogue, scenario->seeds[0]);
    while (count < scenario->jobs && arrival_stream_next(&stream, &list[count])) {
        count++;
    }
    if (count == 0 || list[count - 1].at_ns > AT_NS_MAX) {
        scenario_destroy(copy);
        return NULL;
    }
    copy->arrivals = (struct arrivals){
        .kind = ARRIVALS_LIST,
        .list_count = count,
        .list = list,
        .deadline_ns = scenario->arrivals.deadline_ns,
        .patience_ns = scenario->arrivals.patience_ns,
        .patience_is_mean = scenario->arrivals.patience_is_mean,
    };
    copy->jobs = count;
    return copy;
}
