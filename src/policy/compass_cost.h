/*
 * compass_cost.h - what it costs to run a task on a worker, as Compass sees it.
 *
 * Shared by planning (all tasks at arrival) and adjustment (one task on its way), so that
 * both mean the same by "earlier". Costs are whole nanoseconds; factors are in 64ths, so
 * that decisions compare integers.
 */
#ifndef POLICY_COMPASS_COST_H
#define POLICY_COMPASS_COST_H

#include "base/numbers.h"
#include "policy/compass_prices.h"
#include "policy/policy.h"
#include "profile/need.h"

/* The cannot-run-there of a run time. */
#define COMPASS_NEVER INT64_C(-1)

/* One task on workers of one kind. */
struct compass_times {
    uint64_t bus_bytes_per_s; /* For which workers it holds. */
    uint64_t memory_bytes;
    int64_t run_ns; /* COMPASS_NEVER: it cannot run there, or is too large. */
    int64_t load_ns[TASK_MODELS_MAX];
    int64_t first_run_ns[TASK_MODELS_MAX]; /* What the run after that load takes longer. */
};

struct demand;

/* What does not change from worker to worker while one task is placed. */
struct compass_task {
    const struct policy_input *input;
    const struct demand *demand; /* Of models; NULL: nothing is known, and keep_64ths is 0. */
    const struct workflow_task *kind;
    uint32_t items;
    struct need need;
    bool one_kind;    /* As published: all devices are of the first kind. */
    bool loads_count; /* Whether loading a model takes time. */
    uint32_t known;   /* A bit for each kind of device whose times are known. */
    uint64_t bytes[TASK_MODELS_MAX];
    struct compass_times times[DEVICE_KINDS_MAX];
};

_Static_assert(DEVICE_KINDS_MAX <= 32, "a bit for each kind of device");

/* Later than any task ends, with room to add to it. */
#define COMPASS_NOT_USABLE_NS (INT64_MAX / 2)

/* A worker as its row shows it. */
struct compass_row {
    int64_t free_ns;     /* When it has done what is there; or COMPASS_NOT_USABLE_NS. */
    int64_t promised_ns; /* On top: reservations, and loads that nothing hides. */
};

/* A worker as one choice sees it. */
struct compass_worker {
    const struct fleet_worker *spec;
    int64_t free_ns;
    int64_t arrive_ns; /* When the inputs are there. */
    uint64_t room_bytes;
    struct model_set held; /* Resident, on the bus, or planned by this job. */
};

struct compass_cost {
    int64_t end_ns;   /* When the task is expected to end. */
    int64_t score_ns; /* The same with what it does to others: the smallest is best. */
};

static inline int64_t compass_later(int64_t a_ns, int64_t b_ns)
{
    return max_i64(a_ns, b_ns);
}

/*
 * The mean run time of the tasks of @graph on the kind of device that @worker has; of those that
 * it cannot run, on the first kind that can.
 */
int64_t compass_mean_run_ns(
    const struct policy_input *input, const struct workflow *graph, uint32_t worker);

/* Whether every worker is there: work may be placed on it as far as its own row says. */
static inline bool compass_is_calm(const struct view *view)
{
    const struct members *members = view->members;
    return view->suspects.count == 0 && view->far.count == 0 && !view->fleet->has_slots &&
           (members == NULL || members->up_count == members->node_count);
}

/* Whether new work may be placed on @worker, whose row is @load. */
static inline bool compass_may_use(
    const struct view *view, uint32_t worker, const struct row_load *load)
{
    return compass_is_calm(view) ? load->accepting != 0 : view_is_usable(view, worker);
}

/* Read the load of @worker. False if nothing may be placed there. */
static inline bool compass_read(
    const struct policy_input *input, uint32_t worker, struct compass_row *row_out)
{
    const struct view *view = input->view;
    const struct row_load *load = view_load(view, worker);
    if (!compass_may_use(view, worker, load)) {
        return false;
    }
    row_out->free_ns = view->now_ns;
    row_out->promised_ns = 0;
    if (input->options[COMPASS_LOAD] == 0) {
        return true;
    }
    if (input->options[COMPASS_ORIGINAL] != 0) { /* Run times alone, which never decay. */
        row_out->free_ns += load->run_ns;
        return true;
    }
    const int64_t delay_ns = view_is_own(view, worker) ? 0 : view->board->delay_ns;
    const int64_t done_ns = load->at_ns + delay_ns + load->run_ns;
    row_out->free_ns = compass_later(done_ns, view->now_ns);
    row_out->promised_ns = compass_later(view_free_at_ns(view, worker) - row_out->free_ns, 0);
    return true;
}

/* What it costs that @task makes a model of @worker leave, beside the eviction price. */
int64_t compass_loss_ns(
    const struct compass_prices *prices, const struct compass_task *task,
    const struct compass_worker *worker);

/* What it costs others that @worker, without room, loads models of @task, worth @absent_ns. */
static inline int64_t compass_eviction_ns(
    const struct compass_prices *prices, const struct compass_task *task,
    const struct compass_worker *worker, int64_t absent_ns)
{
    return absent_ns / 64 * prices->eviction_64ths +
           (prices->keep_64ths > 0 ? compass_loss_ns(prices, task, worker) : 0);
}

/* The same of @worker as its row shows it. */
int64_t compass_eviction_at_ns(
    const struct compass_prices *prices, const struct compass_task *task, uint32_t worker,
    int64_t absent_ns);

/* What counts as being on a worker. As published, 64 models have a bit. */
struct model_set compass_held(const struct compass_prices *prices, const struct row_cache *cache);

/* For any policy; compass_task_open() is for Compass, whose options it reads. */
void compass_task_init(
    struct compass_task *task, const struct policy_input *input, const struct workflow_task *kind,
    uint32_t items);
void compass_task_open(
    struct compass_task *task, const struct policy_input *input, const struct workflow_task *kind,
    uint32_t items);

/* Work out what @task takes on workers like @spec. */
void compass_times_make(struct compass_task *task, const struct fleet_worker *spec);

/* The same, remembered for each kind of device: no division as long as they are alike. */
static inline const struct compass_times *compass_times_on(
    struct compass_task *task, const struct fleet_worker *spec)
{
    const struct compass_times *times = &task->times[spec->device];
    if ((task->known >> spec->device & 1) == 0 || times->memory_bytes != spec->memory_bytes ||
        times->bus_bytes_per_s != spec->bus_bytes_per_s) {
        compass_times_make(task, spec);
    }
    return times;
}

/*
 * When @task ends on @worker, and what that is worth. A load hides behind what runs before, and
 * what the first run after it takes longer does not. What is left counts less where memory is free,
 * as later tasks find the copy there, and more where it makes other models leave.
 */
static inline struct compass_cost compass_weigh(
    const struct compass_prices *prices, const struct compass_task *task,
    const struct compass_times *times, const struct compass_worker *worker)
{
    const int64_t ready_ns = compass_later(worker->free_ns, worker->arrive_ns);
    int64_t load_ns = 0;
    int64_t first_run_ns = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < task->kind->model_count; i++) {
        if (!model_set_has(&worker->held, task->kind->models[i])) {
            load_ns += times->load_ns[i];
            first_run_ns += times->first_run_ns[i];
            bytes += task->bytes[i];
        }
    }
    struct compass_cost cost = {.end_ns = ready_ns + times->run_ns};
    cost.score_ns = cost.end_ns;
    const int64_t absent_ns = load_ns + first_run_ns;
    if (absent_ns == 0) {
        return cost;
    }
    if (prices->original) { /* The fetch waits for the worker; evicting doubles it. */
        cost.end_ns += bytes > worker->room_bytes ? 2 * absent_ns : absent_ns;
        cost.score_ns = cost.end_ns;
        return cost;
    }
    const int64_t wait_ns = compass_later(worker->arrive_ns + load_ns - ready_ns, 0) + first_run_ns;
    cost.end_ns += wait_ns;
    cost.score_ns = cost.end_ns + (bytes > worker->room_bytes
                                       ? compass_eviction_ns(prices, task, worker, absent_ns)
                                       : -(wait_ns / 64 * prices->spread_64ths));
    return cost;
}

#endif /* POLICY_COMPASS_COST_H */
