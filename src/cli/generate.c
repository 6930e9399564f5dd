/* generate.c - `weft generate`: traces of requests, and workflows with their profiles. */
#include "lab/generate.h"

#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "base/units.h"
#include "cli/command.h"

/* What can be made, and which options are of no use to it. */
struct product {
    const char *name;
    const char *const *strange;
    enum weft_status (*make)(const struct generate_values *values, struct weft_error *error);
};

#define OF_TRACES                                                                                  \
    "--workflows", "--jobs", "--kind", "--rate", "--cv", "--burst-rate", "--every", "--length",    \
        "--period", "--swing", "--trace", "--speed", "--items-per"
#define OF_WORKFLOWS "--name", "--count", "--tasks-max"
#define OF_OPERATORS "--networks", "--gmac-ms", "--writes", "--device"

static const char *const not_of_traces[] = {OF_WORKFLOWS, OF_OPERATORS, NULL};
static const char *const not_of_workflows[] = {OF_TRACES, OF_OPERATORS, NULL};
static const char *const not_of_operators[] = {"--seed", OF_TRACES, OF_WORKFLOWS, NULL};

static const struct product products[] = {
    {"trace", not_of_traces, generate_trace},
    {"workflows", not_of_workflows, generate_workflows},
    {"operators", not_of_operators, generate_operators},
};

enum { PRODUCTS = ARRAY_COUNT(products) };

static const struct product *find(const char *name, struct weft_error *error)
{
    struct suggestion suggestion = suggest_for(name);

    for (uint32_t i = 0; i < PRODUCTS; i++) {
        if (strcmp(products[i].name, name) == 0) {
            return &products[i];
        }
        suggest_consider(&suggestion, products[i].name);
    }
    (void)error_set(
        error, WEFT_INVALID, "'%s' cannot be generated; use trace, workflows or operators%s%s%s",
        name, suggestion.name == NULL ? "" : "; did you mean '",
        suggestion.name == NULL ? "" : suggestion.name, suggestion.name == NULL ? "" : "'?");
    return NULL;
}

static bool is_given(const struct argument *row, const struct generate_values *values)
{
    const void *field = (const char *)values + row->offset;

    if (row->kind == ARGUMENT_COUNT) {
        const struct argument_count *count = field;
        return count->given;
    }
    const char *const *text = field;
    return *text != NULL;
}

/* An option that would be ignored is a mistake of the user. */
static enum weft_status check_options(
    const struct product *product, const struct argument *rows,
    const struct generate_values *values, struct weft_error *error)
{
    for (; rows->name != NULL; rows++) {
        for (uint32_t i = 0; product->strange[i] != NULL; i++) {
            if (strcmp(rows->name, product->strange[i]) == 0 && is_given(rows, values)) {
                return error_set(
                    error, WEFT_INVALID, "'%s' does not go with '%s'", rows->name, product->name);
            }
        }
    }
    return WEFT_OK;
}

static int run(const struct command *command, void *given, const struct operands *operands)
{
    struct generate_values *values = given;
    struct weft_error error = {0};

    const struct product *product = find(operands->items[0], &error);
    if (product == NULL) {
        return command_fail(command, &error, COMMAND_WRONG);
    }
    enum weft_status status = check_options(product, command->arguments.rows, values, &error);
    if (status == WEFT_OK) {
        status = product->make(values, &error);
    }
    if (status != WEFT_OK) {
        return command_fail(command, &error, status == WEFT_IO ? COMMAND_FAILED : COMMAND_WRONG);
    }
    return COMMAND_OK;
}

#define AT(field) offsetof(struct generate_values, field)

static const struct argument rows[] = {
    {"-o", "PATH",
     "file of a trace, by default standard output; folder of\n"
     "workflows, which must be new or empty",
     ARGUMENT_TEXT, AT(output)},
    {"--seed", "N", "seed of all random draws; default 1", ARGUMENT_COUNT, AT(seed)},
    {"--workflows", "A,B=2", "trace: names of workflows, and their weights if not 1", ARGUMENT_TEXT,
     AT(workflows)},
    {"--jobs", "N", "trace: number of requests; default 1000", ARGUMENT_COUNT, AT(jobs)},
    {"--kind", "KIND", "trace: poisson, constant, gamma, burst, mmpp, diurnal, trace",
     ARGUMENT_TEXT, AT(kind)},
    {"--rate", "RATE", "trace: requests per second; with bursts, between them", ARGUMENT_TEXT,
     AT(rate)},
    {"--cv", "CV", "gamma: standard deviation of the gaps over their mean", ARGUMENT_TEXT, AT(cv)},
    {"--burst-rate", "RATE", "burst, mmpp: requests per second while a burst lasts", ARGUMENT_TEXT,
     AT(burst_rate)},
    {"--every", "TIME", "burst, mmpp: time from burst to burst", ARGUMENT_TEXT, AT(every)},
    {"--length", "TIME", "burst, mmpp: length of a burst", ARGUMENT_TEXT, AT(length)},
    {"--period", "TIME", "diurnal: time from low to high and back", ARGUMENT_TEXT, AT(period)},
    {"--swing", "FRACTION", "diurnal: how far the rate goes down and up from RATE", ARGUMENT_TEXT,
     AT(swing)},
    {"--trace", "FILE", "trace: a trace to rewrite, in Weft's form or of tokens", ARGUMENT_TEXT,
     AT(trace)},
    {"--speed", "X", "trace: X times as fast as FILE", ARGUMENT_TEXT, AT(speed)},
    {"--items-per", "N", "trace: N tokens of FILE make one item", ARGUMENT_TEXT, AT(items_per)},
    {"--name", "NAME", "workflows: name of the scenario; default 'random'", ARGUMENT_TEXT,
     AT(name)},
    {"--count", "N", "workflows: how many; default 8", ARGUMENT_COUNT, AT(count)},
    {"--tasks-max", "N", "workflows: tasks of the largest, 2 to 199; default 64", ARGUMENT_COUNT,
     AT(tasks_max)},
    {"--networks", "A,B", "operators: which networks; default all", ARGUMENT_TEXT, AT(networks)},
    {"--gmac-ms", "MS", "operators: time of a billion multiplications; default 10", ARGUMENT_TEXT,
     AT(gmac_ms)},
    {"--writes", "RATE", "operators: rate at which results are written; default 20GB/s",
     ARGUMENT_TEXT, AT(writes)},
    {"--device", "KIND", "operators: kind of device in the profile; default 'server'",
     ARGUMENT_TEXT, AT(device)},
    {.name = NULL},
};

const struct command command_generate = {
    .name = "generate",
    .summary = "make a trace of requests, random workflows, or those of networks",
    .usage = "trace|workflows|operators [options]",
    .description =
        "The same options and seed give the same bytes on every machine.\n"
        "\n"
        "  weft generate trace --kind gamma --rate 5/s --cv 4 --workflows a,b -o FILE.csv\n"
        "  weft generate workflows --count 8 --seed 1 -o FOLDER\n"
        "  weft generate operators --networks resnet18,gpt2 -o FOLDER\n"
        "\n"
        "A trace is a file of rows 't_ms,workflow', which the arrivals of a scenario may name.\n"
        "A folder has one file per workflow, a profile, and for random workflows a scenario that\n"
        "runs them. Operators are those of well-known networks, contracted to parts that can run\n"
        "side by side; most networks become a single task.\n",
    .arguments =
        {.operand = "trace, workflows or operators",
         .operand_min = 1,
         .operand_max = 1,
         .rows = rows},
    .values_bytes = sizeof(struct generate_values),
    .run = run,
};
