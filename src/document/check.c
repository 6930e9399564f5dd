#include "document/check.h"

#include "base/error.h"
#include "document/cluster_document.h"
#include "document/profile_document.h"
#include "document/scenario.h"
#include "document/settings.h"
#include "document/workflow_document.h"

static enum weft_status check_scenario(const struct tree_node *node, struct weft_error *error)
{
    struct scenario *scenario = NULL;

    const enum weft_status status = scenario_read(node, &scenario, error);
    scenario_destroy(scenario);
    return status;
}

static enum weft_status check_workflow(const struct tree_node *node, struct weft_error *error)
{
    struct catalogue *catalogue = catalogue_create();
    struct workflow *workflow = NULL;

    const enum weft_status status = workflow_read(node, catalogue, &workflow, error);
    workflow_destroy(workflow);
    catalogue_destroy(catalogue);
    return status;
}

static enum weft_status check_profile(const struct tree_node *node, struct weft_error *error)
{
    struct catalogue *catalogue = catalogue_create();
    struct fleet *fleet = fleet_create();
    struct profile_document document = {0};

    const enum weft_status status =
        profile_read(node, PROFILE_ALL, catalogue, fleet, &document, error);
    profile_destroy(document.profile);
    fleet_destroy(fleet);
    catalogue_destroy(catalogue);
    return status;
}

static enum weft_status check_cluster(const struct tree_node *node, struct weft_error *error)
{
    struct fleet *fleet = NULL;

    const enum weft_status status = cluster_read(node, &fleet, error);
    fleet_destroy(fleet);
    return status;
}

static enum weft_status check_settings(const struct tree_node *node, struct weft_error *error)
{
    struct settings settings;
    return settings_read(node, &settings, error);
}

struct kind {
    const char *text;
    const char *key; /* Only documents of this kind have it at their root. */
    enum weft_status (*check)(const struct tree_node *node, struct weft_error *error);
};

/* A scenario comes first: it has a key `cluster` too, but no `machines`. */
static const struct kind kinds[] = {
    [DOCUMENT_SCENARIO] = {.text = "scenario", .key = "scenario", .check = check_scenario},
    [DOCUMENT_WORKFLOW] = {.text = "workflow", .key = "workflow", .check = check_workflow},
    [DOCUMENT_PROFILE] = {.text = "profile", .key = "weft_profile", .check = check_profile},
    [DOCUMENT_CLUSTER] = {.text = "cluster", .key = "machines", .check = check_cluster},
    [DOCUMENT_SETTINGS] = {.text = "settings", .key = "weft", .check = check_settings},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

const char *document_kind_text(enum document_kind kind)
{
    return kinds[kind].text;
}

enum weft_status document_check_tree(
    const struct tree_node *node, enum document_kind *kind_out, struct weft_error *error)
{
    for (uint32_t i = 0; i < KINDS; i++) {
        if (tree_find(node, kinds[i].key) != NULL) {
            const enum weft_status status = kinds[i].check(node, error);
            if (status == WEFT_OK) {
                *kind_out = (enum document_kind)i;
            }
            return status;
        }
    }
    return error_set(
        error, WEFT_INVALID,
        "%s:%u: no 'scenario', 'workflow', 'weft_profile', 'machines' or 'weft': not a document of "
        "ours",
        node->file, node->line);
}

enum weft_status document_check(
    const char *path, enum document_kind *kind_out, struct weft_error *error)
{
    struct tree *tree = NULL;

    enum weft_status status = tree_load(path, &tree, error);
    if (status != WEFT_OK) {
        return status;
    }
    status = document_check_tree(tree->root, kind_out, error);
    tree_destroy(tree);
    return status;
}
