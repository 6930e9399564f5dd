/* solve.c - `weft solve`: find the mixture of placements that policy nona draws from. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/solve_print.h"
#include "console/progress.h"
#include "console/whole_file.h"
#include "document/mixture_document.h"
#include "lab/run.h"
#include "mixture/mixture.h"
#include "mixture/program.h"

struct values {
    const char *output;
    const char *rate;
    struct argument_list sets;
    struct argument_count restarts;
    struct argument_count patterns_max;
    struct argument_count seed;
    bool requeue;
    bool json;
};

/* Rates as the arrivals of the scenario give them. */
static enum weft_status find_rates(
    const struct scenario *scenario, double *rates_out, struct weft_error *error)
{
    if (!arrivals_rates(&scenario->arrivals, scenario->catalogue, rates_out)) {
        return error_set(
            error, WEFT_INVALID, "%s: its arrivals take no time and have no rate", scenario->name);
    }
    return WEFT_OK;
}

static uint32_t limited(const struct argument_count *count)
{
    const uint64_t value = count->given ? count->value : 0;
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static enum weft_status solve(
    const struct scenario *scenario, const struct values *values, struct mixture **mixture_out,
    struct program_report *report_out, struct weft_error *error)
{
    double rates[WORKFLOWS_MAX];
    const enum weft_status status = find_rates(scenario, rates, error);
    if (status != WEFT_OK) {
        return status;
    }
    const struct program_input input = {
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
        .fleet = scenario->fleet,
        .rates_per_s = rates,
    };
    const struct program_options options = {
        .seed = values->seed.given ? values->seed.value : scenario->seeds[0],
        .restarts = limited(&values->restarts),
        .patterns_max = limited(&values->patterns_max),
        .requeue = values->requeue,
        .start = scenario->mixture,
    };
    return program_solve(&input, &options, mixture_out, report_out, error);
}

static enum weft_status save(
    const struct scenario *scenario, const struct mixture *mixture, const char *path,
    struct weft_error *error)
{
    struct whole_file file;
    const enum weft_status status = whole_file_open(&file, path, error);
    if (status != WEFT_OK) {
        return status;
    }
    mixture_print(mixture, scenario->catalogue, file.stream);
    return whole_file_commit(&file, error);
}

static void print(const struct solution *solution, const struct values *values)
{
    /* The mixture itself may go to standard output. */
    const bool is_taken = values->output != NULL && strcmp(values->output, "-") == 0;
    FILE *file = is_taken ? stderr : stdout;
    if (values->json) {
        solve_print_json(solution, file);
    } else {
        solve_print(solution, file);
    }
}

/* Solve @scenario, save what was found, and print it. */
static int solve_and_print(
    const struct command *command, const struct scenario *scenario, const struct values *values)
{
    struct weft_error error = {0};
    struct mixture *mixture = NULL;
    struct program_report report = {0};
    struct progress progress;
    progress_start(&progress, scenario->name);
    progress_show(&progress, 0, 1);
    const int64_t started_ns = progress_clock_ns();
    enum weft_status status = solve(scenario, values, &mixture, &report, &error);
    const double wall_s = (double)(progress_clock_ns() - started_ns) / 1e9;
    progress_clear(&progress);
    if (status == WEFT_OK && values->output != NULL) {
        status = save(scenario, mixture, values->output, &error);
    }
    if (status != WEFT_OK) {
        mixture_destroy(mixture);
        const bool is_wrong = status == WEFT_INVALID || status == WEFT_NOT_FOUND;
        return command_fail(command, &error, is_wrong ? COMMAND_WRONG : COMMAND_FAILED);
    }
    const struct solution solution = {
        .scenario = scenario, .mixture = mixture, .report = &report, .wall_s = wall_s};
    print(&solution, values);
    mixture_destroy(mixture);
    return command_flush(command);
}

static int run(const struct command *command, void *given, const struct operands *files)
{
    struct values *values = given;
    struct weft_error error = {0};
    struct scenario *scenario = NULL;
    const struct run_settings settings = {.rate = values->rate, .sets = &values->sets};
    if (run_load(files->items[0], &settings, &scenario, &error) != WEFT_OK) {
        return command_fail(command, &error, COMMAND_WRONG);
    }
    const int exit_code = solve_and_print(command, scenario, values);
    scenario_destroy(scenario);
    return exit_code;
}

static const struct argument rows[] = {
    {"-o", "FILE", "write the mixture to FILE, for 'mixture' of a scenario", ARGUMENT_TEXT,
     offsetof(struct values, output)},
    {"--rate", "RATE", "jobs per second, instead of the scenario's", ARGUMENT_TEXT,
     offsetof(struct values, rate)},
    {"--restarts", "N", "number of starts from different points; default 6", ARGUMENT_COUNT,
     offsetof(struct values, restarts)},
    {"--patterns-max", "N",
     "placements per workflow, before they are spread over equal\n"
     "machines; default 64",
     ARGUMENT_COUNT, offsetof(struct values, patterns_max)},
    {"--seed", "N", "seed of the starts; default the scenario's first", ARGUMENT_COUNT,
     offsetof(struct values, seed)},
    {"--requeue", NULL,
     "as if each task queued again on the worker that has just run\n"
     "its predecessor, which nona does not do",
     ARGUMENT_FLAG, offsetof(struct values, requeue)},
    {"--set", "KEY=VALUE", "change a setting of the scenario; may be repeated", ARGUMENT_LIST,
     offsetof(struct values, sets)},
    {"--json", NULL, "print one JSON object", ARGUMENT_FLAG, offsetof(struct values, json)},
    {.name = NULL},
};

const struct command command_solve = {
    .name = "solve",
    .summary = "find the probabilities of placements that policy nona draws from",
    .usage = "SCENARIO [options]",
    .description =
        "Prints the mean time that queueing theory predicts for each workflow, and how busy\n"
        "workers and links are. If the rates are too high, exits with 1 and names what is\n"
        "overloaded. A mixture that the scenario names is where the search begins.\n",
    .arguments = {.operand = "SCENARIO", .operand_min = 1, .operand_max = 1, .rows = rows},
    .values_bytes = sizeof(struct values),
    .run = run,
};
