#include "document/check.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "document/cluster_document.h"
#include "document/profile_document.h"
#include "document/scenario.h"
#include "document/settings.h"
#include "document/trace_document.h"
#include "document/workflow_document.h"

/* A scenario comes first: it has a key `cluster` too, but no `machines`. */
static const struct {
    const char *text;
    const char *key; /* Only documents of this kind have it at their root. */
} kinds[] = {
    [DOCUMENT_SCENARIO] = {"scenario", "scenario"},
    [DOCUMENT_WORKFLOW] = {"workflow", "workflow"},
    [DOCUMENT_PROFILE] = {"profile", "weft_profile"},
    [DOCUMENT_CLUSTER] = {"cluster", "machines"},
    [DOCUMENT_SETTINGS] = {"settings", "weft"},
    [DOCUMENT_TRACE] = {"trace of requests", NULL},
};

static enum weft_status check(
    enum document_kind kind, const struct tree_node *node, struct scenario **scenario_out,
    struct weft_error *error)
{
    struct catalogue *catalogue = catalogue_create();
    struct fleet *fleet = kind == DOCUMENT_PROFILE ? fleet_create() : NULL;
    struct scenario *scenario = NULL;
    struct workflow *workflow = NULL;
    struct profile_document profile = {.profile = NULL};
    struct settings settings;
    enum weft_status status = WEFT_OK;

    switch (kind) {
    case DOCUMENT_SCENARIO:
        status = scenario_read(node, &scenario, error);
        break;
    case DOCUMENT_WORKFLOW:
        status = workflow_read(node, catalogue, &workflow, error);
        break;
    case DOCUMENT_PROFILE:
        status = profile_read(node, PROFILE_ALL, catalogue, fleet, &profile, error);
        break;
    case DOCUMENT_CLUSTER:
        status = cluster_read(node, &fleet, error);
        break;
    case DOCUMENT_SETTINGS:
        status = settings_read(node, &settings, error);
        break;
    case DOCUMENT_TRACE:
        break; /* It has no tree. */
    }
    if (scenario_out != NULL) {
        *scenario_out = scenario;
    } else {
        scenario_destroy(scenario);
    }
    workflow_destroy(workflow);
    profile_destroy(profile.profile);
    fleet_destroy(fleet);
    catalogue_destroy(catalogue);
    return status;
}

const char *document_kind_text(enum document_kind kind)
{
    return kinds[kind].text;
}

static enum weft_status check_tree(
    const struct tree_node *node, enum document_kind *kind_out, struct scenario **scenario_out,
    struct weft_error *error)
{
    for (uint32_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        if (kinds[i].key != NULL && tree_find(node, kinds[i].key) != NULL) {
            const enum weft_status status = check((enum document_kind)i, node, scenario_out, error);
            if (status == WEFT_OK) {
                *kind_out = (enum document_kind)i;
            }
            return status;
        }
    }
    return error_set(
        error, WEFT_INVALID,
        "%s:%u: no 'scenario', 'workflow', 'weft_profile', 'machines' or 'weft': not a document of "
        "Weft",
        node->file, node->line);
}

enum weft_status document_check_tree(
    const struct tree_node *node, enum document_kind *kind_out, struct weft_error *error)
{
    return check_tree(node, kind_out, /* scenario_out */ NULL, error);
}

static bool is_trace(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && strcmp(dot, ".csv") == 0;
}

static enum weft_status check_trace(
    const char *path, struct tree_listener *listener, enum document_kind *kind_out,
    struct weft_error *error)
{
    const struct trace_options options = {.listener = listener};
    struct trace trace;
    struct arena arena;

    arena_init(&arena);
    const enum weft_status status = trace_load(path, &options, &arena, &trace, error);
    arena_deinit(&arena);
    if (status == WEFT_OK) {
        *kind_out = DOCUMENT_TRACE;
    }
    return status;
}

static enum weft_status check_file(
    const char *path, struct tree_listener *listener, enum document_kind *kind_out,
    struct scenario **scenario_out, struct weft_error *error)
{
    struct tree *tree = NULL;

    enum weft_status status = tree_load(path, &tree, error);
    if (status == WEFT_OK) {
        tree->listener = listener;
        status = check_tree(tree->root, kind_out, scenario_out, error);
        tree_destroy(tree);
    }
    return status;
}

enum weft_status document_check(
    const char *path, struct tree_listener *listener, enum document_kind *kind_out,
    struct weft_error *error)
{
    return document_check_scenario(path, listener, kind_out, /* scenario_out */ NULL, error);
}

enum weft_status document_check_scenario(
    const char *path, struct tree_listener *listener, enum document_kind *kind_out,
    struct scenario **scenario_out, struct weft_error *error)
{
    struct weft_error first = {.status = WEFT_OK};

    const enum weft_status status =
        is_trace(path) ? check_trace(path, listener, kind_out, &first)
                       : check_file(path, listener, kind_out, scenario_out, &first);
    if (status == WEFT_OK) {
        return WEFT_OK;
    }
    if (listener != NULL && listener->count == 0) { /* No reader has told it. */
        tree_tell(listener, &first);
    }
    return error_set(error, status, "%s", first.message);
}
