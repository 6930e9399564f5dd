/*
 * generate_operators.c - a folder with the operators of well-known networks as workflows:
 * contracted, one file each, and a profile of them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "document/profile_document.h"
#include "document/quantity.h"
#include "lab/generate.h"
#include "lab/generate_folder.h"
#include "lab/operators.h"
#include "model/contract.h"
#include "model/digraph.h"

#define DEVICE_DEFAULT "server"
#define PROFILE_NAME   "operators.profile.json"
#define MS_PER_S       1e3
#define MACS_PER_GMAC  1e9

/* Everything that is made, before it is written. */
struct made {
    struct operators_speed speed;
    struct catalogue *catalogue;
    struct fleet *fleet;
    struct profile_document document;
    int64_t run_ns[MODELS_MAX]; /* By number of the function. */
};

/* A function of @name's that takes @run_ns: one that there is already, or a new one. */
static uint32_t function_of(
    struct made *made, const char *name, uint32_t first, uint32_t group, int64_t run_ns)
{
    char function[2 * NAME_BYTES_MAX];

    for (uint32_t i = first; i < made->catalogue->model_count; i++) {
        if (made->run_ns[i] == run_ns) {
            return i;
        }
    }
    (void)snprintf(function, sizeof(function), "%s.%03u", name, group);
    const uint32_t number = catalogue_model(made->catalogue, function);
    if (number != MODEL_NONE) {
        made->run_ns[number] = run_ns;
    }
    return number;
}

static void add_edges(struct workflow *workflow, const struct digraph *graph)
{
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct workflow_edge edge = {
            .from = graph->edges[i].from,
            .to = graph->edges[i].to,
            .bytes = graph->edges[i].bytes,
        };
        const enum weft_status status = workflow_add_edge(workflow, &edge);
        ASSERT(status == WEFT_OK);
    }
}

/* A task for each vertex of @graph. */
static enum weft_status make_workflow(
    struct made *made, const char *name, const struct digraph *graph, uint64_t input_bytes,
    struct weft_error *error)
{
    struct workflow *workflow = workflow_create(name);
    const uint32_t first = made->catalogue->model_count;

    workflow->input_bytes = input_bytes;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        struct workflow_task task = {0};
        uint32_t number = 0;
        (void)snprintf(task.name, sizeof(task.name), "t%03u", i);
        task.run = function_of(made, name, first, i, graph->vertices[i].run_ns);
        if (task.run == MODEL_NONE) {
            workflow_destroy(workflow);
            return error_set(
                error, WEFT_LIMIT, "the tasks of these networks take more than %d different times",
                MODELS_MAX);
        }
        const enum weft_status status = workflow_add_task(workflow, &task, &number);
        ASSERT(status == WEFT_OK);
    }
    add_edges(workflow, graph);
    enum weft_status status = workflow_seal(workflow, error);
    ASSERT(status == WEFT_OK);
    status = catalogue_add_workflow(made->catalogue, workflow);
    if (status != WEFT_OK) {
        workflow_destroy(workflow);
        return error_set(error, status, "'--networks' names '%s' twice", name);
    }
    return WEFT_OK;
}

static enum weft_status make_network(struct made *made, const char *name, struct weft_error *error)
{
    struct operators *operators = operators_create(name, &made->speed);
    if (operators == NULL) {
        struct suggestion suggestion = suggest_for(name);
        for (uint32_t i = 0; operators_names[i] != NULL; i++) {
            suggest_consider(&suggestion, operators_names[i]);
        }
        return error_set(
            error, WEFT_INVALID, "'%s' is not a known network%s%s%s", name,
            suggestion.name == NULL ? "" : "; did you mean '",
            suggestion.name == NULL ? "" : suggestion.name, suggestion.name == NULL ? "" : "'?");
    }
    struct contraction *groups = contraction_create(operators->graph, CONTRACT_NEIGHBOURS);
    const enum weft_status status =
        make_workflow(made, name, groups->graph, operators->input_bytes, error);
    contraction_destroy(groups);
    operators_destroy(operators);
    return status;
}

/* Names with commas between them; none: all. */
static enum weft_status make_networks(
    struct made *made, const char *names, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;

    for (uint32_t i = 0; names == NULL && operators_names[i] != NULL && status == WEFT_OK; i++) {
        status = make_network(made, operators_names[i], error);
    }
    while (names != NULL && status == WEFT_OK) {
        char name[NAME_BYTES_MAX];
        const size_t length = strcspn(names, ",");
        (void)snprintf(name, sizeof(name), "%.*s", (int)length, names);
        status = make_network(made, name, error);
        names = names[length] == ',' ? names + length + 1 : NULL;
    }
    return status;
}

static void make_profile(struct made *made)
{
    struct profile_document *document = &made->document;

    document->profile = profile_create(made->catalogue->model_count);
    document->origin.figures = FIGURES_ASSUMED;
    (void)snprintf(
        document->origin.source, sizeof(document->origin.source),
        "Made by 'weft generate operators': a billion multiplications take %g ms, results are "
        "written at %g GB/s.",
        MACS_PER_GMAC / made->speed.macs_per_s * MS_PER_S, made->speed.bytes_per_s / 1e9);
    for (uint32_t i = 0; i < made->catalogue->model_count; i++) {
        const struct profile_point point = {.items = 1, .run_ns = made->run_ns[i]};
        const enum weft_status status =
            profile_add_point(document->profile, i, /* device */ 0, &point);
        ASSERT(status == WEFT_OK);
        model_set_add(&document->listed, i);
    }
}

/* A positive number of some kind; @otherwise if it is not given. */
static enum weft_status read_number(
    const char *option, const char *text, enum quantity_kind kind, double otherwise,
    double *value_out, struct weft_error *error)
{
    *value_out = otherwise;
    if (text == NULL) {
        return WEFT_OK;
    }
    if (!quantity_parse(kind, text, value_out) || !(*value_out > 0) || *value_out > 1e15) {
        return error_set(
            error, WEFT_INVALID, "'%s' wants %s, not '%s'", option, quantity_example(kind), text);
    }
    return WEFT_OK;
}

static enum weft_status read_values(
    const struct generate_values *values, struct made *made, struct weft_error *error)
{
    double gmac_ms = 0;

    if (values->output == NULL) {
        return error_set(error, WEFT_INVALID, "operators need '-o': a folder");
    }
    enum weft_status status =
        read_number("--gmac-ms", values->gmac_ms, QUANTITY_NUMBER, 10, &gmac_ms, error);
    if (status == WEFT_OK) {
        made->speed.macs_per_s = MACS_PER_GMAC / gmac_ms * MS_PER_S;
        status = read_number(
            "--writes", values->writes, QUANTITY_BANDWIDTH, 20e9, &made->speed.bytes_per_s, error);
    }
    return status;
}

enum weft_status generate_operators(const struct generate_values *values, struct weft_error *error)
{
    struct made *made = memory_zeroed(1, sizeof(*made));

    made->catalogue = catalogue_create();
    made->fleet = fleet_create();
    (void)fleet_device(made->fleet, values->device == NULL ? DEVICE_DEFAULT : values->device);
    enum weft_status status = read_values(values, made, error);
    if (status == WEFT_OK) {
        status = make_networks(made, values->networks, error);
    }
    if (status == WEFT_OK) {
        make_profile(made);
        const struct generated generated = {
            .catalogue = made->catalogue,
            .fleet = made->fleet,
            .profile = &made->document,
            .profile_file = PROFILE_NAME,
        };
        status = generate_save(&generated, values->output, error);
    }
    profile_destroy(made->document.profile);
    fleet_destroy(made->fleet);
    catalogue_destroy(made->catalogue);
    free(made);
    return status;
}
