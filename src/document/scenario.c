#include "document/scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "document/arrivals_document.h"
#include "document/cluster_document.h"
#include "document/fault_document.h"
#include "document/mixture_document.h"
#include "document/pace_document.h"
#include "document/path.h"
#include "document/policy_document.h"
#include "document/scenario_check.h"
#include "document/scenario_set.h"
#include "document/workflow_document.h"
#include "mixture/mixture.h"
#include "mixture/mixture_copy.h"
#include "model/builtin.h"
#include "profile/builtin.h"

enum {
    TREES_MAX = WORKFLOWS_MAX + 4, /* Of the workflows, cluster, profile, truth and mixture. */
    JOBS_DEFAULT = 1000,
};

#define LENGTH_S_MAX 1e8 /* Three years: far from the end of 64-bit nanoseconds. */

static const struct reader_range jobs_range = {1, 1e9, "between 1 and 1000000000"};
static const struct reader_range share_range = {0, 0.99, "between 0% and 99%"};
static const struct reader_range members_after_range = {0, 10e9, "between 0 and 10s"};
static const struct reader_range seed_range = {0, 0x1p53, "between 0 and 2^53"};
static const struct reader_range seed_count_range = {
    1,
    SCENARIO_SEEDS_MAX,
    "between 1 and 1024 seeds",
};

_Static_assert(SCENARIO_SEEDS_MAX == 1024, "as seed_count_range says");

/* Everything that lives while a scenario is being read, and no longer. */
struct loading {
    struct reader *reader;
    struct arena arena; /* Of a tree that settings have changed. */
    struct tree *trees[TREES_MAX];
    uint32_t tree_count;
    const struct tree_node *workflows[WORKFLOWS_MAX];
};

/* Load the file that @node names, relative to the folder of the file it stands in. */
static const struct tree_node *open_path(struct loading *loading, const struct tree_node *node)
{
    char path[DOCUMENT_PATH_BYTES_MAX];
    struct weft_error cause = {0};
    const char *text = reader_text(loading->reader, node);

    if (!reader_is_good(loading->reader)) {
        return NULL;
    }
    if (!path_beside(path, node->file, text)) {
        reader_fail(
            loading->reader, node, "the path is longer than %d bytes", DOCUMENT_PATH_BYTES_MAX);
        return NULL;
    }
    if (loading->tree_count == TREES_MAX) { /* Workflows that were refused count here. */
        reader_fail(loading->reader, node, "more than %d files", TREES_MAX);
        return NULL;
    }
    struct tree **tree = &loading->trees[loading->tree_count];
    const enum weft_status status = tree_load(path, tree, &cause);
    if (status == WEFT_OK) {
        loading->tree_count++;
        (*tree)->listener = loading->reader->listener;
        return (*tree)->root;
    }
    /* A file that is not there is the fault of the line that names it. */
    if (status == WEFT_IO) {
        const struct weft_error missing = cause;
        (void)error_set(&cause, status, "%s:%u: %s", node->file, node->key_line, missing.message);
    }
    reader_report(loading->reader, node, status, cause.message);
    return NULL;
}

/* The mapping at @node: itself, or in the file it names. */
static const struct tree_node *open_part(struct loading *loading, const struct tree_node *node)
{
    char quoted[READER_QUOTE_BYTES];

    if (node == NULL || !reader_is_good(loading->reader)) {
        return NULL;
    }
    if (node->kind == TREE_LIST) {
        reader_fail(
            loading->reader, node, "'%s' wants a mapping or the path of a file, not %s", node->key,
            reader_quote(quoted, node));
        return NULL;
    }
    return node->kind == TREE_MAPPING ? node : open_path(loading, node);
}

static void read_cluster(struct reader *reader, const struct tree_node *node, void *record)
{
    struct scenario *scenario = record;
    const struct tree_node *cluster = open_part(reader->context, node);

    if (cluster != NULL) {
        reader_keep(reader, cluster_read(cluster, &scenario->fleet, reader_error(reader)));
    }
}

static void write_cluster(struct writer *writer, const void *record)
{
    const struct scenario *scenario = record;

    writer_key(writer, "cluster");
    cluster_write(writer, scenario->fleet);
}

static void read_workflow(
    struct reader *reader, const struct tree_node *node, struct catalogue *catalogue)
{
    struct loading *loading = reader->context;
    struct workflow *workflow = NULL;

    if (catalogue->workflow_count == WORKFLOWS_MAX) {
        reader_fail(reader, node, "more than %d workflows", WORKFLOWS_MAX);
    }
    const struct tree_node *source = open_part(loading, node);
    if (source == NULL) {
        return;
    }
    reader_keep(reader, workflow_read(source, catalogue, &workflow, reader_error(reader)));
    if (!reader_is_good(reader)) {
        return;
    }
    loading->workflows[catalogue->workflow_count] = source;
    if (catalogue_add_workflow(catalogue, workflow) != WEFT_OK) {
        reader_fail(reader, node, "a second workflow is called '%s'", workflow->name);
        workflow_destroy(workflow);
    }
}

static void read_workflows(struct reader *reader, const struct tree_node *node, void *record)
{
    struct scenario *scenario = record;

    scenario->catalogue = catalogue_create();
    reader_list(reader, node);
    reader_filled(reader, node);
    READER_EACH (item, reader, node) {
        read_workflow(reader, item, scenario->catalogue);
    }
}

static void write_workflows(struct writer *writer, const void *record)
{
    const struct catalogue *catalogue = ((const struct scenario *)record)->catalogue;

    writer_key(writer, "workflows");
    writer_open_list(writer, WRITER_LINES);
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        workflow_write(writer, catalogue->workflows[i], catalogue);
    }
    writer_close(writer);
}

/* Checked against cluster and workflows, which come before it. Returns its tree; NULL: it is bad.
 */
static const struct tree_node *read_figures(
    struct reader *reader, const struct tree_node *node, const struct scenario *scenario,
    struct profile_document *document_out)
{
    const struct tree_node *profile = open_part(reader->context, node);

    if (profile == NULL) {
        return NULL;
    }
    reader_keep(
        reader, profile_read(
                    profile, PROFILE_KNOWN, scenario->catalogue, scenario->fleet, document_out,
                    reader_error(reader)));
    if (!reader_is_good(reader)) {
        return NULL;
    }
    profile_add_builtin(document_out->profile, scenario->catalogue, scenario->fleet->device_count);
    return profile;
}

static void read_profile(struct reader *reader, const struct tree_node *node, void *record)
{
    const struct loading *loading = reader->context;
    struct scenario *scenario = record;
    struct profile_document document = {0};
    const struct tree_node *profile = read_figures(reader, node, scenario, &document);

    if (profile == NULL) {
        return;
    }
    scenario->profile = document.profile;
    scenario->origin = document.origin;
    scenario_check_profile(reader, scenario, &document.listed, loading->workflows, profile);
}

static void read_truth(struct reader *reader, const struct tree_node *node, void *record)
{
    struct scenario *scenario = record;
    struct profile_document document = {0};
    const struct tree_node *truth = read_figures(reader, node, scenario, &document);

    if (truth == NULL) {
        return;
    }
    scenario->truth = document.profile;
    scenario->truth_origin = document.origin;
    scenario_check_truth(reader, scenario, node);
}

/* The models of the document: those that some task runs or needs. */
static void find_models(const struct catalogue *catalogue, struct model_set *used_out)
{
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

static void write_figures(
    struct writer *writer, const char *key, const struct scenario *scenario,
    struct profile_document document)
{
    find_models(scenario->catalogue, &document.listed);
    writer_key(writer, key);
    profile_write(writer, PROFILE_KNOWN, scenario->catalogue, scenario->fleet, &document);
}

static void write_profile(struct writer *writer, const void *record)
{
    const struct scenario *scenario = record;
    const struct profile_document document = {
        .profile = scenario->profile, .origin = scenario->origin};
    write_figures(writer, "profile", scenario, document);
}

static void write_truth(struct writer *writer, const void *record)
{
    const struct scenario *scenario = record;
    const struct profile_document document = {
        .profile = scenario->truth, .origin = scenario->truth_origin};
    if (scenario->truth != NULL) {
        write_figures(writer, "truth", scenario, document);
    }
}

static void read_arrivals(struct reader *reader, const struct tree_node *node, void *record)
{
    struct scenario *scenario = record;
    const struct arrivals *arrivals = &scenario->arrivals;

    arrivals_read(reader, node, scenario->catalogue, &scenario->arena, &scenario->arrivals);
    scenario->jobs = arrivals->list_count > 0 ? arrivals->list_count : JOBS_DEFAULT;
}

static void write_arrivals(struct writer *writer, const void *record)
{
    const struct scenario *scenario = record;
    const struct arrivals_written written = {
        .arrivals = &scenario->arrivals,
        .catalogue = scenario->catalogue,
        .seed = scenario->seeds[0],
        .jobs = scenario->jobs,
    };

    writer_key(writer, "arrivals");
    arrivals_write(writer, &written);
}

static bool is_list(const struct arrivals *arrivals)
{
    return arrivals->kind == ARRIVALS_LIST || arrivals->kind == ARRIVALS_TRACE;
}

static void read_jobs(struct reader *reader, const struct tree_node *node, void *record)
{
    struct scenario *scenario = record;
    const struct arrivals *arrivals = &scenario->arrivals;

    scenario->jobs = (uint64_t)reader_quantity(reader, node, QUANTITY_COUNT, &jobs_range);
    if (!is_list(arrivals) || arrivals->repeat || scenario->jobs <= arrivals->list_count) {
        return;
    }
    reader_fail(
        reader, node,
        arrivals->kind == ARRIVALS_LIST ? "'jobs' is %" PRIu64 ", but the list has only %u"
                                        : "'jobs' is %" PRIu64
                                          ", but the trace has only %u rows; it may be repeated",
        scenario->jobs, arrivals->list_count);
}

static void write_jobs(struct writer *writer, const void *record)
{
    const struct scenario *scenario = record;

    if (!is_list(&scenario->arrivals)) {
        writer_key(writer, "jobs");
        writer_quantity(writer, QUANTITY_COUNT, (double)scenario->jobs);
    }
}

/* Kept in one piece, in the arena. */
static void read_mixture(struct reader *reader, const struct tree_node *node, void *record)
{
    struct scenario *scenario = record;
    struct mixture *mixture = NULL;
    const struct tree_node *source = open_part(reader->context, node);

    if (source == NULL) {
        return;
    }
    reader_keep(
        reader,
        mixture_read(source, scenario->catalogue, scenario->fleet, &mixture, reader_error(reader)));
    if (reader_is_good(reader)) {
        scenario_check_mixture(reader, scenario, mixture, source);
    }
    if (reader_is_good(reader)) {
        scenario->mixture = mixture_copy_to(&scenario->arena, mixture);
    }
    mixture_destroy(mixture);
}

static void write_mixture(struct writer *writer, const void *record)
{
    const struct scenario *scenario = record;

    if (scenario->mixture != NULL) {
        writer_key(writer, "mixture");
        mixture_write(writer, scenario->mixture, scenario->catalogue);
    }
}

/* Whether @text is the first and the last of seeds that follow each other, such as 201..216. */
static bool is_span(const char *text, uint64_t *first_out, uint64_t *last_out)
{
    char end;
    return text != NULL &&
           sscanf(text, "%15" SCNu64 "..%15" SCNu64 "%c", first_out, last_out, &end) == 2;
}

/* A list of seeds; the first and the last one; or how many, counted from 1. */
static void read_seeds(struct reader *reader, const struct tree_node *node, void *record)
{
    struct scenario *scenario = record;

    scenario->seed_count = 0;
    if (node->kind != TREE_LIST) {
        uint64_t first;
        uint64_t last;
        if (!is_span(node->text, &first, &last)) {
            first = 1;
            last = (uint64_t)reader_quantity(reader, node, QUANTITY_COUNT, &seed_count_range);
        }
        if (last < first || last - first >= SCENARIO_SEEDS_MAX) {
            reader_fail(
                reader, node, "'seeds' must name 1 to %d seeds, the first one first",
                SCENARIO_SEEDS_MAX);
            return;
        }
        for (uint64_t seed = first; seed <= last; seed++) {
            scenario->seeds[scenario->seed_count++] = seed;
        }
        return;
    }
    if (node->child_count == 0 || node->child_count > SCENARIO_SEEDS_MAX) {
        reader_fail(
            reader, node, "'seeds' has %u seeds; it must have between 1 and %d", node->child_count,
            SCENARIO_SEEDS_MAX);
        return;
    }
    READER_EACH (seed, reader, node) {
        scenario->seeds[scenario->seed_count++] =
            (uint64_t)reader_quantity(reader, seed, QUANTITY_COUNT, &seed_range);
    }
}

/* Workflows drawn for the rows of a trace hold for one seed only. */
static void write_seeds(struct writer *writer, const void *record)
{
    const struct scenario *scenario = record;
    const struct arrivals *arrivals = &scenario->arrivals;
    const bool is_drawn = arrivals->kind == ARRIVALS_TRACE && arrivals->list_count > 0 &&
                          arrivals->list[0].workflow == ARRIVAL_WORKFLOW_ANY;
    const uint32_t count = is_drawn ? 1 : scenario->seed_count;

    writer_key(writer, "seeds");
    writer_open_list(writer, WRITER_INLINE);
    for (uint32_t i = 0; i < count; i++) {
        writer_quantity(writer, QUANTITY_COUNT, (double)scenario->seeds[i]);
    }
    writer_close(writer);
}

const struct field scenario_fields[] = {
    {"scenario", FIELD_NAME(struct scenario, name), .needed = true, .help = "its name"},
    {"cluster", .read = read_cluster, .write = write_cluster, .needed = true,
     .form = "cluster or its path", .help = "the machines"},
    {"workflows", .read = read_workflows, .write = write_workflows, .needed = true,
     .form = "list of workflows or their paths", .help = "what requests ask for"},
    {"profile", .relies = true, .read = read_profile, .write = write_profile, .needed = true,
     .form = "profile or its path",
     .help = "how long tasks run; what no workflow or device needs is not read"},
    {"truth", .relies = true, .read = read_truth, .write = write_truth,
     .form = "profile or its path",
     .help =
         "how long batches really take, while policies know only the `profile`. Sizes and loads "
         "are those of the `profile`. Simulated only",
     .left_out = "what the `profile` says"},
    {"arrivals", .relies = true, .read = read_arrivals, .write = write_arrivals, .needed = true,
     .form = "mapping", .help = "how requests come: see below"},
    {"jobs", .relies = true, FIELD_LONG_COUNT(struct scenario, jobs), .range = &jobs_range,
     .read = read_jobs, .write = write_jobs, .help = "how many requests arrive",
     .left_out = "`1000`, or as many as the list has"},
    {"mixture", .relies = true, .read = read_mixture, .write = write_mixture,
     .form = "mixture or its path", .help = "for policy `nona`: see below",
     .left_out = "solved when a run begins"},
    {"rows", FIELD_RECORD(struct scenario, rows, settings_rows_fields), .always = true,
     .form = "`{load, cache}`",
     .help = "how often workers tell the others of their load and of their cache",
     .left_out = "`10ms`, `100ms`"},
    {"policy", FIELD_PART(struct scenario, policy), .read = policy_read, .write = policy_write,
     .fallback = "weft", .form = POLICY_FORM,
     .help = "how decisions are made: [POLICIES](POLICIES.md)"},
    {"noise", FIELD_FRACTION(struct scenario, noise), .range = &share_range, .always = true,
     .help = "run times vary uniformly by this share up and down"},
    {"profile_error", FIELD_FRACTION(struct scenario, profile_error), .range = &share_range,
     .help = "run times of every config of every model differ from the profile by a factor that "
             "is drawn uniformly once per run, up to this share up or down; policies know only the "
             "profile. Simulated only"},
    {"pace", .read = pace_read, .write = pace_write, .form = "`{every, factors}`",
     .help = "how fast machines are as time goes on: see below. Simulated only",
     .left_out = "always the same"},
    {"deputies", FIELD_FLAG(struct scenario, has_deputies),
     .help = "clients give their requests keys and ask again when they lose their owner; owners "
             "tell a deputy of every request. Simulated only: servers of a cluster always do"},
    {"asked_twice", FIELD_FLAG(struct scenario, is_asked_twice),
     .help = "with `deputies`: every fourth client that has its answer asks any node once more "
             "within two seconds, and must be given the same. Simulated only"},
    {"members_after", FIELD_DURATION(struct scenario, members_after_ns),
     .range = &members_after_range,
     .help = "each node hears that another has come or gone after a time of its own, drawn "
             "uniformly up to this. Simulated only"},
    {"warmup", FIELD_FRACTION(struct scenario, warmup), .range = &share_range, .always = true,
     .fallback = "10%", .help = "the share of jobs that is not reported"},
    {"seeds", .read = read_seeds, .write = write_seeds, .fallback = "1",
     .form =
         "list of numbers, the first and the last as in `201..216`, or how many, counted from 1",
     .help = "one run for each"},
    {"faults", .relies = true, .read = faults_read, .write = faults_write,
     .form = "list of mappings", .help = "what breaks: see below", .left_out = "nothing"},
    {0},
};

/* Fail if the jobs would take longer than clocks count. */
static void check_length(
    struct reader *reader, const struct tree_node *node, const struct scenario *scenario)
{
    const struct tree_node *jobs = tree_find(node, "jobs");
    const double rate_per_s = scenario->arrivals.rate_per_s;

    /* A list is no longer than a duration, and neither is a trace that takes no time. */
    if (rate_per_s > 0 && (double)scenario->jobs / rate_per_s > LENGTH_S_MAX) {
        reader_fail(
            reader, jobs != NULL ? jobs : tree_find(node, "arrivals"),
            "%" PRIu64 " jobs at %g/s take more than three years", scenario->jobs, rate_per_s);
    }
}

/* The tree with @settings in place of what it says. */
static const struct tree_node *change(
    struct loading *loading, const struct tree_node *node, const struct scenario_setting *settings,
    uint32_t setting_count)
{
    const struct tree_node *cluster = tree_find(node, "cluster");

    if (setting_count > 0 && cluster != NULL) {
        cluster = open_part(loading, cluster);
        node = cluster == NULL ? node : tree_with(&loading->arena, node, "cluster", cluster);
    }
    for (uint32_t i = 0; i < setting_count && reader_is_good(loading->reader); i++) {
        node = scenario_set(loading->reader, &loading->arena, node, &settings[i]);
    }
    return node;
}

enum weft_status scenario_read_with(
    const struct tree_node *node, const struct scenario_setting *settings, uint32_t setting_count,
    struct scenario **scenario_out, struct weft_error *error)
{
    struct loading loading = {.tree_count = 0};
    struct reader reader = {.error = error, .context = &loading};
    struct scenario *scenario = memory_zeroed(1, sizeof(*scenario));

    loading.reader = &reader;
    arena_init(&scenario->arena);
    arena_init(&loading.arena);
    node = change(&loading, node, settings, setting_count);
    record_read(&reader, node, scenario_fields, scenario);
    if (reader_is_good(&reader)) {
        check_length(&reader, node, scenario);
        scenario_check_memory(&reader, scenario, loading.workflows);
    }
    arena_deinit(&loading.arena);
    for (uint32_t i = 0; i < loading.tree_count; i++) {
        tree_destroy(loading.trees[i]);
    }
    if (!reader_is_good(&reader)) {
        scenario_destroy(scenario);
        return reader.status;
    }
    *scenario_out = scenario;
    return WEFT_OK;
}

enum weft_status scenario_read(
    const struct tree_node *node, struct scenario **scenario_out, struct weft_error *error)
{
    return scenario_read_with(node, /* settings */ NULL, /* count */ 0, scenario_out, error);
}

enum weft_status scenario_load_with(
    const char *path, const struct scenario_setting *settings, uint32_t setting_count,
    struct scenario **scenario_out, struct weft_error *error)
{
    struct tree *tree = NULL;

    enum weft_status status = tree_load(path, &tree, error);
    if (status != WEFT_OK) {
        return status;
    }
    status = scenario_read_with(tree->root, settings, setting_count, scenario_out, error);
    tree_destroy(tree);
    return status;
}

enum weft_status scenario_load(
    const char *path, struct scenario **scenario_out, struct weft_error *error)
{
    return scenario_load_with(path, /* settings */ NULL, /* count */ 0, scenario_out, error);
}

void scenario_destroy(struct scenario *scenario)
{
    if (scenario == NULL) {
        return;
    }
    profile_destroy(scenario->profile);
    profile_destroy(scenario->truth);
    catalogue_destroy(scenario->catalogue);
    fleet_destroy(scenario->fleet);
    arena_deinit(&scenario->arena);
    free(scenario);
}

enum weft_status scenario_write(
    const struct scenario *scenario, FILE *file, struct weft_error *error)
{
    struct writer writer;

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
    writer_init(&writer, file, WRITER_YAML);
    writer_open_mapping(&writer, WRITER_LINES);
    record_write(&writer, scenario_fields, scenario);
    writer_close(&writer);
    return WEFT_OK;
}
