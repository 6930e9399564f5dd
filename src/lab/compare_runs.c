#include "lab/compare_runs.h"

#include <stdio.h>

#include "base/assert.h"
#include "lab/child_work.h"

enum { COMMAND_BYTES_MAX = 4096 };

static void run_one(void *context, uint32_t index, void *result)
{
    struct compare_runs *all = context;
    const struct compare_run *run = &all->runs[index];
    const struct compare_group *group = &all->plan->groups[run->group];
    const struct run_options options = {
        .policies = &group->policies[run->policy],
        .seed = group->seeds[run->seed],
        .warmup_auto = run_warmup_is_auto(all->plan->options->warmup),
    };
    if (run->rate_per_s > 0) { /* This process has its own copy of the scenario. */
        const bool has_rate = arrivals_set_rate(&group->scenario->arrivals, run->rate_per_s);
        ASSERT(has_rate);
    }
    const bool finished = run_simulate(group->scenario, &options, result);
    ASSERT(finished); /* An interrupt ends a child at once. */
}

static void done(void *context, uint32_t index, const void *result, const char *death)
{
    struct compare_runs *all = context;
    struct compare_run *run = &all->runs[index];
    all->done_count++;
    run->is_done = true;
    if (result != NULL) {
        const struct run_result *finished = result;
        run->result = *finished;
        run->has_result = true;
    } else {
        char command[COMMAND_BYTES_MAX];
        compare_plan_command(all->plan, run, command, sizeof(command));
        progress_clear(&all->progress);
        (void)fprintf(
            stderr, "weft %s: a run ended by %s; repeat it with: %s\n", all->command, death,
            command);
        all->died_count++;
    }
    if (all->on_done != NULL) {
        all->on_done(all->context);
    }
    progress_show(&all->progress, all->done_count, all->expected_count);
}

enum weft_status compare_runs_do(
    struct compare_runs *all, struct compare_run *runs, uint32_t count, struct weft_error *error)
{
    ASSERT(all->plan != NULL && all->command != NULL);
    const struct child_work work = {
        .count = count,
        .parallel = all->parallel,
        .result_bytes = sizeof(struct run_result),
        .context = all,
        .run = run_one,
        .done = done,
    };
    all->runs = runs;
    return child_work_run(&work, error);
}
