#include "policy/deadline_learn.h"

#include "base/numbers.h"

enum {
    LEARN_USUAL = 512, /* Jobs that a ratio remembers, in about equal parts. */
    LEARN_FIRST = 8,   /* The same of the first ones, which count more. */
    LEARN_LATE = 2,    /* A job that was given up adds at least such a part of the ratio. */
    DOUBT = 4,         /* Jobs given up in a row that halve what is believed of the next. */
    DOUBTS_MAX = 6,
    CLOSE = 4,        /* Nearly late is who takes all but such a part of its time. */
    CAUTION_UP = 2,   /* A job that was nearly late moves caution by such a part of the way. */
    CAUTION_DOWN = 4, /* Any other one likewise, to none. */
    CAUTION_MAX = 8,
    STARVED = 64,  /* Refusals in a row after which bad experience fades. */
    TRIES_MAX = 6, /* How often STARVED doubles while what is tried then does not help. */
};

void deadline_learn_init(struct flow *flow)
{
    flow->wait_ratio = RATIO_ONE;
    flow->run_ratio = RATIO_ONE;
}

/* @part_ns over @whole_ns as a ratio, within what is believed. */
static int64_t ratio_of(int64_t part_ns, int64_t whole_ns)
{
    part_ns = bounded(part_ns);
    while (part_ns > INT64_MAX / RATIO_ONE || whole_ns > INT64_MAX / RATIO_ONE) {
        part_ns >>= 1;
        whole_ns >>= 1;
    }
    const int64_t ratio = whole_ns == 0 ? RATIO_MAX : part_ns * RATIO_ONE / whole_ns;
    if (ratio > RATIO_MAX) {
        return RATIO_MAX;
    }
    return max_i64(ratio, RATIO_MIN);
}

/* Move @ratio a little towards @seen. */
static void learn_usual(int64_t *ratio, uint32_t *count, int64_t seen)
{
    const int64_t weight = *count + LEARN_FIRST < LEARN_USUAL ? *count + LEARN_FIRST : LEARN_USUAL;
    *ratio += (seen - *ratio) / weight;
    *count += *count < LEARN_USUAL ? 1 : 0;
}

/*
 * Move @ratio up to @seen, and past it if that is only the least it was. All at once: where jobs
 * come to many nodes, each learns from few of them, and would admit too much for as long.
 */
static void learn_late(int64_t *ratio, int64_t seen, bool is_least)
{
    const int64_t more = *ratio + *ratio / LEARN_LATE;
    *ratio = min_i64(is_least ? max_i64(seen, more) : seen, RATIO_MAX);
}

void deadline_learn_caution(
    struct deadline_state *state, const struct flow *flow, const struct answered_facts *job,
    int64_t due_ns)
{
    const int64_t took_ns = bounded(job->late ? max_i64(job->latency_ns, due_ns) : job->latency_ns);
    const int64_t expected_ns = times(job->forecast.wait_ns, flow->wait_ratio) +
                                times(job->forecast.run_ns, flow->run_ratio);
    const bool was_close = took_ns > due_ns - due_ns / CLOSE;
    const int64_t seen = was_close ? ratio_of(took_ns, expected_ns) : RATIO_ONE;
    const int64_t target = min_i64(max_i64(seen, RATIO_ONE), CAUTION_MAX * RATIO_ONE);
    const int64_t by = target - state->caution;
    state->caution += by > 0 ? by / CAUTION_UP : by / CAUTION_DOWN;
}

int64_t deadline_rest_ratio(const struct flow *flow)
{
    return min_i64(flow->run_ratio, RATIO_ONE) >> min_u32(flow->lost / DOUBT, DOUBTS_MAX);
}

/* What @job took, against its forecast. Where there was a wait, that is put down to it. */
void deadline_learn(struct flow *flow, const struct answered_facts *job, int64_t due_ns)
{
    const struct forecast *forecast = &job->forecast;
    flow->lost = job->completed ? 0 : flow->lost + (job->late ? 1 : 0);
    const int64_t least_ns = job->late ? due_ns + 1 : 0; /* It does not matter where it gave up. */
    const int64_t took_ns = bounded(max_i64(job->latency_ns, least_ns));
    const bool waited = forecast->wait_ns > forecast->run_ns / 4;
    const int64_t rest_ns = waited ? times(forecast->run_ns, flow->run_ratio)
                                   : times(forecast->wait_ns, flow->wait_ratio);
    const int64_t seen_ns = took_ns > rest_ns ? took_ns - rest_ns : 0;
    int64_t *ratio = waited ? &flow->wait_ratio : &flow->run_ratio;
    const int64_t seen = ratio_of(seen_ns, waited ? forecast->wait_ns : forecast->run_ns);
    if (seen >= *ratio && (took_ns > due_ns || job->cut)) {
        learn_late(ratio, seen, !job->completed);
    } else if (job->completed) { /* One that was cut short while all was well says nothing. */
        learn_usual(ratio, waited ? &flow->waits : &flow->runs, seen);
    }
}

bool deadline_starves(struct flow *flow)
{
    const uint32_t patience = (uint32_t)STARVED << min_u32(flow->tries, TRIES_MAX);
    flow->refused++;
    if (flow->refused > STARVED && flow->wait_ratio > RATIO_ONE) {
        flow->wait_ratio -= flow->wait_ratio / LEARN_USUAL;
    }
    if (flow->refused < patience) {
        return false;
    }
    flow->refused = 0;
    flow->tries++;
    return true;
}

bool deadline_may_try(const struct flow *flow)
{
    const uint32_t refusals = (uint32_t)1 << min_u32(2 * flow->lost, TRIES_MAX);
    return flow->refused + 1 >= refusals; /* This one would be another. */
}

void deadline_admitted(struct flow *flow)
{
    flow->refused = 0;
    flow->tries = 0;
}
