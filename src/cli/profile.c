/* profile.c - `weft profile`: measure the models of a repository on this machine. */
#include <inttypes.h>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "console/interrupt.h"
#include "console/progress.h"
#include "console/table.h"
#include "service/measure_repository.h"
#include "service/nursery.h"
#include "service/served_repository.h"

struct values {
    struct argument_list models;
    struct argument_count gpus;
    bool again;
    bool json;
};

static void on_problem(void *context, const char *message)
{
    (void)context;
    (void)fprintf(stderr, "%s\n", message);
}

static void on_model(
    void *context, const char *name, uint32_t index, uint32_t count, bool is_measured)
{
    (void)is_measured;
    struct progress *progress = context;
    progress->item = name;
    progress_show(progress, index, count);
}

static void on_failed(
    void *context, const char *name, const char *cause, enum measure_failure failure)
{
    (void)failure;
    progress_clear(context);
    (void)fprintf(stderr, "weft profile: %s: not measured: %s\n", name, cause);
}

static bool is_interrupted(void *context)
{
    (void)context;
    return interrupt_came();
}

/* @name on devices of kind @device; with shares, if those are GPUs. */
static void add_model(
    struct table *table, const char *name, const struct profile_model *known, uint32_t device)
{
    char text[TEXT_SCALED_BYTES];
    const struct profile_curve *curve = &known->curves[device];
    const int64_t load_ns = curve->load_ns > 0 ? curve->load_ns : known->load_fixed_ns;
    for (uint32_t i = 0; i < curve->point_count; i++) {
        const struct profile_point *point = &curve->points[i];
        table_add(table, "%s", i == 0 ? name : "");
        table_add(table, "%s", i == 0 ? text_bytes(text, known->resident_bytes) : "");
        if (i == 0) {
            table_add(table, "%.2f", (double)load_ns / 1e6);
            table_add(table, "%.2f", (double)curve->first_run_ns / 1e6);
        } else {
            table_add(table, "%s", "");
            table_add(table, "%s", "");
        }
        if (device > 0 && point->gpu > 0) {
            table_add(table, "%" PRIu32, point->gpu);
        } else if (device > 0) {
            table_add(table, "%s", "all");
        }
        table_add(table, "%" PRIu32, point->items);
        table_add(table, "%.3f", (double)point->run_ns / 1e6);
        table_add(table, "%.3f", (double)point->sd_ns / 1e6);
        const uint64_t workspace =
            known->workspace_bytes + known->workspace_bytes_per_item * point->items;
        table_add(table, "%s", text_bytes(text, workspace));
    }
}

static void print_kind(const struct measured *measured, uint32_t device)
{
    static const struct table_column columns[] = {
        {"model", false}, {"resident", true}, {"load ms", true}, {"first ms", true},
        {"items", true},  {"run ms", true},   {"sd ms", true},   {"workspace", true}};
    static const struct table_column gpu_columns[] = {
        {"model", false},   {"resident", true}, {"load ms", true},
        {"first ms", true}, {"units", true},    {"items", true},
        {"run ms", true},   {"sd ms", true},    {"workspace", true}};
    const struct measured_kind *kind = &measured->kinds[device];
    struct table table;
    if (device == 0) {
        table_init(&table, columns, ARRAY_COUNT(columns));
    } else {
        table_init(&table, gpu_columns, ARRAY_COUNT(gpu_columns));
    }
    for (uint32_t i = 0; i < kind->document.profile->model_count; i++) {
        if (model_set_has(&kind->document.listed, i)) {
            add_model(
                &table, measured->repository->catalogue->models[i],
                &kind->document.profile->models[i], device);
        }
    }
    table_print(&table, stdout);
    table_deinit(&table);
}

/* What models on a GPU do to one another. */
static void print_interference(const struct measured *measured, uint32_t device)
{
    const struct fleet *fleet = measured->fleet;
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        if (fleet->workers[i].device == device) {
            (void)printf(
                "%" PRIu32
                " units; beside others that hold all of it a batch takes %.0f %% longer\n",
                fleet->workers[i].gpu_units, 100 * fleet->workers[i].interference);
            return;
        }
    }
}

/* Why some models have one row each. */
static void print_alone(const struct measured *measured)
{
    for (uint32_t i = 0; i < measured->repository->catalogue->model_count; i++) {
        if (measured->looks[i].alone[0] != '\0') {
            (void)printf(
                "%s is never batched: %s\n", measured->repository->catalogue->models[i],
                measured->looks[i].alone);
        }
    }
}

static void print(const struct measured *measured)
{
    (void)printf(
        "%s, %s: %" PRIu32 " model%s measured now\n", measured->fleet->devices[0],
        measured->kinds[0].library, measured->measured_count,
        measured->measured_count == 1 ? "" : "s");
    print_kind(measured, /* device */ 0);
    print_alone(measured);
    for (uint32_t i = 1; i < measured->fleet->device_count; i++) {
        (void)printf("%s, %s\n", measured->fleet->devices[i], measured->kinds[i].library);
        print_kind(measured, i);
        print_interference(measured, i);
    }
}

static void on_note(void *context, const char *note, bool is_used)
{
    (void)context;
    (void)fprintf(stderr, "weft profile: %s%s\n", note, is_used ? "" : "; it is not used");
}

static int measure(
    const struct command *command, const struct values *values, struct repository *repository)
{
    struct machine machine;
    struct measured measured;
    struct progress progress;
    struct nursery nursery;
    struct weft_error error = {0};
    const struct measure_request request = {
        .nursery = &nursery,
        .again = values->again || values->models.count > 0,
        .only_measured = true,
        .models = &values->models,
        .on_model = on_model,
        .on_failed = on_failed,
        .is_interrupted = is_interrupted,
        .context = &progress,
    };
    machine_read(&machine);
    if (values->gpus.given) {
        repository->settings.gpus.count = (uint32_t)values->gpus.value;
    }
    served_find_gpus(repository, &machine, on_note, /* context */ NULL);
    if (nursery_start(&nursery, repository, &machine, &error) != WEFT_OK) {
        return command_fail(command, &error, COMMAND_FAILED);
    }
    progress_start(&progress, "measuring");
    interrupt_catch();
    const enum weft_status status =
        measure_repository(repository, &machine, &request, &measured, &error);
    progress_clear(&progress);
    nursery_stop(&nursery);
    if (status == WEFT_CANCELLED) {
        interrupt_obey();
    }
    if (status != WEFT_OK) {
        return command_fail(
            command, &error, status == WEFT_NOT_FOUND ? COMMAND_WRONG : COMMAND_FAILED);
    }
    if (values->json) {
        /* What was made here is UTF-8. */
        (void)profile_print(stdout, repository->catalogue, measured.fleet, &measured.document);
    } else {
        print(&measured);
    }
    const bool has_failed = measured.failed_count > 0;
    measured_close(&measured);
    const int flushed = command_flush(command);
    return has_failed ? COMMAND_FAILED : flushed;
}

static int run(const struct command *command, void *given, const struct operands *folders)
{
    struct values *values = given;
    const struct repository_listener listener = {.on_problem = on_problem};
    struct repository *repository = NULL;
    if (repository_load(folders->items[0], &listener, &repository, NULL) != WEFT_OK) {
        return COMMAND_WRONG; /* Each problem has been said. */
    }
    const int exit_code = measure(command, values, repository);
    repository_destroy(repository);
    return exit_code;
}

static const struct argument rows[] = {
    {"--model", "NAME", "measure this model, even if it was before; may be repeated", ARGUMENT_LIST,
     offsetof(struct values, models)},
    {"--again", NULL, "measure all models, even if they were before", ARGUMENT_FLAG,
     offsetof(struct values, again)},
    {"--gpus", "N", "use N GPUs at most", ARGUMENT_COUNT, offsetof(struct values, gpus)},
    {"--json", NULL, "print the profile as a document", ARGUMENT_FLAG,
     offsetof(struct values, json)},
    {.name = NULL},
};

const struct command command_profile = {
    .name = "profile",
    .summary = "measure the models of a repository on this machine",
    .usage = "REPOSITORY [options]",
    .description =
        "Loads each model a few times and runs it with 1, 2, 4 ... 32 made-up items, as long as a\n"
        "run takes less than half a second: open dimensions are 64, whole numbers 0. A model\n"
        "whose tasks may not share a run has one row, and the reason below it. The results are\n"
        "written to the repository after every model, in a file for this kind of processor and\n"
        "this version of ONNX Runtime. `weft serve` does the same for models without a profile.\n"
        "Functions, and models that fail on made-up inputs, are learnt while they are served.\n"
        "\n"
        "Models that have a form for GPUs are also measured on each kind of NVIDIA GPU here, in\n"
        "a file of its own: loads, runs by items and share, and what they do to one another.\n",
    .arguments = {.operand = "REPOSITORY", .operand_min = 1, .operand_max = 1, .rows = rows},
    .values_bytes = sizeof(struct values),
    .run = run,
};
