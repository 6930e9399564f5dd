#include "document/scenario_save.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "document/cluster_save.h"
#include "document/mixture_document.h"
#include "document/scalar_save.h"
#include "document/workflow_save.h"
#include "model/builtin.h"

/* Of which models the document speaks: those that some task runs or needs. */
static void find_models(const struct catalogue *catalogue, struct model_set *used_out)
{
    *used_out = (struct model_set){0};
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        for (uint32_t j = 0; j < workflow->task_count; j++) {
            const struct workflow_task *task = &workflow->tasks[j];
            if (!builtin_is_reserved(catalogue->models[task->run])) {
                model_set_add(used_out, task->run);
            }
            for (uint32_t k = 0; k < task->model_count; k++) {
                model_set_add(used_out, task->models[k]);
            }
        }
    }
}

/* One item of a list: its first line behind a dash, the others below it. */
static void write_workflow(
    const struct workflow *workflow, const struct catalogue *catalogue, FILE *file)
{
    char *text = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&text, &size);

    ASSERT(lines != NULL); /* Only memory can be missing: see base/memory.h. */
    workflow_write(workflow, catalogue, lines);
    const int failed = fclose(lines);
    ASSERT(failed == 0);
    const char *margin = "  - ";
    for (const char *at = text; *at != '\0'; at++) {
        if (margin != NULL) {
            (void)fputs(margin, file);
            margin = NULL;
        }
        (void)fputc(*at, file);
        if (*at == '\n') {
            margin = "    ";
        }
    }
    free(text);
}

static void write_point(const struct profile_point *point, FILE *file)
{
    (void)fprintf(file, "{items: %" PRIu32, point->items);
    if (point->cpu > 0) {
        (void)fprintf(file, ", cpu: %" PRIu32, point->cpu);
    }
    if (point->gpu > 0) {
        (void)fprintf(file, ", gpu: %" PRIu32, point->gpu);
    }
    (void)fputs(", ms: ", file);
    scalar_write_ms(point->run_ns, file);
    if (point->sd_ns > 0) {
        (void)fputs(", sd_ms: ", file);
        scalar_write_ms(point->sd_ns, file);
    }
    (void)fputc('}', file);
}

static void write_curve(const struct profile_curve *curve, FILE *file)
{
    static const char *const distributions[] = {"normal", "exponential", "gamma", "deterministic"};

    (void)fputs("{points: [", file);
    for (uint32_t i = 0; i < curve->point_count; i++) {
        (void)fputs(i == 0 ? "" : ", ", file);
        write_point(&curve->points[i], file);
    }
    (void)fputc(']', file);
    if (curve->distribution != DISTRIBUTION_NORMAL) {
        (void)fprintf(file, ", distribution: %s", distributions[curve->distribution]);
    }
    (void)fputs("}\n", file);
}

static void write_amount(const char *key, uint64_t bytes, FILE *file)
{
    if (bytes > 0) {
        (void)fprintf(file, "      %s: ", key);
        scalar_write_bytes(bytes, file);
        (void)fputc('\n', file);
    }
}

static bool has_device(const struct fleet *fleet, uint32_t device)
{
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        if (fleet->workers[i].device == device) {
            return true;
        }
    }
    return false;
}

/* Load and resident are written always: one that is left out is read as the other. */
static void write_model(const struct scenario *scenario, uint32_t number, FILE *file)
{
    const struct profile_model *model = &scenario->profile->models[number];
    const char *heading = "      devices:\n";

    (void)fputs("    ", file);
    scalar_write_text(scenario->catalogue->models[number], file);
    (void)fputs(":\n      load: ", file);
    scalar_write_bytes(model->load_bytes, file);
    (void)fputs("\n      resident: ", file);
    scalar_write_bytes(model->resident_bytes, file);
    (void)fputc('\n', file);
    write_amount("workspace", model->workspace_bytes, file);
    write_amount("workspace_per_item", model->workspace_bytes_per_item, file);
    if (model->load_fixed_ns > 0) {
        (void)fputs("      load_fixed_ms: ", file);
        scalar_write_ms(model->load_fixed_ns, file);
        (void)fputc('\n', file);
    }
    if (model->pinned) {
        (void)fputs("      pinned: true\n", file);
    }
    for (uint32_t i = 0; i < scenario->fleet->device_count; i++) {
        if (model->curves[i].point_count > 0 && has_device(scenario->fleet, i)) {
            (void)fprintf(file, "%s        ", heading);
            scalar_write_text(scenario->fleet->devices[i], file);
            (void)fputs(": ", file);
            write_curve(&model->curves[i], file);
            heading = "";
        }
    }
}

static void write_profile(const struct scenario *scenario, FILE *file)
{
    static const char *const figures[] = {"measured", "published", "assumed"};
    struct model_set used;

    find_models(scenario->catalogue, &used);
    (void)fprintf(
        file, "profile:\n  weft_profile: %d\n  figures: %s\n", PROFILE_VERSION,
        figures[scenario->origin.figures]);
    if (scenario->origin.source[0] != '\0') {
        (void)fputs("  source: ", file);
        scalar_write_text(scenario->origin.source, file);
        (void)fputc('\n', file);
    }
    (void)fputs("  models:\n", file);
    for (uint32_t i = 0; i < scenario->catalogue->model_count; i++) {
        if (model_set_has(&used, i)) {
            write_model(scenario, i, file);
        }
    }
}

static void write_mix(const struct scenario *scenario, FILE *file)
{
    const char *comma = "";

    (void)fputs("  mix: {", file);
    for (uint32_t i = 0; i < scenario->catalogue->workflow_count; i++) {
        if (scenario->arrivals.mix[i] > 0) {
            (void)fputs(comma, file);
            scalar_write_text(scenario->catalogue->workflows[i]->name, file);
            (void)fputs(": ", file);
            scalar_write_number(scenario->arrivals.mix[i], file);
            comma = ", ";
        }
    }
    (void)fputs("}\n", file);
}

static void write_rate(const char *key, double rate_per_s, FILE *file)
{
    (void)fputs(key, file);
    scalar_write_number(rate_per_s, file);
    (void)fputs("/s", file);
}

static void write_burst(const struct arrivals_burst *burst, FILE *file)
{
    write_rate("  burst: {rate: ", burst->rate_per_s, file);
    (void)fputs(", every: ", file);
    scalar_write_duration(burst->every_ns, file);
    (void)fputs(", length: ", file);
    scalar_write_duration(burst->length_ns, file);
    (void)fputs("}\n", file);
}

static void write_shape(const struct arrivals_shape *shape, FILE *file)
{
    (void)fputs("  diurnal: {period: ", file);
    scalar_write_duration(shape->period_ns, file);
    for (uint32_t i = 0; i < shape->point_count; i++) {
        (void)fputs(i == 0 ? ", shape: [" : ", ", file);
        scalar_write_number(shape->points[i], file);
    }
    (void)fputs("]}\n", file);
}

/* Arrivals that are drawn while they come. */
static void write_stream(const struct scenario *scenario, FILE *file)
{
    const struct arrivals *arrivals = &scenario->arrivals;

    write_rate("  rate: ", arrivals->rate_per_s, file);
    (void)fputc('\n', file);
    if (arrivals->kind == ARRIVALS_GAMMA) {
        (void)fputs("  cv: ", file);
        scalar_write_number(arrivals->cv, file);
        (void)fputc('\n', file);
    } else if (arrivals->kind == ARRIVALS_BURST || arrivals->kind == ARRIVALS_MMPP) {
        write_burst(&arrivals->burst, file);
    } else if (arrivals->kind == ARRIVALS_DIURNAL) {
        write_shape(&arrivals->shape, file);
    }
    write_mix(scenario, file);
}

/* Every request by itself, as a list or trace gives them with the first seed. */
static void write_list(const struct scenario *scenario, FILE *file)
{
    struct arrival_stream stream;
    struct arrival arrival;

    (void)fputs("  list:\n", file);
    arrival_stream_init(
        &stream, &scenario->arrivals, scenario->catalogue, /* seed */ scenario->seeds[0]);
    for (uint64_t i = 0; i < scenario->jobs && arrival_stream_next(&stream, &arrival); i++) {
        (void)fputs("    - {at: ", file);
        scalar_write_duration(arrival.at_ns, file);
        (void)fputs(", workflow: ", file);
        scalar_write_text(scenario->catalogue->workflows[arrival.workflow]->name, file);
        if (arrival.items != 1) {
            (void)fprintf(file, ", items: %" PRIu32, arrival.items);
        }
        (void)fputs("}\n", file);
    }
}

static bool is_list(const struct arrivals *arrivals)
{
    return arrivals->kind == ARRIVALS_LIST || arrivals->kind == ARRIVALS_TRACE;
}

static void write_patience(const struct arrivals *arrivals, FILE *file)
{
    if (arrivals->patience_ns > 0) {
        (void)fputs(arrivals->patience_is_mean ? "  patience: {mean: " : "  patience: ", file);
        scalar_write_duration(arrivals->patience_ns, file);
        (void)fputs(arrivals->patience_is_mean ? "}\n" : "\n", file);
    }
}

static void write_arrivals(const struct scenario *scenario, FILE *file)
{
    /* In the order of enum arrivals_kind. */
    static const char *const kinds[] = {
        "poisson", "constant", "list", "gamma", "burst", "mmpp", "diurnal",
    };
    if (is_list(&scenario->arrivals)) {
        (void)fputs("arrivals:\n  kind: list\n", file);
        write_patience(&scenario->arrivals, file);
        write_list(scenario, file);
        return;
    }
    (void)fprintf(file, "arrivals:\n  kind: %s\n", kinds[scenario->arrivals.kind]);
    write_patience(&scenario->arrivals, file);
    write_stream(scenario, file);
    (void)fprintf(file, "jobs: %" PRIu64 "\n", scenario->jobs);
}

static void write_fault(const struct fault *fault, FILE *file)
{
#define X(kind, name) name,
    static const char *const kinds[] = {FAULT_KINDS(X)};
#undef X
    const enum fault_kind kind = fault->kind;

    (void)fputs("  - {at: ", file);
    scalar_write_duration(fault->at_ns, file);
    (void)fprintf(file, ", %s: %" PRIu32, kinds[kind], fault->victim);
    if (fault->for_ns > 0 || kind == FAULT_STOP || kind == FAULT_PARTITION ||
        kind == FAULT_NO_DIRECTORY) {
        (void)fputs(", for: ", file);
        scalar_write_duration(fault->for_ns, file);
    }
    if (kind == FAULT_SLOW || kind == FAULT_LOSS || kind == FAULT_FAIL_LOADS ||
        kind == FAULT_FAIL_BATCHES) {
        (void)fputs(", factor: ", file);
        scalar_write_number(fault->factor, file);
    }
    (void)fputs("}\n", file);
}

static void write_random_faults(const struct fault_random *random, FILE *file)
{
#define X(kind, name) name,
    static const char *const names[] = {FAULT_KINDS(X)};
#undef X
    const char *separator = "";

    (void)fputs("  - random: {rate: ", file);
    scalar_write_number(random->rate_per_s, file);
    (void)fputs("/s, until: ", file);
    scalar_write_duration(random->until_ns, file);
    (void)fputs(", for: ", file);
    scalar_write_duration(random->for_ns, file);
    (void)fputs(", kinds: [", file);
    for (uint32_t kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        if ((random->kinds >> kind & 1) != 0) {
            (void)fprintf(file, "%s%s", separator, names[kind]);
            separator = ", ";
        }
    }
    (void)fputs("]}\n", file);
}

/* Workflows drawn for the rows of a trace hold for one seed only. */
static uint32_t written_seeds(const struct scenario *scenario)
{
    const struct arrivals *arrivals = &scenario->arrivals;
    const bool is_drawn = arrivals->kind == ARRIVALS_TRACE && arrivals->list_count > 0 &&
                          arrivals->list[0].workflow == ARRIVAL_WORKFLOW_ANY;
    return is_drawn ? 1 : scenario->seed_count;
}

static void write_run(const struct scenario *scenario, FILE *file)
{
    (void)fputs("rows: {load: ", file);
    scalar_write_duration(scenario->row_load_ns, file);
    (void)fputs(", cache: ", file);
    scalar_write_duration(scenario->row_cache_ns, file);
    (void)fputs("}\npolicy: ", file);
    scalar_write_text(scenario->policy, file);
    (void)fputs("\nnoise: ", file);
    scalar_write_number(scenario->noise, file);
    if (scenario->profile_error > 0) {
        (void)fputs("\nprofile_error: ", file);
        scalar_write_number(scenario->profile_error, file);
    }
    (void)fputs("\nwarmup: ", file);
    scalar_write_number(scenario->warmup, file);
    (void)fputs("\nseeds: [", file);
    for (uint32_t i = 0; i < written_seeds(scenario); i++) {
        (void)fprintf(file, "%s%" PRIu64, i == 0 ? "" : ", ", scenario->seeds[i]);
    }
    (void)fputs("]\n", file);
    if (scenario->fault_count + scenario->fault_random_count > 0) {
        (void)fputs("faults:\n", file);
    }
    for (uint32_t i = 0; i < scenario->fault_count; i++) {
        write_fault(&scenario->faults[i], file);
    }
    for (uint32_t i = 0; i < scenario->fault_random_count; i++) {
        write_random_faults(&scenario->fault_randoms[i], file);
    }
}

enum weft_status scenario_write(
    const struct scenario *scenario, FILE *file, struct weft_error *error)
{
    const struct catalogue *catalogue = scenario->catalogue;

    if (!cluster_is_writable(scenario->fleet)) {
        return error_set(
            error, WEFT_INVALID, "%s: no document describes a machine with unlike devices",
            scenario->name);
    }
    if (is_list(&scenario->arrivals) && scenario->jobs > SCENARIO_LIST_MAX) {
        return error_set(
            error, WEFT_LIMIT, "%s: one document has room for %d arrivals, not %" PRIu64,
            scenario->name, SCENARIO_LIST_MAX, scenario->jobs);
    }
    (void)fputs("scenario: ", file);
    scalar_write_text(scenario->name, file);
    (void)fputs("\ncluster:\n", file);
    cluster_write(scenario->fleet, /* indent */ 2, file);
    (void)fputs("workflows:\n", file);
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        write_workflow(catalogue->workflows[i], catalogue, file);
    }
    write_profile(scenario, file);
    write_arrivals(scenario, file);
    if (scenario->mixture != NULL) {
        (void)fputs("mixture: ", file);
        mixture_write(scenario->mixture, catalogue, /* indent */ 2, file);
    }
    write_run(scenario, file);
    return WEFT_OK;
}
