#include "document/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "document/cluster_document.h"
#include "document/mixture_document.h"
#include "document/path.h"
#include "document/profile_document.h"
#include "document/reader.h"
#include "document/scenario_check.h"
#include "document/scenario_parts.h"
#include "document/tree.h"
#include "document/workflow_document.h"
#include "mixture/mixture.h"
#include "mixture/mixture_copy.h"
#include "profile/builtin.h"

enum {
    TREES_MAX = WORKFLOWS_MAX + 3, /* Of the workflows, cluster, profile and mixture. */
};

#define POLICY_DEFAULT "least-work"

/* Everything that lives while a scenario is being read, and no longer. */
struct loading {
    struct reader reader;
    struct arena arena; /* Of a tree that settings have changed. */
    struct scenario *scenario;
    struct tree *trees[TREES_MAX];
    uint32_t tree_count;
    const struct tree_node *workflows[WORKFLOWS_MAX];
};

/* Load the file that @node names, relative to the folder of the file it stands in. */
static const struct tree_node *open_path(struct loading *loading, const struct tree_node *node)
{
    char path[DOCUMENT_PATH_BYTES_MAX];
    struct weft_error cause = {0};
    const char *text = reader_text(&loading->reader, node);

    if (!reader_is_good(&loading->reader)) {
        return NULL;
    }
    if (!path_beside(path, node->file, text)) {
        reader_fail(
            &loading->reader, node, "the path is longer than %d bytes", DOCUMENT_PATH_BYTES_MAX);
        return NULL;
    }
    struct tree **tree = &loading->trees[loading->tree_count];
    const enum weft_status status = tree_load(path, tree, &cause);
    if (status == WEFT_OK) {
        loading->tree_count++;
        return (*tree)->root;
    }
    /* A file that is not there is the fault of the line that names it. */
    if (status == WEFT_IO) {
        reader_keep(
            &loading->reader, error_set(
                                  loading->reader.error, status, "%s:%u: %s", node->file,
                                  node->key_line, cause.message));
    } else {
        reader_keep(
            &loading->reader, error_set(loading->reader.error, status, "%s", cause.message));
    }
    return NULL;
}

/* The mapping at @node: itself, or in the file it names. */
static const struct tree_node *open_part(struct loading *loading, const struct tree_node *node)
{
    char quoted[READER_QUOTE_BYTES];

    if (node == NULL || !reader_is_good(&loading->reader)) {
        return NULL;
    }
    if (node->kind == TREE_LIST) {
        reader_fail(
            &loading->reader, node, "'%s' wants a mapping or the path of a file, not %s", node->key,
            reader_quote(quoted, node));
        return NULL;
    }
    return node->kind == TREE_MAPPING ? node : open_path(loading, node);
}

static void load_cluster(struct loading *loading, const struct tree_node *node)
{
    const struct tree_node *cluster =
        open_part(loading, reader_need(&loading->reader, node, "cluster"));

    if (cluster != NULL) {
        reader_keep(
            &loading->reader,
            cluster_read(cluster, &loading->scenario->fleet, loading->reader.error));
    }
}

static void load_workflow(struct loading *loading, const struct tree_node *node)
{
    struct catalogue *catalogue = loading->scenario->catalogue;
    struct workflow *workflow = NULL;

    if (catalogue->workflow_count == WORKFLOWS_MAX) {
        reader_fail(&loading->reader, node, "more than %d workflows", WORKFLOWS_MAX);
    }
    const struct tree_node *source = open_part(loading, node);
    if (source == NULL) {
        return;
    }
    reader_keep(
        &loading->reader, workflow_read(source, catalogue, &workflow, loading->reader.error));
    if (!reader_is_good(&loading->reader)) {
        return;
    }
    loading->workflows[catalogue->workflow_count] = source;
    if (catalogue_add_workflow(catalogue, workflow) != WEFT_OK) {
        reader_fail(&loading->reader, node, "a second workflow is called '%s'", workflow->name);
        workflow_destroy(workflow);
    }
}

static void load_workflows(struct loading *loading, const struct tree_node *node)
{
    struct reader *reader = &loading->reader;
    const struct tree_node *workflows = reader_need(reader, node, "workflows");

    reader_list(reader, workflows);
    if (!reader_is_good(reader)) {
        return;
    }
    loading->scenario->catalogue = catalogue_create();
    if (workflows->child_count == 0) {
        reader_fail(reader, workflows, "'workflows' is empty");
    }
    for (const struct tree_node *item = workflows->first; item != NULL && reader_is_good(reader);
         item = item->next) {
        load_workflow(loading, item);
    }
}

/* The last of the three, because it is checked against the other two. */
static void load_profile(struct loading *loading, const struct tree_node *node)
{
    struct scenario *scenario = loading->scenario;
    struct profile_document document = {0};
    const struct tree_node *profile =
        open_part(loading, reader_need(&loading->reader, node, "profile"));

    if (profile == NULL) {
        return;
    }
    reader_keep(
        &loading->reader, profile_read(
                              profile, PROFILE_KNOWN, scenario->catalogue, scenario->fleet,
                              &document, loading->reader.error));
    if (!reader_is_good(&loading->reader)) {
        return;
    }
    scenario->profile = document.profile;
    profile_add_builtin(scenario->profile, scenario->catalogue, scenario->fleet->device_count);
    scenario->origin = document.origin;
    scenario_check_profile(
        &loading->reader, scenario, &document.listed, loading->workflows, profile);
}

/* Kept in one piece, in the arena. */
static void load_mixture(struct loading *loading, const struct tree_node *node)
{
    struct scenario *scenario = loading->scenario;
    struct mixture *mixture = NULL;
    const struct tree_node *source = open_part(loading, node);

    if (source == NULL) {
        return;
    }
    reader_keep(
        &loading->reader,
        mixture_read(
            source, scenario->catalogue, scenario->fleet, &mixture, loading->reader.error));
    if (reader_is_good(&loading->reader)) {
        scenario_check_mixture(&loading->reader, scenario, mixture, source);
    }
    if (reader_is_good(&loading->reader)) {
        scenario->mixture = mixture_copy_to(&scenario->arena, mixture);
    }
    mixture_destroy(mixture);
}

static void load_all(struct loading *loading, const struct tree_node *node)
{
    static const char *const keys[] = {
        "scenario", "cluster", "workflows", "profile",       "arrivals",
        "rows",     "policy",  "noise",     "profile_error", "jobs",
        "warmup",   "seeds",   "faults",    "mixture",       NULL,
    };
    struct reader *reader = &loading->reader;
    struct scenario *scenario = loading->scenario;

    reader_mapping(reader, node, keys);
    reader_name(reader, reader_need(reader, node, "scenario"), scenario->name);
    load_cluster(loading, node);
    load_workflows(loading, node);
    load_profile(loading, node);
    if (!reader_is_good(reader)) {
        return;
    }
    load_mixture(loading, tree_find(node, "mixture"));
    if (!reader_is_good(reader)) {
        return;
    }
    scenario_parts_default(scenario);
    (void)snprintf(scenario->policy, sizeof(scenario->policy), POLICY_DEFAULT);
    scenario_parts_read(reader, node, scenario);
    if (reader_is_good(reader)) { /* Arrivals say how many items there can be. */
        scenario_check_memory(reader, scenario, loading->workflows, node);
    }
    scenario_read_policy(reader, tree_find(node, "policy"), scenario);
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
    for (uint32_t i = 0; i < setting_count && reader_is_good(&loading->reader); i++) {
        node = scenario_set(&loading->reader, &loading->arena, node, &settings[i]);
    }
    return node;
}

enum weft_status scenario_read_with(
    const struct tree_node *node, const struct scenario_setting *settings, uint32_t setting_count,
    struct scenario **scenario_out, struct weft_error *error)
{
    struct loading loading = {.reader = {.error = error}};

    loading.scenario = memory_zeroed(1, sizeof(*loading.scenario));
    arena_init(&loading.scenario->arena);
    arena_init(&loading.arena);
    load_all(&loading, change(&loading, node, settings, setting_count));
    arena_deinit(&loading.arena);
    for (uint32_t i = 0; i < loading.tree_count; i++) {
        tree_destroy(loading.trees[i]);
    }
    if (!reader_is_good(&loading.reader)) {
        scenario_destroy(loading.scenario);
        return loading.reader.status;
    }
    *scenario_out = loading.scenario;
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
    catalogue_destroy(scenario->catalogue);
    fleet_destroy(scenario->fleet);
    arena_deinit(&scenario->arena);
    free(scenario);
}
