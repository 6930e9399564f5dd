#include "policy/compass_plan.h"

#include "base/assert.h"
#include "base/numbers.h"
#include "model/graph.h"
#include "policy/choose.h"
#include "policy/demand.h"
#include "policy/weighed.h"

/* The table of one planning; nearly a mebibyte, but only the part in use is touched. */
struct table {
    const struct policy_input *input;
    const struct job_facts *job;
    const struct workflow *graph;
    struct compass_prices prices;
    uint32_t count;                              /* Usable workers. */
    struct need_room room;                       /* What those can hold. */
    uint16_t workers[WORKERS_MAX];               /* Ascending. */
    struct compass_worker believed[WORKERS_MAX]; /* By position. */
    uint32_t items[WORKFLOW_TASKS_MAX];
    int64_t run_ns[WORKFLOW_TASKS_MAX];
    int64_t rank[WORKFLOW_TASKS_MAX];
    int64_t finish_ns[WORKFLOW_TASKS_MAX];
    uint32_t node[WORKFLOW_TASKS_MAX];    /* Where each placed task runs. */
    int64_t cross_ns[WORKFLOW_EDGES_MAX]; /* What each edge takes between two machines. */
};

/* The best worker so far. */
struct choice {
    uint32_t position;
    struct compass_cost cost;
};

static void open_table(struct table *table)
{
    const struct policy_input *input = table->input;
    const uint32_t worker_count = input->view->fleet->worker_count;
    const struct compass_prices kind = {.original = input->options[COMPASS_ORIGINAL] != 0};
    int64_t backlog_ns = 0;
    uint32_t count = 0;
    table->room.kinds = 0;
    for (uint32_t worker = 0; worker < worker_count; worker++) {
        struct compass_row row;
        if (!compass_read(input, worker, &row)) {
            continue;
        }
        struct compass_worker *believed = &table->believed[count];
        table->workers[count] = (uint16_t)worker;
        need_room_add(&table->room, &input->view->fleet->workers[worker]);
        believed->spec = &input->view->fleet->workers[worker];
        believed->free_ns = row.free_ns + row.promised_ns;
        const struct row_cache *cache = view_cache(input->view, worker);
        believed->room_bytes = cache->free_bytes;
        believed->held = compass_held(&kind, cache);
        backlog_ns += believed->free_ns - input->view->now_ns;
        count++;
    }
    table->count = count;
    if (count > 0) {
        const int64_t run_ns = compass_mean_run_ns(input, table->graph, table->workers[0]);
        table->prices = compass_prices(input, backlog_ns / count, run_ns);
    }
    for (uint32_t i = 0; i < count; i++) {
        table->believed[i].free_ns += compass_noise_ns(&table->prices, table->workers[i]);
    }
}

/* Items are known as producers end; until then, the middle of what they may give. */
static uint32_t expect_items(const struct table *table, uint32_t task)
{
    const struct workflow *graph = table->graph;
    uint32_t items = graph->tasks[task].in_count == 0 ? table->job->items : 0;
    for (uint32_t i = 0; i < graph->tasks[task].in_count; i++) {
        const uint32_t from = workflow_in(graph, task, i)->from;
        const struct items_rule gives = graph->tasks[from].gives;
        const uint32_t given =
            gives.high == 0 ? table->items[from] : gives.low + (gives.high - gives.low) / 2;
        items = max_u32(given, items);
    }
    return items;
}

/* Between two machines: all pairs are alike, so any two will do. */
static int64_t cross_ns(const struct table *table, uint64_t bytes)
{
    const struct fleet *fleet = table->input->view->fleet;
    return fleet->node_count < 2 || bytes == 0 ? fleet->network.latency_ns
                                               : fleet_transfer_ns(fleet, 0, 1, bytes);
}

/* HEFT, Topcuoglu 2002, equation 3, on the device of the first worker. */
static void rank_tasks(struct table *table, uint32_t *order_out)
{
    const struct workflow *graph = table->graph;
    const struct policy_input *input = table->input;
    const uint32_t device = input->view->fleet->workers[table->workers[0]].device;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        const uint32_t task = graph->order[i];
        table->items[task] = expect_items(table, task);
        table->run_ns[task] = profile_run_one_ns(input->profile, graph->tasks[task].run, device);
    }
    for (uint32_t edge = 0; edge < graph->edge_count; edge++) {
        const struct workflow_edge *crossed = &graph->edges[edge];
        table->cross_ns[edge] =
            cross_ns(table, workflow_edge_bytes(crossed, table->items[crossed->from]));
    }
    graph_upward_rank(graph, table->run_ns, table->cross_ns, table->rank);
    graph_rank_order(graph, table->rank, order_out);
}

/* When the inputs of @task can be on @node; WORKER_NONE for a node that has none of them. */
static int64_t arrive_ns(const struct table *table, uint32_t task, uint32_t node)
{
    const struct workflow *graph = table->graph;
    int64_t latest_ns = table->input->view->now_ns;
    if (graph->tasks[task].in_count == 0) {
        const uint32_t from = table->input->view->fleet->workers[table->job->ingress].node;
        return latest_ns +
               (from == node
                    ? 0
                    : cross_ns(table, workflow_part_bytes(graph, task, graph->input_bytes)));
    }
    for (uint32_t i = 0; i < graph->tasks[task].in_count; i++) {
        const struct workflow_edge *edge = workflow_in(graph, task, i);
        const int64_t cross =
            table->node[edge->from] == node ? 0 : table->cross_ns[edge - graph->edges];
        latest_ns = compass_later(latest_ns, table->finish_ns[edge->from] + cross);
    }
    return latest_ns;
}

/* Weigh the worker at @position, and take it if it is better: the lowest index wins a tie. */
static inline void consider(
    struct table *table, struct compass_task *task, uint32_t position, struct choice *choice)
{
    const struct fleet_worker *spec = &table->input->view->fleet->workers[table->workers[position]];
    const struct compass_times *times = compass_times_on(task, spec);
    if (times->run_ns == COMPASS_NEVER) {
        return;
    }
    const struct compass_cost cost =
        compass_weigh(&table->prices, task, times, &table->believed[position]);
    weigh(
        table->input, table->graph, (uint32_t)(task->kind - table->graph->tasks),
        table->workers[position], cost.score_ns);
    if (cost.score_ns < choice->cost.score_ns ||
        (cost.score_ns == choice->cost.score_ns && position < choice->position)) {
        *choice = (struct choice){.position = position, .cost = cost};
    }
}

/* The position of @worker, or that of the first usable one after it. */
static uint32_t find_position(const struct table *table, uint32_t worker)
{
    uint32_t low = 0;
    uint32_t high = table->count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (table->workers[middle] < worker) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Weigh the workers of @node again: some inputs of task @number need not travel there. */
static void consider_node(
    struct table *table, struct compass_task *task, uint32_t number, uint32_t node,
    struct choice *choice)
{
    const struct fleet_node *machine = &table->input->view->fleet->nodes[node];
    const uint32_t end = machine->worker_first + machine->worker_count;
    const int64_t arrive = arrive_ns(table, number, node);
    for (uint32_t position = find_position(table, machine->worker_first);
         position < table->count && table->workers[position] < end; position++) {
        struct compass_worker *believed = &table->believed[position];
        const int64_t before_ns = believed->arrive_ns;
        believed->arrive_ns = arrive;
        consider(table, task, position, choice);
        believed->arrive_ns = before_ns;
    }
}

/* Where @number costs least: all workers without their inputs, then again those that have some. */
static struct choice choose(struct table *table, struct compass_task *task, uint32_t number)
{
    const struct workflow *graph = table->graph;
    const int64_t arrive = arrive_ns(table, number, WORKER_NONE);
    struct choice choice = {.position = UINT32_MAX, .cost = {.score_ns = INT64_MAX}};
    for (uint32_t position = 0; position < table->count; position++) {
        table->believed[position].arrive_ns = arrive;
        consider(table, task, position, &choice);
    }
    if (graph->tasks[number].in_count == 0) {
        const uint32_t from = table->input->view->fleet->workers[table->job->ingress].node;
        consider_node(table, task, number, from, &choice);
    }
    for (uint32_t i = 0; i < graph->tasks[number].in_count; i++) {
        consider_node(
            table, task, number, table->node[workflow_in(graph, number, i)->from], &choice);
    }
    return choice;
}

/* What is loaded at @position, those have too that share its memory. */
static void tell_sharers(
    const struct table *table, struct compass_worker *believed, uint32_t position)
{
    const struct fleet *fleet = table->input->view->fleet;
    const uint32_t worker = table->workers[position];
    for (uint32_t other = fleet_next_sharer(fleet, worker, WORKER_NONE); other != WORKER_NONE;
         other = fleet_next_sharer(fleet, worker, other)) {
        const uint32_t at = find_position(table, other);
        if (at < table->count && table->workers[at] == other) {
            believed[at].held = believed[position].held;
            believed[at].room_bytes = believed[position].room_bytes;
        }
    }
}

static void take(struct table *table, uint32_t number, const struct choice *choice)
{
    const struct workflow_task *kind = &table->graph->tasks[number];
    struct compass_worker *worker = &table->believed[choice->position];
    for (uint32_t i = 0; i < kind->model_count; i++) {
        const uint64_t bytes = table->input->profile->models[kind->models[i]].resident_bytes;
        if (model_set_has(&worker->held, kind->models[i])) {
            continue;
        }
        if (table->prices.keep_64ths > 0 && bytes > worker->room_bytes) {
            demand_note_load(table->input->state, table->input->view->now_ns);
        }
        worker->room_bytes -= bytes <= worker->room_bytes ? bytes : 0;
        if (!table->prices.original) { /* As published, it counts as absent. */
            model_set_add(&worker->held, kind->models[i]);
        }
    }
    tell_sharers(table, table->believed, choice->position);
    worker->free_ns = choice->cost.end_ns;
    table->finish_ns[number] = choice->cost.end_ns;
    table->node[number] = table->input->view->fleet->workers[table->workers[choice->position]].node;
}

static void place(struct table *table, uint32_t number, uint16_t *placement_out)
{
    struct compass_task task;
    compass_task_open(&task, table->input, &table->graph->tasks[number], table->items[number]);
    struct choice choice = choose(table, &task, number);
    if (choice.position == UINT32_MAX) { /* None can hold as many items as are expected. */
        task.need = choose_plan_need(table->input, table->job, number);
        task.known = 0;
        choice = choose(table, &task, number);
    }
    ASSERT(choice.position < table->count);
    take(table, number, &choice);
    placement_out[number] = table->workers[choice.position];
}

/* Whether each task has a worker that can run it. */
static bool can_run_all(const struct table *table)
{
    for (uint32_t task = 0; task < table->graph->task_count; task++) {
        if (!need_room_meets(&table->room, choose_plan_need(table->input, table->job, task))) {
            return false;
        }
    }
    return true;
}

void compass_plan(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    uint32_t order[WORKFLOW_TASKS_MAX];
    struct table table;
    table.input = input;
    table.job = job;
    table.graph = job->graph;
    if (input->options[COMPASS_KEEP] > 0) {
        demand_note_job(input->state, job->graph, input->view->now_ns);
    }
    open_table(&table);
    if (table.count == 0 || !can_run_all(&table)) {
        return;
    }
    rank_tasks(&table, order);
    for (uint32_t i = 0; i < job->graph->task_count; i++) {
        place(&table, order[i], placement_out);
    }
}
