#include "document/scenario_check.h"

#include <stdio.h>
#include <string.h>

#include "plan/mixture.h"

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

/* As documents write it: decimal, and no more digits than they mostly have. */
static const char *size_text(char out[SIZE_BYTES], uint64_t bytes)
{
    const bool is_large = bytes >= UINT64_C(1000000000);
    (void)snprintf(
        out, SIZE_BYTES, "%.6g%s", (double)bytes / (is_large ? 1e9 : 1e6), is_large ? "GB" : "MB");
    return out;
}

/* What must be in memory while @task runs with a single item. */
static uint64_t needed_bytes(const struct profile *profile, const struct workflow_task *task)
{
    uint64_t bytes = profile_workspace_bytes(profile, task->run, /* items */ 1);

    for (uint32_t i = 0; i < task->model_count; i++) {
        bytes += profile->models[task->models[i]].resident_bytes;
    }
    return bytes;
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

void scenario_check_memory(
    struct reader *reader, const struct scenario *scenario,
    const struct tree_node *const *workflows, const struct tree_node *node)
{
    char needed_text[SIZE_BYTES];
    char largest_text[SIZE_BYTES];

    for (uint32_t i = 0; i < scenario->catalogue->workflow_count; i++) {
        const struct workflow *workflow = scenario->catalogue->workflows[i];
        for (uint32_t task = 0; task < workflow->task_count; task++) {
            const uint64_t needed = needed_bytes(scenario->profile, &workflow->tasks[task]);
            const uint64_t largest = largest_memory(scenario, workflow->tasks[task].run);
            if (needed > largest) {
                reader_fail(
                    reader, workflows == NULL ? node : task_node(workflows[i], task),
                    "'%s' of task '%s' needs %s of memory; the largest device has %s",
                    scenario->catalogue->models[workflow->tasks[task].run],
                    workflow->tasks[task].name, size_text(needed_text, needed),
                    size_text(largest_text, largest));
                return;
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
        const uint32_t device = fleet->workers[placement[task]].device;
        if (!profile_can_run(scenario->profile, workflow->tasks[task].run, device)) {
            reader_fail(
                reader, node,
                "the mixture puts task '%s' of '%s' on worker %u, whose device '%s' has no run "
                "time for it",
                workflow->tasks[task].name, workflow->name, placement[task],
                fleet->devices[device]);
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
