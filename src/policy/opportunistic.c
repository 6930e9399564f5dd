/*
 * opportunistic.c - a ready task goes to any idle worker at once.
 *
 * Rule: one of the idle workers that can run it, drawn evenly; if none of them is idle, the one
 * that is free first.
 * Source: the baseline "Opportunistic" of Nona, whose definition is not published: this
 * is the usual meaning of the word (papers: Nona, section 3.1).
 * Ignores: where the inputs are, models in memory, run times, deadlines.
 * Not for: jobs that move much data, which it scatters; that is what it is compared for.
 */
#include "policy/choose.h"
#include "policy/registry.h"

static uint32_t place_task(const struct policy_input *input, const struct task_facts *task)
{
    const struct need need = choose_need(input, task);
    const uint32_t idle = choose_any_idle(input->view, need, input->rng);
    return idle != WORKER_NONE ? idle : choose_least_work(input->view, need);
}

const struct policy policy_opportunistic = {
    .name = "opportunistic",
    .summary = "send each ready task to any idle worker",
    .source = "a baseline of Nona",
    .ignores = "where inputs are, models in memory, run times, deadlines",
    .place_task = place_task,
};
