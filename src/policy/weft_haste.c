#include "policy/weft_haste.h"

#include "base/numbers.h"
#include "policy/compass_cost.h"
#include "policy/weft_home.h"
#include "policy/weft_options.h"
#include "policy/weft_quick.h"
#include "policy/weft_share.h"

/*
 * A batch whose whole time went by before it began, or a job that was late; and a new one counts
 * one part in so many.
 */
enum { OFF_ONE = 1 << 20, OFF_WEIGHT = 64 };

/* A late job counts so much less: the first ones wait for loads, against which haste is no help. */
enum { LATE_COUNTS = 8 };

/*
 * What is idle is averaged over about as long as it takes to start so many batches that keep a unit
 * for a critical path each: of few units a moment says little.
 */
enum { IDLE_STARTS = 4 };

/* The average is kept in so much smaller parts. */
enum { IDLE_FINE = 1024 };

/* What is idle now has been so for @passed_ns, of @units in all. */
static void note_idle(const struct policy_input *input, int64_t passed_ns, int64_t units)
{
    const struct weft_plan *plan = input->plan;
    struct weft_state *state = input->state;
    const int64_t span_ns = plan->path_mean_ns / max_i64(units, 1) * IDLE_STARTS;
    const int64_t part = passed_ns / ((span_ns + passed_ns) / WEFT_SHARE_ONE + 1);
    const int64_t gap = state->idle * IDLE_FINE - state->idle_mean;
    state->idle_mean += gap / WEFT_SHARE_ONE * part;
}

int64_t weft_idle_share(const struct policy_input *input)
{
    const struct view *view = input->view;
    struct weft_state *state = input->state;
    const uint32_t count = view->fleet->worker_count;
    if (state->idle_at_ns != 0 && view->now_ns - state->idle_at_ns < INT64_C(100000) * count) {
        return state->idle;
    }
    const struct weft_quick *seen = weft_quick_look(input);
    const bool is_first = state->idle_at_ns == 0;
    const int64_t passed_ns = is_first ? DURATION_NS_MAX : view->now_ns - state->idle_at_ns;
    state->idle_at_ns = view->now_ns;
    state->slower = seen->slower / max_u32(seen->usable, 1);
    state->idle = (int64_t)(seen->idle * WEFT_IDLE_ONE / max_u64(seen->all, 1));
    note_idle(input, passed_ns, (int64_t)seen->all);
    return state->idle;
}

int64_t weft_idle_mean(const struct policy_input *input)
{
    const struct weft_state *state = input->state;
    (void)weft_idle_share(input); /* Both are found out at once. */
    return state->idle_mean / IDLE_FINE;
}

bool weft_may_rush(const struct policy_input *input, const struct queue_facts *queue)
{
    return queue->head_deadline_ns > input->view->now_ns &&
           weft_idle_share(input) >= WEFT_IDLE_ONE / 2;
}

int64_t weft_slower(const struct policy_input *input)
{
    const struct weft_state *state = input->state;
    (void)weft_idle_share(input); /* Both are found out at once. */
    return state->slower;
}

/*
 * Whether a batch may have the units of @choice. If they cost nothing it has a part of the device
 * while half of all units are idle, or fewer, and up to the whole of it if all are.
 */
static bool may_have(const struct policy_input *input, const struct configs_choice *choice)
{
    const struct weft_plan *plan = input->plan;
    const int64_t part = plan->parts[choice->device];
    const int64_t more = max_i64(2 * weft_idle_share(input) - WEFT_IDLE_ONE, 0);
    const int64_t others = (int64_t)input->options[WEFT_PARTS] - 1;
    return choice->config.gpu <= part + part * others * more / WEFT_IDLE_ONE;
}

/* How soon the head of @queue and the rest of its group can end. */
static int64_t soonest_ns(
    const struct policy_input *input, const struct queue_facts *queue,
    const struct esg_queue *known)
{
    const struct configs *configs = &known->configs;
    const uint32_t head = min_u32(queue->head_items, known->batch_max);
    const uint32_t most = esg_most_items(known, queue);
    uint32_t i = 0;
    while (i + 1 < configs->count &&
           (configs->weights[i].batch < head || configs->weights[i].batch > most ||
            !may_have(input, &configs->choices[i]))) {
        i++;
    }
    return configs->weights[i].time_ns + known->stage.extra_ns +
           known->rests[configs->weights[i].front].points[0].time_ns;
}

void weft_haste_note_job(const struct policy_input *input, bool is_late)
{
    struct weft_state *state = input->state;
    state->missed += ((is_late ? OFF_ONE : 0) - state->missed) / OFF_WEIGHT;
    if (weft_idle_mean(input) >= WEFT_IDLE_ONE / 2) {
        state->late += ((is_late ? OFF_ONE : 0) - state->late) / OFF_WEIGHT;
    }
}

int64_t weft_haste_missed(const struct policy_input *input)
{
    const struct weft_state *state = input->state;
    return state->missed / (OFF_ONE / WEFT_IDLE_ONE);
}

void weft_haste_note(const struct policy_input *input, int64_t off_ns, int64_t target_ns)
{
    struct weft_state *state = input->state;
    const int64_t off = min_i64(off_ns / (target_ns / OFF_ONE + 1), OFF_ONE);
    state->off += (off - state->off) / OFF_WEIGHT;
}

/*
 * How much of the time that is left is not used while all is idle, in 64ths. A square: little goes
 * off plan everywhere, and is not worth a price.
 */
static int64_t haste_64ths(const struct policy_input *input)
{
    const struct weft_state *state = input->state;
    const int64_t haste = compass_64ths(input->options[WEFT_HASTE]);
    const int64_t trouble = (int64_t)input->options[WEFT_TROUBLE];
    if (trouble == 0) {
        return haste;
    }
    const int64_t off = max_i64(state->off, state->late / LATE_COUNTS);
    const int64_t part = min_i64(off * trouble, OFF_ONE);
    return haste * (part * part / OFF_ONE) / OFF_ONE;
}

int64_t weft_haste_ns(
    const struct policy_input *input, const struct queue_facts *queue,
    const struct esg_queue *known, int64_t target_ns)
{
    const bool is_free = input->view->fleet->prices.gpu == 0;
    if (weft_quick_is_on(input, queue)) {
        return weft_quick_ns(input, queue, known);
    }
    const int64_t part = is_free ? 64 : haste_64ths(input);
    if (part == 0) {
        return target_ns;
    }
    const int64_t soonest = soonest_ns(input, queue, known);
    if (queue->head_deadline_ns == INT64_MAX) { /* Due as in worker queues. */
        target_ns = soonest / 64 * compass_64ths(max_double(input->options[WEFT_PATH], 1));
    }
    if (target_ns < soonest) {
        return target_ns; /* It cannot even be met. */
    }
    const int64_t spare_ns = target_ns - soonest;
    const int64_t idle = min_i64(weft_idle_share(input) * (is_free ? 2 : 1), WEFT_IDLE_ONE);
    return target_ns - spare_ns / ((int64_t)WEFT_IDLE_ONE * 64) * idle * part;
}
