#include "document/scenario_check.h"

#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "mixture/mixture.h"
#include "profile/need.h"

enum { SIZE_BYTES = 24 };

static const struct tree_node *task_node(const struct tree_node *workflow, uint32_t task)
{
    const struct tree_node *node = tree_find(workflow, "tasks")->first;

    for (uint32_t i = 0; i < task; i++) {
        node = node->next;
    }
    return node;
}

/* Without its folders: the line has a path already. */
static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void check_task(
    struct reader *reader, const struct scenario *scenario, const struct model_set *listed,
    const struct workflow_task *task, const struct tree_node *node, const char *profile)
{
    const struct fleet *fleet = scenario->fleet;
    const char *what = task->model_count > 0 && task->models[0] == task->run ? "model" : "function";
    bool can_run = false;

    for (uint32_t i = 0; i < fleet->device_count; i++) {
        can_run = can_run || profile_is_measured(scenario->profile, task->run, i);
    }
    if (!can_run) {
        reader_fail(
            reader, node, "%s '%s' of task '%s' has no run time on device '%s'%s in profile '%s'",
            what, scenario->catalogue->models[task->run], task->name, fleet->devices[0],
            fleet->device_count > 1 ? " or another of the cluster" : "", profile);
    }
    for (uint32_t i = 0; i < task->model_count; i++) {
        if (!model_set_has(listed, task->models[i])) {
            reader_fail(
                reader, node, "model '%s' of task '%s' is not in profile '%s'",
                scenario->catalogue->models[task->models[i]], task->name, profile);
        }
    }
}

void scenario_check_profile(
    struct reader *reader, const struct scenario *scenario, const struct model_set *listed,
    const struct tree_node *const *workflows, const struct tree_node *profile)
{
    for (uint32_t i = 0; i < scenario->catalogue->workflow_count; i++) {
        const struct workflow *workflow = scenario->catalogue->workflows[i];
        const uint32_t written = tree_find(workflows[i], "tasks")->child_count;
        for (uint32_t task = 0; task < written && reader_is_good(reader); task++) {
            check_task(
                reader, scenario, listed, &workflow->tasks[task], task_node(workflows[i], task),
                file_name(profile->file));
        }
    }
}

void scenario_check_truth(
    struct reader *reader, const struct scenario *scenario, const struct tree_node *node)
{
    const struct profile *profile = scenario->profile;
    for (uint32_t i = 0; i < profile->model_count && reader_is_good(reader); i++) {
        for (uint32_t device = 0; device < scenario->fleet->device_count; device++) {
            if (profile_is_measured(profile, i, device) &&
                !profile_is_measured(scenario->truth, i, device)) {
                reader_fail(
                    reader, node, "'%s' has a run time on device '%s' in the profile only",
                    scenario->catalogue->models[i], scenario->fleet->devices[device]);
                return;
            }
        }
    }
}

/* As documents write it: decimal, and no more digits than they mostly have. */
static const char *size_text(char out[SIZE_BYTES], uint64_t bytes)
{
    const bool is_large = bytes >= UINT64_C(1000000000);
    (void)snprintf(
        out, SIZE_BYTES, "%.6g%s", (double)bytes / (is_large ? 1e9 : 1e6), is_large ? "GB" : "MB");
    return out;
}

/* Of the devices that can run @model. */
static uint64_t largest_memory(const struct scenario *scenario, uint32_t model)
{
    const struct fleet *fleet = scenario->fleet;
    uint64_t largest = 0;

    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        const struct fleet_worker *worker = &fleet->workers[i];
        if (worker->memory_bytes > largest &&
            profile_can_run(scenario->profile, model, worker->device)) {
            largest = worker->memory_bytes;
        }
    }
    return largest;
}

/* The most items that a request for each workflow has. */
static void find_requests(const struct scenario *scenario, uint32_t most_out[WORKFLOWS_MAX])
{
    const struct arrivals *arrivals = &scenario->arrivals;
    uint32_t most = 1; /* Of those that may be for any workflow. */

    memset(most_out, 0, WORKFLOWS_MAX * sizeof(*most_out));
    for (uint32_t i = 0; i < arrivals->list_count; i++) {
        const struct arrival *arrival = &arrivals->list[i];
        uint32_t *own =
            arrival->workflow == ARRIVAL_WORKFLOW_ANY ? &most : &most_out[arrival->workflow];
        *own = arrival->items > *own ? arrival->items : *own;
    }
    for (uint32_t i = 0; i < WORKFLOWS_MAX; i++) {
        most_out[i] = min_u32(max_u32(most_out[i], most), ITEMS_MAX);
    }
}

/* The most items that each task of @workflow can have, if its requests have up to @items. */
static void find_items(const struct workflow *workflow, uint32_t items, uint32_t *most_out)
{
    uint32_t given[WORKFLOW_TASKS_MAX];

    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const uint32_t number = workflow->order[i];
        const struct workflow_task *task = &workflow->tasks[number];
        most_out[number] = task->in_count == 0 ? items : 0;
        for (uint32_t k = 0; k < task->in_count; k++) {
            const uint32_t made = given[workflow_in(workflow, number, k)->from];
            most_out[number] = made > most_out[number] ? made : most_out[number];
        }
        given[number] = task->gives.high == 0 ? most_out[number] : task->gives.high;
    }
}

static void fail_memory(
    struct reader *reader, const struct scenario *scenario, const struct workflow_task *task,
    uint32_t items, const struct tree_node *node)
{
    char needed[SIZE_BYTES];
    char largest[SIZE_BYTES];
    char with_items[64] = "";

    if (profile_workspace_bytes(scenario->profile, task->run, items) !=
        profile_workspace_bytes(scenario->profile, task->run, /* items */ 1)) {
        (void)snprintf(with_items, sizeof(with_items), " for the %u items it can have", items);
    }
    reader_fail(
        reader, node, "'%s' of task '%s' needs %s of memory%s; the largest device has %s",
        scenario->catalogue->models[task->run], task->name,
        size_text(needed, need_bytes(scenario->profile, task, items)), with_items,
        size_text(largest, largest_memory(scenario, task->run)));
}

void scenario_check_memory(
    struct reader *reader, const struct scenario *scenario,
    const struct tree_node *const *workflows)
{
    uint32_t requests[WORKFLOWS_MAX];
    uint32_t items[WORKFLOW_TASKS_MAX];

    find_requests(scenario, requests);
    for (uint32_t i = 0; i < scenario->catalogue->workflow_count; i++) {
        const struct workflow *workflow = scenario->catalogue->workflows[i];
        find_items(workflow, requests[i], items);
        for (uint32_t task = 0; task < workflow->task_count && reader_is_good(reader); task++) {
            const struct workflow_task *vertex = &workflow->tasks[task];
            const struct need need = need_of(scenario->profile, vertex, items[task]);
            if (!need_is_met_by_any(need, scenario->fleet)) {
                fail_memory(reader, scenario, vertex, items[task], task_node(workflows[i], task));
            }
        }
    }
}

static void check_placement(
    struct reader *reader, const struct scenario *scenario, const struct workflow *workflow,
    const uint16_t *placement, const struct tree_node *node)
{
    const struct fleet *fleet = scenario->fleet;

    for (uint32_t task = 0; task < workflow->task_count && reader_is_good(reader); task++) {
        const struct fleet_worker *worker = &fleet->workers[placement[task]];
        const struct need need = need_of(scenario->profile, &workflow->tasks[task], /* items */ 1);
        if (!profile_kinds_have(need.kinds, worker->device)) {
            reader_fail(
                reader, node,
                "the mixture puts task '%s' of '%s' on worker %u, whose device '%s' has no run "
                "time for it",
                workflow->tasks[task].name, workflow->name, placement[task],
                fleet->devices[worker->device]);
        } else if (!need_is_met(need, worker)) {
            char needed[SIZE_BYTES];
            char memory[SIZE_BYTES];
            reader_fail(
                reader, node,
                "the mixture puts task '%s' of '%s' on worker %u, which has %s of memory; it "
                "needs %s",
                workflow->tasks[task].name, workflow->name, placement[task],
                size_text(memory, worker->memory_bytes), size_text(needed, need.bytes));
        }
    }
}

void scenario_check_mixture(
    struct reader *reader, const struct scenario *scenario, const struct mixture *mixture,
    const struct tree_node *node)
{
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        for (uint32_t k = 0; k < mixture->workflows[i].pattern_count; k++) {
            check_placement(
                reader, scenario, scenario->catalogue->workflows[i],
                mixture_placement(mixture, i, k), node);
        }
    }
}
