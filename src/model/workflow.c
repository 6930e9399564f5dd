#include "model/workflow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bitset.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/digraph.h"
#include "model/dominators.h"
#include "model/grow.h"

enum { READY_WORDS = (WORKFLOW_TASKS_MAX + 63) / 64 };

struct workflow *workflow_create(const char *name)
{
    ASSERT(strlen(name) < NAME_BYTES_MAX);

    struct workflow *workflow = memory_zeroed(1, sizeof(*workflow));
    (void)snprintf(workflow->name, sizeof(workflow->name), "%s", name);
    return workflow;
}

static void release_derived(struct workflow *workflow)
{
    free(workflow->order);
    free(workflow->edges_in);
    free(workflow->edges_out);
    free(workflow->sources);
    free(workflow->ancestors);
    workflow->order = NULL;
    workflow->edges_in = NULL;
    workflow->edges_out = NULL;
    workflow->sources = NULL;
    workflow->ancestors = NULL;
}

void workflow_destroy(struct workflow *workflow)
{
    if (workflow == NULL) {
        return;
    }
    release_derived(workflow);
    free(workflow->tasks);
    free(workflow->edges);
    free(workflow->ports);
    free(workflow->inputs);
    free(workflow->results);
    free(workflow);
}

enum weft_status workflow_add_task(
    struct workflow *workflow, const struct workflow_task *task, uint32_t *task_out)
{
    ASSERT(!workflow->sealed);
    ASSERT(memchr(task->name, '\0', sizeof(task->name)) != NULL);
    ASSERT(task->model_count <= TASK_MODELS_MAX);

    if (workflow->task_count == WORKFLOW_TASKS_MAX) {
        return WEFT_LIMIT;
    }
    if (workflow_find_task(workflow, task->name) != TASK_NONE) {
        return WEFT_EXISTS;
    }
    workflow->tasks = grow(workflow->tasks, workflow->task_count, sizeof(*workflow->tasks));
    struct workflow_task *added = &workflow->tasks[workflow->task_count];
    *added = (struct workflow_task){
        .run = task->run,
        .model_count = task->model_count,
        .gives = task->gives,
        .work = task->work > 0 ? task->work : 1,
        .takes_part = task->takes_part,
        .part_bytes = task->part_bytes,
        .dominator = TASK_NONE,
        .sink = TASK_NONE,
    };
    memcpy(added->name, task->name, sizeof(added->name));
    memcpy(added->models, task->models, sizeof(added->models));
    *task_out = workflow->task_count;
    workflow->task_count++;
    return WEFT_OK;
}

enum weft_status workflow_add_edge(struct workflow *workflow, const struct workflow_edge *edge)
{
    ASSERT(!workflow->sealed);

    if (edge->from >= workflow->task_count || edge->to >= workflow->task_count) {
        return WEFT_NOT_FOUND;
    }
    if (edge->from == edge->to) {
        return WEFT_INVALID;
    }
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        if (workflow->edges[i].from == edge->from && workflow->edges[i].to == edge->to) {
            return WEFT_EXISTS;
        }
    }
    if (workflow->edge_count == WORKFLOW_EDGES_MAX) {
        return WEFT_LIMIT;
    }
    workflow->edges = grow(workflow->edges, workflow->edge_count, sizeof(*workflow->edges));
    workflow->edges[workflow->edge_count] = *edge;
    workflow->edges[workflow->edge_count].in_index = 0;
    workflow->edge_count++;
    return WEFT_OK;
}

/* Group the edges by both ends; within a group they keep the order in which they came. */
static void group_edges(struct workflow *workflow)
{
    uint32_t in_first = 0;
    uint32_t out_first = 0;

    for (uint32_t i = 0; i < workflow->task_count; i++) {
        workflow->tasks[i].in_count = 0;
        workflow->tasks[i].out_count = 0;
    }
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        workflow->tasks[workflow->edges[i].to].in_count++;
        workflow->tasks[workflow->edges[i].from].out_count++;
    }
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        struct workflow_task *task = &workflow->tasks[i];
        task->in_first = in_first;
        task->out_first = out_first;
        in_first += task->in_count;
        out_first += task->out_count;
        task->in_count = 0; /* Counted again below, as places are given out. */
        task->out_count = 0;
    }
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        struct workflow_edge *edge = &workflow->edges[i];
        struct workflow_task *from = &workflow->tasks[edge->from];
        struct workflow_task *to = &workflow->tasks[edge->to];
        edge->in_index = to->in_count;
        workflow->edges_in[to->in_first + to->in_count++] = i;
        workflow->edges_out[from->out_first + from->out_count++] = i;
    }
}

/* The smallest member of the set, which is then removed. TASK_NONE if it is empty. */
static uint32_t take_lowest(uint64_t ready[READY_WORDS])
{
    for (uint32_t i = 0; i < READY_WORDS; i++) {
        if (ready[i] != 0) {
            const uint32_t task = 64 * i + (uint32_t)__builtin_ctzll(ready[i]);
            bitset_remove(ready, task);
            return task;
        }
    }
    return TASK_NONE;
}

/*
 * Write the order, the smallest index first among tasks whose producers are all
 * there (Kahn 1962). Returns how many tasks were ordered: fewer than all if there is
 * a cycle. @missing_out counts the producers of each task that were not.
 */
static uint32_t order_tasks(struct workflow *workflow, uint32_t *missing_out)
{
    uint64_t ready[READY_WORDS] = {0};
    uint32_t ordered = 0;

    for (uint32_t i = 0; i < workflow->task_count; i++) {
        missing_out[i] = workflow->tasks[i].in_count;
        if (missing_out[i] == 0) {
            bitset_add(ready, i);
        }
    }
    for (uint32_t task = take_lowest(ready); task != TASK_NONE; task = take_lowest(ready)) {
        workflow->order[ordered++] = task;
        for (uint32_t i = 0; i < workflow->tasks[task].out_count; i++) {
            const uint32_t to = workflow_out(workflow, task, i)->to;
            missing_out[to]--;
            if (missing_out[to] == 0) {
                bitset_add(ready, to);
            }
        }
    }
    return ordered;
}

/*
 * A task on a cycle. Tasks with missing producers may also lie behind a cycle, but
 * each has such a producer: after enough steps back, the walk is on the cycle.
 */
static uint32_t find_cycle(const struct workflow *workflow, const uint32_t *missing)
{
    uint32_t task = 0;
    while (missing[task] == 0) {
        task++;
    }
    for (uint32_t step = 0; step < workflow->task_count; step++) {
        uint32_t i = 0;
        while (missing[workflow_in(workflow, task, i)->from] == 0) {
            i++;
        }
        task = workflow_in(workflow, task, i)->from;
    }
    return task;
}

static void number_ends(struct workflow *workflow)
{
    workflow->source_count = 0;
    workflow->sink_count = 0;
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        struct workflow_task *task = &workflow->tasks[i];
        if (task->in_count == 0) {
            workflow->sources[workflow->source_count++] = i;
        }
        task->sink = task->out_count == 0 ? workflow->sink_count++ : TASK_NONE;
    }
}

static void find_dominators(struct workflow *workflow)
{
    struct digraph *shape = digraph_from_workflow(workflow, /* run_ns */ NULL, /* items */ 1);
    struct dominators *tree = dominators_create(shape);

    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const uint32_t parent = tree->parent[i];
        workflow->tasks[i].dominator = parent == tree->root ? TASK_NONE : parent;
    }
    dominators_destroy(tree);
    digraph_destroy(shape);
}

static void find_ancestors(struct workflow *workflow)
{
    const size_t words = bitset_words(workflow->task_count);
    workflow->ancestors = memory_zeroed(workflow->task_count * words, sizeof(uint64_t));
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const uint32_t task = workflow->order[i];
        uint64_t *set = workflow->ancestors + task * words;
        for (uint32_t j = 0; j < workflow->tasks[task].in_count; j++) {
            const uint32_t from = workflow_in(workflow, task, j)->from;
            const uint64_t *inherited = workflow->ancestors + from * words;
            bitset_add(set, from);
            for (size_t k = 0; k < words; k++) {
                set[k] |= inherited[k];
            }
        }
    }
}

enum weft_status workflow_seal(struct workflow *workflow, struct weft_error *error)
{
    uint32_t missing[WORKFLOW_TASKS_MAX] = {0};
    const uint32_t task_count = workflow->task_count;
    const uint32_t edge_room = workflow->edge_count > 0 ? workflow->edge_count : 1;

    ASSERT(!workflow->sealed);
    if (task_count == 0) {
        return error_set(error, WEFT_INVALID, "workflow '%s' has no tasks", workflow->name);
    }
    workflow->order = memory_zeroed(task_count, sizeof(*workflow->order));
    workflow->sources = memory_zeroed(task_count, sizeof(*workflow->sources));
    workflow->edges_in = memory_zeroed(edge_room, sizeof(*workflow->edges_in));
    workflow->edges_out = memory_zeroed(edge_room, sizeof(*workflow->edges_out));
    group_edges(workflow);
    if (order_tasks(workflow, missing) < task_count) {
        const uint32_t task = find_cycle(workflow, missing);
        release_derived(workflow);
        return error_set(
            error, WEFT_INVALID, "workflow '%s' has a cycle through task '%s'", workflow->name,
            workflow->tasks[task].name);
    }
    number_ends(workflow);
    find_dominators(workflow);
    find_ancestors(workflow);
    workflow->sealed = true;
    return WEFT_OK;
}

uint32_t workflow_find_task(const struct workflow *workflow, const char *name)
{
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        if (strcmp(workflow->tasks[i].name, name) == 0) {
            return i;
        }
    }
    return TASK_NONE;
}
