/* cut_plain.c - pieces of a scenario that become plain: no figure more than is needed. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "lab/scenario_cut_copy.h"

enum { CPU_UNITS_PLAIN = 16 };

#define ROW_LOAD_NS_PLAIN  INT64_C(10000000)
#define ROW_CACHE_NS_PLAIN INT64_C(100000000)
#define POLICY_PLAIN       "least-work"

/* Down to its two leading digits: what was not after another is not after it now. */
static int64_t rounded(int64_t value)
{
    int64_t scale = 1;
    while (value / scale >= 100) {
        scale *= 10;
    }
    return value / scale * scale;
}

static bool round_down(int64_t *value)
{
    const int64_t before = *value;
    *value = rounded(before);
    return *value != before;
}

static bool round_bytes(uint64_t *value)
{
    int64_t whole = (int64_t)*value;
    const bool is_changed = round_down(&whole);
    *value = (uint64_t)whole;
    return is_changed;
}

/* Lists of a copy lie in its own arena: nothing else reads them. */
static struct arrival *arrival_at(struct scenario *scenario, uint32_t index)
{
    return &((struct arrival *)(uintptr_t)scenario->arrivals.list)[index];
}

static struct fault *fault_at(struct scenario *scenario, uint32_t index)
{
    return &((struct fault *)(uintptr_t)scenario->faults)[index];
}

static bool plain_items(struct scenario *scenario, uint32_t index)
{
    struct arrival *arrival = arrival_at(scenario, index);
    const bool is_changed = arrival->items != 1 || arrival->deadline_ns != 0;
    arrival->items = 1;
    arrival->deadline_ns = 0;
    return is_changed;
}

static bool plain_fault_times(struct scenario *scenario, uint32_t index)
{
    struct fault *fault = fault_at(scenario, index);
    const bool is_changed = round_down(&fault->at_ns);
    return round_down(&fault->for_ns) || is_changed;
}

static bool plain_workflow(struct scenario *scenario, uint32_t index)
{
    struct workflow *workflow = scenario->catalogue->workflows[index];
    const bool is_changed =
        workflow->slo_ns != 0 || workflow->priority != 0 || workflow->input_bytes != 0;
    workflow->slo_ns = 0;
    workflow->priority = 0;
    workflow->input_bytes = 0;
    return is_changed;
}

/* @index counts over all workflows. */
static bool plain_gives(struct scenario *scenario, uint32_t index)
{
    struct workflow **workflow = scenario->catalogue->workflows;
    while (index >= (*workflow)->task_count) {
        index -= (*workflow)->task_count;
        workflow++;
    }
    struct items_rule *gives = &(*workflow)->tasks[index].gives;
    const bool is_changed = gives->low != 0 || gives->high != 0;
    *gives = (struct items_rule){0};
    return is_changed;
}

static bool plain_bytes(struct scenario *scenario, uint32_t index)
{
    struct workflow **workflow = scenario->catalogue->workflows;
    while (index >= (*workflow)->edge_count) {
        index -= (*workflow)->edge_count;
        workflow++;
    }
    struct workflow_edge *edge = &(*workflow)->edges[index];
    const bool is_changed = edge->bytes != 0;
    edge->bytes = 0;
    edge->per_item = false;
    return is_changed;
}

static bool plain_machine(struct scenario *scenario, uint32_t index)
{
    struct fleet_node *node = &scenario->fleet->nodes[index];
    bool is_changed = node->cpu_units != CPU_UNITS_PLAIN || node->up_bytes_per_s != 0 ||
                      node->down_bytes_per_s != 0;
    node->cpu_units = CPU_UNITS_PLAIN;
    node->up_bytes_per_s = 0;
    node->down_bytes_per_s = 0;
    for (uint32_t i = 0; i < node->worker_count; i++) {
        struct fleet_worker *worker = &scenario->fleet->workers[node->worker_first + i];
        is_changed |= worker->gpu_units != 1 || worker->reshape_ns != 0 ||
                      worker->interference > 0 || worker->bus_inputs ||
                      worker->keep_alive_ns != 0 || worker->sharing != SHARES_COUNTED;
        worker->gpu_units = 1;
        worker->reshape_ns = 0;
        worker->interference = 0;
        worker->sharing = SHARES_COUNTED;
        worker->bus_inputs = false;
        worker->keep_alive_ns = 0;
    }
    return is_changed;
}

static bool plain_spread(struct scenario *scenario, uint32_t index)
{
    bool is_changed = false;
    for (uint32_t i = 0; i < DEVICE_KINDS_MAX; i++) {
        struct profile_curve *curve = &scenario->profile->models[index].curves[i];
        is_changed |= curve->distribution != DISTRIBUTION_NORMAL;
        curve->distribution = DISTRIBUTION_NORMAL;
        for (uint32_t j = 0; j < curve->point_count; j++) {
            is_changed |= curve->points[j].sd_ns != 0;
            curve->points[j].sd_ns = 0;
        }
    }
    return is_changed;
}

static bool plain_workspace(struct scenario *scenario, uint32_t index)
{
    struct profile_model *model = &scenario->profile->models[index];
    bool is_changed = model->workspace_bytes != 0 || model->workspace_bytes_per_item != 0 ||
                      model->load_fixed_ns != 0;
    for (uint32_t i = 0; i < DEVICE_KINDS_MAX; i++) {
        is_changed |= model->curves[i].first_run_ns != 0;
        model->curves[i].first_run_ns = 0;
    }
    model->workspace_bytes = 0;
    model->workspace_bytes_per_item = 0;
    model->load_fixed_ns = 0;
    return is_changed;
}

static bool plain_figures(struct scenario *scenario, uint32_t index)
{
    struct profile_model *model = &scenario->profile->models[index];
    bool is_changed = round_bytes(&model->load_bytes);
    is_changed |= round_bytes(&model->resident_bytes);
    for (uint32_t i = 0; i < DEVICE_KINDS_MAX; i++) {
        for (uint32_t j = 0; j < model->curves[i].point_count; j++) {
            is_changed |= round_down(&model->curves[i].points[j].run_ns);
        }
    }
    return is_changed;
}

static bool set_policy(struct scenario *scenario, const char *text)
{
    struct policy_set set;
    struct weft_error error;
    if (strcmp(scenario->policy, text) == 0 || policy_set_parse(text, &set, &error) != WEFT_OK) {
        return false;
    }
    (void)snprintf(scenario->policy, sizeof(scenario->policy), "%s", text);
    return true;
}

uint32_t scenario_cut_role_count(const struct scenario *scenario)
{
    uint32_t count = 1;
    for (const char *at = scenario->policy; *at != '\0'; at++) {
        count += *at == ',' ? 1 : 0;
    }
    return count == 1 ? 0 : count; /* A single policy has no roles. */
}

/* The composition without its part @index. */
static bool plain_role(struct scenario *scenario, uint32_t index)
{
    char text[POLICY_TEXT_BYTES_MAX] = "";
    const char *part = scenario->policy;
    size_t length = 0;
    for (uint32_t i = 0; *part != '\0'; i++) {
        const size_t part_length = strcspn(part, ",");
        if (i != index) {
            (void)snprintf(
                text + length, sizeof(text) - length, "%s%.*s", length == 0 ? "" : ",",
                (int)part_length, part);
            length = strlen(text);
        }
        part += part_length + (part[part_length] == ',' ? 1 : 0);
    }
    return length > 0 && set_policy(scenario, text);
}

/* The settings of a run, each to what is meant if a document says nothing; and a simple policy. */
static bool plain_setting(struct scenario *scenario, uint32_t index)
{
    const struct scenario before = *scenario;
    struct fleet_network *network = &scenario->fleet->network;
    const struct fleet_network joined = *network;
    bool is_changed = false;
    switch (index) {
    case 0:
        scenario->noise = 0;
        scenario->profile_error = 0;
        scenario->pace.count = 0;
        is_changed = before.noise > 0 || before.profile_error > 0 || before.truth != NULL ||
                     before.pace.count > 0;
        profile_destroy(scenario->truth);
        scenario->truth = NULL;
        return is_changed;
    case 1:
        scenario->rows.load_ns = ROW_LOAD_NS_PLAIN;
        return before.rows.load_ns != ROW_LOAD_NS_PLAIN;
    case 2:
        scenario->rows.cache_ns = ROW_CACHE_NS_PLAIN;
        return before.rows.cache_ns != ROW_CACHE_NS_PLAIN;
    case 3:
        network->background = (struct network_background){0};
        return joined.background.load > 0 || joined.background.rate_per_s > 0;
    case 4:
        network->kind = NETWORK_STAR;
        return joined.kind != NETWORK_STAR;
    case 5:
        network->sharing = SHARING_FIFO;
        return joined.sharing != SHARING_FIFO;
    case 6:
        network->up_bytes_per_s = 0;
        network->down_bytes_per_s = 0;
        return joined.up_bytes_per_s != 0 || joined.down_bytes_per_s != 0;
    case 7:
        network->link_bytes_per_s = 0;
        return joined.link_bytes_per_s != 0;
    case 8:
        network->latency_ns = 0;
        return joined.latency_ns != 0;
    case 9:
        scenario->arrivals.patience_ns = 0;
        return before.arrivals.patience_ns != 0;
    case 10:
        scenario->arrivals.patience_is_mean = false;
        return before.arrivals.patience_is_mean;
    case 11:
        scenario->arrivals.deadline_ns = 0;
        return before.arrivals.deadline_ns != 0;
    case 12:
        scenario->members_after_ns = 0;
        return before.members_after_ns != 0;
    default:
        return set_policy(scenario, POLICY_PLAIN);
    }
}

uint32_t scenario_cut_setting_count(void)
{
    return 14;
}

bool scenario_cut_make_plain(struct scenario *scenario, enum scenario_part part, uint32_t index)
{
    switch (part) {
    case CUT_SETTINGS:
        return plain_setting(scenario, index);
    case CUT_POLICY:
        return plain_role(scenario, index);
    case CUT_MACHINES:
        return plain_machine(scenario, index);
    case CUT_SPREAD:
        return plain_spread(scenario, index);
    case CUT_WORKSPACES:
        return plain_workspace(scenario, index);
    case CUT_WORKFLOW_EXTRAS:
        return plain_workflow(scenario, index);
    case CUT_GIVES:
        return plain_gives(scenario, index);
    case CUT_BYTES:
        return plain_bytes(scenario, index);
    case CUT_ITEMS:
        return plain_items(scenario, index);
    case CUT_JOB_TIMES:
        return round_down(&arrival_at(scenario, index)->at_ns);
    case CUT_FAULT_TIMES:
        return plain_fault_times(scenario, index);
    case CUT_MODEL_FIGURES:
        return plain_figures(scenario, index);
    case CUT_JOBS:
    case CUT_FAULTS:
    case CUT_WORKFLOWS:
    case CUT_WORKFLOWS_MOVED:
    case CUT_NODES:
    case CUT_TASKS:
    case CUT_TASKS_BETWEEN:
    case CUT_EDGES:
    case CUT_WORKERS:
    case CUT_PARTS:
        break;
    }
    ASSERT(false);
    return false;
}
