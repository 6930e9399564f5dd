/*
 * hash.c - every task goes where the hash of its name and its job points.
 *
 * Rule: worker = hash(task name, job) mod workers; if that worker is not usable, the
 * same over those that are. Decided at arrival and never changed.
 * Source: the baseline HASH of Compass (papers: Compass, section 7.4).
 * Ignores: queues, models in memory, transfers, run times, deadlines.
 * Not for: anything but comparison, or fleets so large for their load that workers
 * hardly ever queue, where spreading evenly is all that is left to do.
 */
#include "policy/choose.h"
#include "policy/registry.h"

static void place_job(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    choose_placement_by_hash(input, job, placement_out);
}

const struct policy policy_hash = {
    .name = "hash",
    .summary = "spread tasks by the hash of task name and job",
    .source = "Compass, baseline HASH",
    .ignores = "queues, models in memory, transfers, run times, deadlines",
    .place_job = place_job,
};
