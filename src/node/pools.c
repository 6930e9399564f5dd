/* pools.c - the memory of nodes: made by the host, grown only between steps. */
#include <stddef.h>

#include "base/numbers.h"
#include "node/access.h"
#include "node/home.h"
#include "node/keys.h"
#include "node/rows.h"

_Static_assert(offsetof(struct visit, placement) == 60, "many wait: no gaps");
_Static_assert(offsetof(struct job, placement) == 142, "many wait: no gaps");
_Static_assert(JOB_ATTEMPTS_MAX <= UINT8_MAX, "losses of a job are counted that far");

enum { POOL_FIRST = 64, GRANTS_FIRST = 4, POOL_JOBS_MAX = 1 << 28, STEPS_AHEAD = 16 };

/* The most edges, or inputs of a job, that one task of any workflow can set in motion. */
static uint32_t fan_max(const struct catalogue *catalogue)
{
    uint32_t most = 1;
    for (uint32_t w = 0; w < catalogue->workflow_count; w++) {
        const struct workflow *workflow = catalogue->workflows[w];
        most = max_u32(workflow->source_count, most);
        for (uint32_t i = 0; i < workflow->task_count; i++) {
            const struct workflow_task *task = &workflow->tasks[i];
            most = max_u32(task->out_count, most);
            most = max_u32(task->in_count, most);
        }
    }
    return most;
}

void node_pools_init(struct node_pools *pools, const struct catalogue *catalogue, uint32_t jobs_max)
{
    const size_t placement_bytes = catalogue->task_count_max * sizeof(uint16_t);
    const size_t visit_bytes = offsetof(struct visit, placement) + placement_bytes;
    const size_t job_bytes = offsetof(struct job, placement) + 2 * placement_bytes;
    const uint32_t jobs_limit = jobs_max == 0 ? (uint32_t)POOL_JOBS_MAX : jobs_max;
    const uint32_t jobs_first = jobs_limit < POOL_FIRST ? jobs_limit : (uint32_t)POOL_FIRST;
    const uint32_t all = UINT32_MAX - 1; /* Bounded through the jobs. */

    /* A full batch that ends or fails; and repairs. */
    pools->step_tasks_max = BATCH_TASKS_MAX * (fan_max(catalogue) + 1) +
                            REPAIRS_PER_STEP * (catalogue->task_count_max + 1);
    pools->units_max = 0;
    pools->steps_ready = 0;
    pool_init(&pools->jobs, job_bytes, jobs_first, jobs_limit);
    pool_init_plain(&pools->visits, visit_bytes, POOL_FIRST, all);
    pool_init_plain(&pools->tasks, sizeof(struct task), POOL_FIRST, all);
    pool_init_plain(&pools->inputs, sizeof(struct input), POOL_FIRST, all);
    pool_init_plain(&pools->tensors, sizeof(struct tensor), POOL_FIRST, all);
    pool_init_plain(&pools->batches, sizeof(struct batch), POOL_FIRST, all);
    pool_init(&pools->tickets, sizeof(struct ticket), POOL_FIRST, all);
    pool_init(&pools->claims, sizeof(struct claim), POOL_FIRST, all);
    pool_init(&pools->grants, sizeof(struct grant), GRANTS_FIRST, all);
    pool_init_plain(&pools->reservations, sizeof(struct reservation), POOL_FIRST, all);
    pool_init_plain(&pools->notices, sizeof(struct notice), POOL_FIRST, all);
    pool_init_plain(&pools->parked, sizeof(struct parked) + placement_bytes, POOL_FIRST, all);
    pool_init(&pools->keyed, sizeof(struct keyed), POOL_FIRST, all);
}

void node_pools_deinit(struct node_pools *pools)
{
    pool_deinit(&pools->jobs);
    pool_deinit(&pools->visits);
    pool_deinit(&pools->tasks);
    pool_deinit(&pools->inputs);
    pool_deinit(&pools->tensors);
    pool_deinit(&pools->batches);
    pool_deinit(&pools->tickets);
    pool_deinit(&pools->claims);
    pool_deinit(&pools->grants);
    pool_deinit(&pools->reservations);
    pool_deinit(&pools->notices);
    pool_deinit(&pools->parked);
    pool_deinit(&pools->keyed);
}

/* Room for several steps at once: what is only held ready costs next to nothing. */
static void prepare_steps(struct node_pools *pools)
{
    const uint32_t tasks = STEPS_AHEAD * pools->step_tasks_max;
    (void)pool_reserve(&pools->jobs, STEPS_AHEAD); /* A full pool of jobs refuses requests. */
    (void)pool_reserve(&pools->visits, STEPS_AHEAD * VISITS_PER_STEP);
    (void)pool_reserve(&pools->tasks, tasks);
    (void)pool_reserve(&pools->inputs, tasks);
    (void)pool_reserve(&pools->tensors, STEPS_AHEAD * (BATCH_TASKS_MAX + 1));
    (void)pool_reserve(&pools->reservations, tasks);
    (void)pool_reserve(&pools->notices, STEPS_AHEAD);
    (void)pool_reserve(&pools->batches, STEPS_AHEAD * pools->units_max);
    (void)pool_reserve(&pools->parked, STEPS_AHEAD * PARKED_MAX);
    pools->steps_ready = STEPS_AHEAD;
}

/* What a policy that binds needs on top. */
static void prepare_home(struct node *node, uint32_t tasks)
{
    struct home *home = &node->home;
    (void)pool_reserve(&node->pools->tickets, tasks);
    (void)pool_reserve(&node->pools->claims, HOME_TASKS_PER_STEP);
    (void)pool_reserve(&node->pools->grants, node->unit_count);
    const uint32_t claimed = home->ticket_count - home->tickets.count; /* All may come back. */
    (void)map_reserve(&home->tickets, claimed + tasks);
    (void)map_reserve(&home->claims, HOME_TASKS_PER_STEP);
}

/* A step may learn of a request, and take a few over. */
static void prepare_keys(struct node *node)
{
    (void)pool_reserve(&node->pools->keyed, 1);
    (void)pool_reserve(&node->pools->jobs, REPAIRS_PER_STEP + 1);
    (void)map_reserve(&node->jobs, REPAIRS_PER_STEP + 1);
    (void)map_reserve(&node->keys.by_key, 1);
    (void)map_reserve(&node->keys.by_job, REPAIRS_PER_STEP + 1);
}

void node_prepare(struct node *node)
{
    struct node_pools *pools = node->pools;
    if (home_is_kept(node)) {
        prepare_home(node, pools->step_tasks_max);
    }
    if (pools->steps_ready == 0) {
        prepare_steps(pools);
    }
    pools->steps_ready--;
    if (node->keys.is_on) {
        prepare_keys(node);
    }
    (void)map_reserve(&node->jobs, 2);
    (void)map_reserve(&node->visits, VISITS_PER_STEP);
}

void node_effects_init(
    struct effects *effects, struct arena *arena, const struct catalogue *catalogue)
{
    const uint32_t tasks = catalogue->task_count_max + 1;
    /* A full batch that ends or fails, each of its tasks with all that follows; or repairs. */
    const uint32_t messages =
        BATCH_TASKS_MAX * (fan_max(catalogue) + 1) + REPAIRS_PER_STEP * 4 * tasks;
    *effects = (struct effects){
        .capacity = 4096 + 6 * messages,
        .placement_capacity = (2 * messages + PARKED_MAX) * tasks,
    };
    effects->items = arena_alloc(arena, effects->capacity * sizeof(*effects->items));
    effects->records = arena_alloc(arena, effects->capacity * sizeof(*effects->records));
    effects->rows = arena_alloc(arena, effects->capacity * sizeof(struct row *));
    effects->placements = arena_alloc(arena, effects->placement_capacity * sizeof(uint16_t));
}
