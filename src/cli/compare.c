/* compare.c - `weft compare`: policies against each other, over rates and seeds. */
#include <jansson.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/compare_plan.h"
#include "cli/compare_table.h"
#include "cli/crew.h"
#include "cli/interrupt.h"
#include "cli/report_json.h"

enum { COMMAND_BYTES_MAX = 4096 };

struct values {
    struct compare_options options;
    struct argument_count parallel;
    bool json;
};

/* What the children's work and its results are about. */
struct comparison {
    const struct command *command;
    struct compare_plan plan;
    struct progress progress;
    uint32_t done_count;
    uint32_t died_count;
};

static void work(void *context, uint32_t index, void *result)
{
    struct comparison *comparison = context;
    const struct compare_run *run = &comparison->plan.runs[index];
    const struct compare_group *group = &comparison->plan.groups[run->group];
    const struct run_options options = {
        .policies = &group->policies[run->policy],
        .seed = group->seeds[run->seed],
    };
    const bool finished = run_simulate(group->scenario, &options, result);
    ASSERT(finished); /* An interrupt ends a child at once. */
}

static void done(void *context, uint32_t index, const void *result, const char *death)
{
    struct comparison *comparison = context;
    struct compare_run *run = &comparison->plan.runs[index];
    comparison->done_count++;
    if (result != NULL) {
        const struct run_result *finished = result;
        run->result = *finished;
        run->has_result = true;
    } else {
        char command[COMMAND_BYTES_MAX];
        compare_plan_command(&comparison->plan, run, command, sizeof(command));
        progress_clear(&comparison->progress);
        (void)fprintf(
            stderr, "weft %s: a run ended by %s; repeat it with: %s\n", comparison->command->name,
            death, command);
        comparison->died_count++;
    }
    progress_show(&comparison->progress, comparison->done_count, comparison->plan.run_count);
}

static void print_json(const struct compare_plan *plan)
{
    json_t *runs = json_array();
    for (uint32_t i = 0; i < plan->run_count; i++) {
        if (plan->runs[i].has_result) {
            (void)json_array_append_new(runs, report_json(&plan->runs[i].result));
        }
    }
    report_json_print(json_pack("{s:o}", "runs", runs), stdout);
}

static void print_tables(const struct compare_plan *plan)
{
    for (uint32_t i = 0; i < plan->group_count; i++) {
        if (i > 0) {
            (void)putchar('\n');
        }
        compare_table_print(plan, &plan->groups[i], stdout);
    }
}

static enum weft_status run_all(
    struct comparison *comparison, const struct values *values, struct weft_error *error)
{
    const struct crew crew = {
        .count = comparison->plan.run_count,
        .parallel = (uint32_t)values->parallel.value,
        .result_bytes = sizeof(struct run_result),
        .context = comparison,
        .work = work,
        .done = done,
    };
    progress_start(&comparison->progress, "compare");
    const enum weft_status status = crew_run(&crew, error);
    progress_clear(&comparison->progress);
    return status;
}

static int compare(
    struct comparison *comparison, const struct values *values, struct weft_error *error)
{
    const enum weft_status status = run_all(comparison, values, error);
    if (status == WEFT_CANCELLED) {
        interrupt_obey();
    }
    if (status != WEFT_OK) {
        return command_fail(comparison->command, error, COMMAND_FAILED);
    }
    if (values->json) {
        print_json(&comparison->plan);
    } else {
        print_tables(&comparison->plan);
    }
    const int flushed = command_flush(comparison->command);
    return comparison->died_count > 0 ? COMMAND_FAILED : flushed;
}

static int run(const struct command *command, char **argv)
{
    struct values values = {0};
    struct operands files = {0};
    int exit_code = COMMAND_OK;
    if (!command_parse(command, argv, &values, &files, &exit_code)) {
        return exit_code;
    }
    struct weft_error error = {0};
    struct comparison comparison = {.command = command};
    if (values.parallel.given &&
        (values.parallel.value < 1 || values.parallel.value > CREW_PARALLEL_MAX)) {
        (void)error_set(
            &error, WEFT_INVALID, "'--parallel' must be between 1 and %d", CREW_PARALLEL_MAX);
        return command_fail(command, &error, COMMAND_WRONG);
    }
    if (compare_plan_init(&comparison.plan, files.items, files.count, &values.options, &error) !=
        WEFT_OK) {
        return command_fail(command, &error, COMMAND_WRONG);
    }
    interrupt_catch();
    exit_code = compare(&comparison, &values, &error);
    compare_plan_deinit(&comparison.plan);
    return exit_code;
}

static const struct argument rows[] = {
    {"--policies", "A,B,...",
     "instead of the scenario's and all built-in ones that place.\n"
     "Separated by ';', or if there is none by ','; a comma between\n"
     "two parts role=policy composes one policy of them",
     ARGUMENT_TEXT, offsetof(struct values, options.policies)},
    {"--rates", "R,R,...", "jobs per second, instead of the scenario's", ARGUMENT_TEXT,
     offsetof(struct values, options.rates)},
    {"--seeds", "N", "how many, instead of all of the scenario's", ARGUMENT_COUNT,
     offsetof(struct values, options.seeds)},
    {"--jobs", "N", "how many arrive, instead of the scenario's", ARGUMENT_TEXT,
     offsetof(struct values, options.jobs)},
    {"--set", "KEY=VALUE", "change a setting of the scenarios; may be repeated", ARGUMENT_LIST,
     offsetof(struct values, options.sets)},
    {"--parallel", "N", "runs at once, instead of one a core", ARGUMENT_COUNT,
     offsetof(struct values, parallel)},
    {"--json", NULL, "print every run as JSON: {\"runs\": [...]}", ARGUMENT_FLAG,
     offsetof(struct values, json)},
    {.name = NULL},
};

const struct command command_compare = {
    .name = "compare",
    .summary = "run policies against each other, paired by seed",
    .usage = "SCENARIO... [options]",
    .description =
        "A table for every scenario and rate. Figures are means over the seeds. After ± stands\n"
        "half of the 95 % confidence interval. VS FIRST is the difference in mean latency to\n"
        "the first policy, in percent, from pairs of runs with the same seed: a policy is better\n"
        "where the whole interval is below zero and both are stable.\n",
    .arguments = {.operand = "SCENARIO", .operand_min = 1, .operand_max = UINT32_MAX, .rows = rows},
    .run = run,
};
