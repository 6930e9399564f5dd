/*
 * po2.c - of a few workers drawn at random, the one that is free first.
 *
 * Rule: when a task is ready, draw `choices` different workers that can run it and take the
 * one with the least work; the lowest index wins a tie.
 * Source: the power of two choices (Mitzenmacher, 2001; Vvedenskaya et al., 1996).
 * Ignores: models in memory, transfers, device speeds, deadlines, all other workers.
 * Not for: fleets of a few workers, where looking at all of them is as cheap. With many
 * nodes and old rows it is what least-work should have been: the draws keep the nodes
 * from choosing the same worker.
 */
#include "policy/choose.h"
#include "policy/registry.h"

enum { OPTION_CHOICES };
enum {
    CHOICES_MAX = 32,
    GUESSES_MAX = 16, /* At a usable worker, before all of them are looked at. */
};

struct draw {
    struct need need; /* Of the task. */
    uint32_t count;
    uint32_t workers[CHOICES_MAX];
};

static bool is_candidate(const struct view *view, const struct draw *draw, uint32_t worker)
{
    for (uint32_t i = 0; i < draw->count; i++) {
        if (draw->workers[i] == worker) {
            return false;
        }
    }
    return choose_can_use(view, worker, draw->need);
}

/* Uniform over the candidates, when guessing has met none: there are few, if any. */
static uint32_t draw_counted(const struct view *view, struct rng *rng, const struct draw *draw)
{
    const uint32_t worker_count = view->fleet->worker_count;
    uint32_t left = 0;
    for (uint32_t worker = 0; worker < worker_count; worker++) {
        left += is_candidate(view, draw, worker) ? 1 : 0;
    }
    if (left == 0) {
        return WORKER_NONE;
    }
    left = rng_below(rng, left);
    for (uint32_t worker = 0; worker < worker_count; worker++) {
        if (is_candidate(view, draw, worker) && left-- == 0) {
            return worker;
        }
    }
    return WORKER_NONE;
}

static uint32_t draw_one(const struct view *view, struct rng *rng, const struct draw *draw)
{
    const uint32_t worker_count = view->fleet->worker_count;
    for (uint32_t guess = 0; guess < GUESSES_MAX; guess++) {
        const uint32_t worker = rng_below(rng, worker_count);
        if (is_candidate(view, draw, worker)) {
            return worker;
        }
    }
    return draw_counted(view, rng, draw);
}

static uint32_t place_task(const struct policy_input *input, const struct task_facts *task)
{
    const uint32_t choices = (uint32_t)input->options[OPTION_CHOICES];
    struct draw draw = {.need = choose_need(input, task)};
    uint32_t best = WORKER_NONE;
    int64_t best_ns = INT64_MAX;
    while (draw.count < choices) {
        const uint32_t worker = draw_one(input->view, input->rng, &draw);
        if (worker == WORKER_NONE) {
            break; /* Fewer than choices can run it. */
        }
        draw.workers[draw.count++] = worker;
        const int64_t free_at_ns = view_free_at_ns(input->view, worker);
        if (free_at_ns < best_ns || (free_at_ns == best_ns && worker < best)) {
            best = worker;
            best_ns = free_at_ns;
        }
    }
    return best;
}

static const struct policy_option options[] = {
    [OPTION_CHOICES] = {"choices", 2, 1, CHOICES_MAX, true, "how many workers are drawn"},
    {.name = NULL},
};

const struct policy policy_po2 = {
    .name = "po2",
    .summary = "of two workers drawn at random, the one that is free first",
    .source = "power of two choices (Mitzenmacher, 2001)",
    .ignores = "models in memory, transfers, device speeds, deadlines",
    .options = options,
    .place_task = place_task,
};
