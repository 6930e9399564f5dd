/* compare.c - `weft compare`: policies against each other, over rates and seeds. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/compare_fairness.h"
#include "cli/compare_saturation_print.h"
#include "cli/compare_table.h"
#include "cli/report_json.h"
#include "console/interrupt.h"
#include "lab/child_work.h"
#include "lab/compare_plan.h"
#include "lab/compare_runs.h"

#define PRECISION_DEFAULT 0.05

struct values {
    struct compare_options options;
    struct argument_count parallel;
    bool saturation;
    const char *precision;
    bool fairness;
    bool json;
};

/* Tables as they become complete, in their order. */
struct printer {
    struct compare_runs *all;
    uint32_t printed; /* So many tables have been. */
    bool fairness;    /* Each with one of its workflows. */
    bool json;        /* No tables, but one object at the end. */
};

static uint32_t count_done(const struct compare_plan *plan, const struct compare_group *group)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->policy_count * group->seed_count; i++) {
        count += plan->runs[group->run_first + i].is_done ? 1 : 0;
    }
    return count;
}

static void print_table(struct printer *printer, const struct compare_group *group)
{
    if (printer->printed > 0) {
        (void)putchar('\n');
    }
    compare_table_print(printer->all->plan, group, stdout);
    if (printer->fairness) {
        compare_fairness_print(printer->all->plan, group, stdout);
    }
    printer->printed++;
}

static void print_complete(void *context)
{
    struct printer *printer = context;
    const struct compare_plan *plan = printer->all->plan;
    while (!printer->json && printer->printed < plan->group_count) {
        const struct compare_group *group = &plan->groups[printer->printed];
        if (count_done(plan, group) < group->policy_count * group->seed_count) {
            return;
        }
        progress_clear(&printer->all->progress);
        print_table(printer, group);
        (void)fflush(stdout); /* Whatever fails is found at the end. */
    }
}

/* What an interrupt has left of the tables. */
static void print_partial(struct printer *printer)
{
    const struct compare_plan *plan = printer->all->plan;
    for (uint32_t i = printer->printed; i < plan->group_count; i++) {
        const struct compare_group *group = &plan->groups[i];
        const uint32_t done = count_done(plan, group);
        if (done > 0) {
            print_table(printer, group);
            (void)printf(
                "interrupted: %" PRIu32 " of %" PRIu32 " runs had ended\n", done,
                group->policy_count * group->seed_count);
        }
    }
}

static void print_json(const struct compare_plan *plan, bool interrupted)
{
    json_t *runs = json_array();
    for (uint32_t i = 0; i < plan->run_count; i++) {
        const struct compare_run *run = &plan->runs[i];
        if (run->has_result) {
            json_t *object = report_json(&run->result);
            report_json_add_fairness(
                object, &run->result.report, plan->groups[run->group].scenario);
            (void)json_array_append_new(runs, object);
        }
    }
    json_t *object = json_pack("{s:o}", "runs", runs);
    if (interrupted) {
        (void)json_object_set_new(object, "interrupted", json_true());
    }
    report_json_print(object, stdout);
}

/*
 * What has been printed is not the whole if runs died, which were reported, or if an interrupt
 * came: the command then ends as the signal says.
 */
static int finish(const struct compare_runs *all, enum weft_status status)
{
    const int flushed = command_flush(&command_compare);
    if (status == WEFT_CANCELLED) {
        interrupt_obey();
    }
    return all->died_count > 0 ? COMMAND_FAILED : flushed;
}

static int compare(
    struct compare_runs *all, struct compare_plan *plan, const struct values *values,
    struct weft_error *error)
{
    struct printer printer = {.all = all, .fairness = values->fairness, .json = values->json};
    all->expected_count = plan->run_count;
    all->on_done = print_complete;
    all->context = &printer;
    const enum weft_status status = compare_runs_do(all, plan->runs, plan->run_count, error);
    progress_clear(&all->progress);
    if (status != WEFT_OK && status != WEFT_CANCELLED) {
        return command_fail(&command_compare, error, COMMAND_FAILED);
    }
    if (values->json) {
        print_json(plan, status == WEFT_CANCELLED);
    } else {
        print_partial(&printer);
    }
    return finish(all, status);
}

static int saturate(struct compare_runs *all, const struct values *values, struct weft_error *error)
{
    struct compare_saturation study;
    double precision = PRECISION_DEFAULT;
    enum weft_status status = WEFT_OK;
    if (values->precision != NULL) {
        status = compare_saturation_read_precision(values->precision, &precision, error);
    }
    if (status == WEFT_OK) {
        status = compare_saturation_init(&study, all->plan, precision, error);
    }
    if (status != WEFT_OK) {
        return command_fail(&command_compare, error, COMMAND_WRONG);
    }
    int exit_code = COMMAND_OK;
    status = compare_saturation_run(&study, all, error);
    progress_clear(&all->progress);
    if (status != WEFT_OK && status != WEFT_CANCELLED) {
        exit_code = command_fail(&command_compare, error, COMMAND_FAILED);
    } else if (values->json) {
        json_t *object = compare_saturation_json(&study);
        if (status == WEFT_CANCELLED) {
            (void)json_object_set_new(object, "interrupted", json_true());
        }
        report_json_print(object, stdout);
        exit_code = finish(all, status);
    } else {
        compare_saturation_print(&study, stdout);
        exit_code = finish(all, status);
    }
    compare_saturation_deinit(&study);
    return exit_code;
}

/* What one option alone does not show. */
static enum weft_status check_values(const struct values *values, struct weft_error *error)
{
    if (values->parallel.given &&
        (values->parallel.value < 1 || values->parallel.value > CHILD_WORK_PARALLEL_MAX)) {
        return error_set(
            error, WEFT_INVALID, "'--parallel' must be between 1 and %d", CHILD_WORK_PARALLEL_MAX);
    }
    if (values->saturation && values->options.rates != NULL) {
        return error_set(
            error, WEFT_INVALID,
            "'--saturation' finds the rates by itself; '--set rate=R' says where it starts");
    }
    if (values->precision != NULL && !values->saturation) {
        return error_set(error, WEFT_INVALID, "'--precision' goes with '--saturation' only");
    }
    if (values->fairness && values->saturation) {
        return error_set(error, WEFT_INVALID, "'--fairness' does not go with '--saturation'");
    }
    return WEFT_OK;
}

static int run(const struct command *command, void *given, const struct operands *files)
{
    struct values *values = given;
    struct weft_error error = {0};
    struct compare_plan plan;
    enum weft_status status = check_values(values, &error);
    if (status == WEFT_OK) {
        status = compare_plan_init(&plan, files->items, files->count, &values->options, &error);
    }
    if (status != WEFT_OK) {
        return command_fail(command, &error, COMMAND_WRONG);
    }
    struct compare_runs all = {
        .command = command->name,
        .plan = &plan,
        .parallel = (uint32_t)values->parallel.value,
    };
    interrupt_catch();
    progress_start(&all.progress, values->saturation ? "saturation" : "compare");
    const int exit_code =
        values->saturation ? saturate(&all, values, &error) : compare(&all, &plan, values, &error);
    compare_plan_deinit(&plan);
    return exit_code;
}

static const struct argument rows[] = {
    {"--policies", "A,B,...",
     "policies to compare; default: the scenario's and all built-in\n"
     "ones that place. Separated by ';', or if there is none by ',';\n"
     "a comma before role=policy composes",
     ARGUMENT_TEXT, offsetof(struct values, options.policies)},
    {"--rates", "R,R,...",
     "jobs per second, instead of the scenario's; FIRST:LAST:STEP\n"
     "is a range",
     ARGUMENT_TEXT, offsetof(struct values, options.rates)},
    {"--saturation", NULL,
     "find the highest rate at which each policy is stable in\n"
     "three quarters of the seeds, starting from the scenario's",
     ARGUMENT_FLAG, offsetof(struct values, saturation)},
    {"--precision", "FRACTION", "width of the bracket around that rate; default 5%", ARGUMENT_TEXT,
     offsetof(struct values, precision)},
    {"--seeds", "N", "number of seeds, instead of all of the scenario's", ARGUMENT_COUNT,
     offsetof(struct values, options.seeds)},
    {"--jobs", "N", "number of jobs, instead of the scenario's", ARGUMENT_TEXT,
     offsetof(struct values, options.jobs)},
    {"--warmup", "FRACTION",
     "fraction of jobs that are not counted, instead of the scenario's;\n"
     "'auto': the transient that is found in each run",
     ARGUMENT_TEXT, offsetof(struct values, options.warmup)},
    {"--set", "KEY=VALUE", "change a setting of the scenarios; may be repeated", ARGUMENT_LIST,
     offsetof(struct values, options.sets)},
    {"--parallel", "N", "runs at once; default one per core", ARGUMENT_COUNT,
     offsetof(struct values, parallel)},
    {"--fairness", NULL, "also print how each workflow fares, and how evenly they do",
     ARGUMENT_FLAG, offsetof(struct values, fairness)},
    {"--json", NULL,
     "print every run as JSON: {\"runs\": [...]}, with\n"
     "--saturation also \"saturation\": [...]",
     ARGUMENT_FLAG, offsetof(struct values, json)},
    {.name = NULL},
};

const struct command command_compare = {
    .name = "compare",
    .summary = "run policies against each other, paired by seed",
    .usage = "SCENARIO... [options]",
    .description =
        "Prints a table per scenario and rate. Figures are means over the seeds, with half of\n"
        "the 95 % confidence interval after ±. VS FIRST is the difference in mean latency to\n"
        "the first policy, in percent, from pairs of runs with the same seed: a policy is better\n"
        "where the whole interval is below zero and both are stable. RATIO is the ratio of the\n"
        "slow-down to the first policy's, from the same pairs.\n"
        "A policy is unstable where fewer than three quarters of its runs are stable: what\n"
        "depends on how long they were is then a dash or, as '> 12 s', a bound.\n"
        "WORST % is the share of SLOs met by the worst workflow: that with the fewest. FAIR is\n"
        "Jain's index of the workflows' slow-downs, 1 if all are equal. Where workflows differ\n"
        "in priority, a line below the table says what share of SLOs each priority met.\n"
        "With --fairness, each table is followed by one of the workflows' mean slow-downs and\n"
        "SLOs met; the worst one is, without SLOs, that with the largest slow-down.\n"
        "Tables are printed as they become complete; an interrupt prints what has ended.\n"
        "\n"
        "With --saturation, prints a table per scenario: the highest rate found stable, the\n"
        "bracket around it, its ratio to that of the first policy, and mean latency and\n"
        "slow-down of the policy at 0.5 and 0.8 of its own rate.\n",
    .arguments = {.operand = "SCENARIO", .operand_min = 1, .operand_max = UINT32_MAX, .rows = rows},
    .values_bytes = sizeof(struct values),
    .run = run,
};
