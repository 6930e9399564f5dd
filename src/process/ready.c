/*
 * ready.c - what is done so that the next request finds the server ready, and the client awake.
 *
 * The loop can stay awake after a batch (linger.c), and the processor on which the client sleeps
 * can be woken before its answer is written (waker.h). Where it takes long to wake a processor both
 * save more than they cost. Where it does not, or where the client is on a processor that other
 * programs keep busy, they cost processor time for little, or for nothing. No file says which it
 * is. So each of the four ways is tried on requests that come anyway, one window of them after
 * another, and the cheapest is kept: a microsecond of processor time counts as much as one that
 * passes until the next answer.
 *
 * What takes more than another way may be a disturbance. So each is tried five times, in turn, and
 * its median counts; the way that is used stays unless another takes notably less. All are tried
 * again when that way no longer costs what it did, as when the system has put the client on another
 * processor, and now and then besides, the less often the longer that changes nothing.
 */
#include "base/numbers.h"
#include "process/short.h"

enum {
    WINDOW = 36,              /* Batches, */
    SKIPPED = 4,              /* of which the first ones follow another way. */
    PAUSE_FACTOR = 8,         /* After a pause of so many times most_ns it begins anew. */
    NOTABLE = 32,             /* One part in so many is, */
    STRANGE = 4,              /* and what differs by one in so many is strange, */
    STRANGE_MAX = 3,          /* if so many windows in a row do. */
    REST = 4096,              /* Batches between two rounds of trials, at least; */
    WAIT_MIN = 4 * REST,      /* so many if nothing is strange, */
    WAIT_MAX = 64 * WAIT_MIN, /* and at most. */
};

#define COST_FAILED (INT64_MAX / 8) /* Of a window in which requests did not come soon. */

void process_ready_init(struct process_ready *ready, int64_t most_ns, int64_t (*cpu_ns)(void))
{
    *ready = (struct process_ready){
        .most_ns = most_ns,
        .cpu_ns = cpu_ns,
        .best = READY_LOOP,
        .way = READY_LOOP,
        .trial = PROCESS_READY_TRIALS,
    };
}

void process_ready_ran(struct process_ready *ready, uint32_t task_count)
{
    ready->ended += task_count;
}

static bool is_trying(const struct process_ready *ready)
{
    return ready->trial < PROCESS_READY_TRIALS;
}

/* The median of what the trials of @way have cost. */
static int64_t cost_of(const struct process_ready *ready, uint32_t way)
{
    int64_t sorted[PROCESS_READY_TURNS];
    for (uint32_t i = 0; i < PROCESS_READY_TURNS; i++) {
        const int64_t cost = ready->costs[i * READY_WAYS + way];
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] > cost; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = cost;
    }
    return sorted[PROCESS_READY_TURNS / 2];
}

/* All trials of a round have ended: use the best way until the next one. */
static void choose(struct process_ready *ready)
{
    const int64_t before = cost_of(ready, ready->best);
    uint32_t best = 0;
    for (uint32_t way = 1; way < READY_WAYS; way++) {
        best = cost_of(ready, way) < cost_of(ready, best) ? way : best;
    }
    if (cost_of(ready, best) < before - before / NOTABLE) {
        ready->best = best;
        ready->wait = WAIT_MIN;
    } else {
        ready->wait = ready->wait == 0 ? WAIT_MIN : min_u32(2 * ready->wait, WAIT_MAX);
    }
    ready->known = cost_of(ready, ready->best);
    ready->way = ready->best;
    ready->waited = 0;
    ready->strange = 0;
}

/* Each task of the window that ends here has cost so much. */
static void end_window(struct process_ready *ready, int64_t cost)
{
    ready->batches = 0;
    if (is_trying(ready)) {
        ready->costs[ready->trial++] = cost;
        if (!is_trying(ready)) {
            choose(ready);
        }
        return;
    }
    const int64_t margin = ready->known / STRANGE;
    const bool is_strange = cost > ready->known + margin || cost < ready->known - margin;
    ready->strange = is_strange ? ready->strange + 1 : 0;
}

/* A batch of @tasks tasks has ended. */
static void count(struct process_ready *ready, uint32_t tasks, int64_t now_ns)
{
    ready->batches++;
    if (ready->batches == SKIPPED) {
        ready->since_ns = now_ns;
        ready->since_cpu_ns = ready->cpu_ns();
        ready->tasks = 0;
    } else if (ready->batches > SKIPPED) {
        ready->tasks += tasks;
    }
    if (ready->batches == WINDOW) {
        const int64_t took_ns = now_ns - ready->since_ns;
        const int64_t cost_ns = took_ns + ready->cpu_ns() - ready->since_cpu_ns;
        end_window(ready, cost_ns / max_u32(ready->tasks, 1));
    }
}

/* Whether it is time for a round. */
static bool is_due(const struct process_ready *ready)
{
    return ready->waited >= ready->wait || (ready->waited >= REST && ready->strange >= STRANGE_MAX);
}

void process_ready_idle(struct process_ready *ready, int64_t now_ns, bool is_steady)
{
    const uint32_t tasks = ready->ended;
    const bool is_paused = now_ns - ready->last_ns > PAUSE_FACTOR * ready->most_ns;
    ready->ended = 0;
    ready->last_ns = now_ns;
    if (!is_steady) {
        if (is_trying(ready) && ready->batches > 0) {
            end_window(ready, COST_FAILED); /* So that no way is tried forever. */
        }
        ready->batches = 0;
        ready->way = ready->best;
        return;
    }
    if (is_paused) {
        ready->batches = 0;
    } else {
        count(ready, tasks, now_ns);
    }
    if (!is_trying(ready)) {
        ready->waited++;
        ready->trial = is_due(ready) ? 0 : ready->trial;
        ready->batches = is_trying(ready) ? 0 : ready->batches;
    }
    ready->way = is_trying(ready) ? ready->trial % READY_WAYS : ready->best;
}
