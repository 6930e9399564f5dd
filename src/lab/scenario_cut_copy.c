#include "lab/scenario_cut_copy.h"

#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "mixture/mixture.h"
#include "mixture/mixture_copy.h"

_Static_assert(WORKER_NONE == NODE_NONE, "a victim that is gone has one name");

/* What the things that are left are called in the copy. */
struct numbers {
    uint32_t *nodes; /* NODE_NONE, WORKER_NONE and UINT32_MAX: gone. */
    uint32_t *workers;
    uint32_t workflows[WORKFLOWS_MAX];
};

/* How many workers of @node are left: pieces of CUT_WORKERS, and one at least. */
static uint32_t workers_left(
    const struct fleet *fleet, uint32_t node, const struct scenario_cut *cut)
{
    const struct fleet_node *machine = &fleet->nodes[node];
    uint32_t left = 0;
    for (uint32_t i = 0; i < machine->worker_count; i++) {
        left += cut_has(cut, CUT_WORKERS, machine->worker_first + i) ? 0 : 1;
    }
    return left == 0 ? 1 : left;
}

static void copy_node(
    struct fleet *copy, const struct fleet *fleet, uint32_t node, const struct scenario_cut *cut,
    struct numbers *numbers)
{
    const struct fleet_node *machine = &fleet->nodes[node];
    const uint32_t left = workers_left(fleet, node, cut);
    struct fleet_worker device = fleet->workers[machine->worker_first];
    if (left % fleet_partitions(&device) != 0) {
        device.partitions = 1;
    }
    const uint32_t first = copy->worker_count;
    const bool is_added =
        fleet_add_machine(copy, &device, left / fleet_partitions(&device), machine->cpu_units);
    ASSERT(is_added); /* There were as many before. */
    numbers->nodes[node] = copy->node_count - 1;
    if (machine->up_bytes_per_s != 0 || machine->down_bytes_per_s != 0) {
        fleet_set_rates(
            copy, numbers->nodes[node], machine->up_bytes_per_s, machine->down_bytes_per_s);
    }
    /* Workers of a machine are alike: it does not matter which of them goes. */
    uint32_t next = first;
    for (uint32_t i = machine->worker_first; i < machine->worker_first + machine->worker_count;
         i++) {
        if (!cut_has(cut, CUT_WORKERS, i)) {
            numbers->workers[i] = next++;
        }
    }
    if (next == first) { /* All should go, but one has to stay. */
        numbers->workers[machine->worker_first] = first;
    }
}

/* False if no node is left, or none is changed. */
static bool copy_fleet(
    const struct fleet *fleet, const struct scenario_cut *cut, struct scenario *copy,
    struct numbers *numbers)
{
    copy->fleet = fleet_create();
    for (uint32_t i = 0; i < fleet->device_count; i++) {
        (void)fleet_device(copy->fleet, fleet->devices[i]); /* As many as there were before. */
    }
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        numbers->workers[i] = WORKER_NONE;
    }
    for (uint32_t i = 0; i < fleet->node_count; i++) {
        numbers->nodes[i] = NODE_NONE;
        if (!cut_has(cut, CUT_NODES, i)) {
            copy_node(copy->fleet, fleet, i, cut, numbers);
        }
    }
    const bool has_own_rates = copy->fleet->network.has_own_rates;
    copy->fleet->network = fleet->network;
    copy->fleet->network.has_own_rates = has_own_rates;
    return copy->fleet->node_count > 0 &&
           (cut->part != CUT_WORKERS || copy->fleet->worker_count < fleet->worker_count);
}

static struct profile *copy_profile(const struct profile *profile)
{
    struct profile *copy = profile_create(profile->model_count);
    for (uint32_t i = 0; i < profile->model_count; i++) {
        copy->models[i] = profile->models[i];
        for (uint32_t j = 0; j < DEVICE_KINDS_MAX; j++) {
            const struct profile_curve *curve = &profile->models[i].curves[j];
            copy->models[i].curves[j] = (struct profile_curve){.distribution = curve->distribution};
            for (uint32_t k = 0; k < curve->point_count; k++) {
                const enum weft_status status = profile_add_point(copy, i, j, &curve->points[k]);
                ASSERT(status == WEFT_OK); /* Its points differ. */
            }
        }
    }
    return copy;
}

/* Where the pieces of a workflow begin among those of all. */
struct place {
    uint32_t task;
    uint32_t edge;
};

static bool is_task_cut(const struct scenario_cut *cut, uint32_t task)
{
    return cut_has(cut, CUT_TASKS, task) || cut_has(cut, CUT_TASKS_BETWEEN, task);
}

static void add_edge(
    struct workflow *copy, uint32_t from, uint32_t to, const struct workflow_edge *edge)
{
    const struct workflow_edge added = {
        .from = from,
        .to = to,
        .bytes = edge->bytes,
        .per_item = edge->per_item,
    };
    (void)workflow_add_edge(copy, &added); /* One that is there already stays as it is. */
}

/* What was made for a task that is left out goes to those after it, if neighbours are to meet. */
static void copy_edges(
    const struct workflow *workflow, const uint32_t *tasks, const struct scenario_cut *cut,
    struct place place, struct workflow *copy)
{
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        const struct workflow_edge *edge = &workflow->edges[i];
        if (tasks[edge->from] == TASK_NONE || cut_has(cut, CUT_EDGES, place.edge + i)) {
            continue;
        }
        if (tasks[edge->to] != TASK_NONE) {
            add_edge(copy, tasks[edge->from], tasks[edge->to], edge);
            continue;
        }
        const uint32_t out_count =
            cut->part == CUT_TASKS_BETWEEN ? workflow->tasks[edge->to].out_count : 0;
        for (uint32_t j = 0; j < out_count; j++) {
            const struct workflow_edge *out = workflow_out(workflow, edge->to, j);
            if (tasks[out->to] != TASK_NONE) {
                add_edge(copy, tasks[edge->from], tasks[out->to], out);
            }
        }
    }
}

/* NULL if no task of it is left. */
static struct workflow *copy_workflow(
    const struct workflow *workflow, const struct scenario_cut *cut, struct place place)
{
    uint32_t tasks[WORKFLOW_TASKS_MAX];
    struct weft_error error;
    struct workflow *copy = workflow_create(workflow->name);
    copy->slo_ns = workflow->slo_ns;
    copy->priority = workflow->priority;
    copy->input_bytes = workflow->input_bytes;
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        tasks[i] = TASK_NONE;
        if (!is_task_cut(cut, place.task + i)) {
            const enum weft_status status = workflow_add_task(copy, &workflow->tasks[i], &tasks[i]);
            ASSERT(status == WEFT_OK); /* There were as many, with other names. */
        }
    }
    copy_edges(workflow, tasks, cut, place, copy);
    if (workflow_seal(copy, &error) == WEFT_OK) {
        return copy;
    }
    workflow_destroy(copy);
    return NULL;
}

/* False if one of those that are to be left, or all of them, have no task. */
static bool copy_workflows(
    const struct catalogue *catalogue, const struct scenario_cut *cut, struct scenario *copy,
    struct numbers *numbers)
{
    struct place place = {0};
    copy->catalogue = catalogue_create();
    for (uint32_t i = 0; i < catalogue->model_count; i++) {
        (void)catalogue_model(copy->catalogue, catalogue->models[i]); /* As many as before. */
    }
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        numbers->workflows[i] = UINT32_MAX;
        if (!cut_has(cut, CUT_WORKFLOWS, i) && !cut_has(cut, CUT_WORKFLOWS_MOVED, i)) {
            struct workflow *left = copy_workflow(workflow, cut, place);
            if (left == NULL) {
                return false;
            }
            numbers->workflows[i] = copy->catalogue->workflow_count;
            const enum weft_status status = catalogue_add_workflow(copy->catalogue, left);
            ASSERT(status == WEFT_OK); /* There were as many, with other names. */
        }
        place.task += workflow->task_count;
        place.edge += workflow->edge_count;
    }
    return copy->catalogue->workflow_count > 0;
}

/* False if a list has nothing left. What a stream draws from has no pieces. */
static bool copy_arrivals(
    const struct scenario *scenario, const struct scenario_cut *cut, const struct numbers *numbers,
    struct scenario *copy)
{
    const struct arrivals *arrivals = &scenario->arrivals;
    copy->arrivals = *arrivals;
    for (uint32_t i = 0; i < WORKFLOWS_MAX; i++) {
        copy->arrivals.mix[i] = 0;
    }
    for (uint32_t i = 0; i < scenario->catalogue->workflow_count; i++) {
        if (numbers->workflows[i] != UINT32_MAX) {
            copy->arrivals.mix[numbers->workflows[i]] = arrivals->mix[i];
        }
    }
    if (arrivals->list_count == 0) {
        return true;
    }
    struct arrival *list = arena_alloc(&copy->arena, arrivals->list_count * sizeof(*list));
    uint32_t count = 0;
    for (uint32_t i = 0; i < arrivals->list_count; i++) {
        struct arrival arrival = arrivals->list[i];
        if (arrival.workflow != ARRIVAL_WORKFLOW_ANY) {
            arrival.workflow = numbers->workflows[arrival.workflow];
            if (arrival.workflow == UINT32_MAX && cut->part == CUT_WORKFLOWS_MOVED) {
                arrival.workflow = 0;
            }
        }
        const bool is_gone =
            arrival.workflow == UINT32_MAX && arrivals->list[i].workflow != ARRIVAL_WORKFLOW_ANY;
        if (!is_gone && !cut_has(cut, CUT_JOBS, i)) {
            list[count++] = arrival;
        }
    }
    copy->arrivals.list = list;
    copy->arrivals.list_count = count;
    if (arrivals->kind == ARRIVALS_LIST && copy->jobs > count) {
        copy->jobs = count;
    }
    return count > 0;
}

/* What is drawn at random is part of the list from here on: so it can be cut, one by one. */
static void copy_faults(
    const struct scenario *scenario, const struct scenario_cut *cut, const struct numbers *numbers,
    struct scenario *copy)
{
    uint32_t count = scenario->fault_count;
    if (count + scenario->fault_random_count == 0) {
        return;
    }
    struct fault *faults = arena_alloc(&copy->arena, FAULTS_MAX * sizeof(*faults));
    memcpy(faults, scenario->faults, count * sizeof(*faults));
    count += fault_draw_all(
        scenario->fault_randoms, scenario->fault_random_count, scenario->fleet, scenario->seeds[0],
        faults + count, FAULTS_MAX - count);
    copy->fault_random_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct fault fault = faults[i];
        const bool hits_worker = fault_hits_worker(fault.kind);
        fault.victim = hits_worker ? numbers->workers[fault.victim] : numbers->nodes[fault.victim];
        if (fault.victim != WORKER_NONE && !cut_has(cut, CUT_FAULTS, i)) {
            faults[copy->fault_count++] = fault;
        }
    }
    copy->faults = faults;
}

/* What is left may be another cluster: then it has to find another mixture. */
static void copy_mixture(const struct mixture *mixture, struct scenario *copy)
{
    copy->mixture = NULL;
    if (mixture != NULL &&
        mixture_check(mixture, copy->catalogue, copy->fleet, /* error */ NULL) == WEFT_OK) {
        copy->mixture = mixture_copy_to(&copy->arena, mixture);
    }
}

struct scenario *scenario_cut_copy(const struct scenario *scenario, const struct scenario_cut *cut)
{
    struct scenario *copy = memory_zeroed(1, sizeof(*copy));
    memcpy(copy, scenario, sizeof(*copy));
    arena_init(&copy->arena);
    copy->fleet = NULL;
    copy->catalogue = NULL;
    copy->faults = NULL;
    copy->fault_count = 0;
    copy->mixture = NULL;
    copy->profile = copy_profile(scenario->profile);
    copy->truth = scenario->truth == NULL ? NULL : copy_profile(scenario->truth);
    struct numbers numbers = {
        .nodes = arena_alloc(&copy->arena, scenario->fleet->node_count * sizeof(uint32_t)),
        .workers = arena_alloc(&copy->arena, scenario->fleet->worker_count * sizeof(uint32_t)),
    };
    if (!copy_fleet(scenario->fleet, cut, copy, &numbers) ||
        !copy_workflows(scenario->catalogue, cut, copy, &numbers) ||
        !copy_arrivals(scenario, cut, &numbers, copy)) {
        scenario_destroy(copy);
        return NULL;
    }
    copy_faults(scenario, cut, &numbers, copy);
    copy_mixture(scenario->mixture, copy);
    return copy;
}
