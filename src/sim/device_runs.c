#include "sim/device_runs.h"

#include "base/numbers.h"
#include "model/sharing.h"
#include "model/slowing.h"
#include "sim/inside.h"

static struct run *run_at(const struct sim *sim, uint32_t slot)
{
    return pool_at(&sim->runs, slot);
}

uint32_t runs_keeper(const struct sim *sim, uint32_t worker)
{
    const struct fleet *fleet = sim->options.fleet;
    if (!fleet->workers[worker].splits) {
        return fleet_first_partition(fleet, worker);
    }
    uint32_t first = fleet->nodes[fleet->workers[worker].node].worker_first;
    while (!fleet->workers[first].splits) {
        first++;
    }
    return first;
}

void runs_init(struct sim *sim, uint32_t worker)
{
    sim->workers[worker].running = (struct running){.first = POOL_NONE};
    if (sim->options.fleet->workers[worker].splits) {
        sim->workers[runs_keeper(sim, worker)].running.processors++;
    }
}

/* How much longer than alone @run takes on its device, which starts with @worker. */
static double stretch(const struct sim *sim, uint32_t worker, const struct run *run)
{
    const struct running *running = &sim->workers[worker].running;
    if (running->processors > 0) {
        const struct slowing slowing = slowing_of(running->threads, running->processors);
        return slowing_factor(&slowing, run->interference);
    }
    return sharing_stretch(
        &sim->options.fleet->workers[worker], running->count - 1, running->units - run->gpu,
        run->interference);
}

/* From now on run @slot takes @factor times as long. */
static void schedule_end(struct sim *sim, uint32_t slot, double factor)
{
    struct run *run = run_at(sim, slot);
    run->since_ns = sim->now_ns;
    run->ends_at_ns = sim->now_ns + (int64_t)(run->left_ns * factor + 0.5);
    sim->run_stamp = (sim->run_stamp + 1) & PAYLOAD_SMALL_MAX;
    run->stamp = sim->run_stamp;
    schedule(sim, run->ends_at_ns, payload_of(TIMED_BATCH_DONE, 0, run->stamp, slot));
}

/* Every run of the device has come as far as it could since it was last looked at. */
static void settle(struct sim *sim, uint32_t device)
{
    uint32_t slot = sim->workers[device].running.first;
    while (slot != POOL_NONE) {
        struct run *run = run_at(sim, slot);
        const double factor = stretch(sim, device, run);
        const double left_ns = run->left_ns - (double)(sim->now_ns - run->since_ns) / factor;
        run->left_ns = max_double(left_ns, 0);
        run->since_ns = sim->now_ns;
        slot = run->next;
    }
}

static void reschedule_all(struct sim *sim, uint32_t device)
{
    uint32_t slot = sim->workers[device].running.first;
    while (slot != POOL_NONE) {
        schedule_end(sim, slot, stretch(sim, device, run_at(sim, slot)));
        slot = run_at(sim, slot)->next;
    }
}

/* Without interference only the run itself has to be looked at. */
static bool interferes(const struct sim *sim, uint32_t device)
{
    return sim->workers[device].running.processors > 0 ||
           sim->options.fleet->workers[device].interference > 0;
}

void runs_begin(struct sim *sim, uint32_t slot)
{
    struct run *run = run_at(sim, slot);
    const uint32_t device = runs_keeper(sim, run->worker);
    struct running *running = &sim->workers[device].running;
    const bool shared = interferes(sim, device);
    ASSERT(!run->begun);
    if (shared) {
        settle(sim, device);
    }
    run->begun = true;
    run->begun_ns = sim->now_ns;
    run->left_ns = (double)run->run_ns;
    run->next = running->first;
    running->first = slot;
    running->count++;
    running->units += run->gpu;
    running->threads += run->threads;
    if (shared) {
        reschedule_all(sim, device);
    } else {
        schedule_end(sim, slot, /* factor */ 1);
    }
}

void runs_end(struct sim *sim, uint32_t slot)
{
    const struct run *run = run_at(sim, slot);
    const uint32_t device = runs_keeper(sim, run->worker);
    struct running *running = &sim->workers[device].running;
    const bool shared = interferes(sim, device);
    ASSERT(run->begun);
    if (shared) {
        settle(sim, device);
    }
    uint32_t *link = &running->first;
    while (*link != slot) {
        link = &run_at(sim, *link)->next;
    }
    *link = run->next;
    running->count--;
    running->units -= run->gpu;
    running->threads -= run->threads;
    if (shared) {
        reschedule_all(sim, device);
    }
}

void runs_set_loading(struct sim *sim, uint32_t worker, bool is_loading)
{
    const uint32_t device = runs_keeper(sim, worker);
    struct running *running = &sim->workers[device].running;
    ASSERT(is_loading || running->threads > 0);
    settle(sim, device);
    running->threads = is_loading ? running->threads + 1 : running->threads - 1;
    reschedule_all(sim, device);
}

uint32_t runs_node(const struct sim *sim, uint32_t slot)
{
    return pool_is_taken(&sim->runs, slot) ? run_at(sim, slot)->node : NODE_NONE;
}

/*
 * Stamps come round again, slots are used again: the time, too, has to be right. A node
 * that stood still hears of it later.
 */
bool runs_is_over(const struct sim *sim, uint32_t slot, uint32_t stamp)
{
    const struct run *run = run_at(sim, slot);
    return pool_is_taken(&sim->runs, slot) && run->begun && run->stamp == stamp &&
           run->ends_at_ns <= sim->now_ns;
}
