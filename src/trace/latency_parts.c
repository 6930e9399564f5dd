#include "trace/latency_parts.h"

#include "base/numbers.h"

const char *const latency_part_names[LATENCY_PARTS] = {"queued", "loading", "running", "moving"};

/* A walk back in time: everything from @at_ns on has been given to a part. */
struct walk {
    struct latency_parts *parts;
    int64_t begin_ns;
    int64_t at_ns;
};

/* What lies between @from_ns and where the walk is was @part of @task. */
static void give(
    struct walk *walk, enum latency_part part, int64_t from_ns, uint32_t task, uint32_t worker)
{
    const int64_t to_ns = min_i64(max_i64(from_ns, walk->begin_ns), walk->at_ns);
    const int64_t ns = walk->at_ns - to_ns;
    walk->at_ns = to_ns;
    walk->parts->ns[part] += ns;
    if (ns > walk->parts->longest_ns) {
        walk->parts->longest_ns = ns;
        walk->parts->longest = part;
        walk->parts->task = task;
        walk->parts->worker = worker;
    }
}

/* The sink that ended last. TASK_NONE if none did. */
static uint32_t last_sink(const struct workflow *workflow, const struct latency_task *tasks)
{
    uint32_t last = TASK_NONE;
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        if (workflow->tasks[i].sink != TASK_NONE && tasks[i].ended_ns > 0 &&
            (last == TASK_NONE || tasks[i].ended_ns > tasks[last].ended_ns)) {
            last = i;
        }
    }
    return last;
}

/* The producer of @task that ended last, up to @at_ns: what runs again may end later. */
static uint32_t last_producer(
    const struct workflow *workflow, const struct latency_task *tasks, uint32_t task, int64_t at_ns)
{
    uint32_t last = TASK_NONE;
    for (uint32_t i = 0; i < workflow->tasks[task].in_count; i++) {
        const uint32_t from = workflow_in(workflow, task, i)->from;
        if (tasks[from].ended_ns > 0 && tasks[from].ended_ns <= at_ns &&
            (last == TASK_NONE || tasks[from].ended_ns > tasks[last].ended_ns)) {
            last = from;
        }
    }
    return last;
}

void latency_parts_split(
    const struct workflow *workflow, const struct latency_task *tasks, int64_t begin_ns,
    int64_t end_ns, struct latency_parts *parts_out)
{
    struct walk walk = {.parts = parts_out, .begin_ns = begin_ns, .at_ns = end_ns};
    uint32_t task = last_sink(workflow, tasks);
    uint32_t later = task == TASK_NONE ? 0 : task; /* Whose inputs were on their way. */
    *parts_out = (struct latency_parts){.worker = tasks[later].worker};
    while (task != TASK_NONE) {
        const struct latency_task *own = &tasks[task];
        give(&walk, LATENCY_MOVING, own->ended_ns, later, tasks[later].worker);
        give(&walk, LATENCY_RUNNING, own->started_ns, task, own->worker);
        give(&walk, LATENCY_LOADING, walk.at_ns - own->loading_ns, task, own->worker);
        give(&walk, LATENCY_QUEUED, own->queued_ns, task, own->worker);
        later = task;
        task = last_producer(workflow, tasks, task, walk.at_ns);
    }
    give(&walk, LATENCY_MOVING, begin_ns, later, tasks[later].worker);
}
