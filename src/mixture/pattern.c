#include "mixture/pattern.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/limits.h"
#include "base/memory.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/workflow.h"

#define PRICE_NONE UINT32_MAX

/* A placement while it is being taken apart. Kept between calls: it is large. */
struct taking_apart {
    struct patterns *patterns;
    const struct pattern_of *of;
    const struct spot *spots;
    struct pattern pattern;
    uint32_t step_of[WORKFLOW_TASKS_MAX];    /* By task: its step, counted from the first. */
    double offset_ns[WORKFLOW_TASKS_MAX];    /* By task: when it ends in its step. */
    double spread[WORKFLOW_TASKS_MAX];       /* By task: the variance of that. */
    uint32_t worker_count;                   /* Of the placement. */
    struct spot workers[WORKFLOW_TASKS_MAX]; /* In the order in which tasks name them. */
    uint32_t last_step[WORKFLOW_TASKS_MAX];  /* By worker: its newest step. */
    uint32_t previous[PATTERN_STEPS_MAX];    /* By step: the one before it on its worker. */
    double starts[PATTERN_STEPS_MAX];        /* By step: when it begins if no job waits. */
};

void patterns_init(struct patterns *patterns)
{
    *patterns = (struct patterns){0};
    patterns->work = memory_zeroed(1, sizeof(*patterns->work));
}

void patterns_deinit(struct patterns *patterns)
{
    free(patterns->items);
    free(patterns->steps);
    free(patterns->arcs);
    free(patterns->waits);
    free(patterns->demands);
    free(patterns->spots);
    free(patterns->work);
}

void patterns_clear(struct patterns *patterns)
{
    patterns->count = 0;
    patterns->step_count = 0;
    patterns->arc_count = 0;
    patterns->wait_count = 0;
    patterns->demand_count = 0;
    patterns->spot_count = 0;
}

/* When @step can begin: the latest of its arcs, which goes to @via_out if that is not NULL. */
static double step_start(
    const struct patterns *patterns, const struct step *step, const double *prices,
    const double *starts, uint32_t *via_out)
{
    const struct arc *arcs = patterns->arcs + step->arc_first;
    double start_ns = -1;
    uint32_t via = 0;
    for (uint32_t i = 0; i < step->arc_count; i++) {
        double at_ns = arcs[i].fixed_ns + (arcs[i].from == STEP_NONE ? 0 : starts[arcs[i].from]);
        if (prices != NULL) {
            const struct wait_term *waits = patterns->waits + arcs[i].wait_first;
            for (uint32_t v = 0; v < arcs[i].wait_count; v++) {
                at_ns += waits[v].weight * prices[waits[v].price];
            }
        }
        if (at_ns > start_ns) { /* Strict: the first arc wins a tie. */
            start_ns = at_ns;
            via = step->arc_first + i;
        }
    }
    if (via_out != NULL) {
        *via_out = via;
    }
    return start_ns;
}

/* Room for one more element after @count. */
static void *room(void *array, uint32_t count, uint32_t *capacity, size_t element_bytes)
{
    if (count < *capacity) {
        return array;
    }
    *capacity = *capacity == 0 ? 64 : 2 * *capacity;
    return memory_zeroed_more(array, count, *capacity, element_bytes);
}

static void add_wait(struct patterns *patterns, uint32_t price, double weight)
{
    patterns->waits = room(
        patterns->waits, patterns->wait_count, &patterns->wait_capacity, sizeof(*patterns->waits));
    patterns->waits[patterns->wait_count++] = (struct wait_term){price, weight};
    patterns->arcs[patterns->arc_count - 1].wait_count++;
}

/* An arc of the newest step. */
static void add_arc(struct patterns *patterns, uint32_t from, double fixed_ns, double variance)
{
    patterns->arcs =
        room(patterns->arcs, patterns->arc_count, &patterns->arc_capacity, sizeof(*patterns->arcs));
    patterns->arcs[patterns->arc_count++] = (struct arc){
        .from = from,
        .wait_first = patterns->wait_count,
        .up = QUEUE_NONE,
        .fixed_ns = fixed_ns,
        .variance = variance,
    };
    patterns->steps[patterns->step_count - 1].arc_count++;
}

static void add_step(struct taking_apart *work, uint32_t queue)
{
    struct patterns *patterns = work->patterns;
    patterns->steps = room(
        patterns->steps, patterns->step_count, &patterns->step_capacity, sizeof(*patterns->steps));
    patterns->steps[patterns->step_count++] =
        (struct step){.arc_first = patterns->arc_count, .queue = queue};
    work->pattern.step_count++;
}

/* Add to what the pattern asks of a queue. */
static void ask(struct taking_apart *work, const struct demand *more)
{
    struct patterns *patterns = work->patterns;
    for (uint32_t i = work->pattern.demand_first; i < patterns->demand_count; i++) {
        if (patterns->demands[i].queue == more->queue) {
            patterns->demands[i].work_ns += more->work_ns;
            patterns->demands[i].ahead_ns += more->ahead_ns;
            patterns->demands[i].second += more->second;
            return;
        }
    }
    patterns->demands = room(
        patterns->demands, patterns->demand_count, &patterns->demand_capacity,
        sizeof(*patterns->demands));
    patterns->demands[patterns->demand_count++] = *more;
}

static double wire_ns(const struct queue_site *link, double bytes)
{
    return bytes / link->bytes_per_ns;
}

/*
 * Let the newest arc cross @crossing with probability @part. The last byte is there when
 * the slowest link has passed it on: the first has gone ahead. Links that are shared make
 * what crosses them longer in proportion.
 */
static void add_crossing(
    struct taking_apart *work, const struct crossing *crossing, double bytes, double part)
{
    const struct sites *sites = work->of->sites;
    struct patterns *patterns = work->patterns;
    double longest_ns = 0;
    for (uint32_t i = 0; i < crossing->count && bytes > 0; i++) {
        const struct queue_site *link = &sites->queues[crossing->queues[i]];
        const double time_ns = wire_ns(link, bytes);
        longest_ns = time_ns > longest_ns ? time_ns : longest_ns;
        add_wait(patterns, crossing->queues[i], part * (link->shared ? time_ns : 1));
        const struct demand more = {
            .queue = crossing->queues[i],
            .work_ns = part * time_ns,
            .second = part * time_ns * time_ns,
        };
        ask(work, &more);
    }
    patterns->arcs[patterns->arc_count - 1].fixed_ns += part * (sites->latency_ns + longest_ns);
}

/*
 * The inputs of a request come from the machine that it reached, which may be any: from
 * another one with probability (n - 1) / n. What they put on the links up is the same for
 * all placements (congestion.h).
 */
static void add_arrival(struct taking_apart *work, struct spot spot, uint32_t wait)
{
    const struct sites *sites = work->of->sites;
    const struct site *site = &sites->sites[spot.site];
    const double node_count = sites->node_count;
    struct crossing crossing = {0};
    if (sites->bottleneck != QUEUE_NONE) {
        crossing.queues[crossing.count++] = sites->bottleneck;
    }
    if (site->down != QUEUE_NONE) {
        crossing.queues[crossing.count++] = site->down;
    }
    add_arc(work->patterns, STEP_NONE, 0, 0);
    add_crossing(work, &crossing, work->of->stream->input_bytes, (node_count - 1) / node_count);
    if (wait != PRICE_NONE) {
        add_wait(work->patterns, wait, 1);
    }
}

/* The arc of one input of a task that begins the newest step. */
static void add_input(struct taking_apart *work, const struct workflow_edge *edge, uint32_t wait)
{
    const uint32_t from = edge->from;
    const struct spot here = work->spots[edge->to];
    const struct spot there = work->spots[from];
    add_arc(work->patterns, work->step_of[from], work->offset_ns[from], work->spread[from]);
    work->patterns->arcs[work->patterns->arc_count - 1].own = spot_equal(here, there);
    if (!spot_same_machine(here, there)) {
        const uint32_t number = (uint32_t)(edge - work->of->stream->workflow->edges);
        struct crossing crossing;
        sites_cross(work->of->sites, there.site, here.site, &crossing);
        add_crossing(work, &crossing, work->of->stream->edge_bytes[number], 1);
        struct arc *arc = &work->patterns->arcs[work->patterns->arc_count - 1];
        arc->up = work->of->sites->sites[there.site].up;
        arc->quiet_ns = work->offset_ns[from];
    }
    if (wait != PRICE_NONE && (work->of->requeue || !spot_equal(here, there))) {
        add_wait(work->patterns, wait, 1);
    }
}

/* The number of the worker of @spot in this placement. */
static uint32_t find_worker(struct taking_apart *work, struct spot spot)
{
    uint32_t worker = 0;
    while (worker < work->worker_count && !spot_equal(work->workers[worker], spot)) {
        worker++;
    }
    if (worker == work->worker_count) {
        work->workers[worker] = spot;
        work->last_step[worker] = STEP_NONE;
        work->worker_count++;
    }
    return worker;
}

/* Whether @task follows in step @last: everything that it needs was made there. */
static bool is_next(const struct taking_apart *work, uint32_t task, uint32_t last)
{
    const struct workflow *workflow = work->of->stream->workflow;
    const uint32_t in_count = workflow->tasks[task].in_count;
    if (work->of->requeue || in_count == 0 || last == STEP_NONE) {
        return false;
    }
    for (uint32_t i = 0; i < in_count; i++) {
        if (work->step_of[workflow_in(workflow, task, i)->from] != last) {
            return false;
        }
    }
    return true;
}

/* When the inputs of @task are there if no job ever waits. */
static double ready_ns(const struct taking_apart *work, uint32_t task)
{
    const struct stream *stream = work->of->stream;
    const struct sites *sites = work->of->sites;
    const struct spot here = work->spots[task];
    double latest_ns = 0;
    for (uint32_t i = 0; i < stream->workflow->tasks[task].in_count; i++) {
        const struct workflow_edge *edge = workflow_in(stream->workflow, task, i);
        const struct spot there = work->spots[edge->from];
        double at_ns = work->starts[work->step_of[edge->from]] + work->offset_ns[edge->from];
        if (!spot_same_machine(here, there)) {
            struct crossing crossing;
            double longest_ns = 0;
            sites_cross(sites, there.site, here.site, &crossing);
            for (uint32_t k = 0; k < crossing.count; k++) {
                const double bytes = stream->edge_bytes[edge - stream->workflow->edges];
                const double time_ns = wire_ns(&sites->queues[crossing.queues[k]], bytes);
                longest_ns = time_ns > longest_ns ? time_ns : longest_ns;
            }
            at_ns += sites->latency_ns + longest_ns;
        }
        latest_ns = at_ns > latest_ns ? at_ns : latest_ns;
    }
    return latest_ns;
}

/*
 * The price at which @task waits for its worker. A task with an input that was made there is
 * next when the one being served leaves. While an earlier step of the job is still there it
 * comes right behind that and waits for no other.
 */
static uint32_t find_wait(const struct taking_apart *work, uint32_t task, uint32_t last)
{
    const struct workflow *workflow = work->of->stream->workflow;
    const struct sites *sites = work->of->sites;
    const struct spot spot = work->spots[task];
    const uint32_t queue = sites->sites[spot.site].worker_first + spot.slot;
    if (last != STEP_NONE) {
        const struct step *before = &work->patterns->steps[work->pattern.step_first + last];
        const double end_ns = work->starts[last] + before->work_ns;
        const double at_ns = ready_ns(work, task);
        if (work->of->requeue ? at_ns < end_ns : at_ns <= end_ns) {
            return PRICE_NONE;
        }
    }
    for (uint32_t i = 0; i < workflow->tasks[task].in_count && !work->of->requeue; i++) {
        if (spot_equal(work->spots[workflow_in(workflow, task, i)->from], spot)) {
            return sites->queue_count + queue;
        }
    }
    return queue;
}

/* The step that was added last has all its arcs: when does it begin if no job waits? */
static void close_step(struct taking_apart *work)
{
    const struct patterns *patterns = work->patterns;
    const struct step *step = &patterns->steps[patterns->step_count - 1];
    work->starts[work->pattern.step_count - 1] =
        step_start(patterns, step, NULL, work->starts, NULL);
}

/* A step that gathers the inputs of @task, if all of them then wait for the worker. */
static bool gather(struct taking_apart *work, uint32_t task, uint32_t wait)
{
    const struct workflow *workflow = work->of->stream->workflow;
    const uint32_t in_count = workflow->tasks[task].in_count;
    if (in_count < 2 || wait >= work->of->sites->queue_count) {
        return false;
    }
    add_step(work, QUEUE_NONE);
    work->previous[work->pattern.step_count - 1] = STEP_NONE;
    for (uint32_t i = 0; i < in_count; i++) {
        add_input(work, workflow_in(workflow, task, i), PRICE_NONE);
    }
    close_step(work);
    return true;
}

/* Whether @task has an input from step @last. */
static bool is_input(const struct taking_apart *work, uint32_t task, uint32_t last)
{
    const struct workflow *workflow = work->of->stream->workflow;
    for (uint32_t i = 0; i < workflow->tasks[task].in_count; i++) {
        if (work->step_of[workflow_in(workflow, task, i)->from] == last) {
            return true;
        }
    }
    return false;
}

/* A step of its own for @task. */
static void begin_step(struct taking_apart *work, uint32_t task, uint32_t worker)
{
    const struct workflow *workflow = work->of->stream->workflow;
    struct patterns *patterns = work->patterns;
    const struct spot spot = work->spots[task];
    const uint32_t in_count = workflow->tasks[task].in_count;
    const uint32_t last = work->last_step[worker];
    const uint32_t wait = find_wait(work, task, last);
    const bool is_gathered = gather(work, task, wait);
    const uint32_t number = work->pattern.step_count;
    add_step(work, work->of->sites->sites[spot.site].worker_first + spot.slot);
    work->last_step[worker] = number;
    work->previous[number] = last;
    patterns->steps[patterns->step_count - 1].goes_ahead =
        wait != PRICE_NONE && wait >= work->of->sites->queue_count;
    patterns->steps[patterns->step_count - 1].goes_on = wait == PRICE_NONE;
    for (uint32_t i = 0; i < in_count && !is_gathered; i++) {
        add_input(work, workflow_in(workflow, task, i), wait);
    }
    if (is_gathered) {
        add_arc(patterns, number - 1, 0, 0);
        add_wait(patterns, wait, 1);
    } else if (in_count == 0) {
        add_arrival(work, spot, wait);
    }
    if (last != STEP_NONE && !(is_gathered && is_input(work, task, last))) {
        const struct step *before = &patterns->steps[work->pattern.step_first + last];
        add_arc(patterns, last, before->work_ns, before->variance);
        patterns->arcs[patterns->arc_count - 1].own = true;
    }
    close_step(work);
}

static bool place_task(struct taking_apart *work, uint32_t task)
{
    const struct spot spot = work->spots[task];
    const uint32_t device = sites_device(work->of->sites, spot.site, spot.slot);
    const struct task_time *time = stream_time(work->of->stream, task, device);
    if (time->mean_ns < 0) {
        return false;
    }
    const uint32_t worker = find_worker(work, spot);
    if (!is_next(work, task, work->last_step[worker])) {
        begin_step(work, task, worker);
    }
    const uint32_t number = work->last_step[worker];
    struct step *step = &work->patterns->steps[work->pattern.step_first + number];
    step->work_ns += time->mean_ns;
    step->variance += time->variance;
    work->step_of[task] = number;
    work->offset_ns[task] = step->work_ns;
    work->spread[task] = step->variance;
    return true;
}

/* The answer goes back to where the request came from. */
static void add_answer(struct taking_apart *work)
{
    const struct workflow *workflow = work->of->stream->workflow;
    const struct sites *sites = work->of->sites;
    const double node_count = sites->node_count;
    const double back_ns = sites->latency_ns * (node_count - 1) / node_count;
    add_step(work, QUEUE_NONE);
    for (uint32_t task = 0; task < workflow->task_count; task++) {
        if (workflow->tasks[task].out_count == 0) {
            add_arc(
                work->patterns, work->step_of[task], work->offset_ns[task] + back_ns,
                work->spread[task]);
        }
    }
}

/*
 * What workers are asked for. Steps that follow each other without a gap when no job waits
 * are one piece of work for the worker: what comes meanwhile waits for all of it.
 */
static void ask_workers(struct taking_apart *work)
{
    const struct step *steps = work->patterns->steps + work->pattern.step_first;
    double piece_ns[PATTERN_STEPS_MAX]; /* By step: the piece of work up to its end. */
    bool is_ahead[PATTERN_STEPS_MAX];   /* By step: whether that piece went ahead of others. */
    for (uint32_t i = 0; i + 1 < work->pattern.step_count; i++) {
        const uint32_t before = work->previous[i];
        if (steps[i].queue == QUEUE_NONE) {
            continue;
        }
        const bool goes_on = before != STEP_NONE && !work->of->requeue &&
                             work->starts[i] <= work->starts[before] + steps[before].work_ns;
        const double earlier_ns = goes_on ? piece_ns[before] : 0;
        const double whole_ns = earlier_ns + steps[i].work_ns;
        piece_ns[i] = whole_ns;
        is_ahead[i] = steps[i].goes_ahead || (goes_on && is_ahead[before]);
        const struct demand more = {
            .queue = steps[i].queue,
            .work_ns = steps[i].work_ns,
            .ahead_ns = is_ahead[i] ? steps[i].work_ns : 0,
            .second = whole_ns * whole_ns - earlier_ns * earlier_ns + steps[i].variance,
        };
        ask(work, &more);
    }
}

uint32_t patterns_find(
    const struct patterns *patterns, const struct pattern_of *of, const struct spot *spots)
{
    for (uint32_t i = 0; i < patterns->count; i++) {
        const struct spot *known = patterns->spots + patterns->items[i].spot_first;
        uint32_t same = 0;
        while (patterns->items[i].stream == of->number && same < of->stream->workflow->task_count &&
               spot_equal(known[same], spots[same])) {
            same++;
        }
        if (same == of->stream->workflow->task_count) {
            return i;
        }
    }
    return UINT32_MAX;
}

uint32_t patterns_add(
    struct patterns *patterns, const struct pattern_of *of, const struct spot *spots)
{
    const struct workflow *workflow = of->stream->workflow;
    struct taking_apart *work = patterns->work;
    const struct patterns before = *patterns;
    work->patterns = patterns;
    work->of = of;
    work->spots = spots;
    work->worker_count = 0;
    work->pattern = (struct pattern){
        .stream = of->number,
        .step_first = patterns->step_count,
        .demand_first = patterns->demand_count,
        .spot_first = patterns->spot_count,
    };
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        if (!place_task(work, workflow->order[i])) {
            patterns->step_count = before.step_count;
            patterns->arc_count = before.arc_count;
            patterns->wait_count = before.wait_count;
            patterns->demand_count = before.demand_count;
            return UINT32_MAX;
        }
    }
    add_answer(work);
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        patterns->spots = room(
            patterns->spots, patterns->spot_count, &patterns->spot_capacity,
            sizeof(*patterns->spots));
        patterns->spots[patterns->spot_count++] = spots[i];
    }
    patterns->items =
        room(patterns->items, patterns->count, &patterns->capacity, sizeof(*patterns->items));
    patterns->items[patterns->count++] = work->pattern;
    const uint32_t index = patterns->count - 1;
    work->pattern.idle_ns = pattern_length(patterns, index, NULL, work->starts, NULL);
    ask_workers(work);
    work->pattern.demand_count = patterns->demand_count - work->pattern.demand_first;
    patterns->items[index] = work->pattern;
    return index;
}

double pattern_length(
    const struct patterns *patterns, uint32_t index, const double *prices, double *starts_out,
    uint32_t *via_out)
{
    const struct pattern *pattern = &patterns->items[index];
    const struct step *steps = patterns->steps + pattern->step_first;
    for (uint32_t i = 0; i < pattern->step_count; i++) {
        uint32_t *via = via_out != NULL ? &via_out[i] : NULL;
        starts_out[i] = step_start(patterns, &steps[i], prices, starts_out, via);
    }
    return starts_out[pattern->step_count - 1];
}
