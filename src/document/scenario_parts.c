#include "document/scenario_parts.h"

#include <string.h>

static const struct reader_range rate_range = {1e-6, 1e9, "more than 0 and at most 1e9/s"};
static const struct reader_range weight_range = {0, 1e6, "between 0 and 1000000"};
static const struct reader_range jobs_range = {1, 1e9, "between 1 and 1000000000"};
static const struct reader_range share_range = {0, 0.99, "between 0% and 99%"};
static const struct reader_range row_range = {1e3, 3600e9, "between 1us and 1h"};
static const struct reader_range seed_range = {0, 0x1p53, "between 0 and 2^53"};
static const struct reader_range seed_count_range = {
    1,
    SCENARIO_SEEDS_MAX,
    "between 1 and 1024 seeds",
};
static const struct reader_range node_range = {0, NODES_MAX, "the number of a node"};

_Static_assert(SCENARIO_SEEDS_MAX == 1024, "as seed_count_range says");

#define JOBS_DEFAULT         1000
#define WARMUP_DEFAULT       0.1
#define ROW_LOAD_NS_DEFAULT  INT64_C(10000000)
#define ROW_CACHE_NS_DEFAULT INT64_C(100000000)
#define LENGTH_S_MAX         1e8 /* Three years: far from the end of 64-bit nanoseconds. */

void scenario_parts_default(struct scenario *scenario)
{
    scenario->jobs = JOBS_DEFAULT;
    scenario->warmup = WARMUP_DEFAULT;
    scenario->row_load_ns = ROW_LOAD_NS_DEFAULT;
    scenario->row_cache_ns = ROW_CACHE_NS_DEFAULT;
    scenario->seed_count = 1;
    scenario->seeds[0] = 1;
}

void scenario_check_length(
    struct reader *reader, const struct tree_node *node, const struct scenario *scenario)
{
    const struct arrivals *arrivals = &scenario->arrivals;

    if (!reader_is_good(reader) || arrivals->kind == ARRIVALS_LIST) {
        return;
    }
    if ((double)scenario->jobs / arrivals->rate_per_s > LENGTH_S_MAX) {
        reader_fail(
            reader, node, "%llu jobs at %g/s take more than three years",
            (unsigned long long)scenario->jobs, arrivals->rate_per_s);
    }
}

void scenario_read_rate(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario)
{
    if (scenario->arrivals.kind == ARRIVALS_LIST) {
        reader_fail(reader, node, "'rate' does not go with a list of arrivals");
        return;
    }
    const double rate = reader_quantity(reader, node, QUANTITY_RATE, &rate_range);
    if (reader_is_good(reader)) {
        scenario->arrivals.rate_per_s = rate;
    }
}

void scenario_read_jobs(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario)
{
    const struct arrivals *arrivals = &scenario->arrivals;

    if (node == NULL) {
        return;
    }
    const uint64_t jobs = (uint64_t)reader_quantity(reader, node, QUANTITY_COUNT, &jobs_range);
    if (arrivals->kind == ARRIVALS_LIST && jobs > arrivals->list_count) {
        reader_fail(
            reader, node, "'jobs' is %llu, but the list has only %u", (unsigned long long)jobs,
            arrivals->list_count);
    }
    if (reader_is_good(reader)) {
        scenario->jobs = jobs;
    }
}

static void read_share(struct reader *reader, const struct tree_node *node, double *share_out)
{
    if (node == NULL) {
        return;
    }
    const double share = reader_quantity(reader, node, QUANTITY_SHARE, &share_range);
    if (reader_is_good(reader)) {
        *share_out = share;
    }
}

void scenario_read_noise(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario)
{
    read_share(reader, node, &scenario->noise);
}

void scenario_read_warmup(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario)
{
    read_share(reader, node, &scenario->warmup);
}

void scenario_read_row(struct reader *reader, const struct tree_node *node, int64_t *row_ns_out)
{
    if (node == NULL) {
        return;
    }
    const int64_t row_ns = (int64_t)reader_quantity(reader, node, QUANTITY_DURATION, &row_range);
    if (reader_is_good(reader)) {
        *row_ns_out = row_ns;
    }
}

/* The number of the workflow called @name; the reader fails at @node if there is none. */
static uint32_t find_workflow(
    struct reader *reader, const struct tree_node *node, const char *name,
    const struct catalogue *catalogue)
{
    const char *names[WORKFLOWS_MAX + 1] = {NULL};
    char quoted[READER_QUOTE_BYTES];
    char suggestion[READER_QUOTE_BYTES];

    if (!reader_is_good(reader)) {
        return 0;
    }
    const uint32_t workflow = catalogue_find_workflow(catalogue, name);
    if (workflow != UINT32_MAX) {
        return workflow;
    }
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        names[i] = catalogue->workflows[i]->name;
    }
    reader_fail(
        reader, node, "%s is not one of the workflows%s", reader_quote_text(quoted, name),
        reader_suggestion(name, names, suggestion));
    return 0;
}

static void read_mix(struct reader *reader, const struct tree_node *mix, struct scenario *scenario)
{
    double sum = 0;

    if (mix == NULL) {
        for (uint32_t i = 0; i < scenario->catalogue->workflow_count; i++) {
            scenario->arrivals.mix[i] = 1;
        }
        return;
    }
    reader_any_mapping(reader, mix);
    for (const struct tree_node *part = mix->first; part != NULL && reader_is_good(reader);
         part = part->next) {
        const uint32_t workflow = find_workflow(reader, part, part->key, scenario->catalogue);
        const double weight = reader_quantity(reader, part, QUANTITY_NUMBER, &weight_range);
        scenario->arrivals.mix[workflow] = weight;
        sum += weight;
    }
    if (!(sum > 0)) {
        reader_fail(reader, mix, "'mix' gives no workflow a weight");
    }
}

static void read_arrival(
    struct reader *reader, const struct tree_node *node, const struct catalogue *catalogue,
    struct arrival *arrival_out)
{
    static const char *const keys[] = {"at", "workflow", "items", NULL};

    reader_mapping(reader, node, keys);
    const struct tree_node *workflow = reader_need(reader, node, "workflow");
    const struct tree_node *items = tree_find(node, "items");
    arrival_out->at_ns = (int64_t)reader_quantity(
        reader, reader_need(reader, node, "at"), QUANTITY_DURATION, &reader_any_duration);
    arrival_out->workflow =
        find_workflow(reader, workflow, reader_text(reader, workflow), catalogue);
    arrival_out->items = 1;
    if (items != NULL) {
        arrival_out->items =
            (uint32_t)reader_quantity(reader, items, QUANTITY_COUNT, &reader_items);
    }
}

static void read_list(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario)
{
    int64_t before_ns = 0;
    uint32_t count = 0;

    reader_list(reader, node);
    if (!reader_is_good(reader)) {
        return;
    }
    if (node->child_count == 0) {
        reader_fail(reader, node, "'list' is empty");
        return;
    }
    struct arrival *list = arena_alloc(&scenario->arena, node->child_count * sizeof(*list));
    for (const struct tree_node *item = node->first; item != NULL && reader_is_good(reader);
         item = item->next) {
        struct arrival *arrival = &list[count++];
        read_arrival(reader, item, scenario->catalogue, arrival);
        if (arrival->at_ns < before_ns) {
            reader_fail(reader, item, "'at' goes back in time; the list is by time, ascending");
        }
        before_ns = arrival->at_ns;
    }
    scenario->arrivals.list = list;
    scenario->arrivals.list_count = count;
    scenario->jobs = count;
}

static void read_arrivals(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario)
{
    static const char *const keys[] = {"kind", "rate", "mix", "list", NULL};
    static const char *const kinds[] = {"poisson", "constant", "list", NULL};
    const struct tree_node *list = tree_find(node, "list");
    const struct tree_node *mix = tree_find(node, "mix");

    reader_mapping(reader, node, keys);
    scenario->arrivals.kind =
        (enum arrivals_kind)reader_word(reader, tree_find(node, "kind"), kinds);
    if (!reader_is_good(reader)) {
        return;
    }
    if (scenario->arrivals.kind == ARRIVALS_LIST) {
        if (mix != NULL) {
            reader_fail(reader, mix, "'mix' does not go with a list of arrivals");
        }
        if (tree_find(node, "rate") != NULL) {
            scenario_read_rate(reader, tree_find(node, "rate"), scenario);
        }
        read_list(reader, reader_need(reader, node, "list"), scenario);
    } else {
        if (list != NULL) {
            reader_fail(reader, list, "'list' goes with 'kind: list'");
        }
        scenario_read_rate(reader, reader_need(reader, node, "rate"), scenario);
    }
    read_mix(reader, mix, scenario);
}

static void read_rows(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario)
{
    static const char *const keys[] = {"load", "cache", NULL};

    reader_mapping(reader, node, keys);
    scenario_read_row(reader, tree_find(node, "load"), &scenario->row_load_ns);
    scenario_read_row(reader, tree_find(node, "cache"), &scenario->row_cache_ns);
}

/* A list of seeds; or how many, counted from 1. */
static void read_seeds(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario)
{
    uint32_t count = 0;

    if (node == NULL || !reader_is_good(reader)) {
        return;
    }
    if (node->kind != TREE_LIST) {
        count = (uint32_t)reader_quantity(reader, node, QUANTITY_COUNT, &seed_count_range);
        for (uint32_t i = 0; i < count; i++) {
            scenario->seeds[i] = i + 1;
        }
        scenario->seed_count = count;
        return;
    }
    if (node->child_count == 0 || node->child_count > SCENARIO_SEEDS_MAX) {
        reader_fail(
            reader, node, "'seeds' has %u seeds; it must have between 1 and %d", node->child_count,
            SCENARIO_SEEDS_MAX);
        return;
    }
    for (const struct tree_node *seed = node->first; seed != NULL; seed = seed->next) {
        scenario->seeds[count++] =
            (uint64_t)reader_quantity(reader, seed, QUANTITY_COUNT, &seed_range);
    }
    scenario->seed_count = count;
}

static void read_fault(
    struct reader *reader, const struct tree_node *node, const struct fleet *fleet,
    struct fault *fault_out)
{
    static const char *const keys[] = {"at", "crash", "restart", "drain", NULL};
    static const char *const *const kinds = keys + 1;
    const struct tree_node *victim = NULL;

    reader_mapping(reader, node, keys);
    fault_out->at_ns = (int64_t)reader_quantity(
        reader, reader_need(reader, node, "at"), QUANTITY_DURATION, &reader_any_duration);
    for (uint32_t i = 0; kinds[i] != NULL && reader_is_good(reader); i++) {
        const struct tree_node *named = tree_find(node, kinds[i]);
        if (named != NULL && victim != NULL) {
            reader_fail(reader, named, "one fault has one of crash, restart and drain");
        }
        if (named != NULL) {
            victim = named;
            fault_out->kind = (enum fault_kind)i;
        }
    }
    if (victim == NULL) {
        reader_fail(reader, node, "a fault wants crash, restart or drain");
        return;
    }
    fault_out->node = (uint32_t)reader_quantity(reader, victim, QUANTITY_COUNT, &node_range);
    if (fault_out->node >= fleet->node_count) {
        reader_fail(
            reader, victim, "there is no node %u; the last one is %u", fault_out->node,
            fleet->node_count - 1);
    }
}

static void read_faults(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario)
{
    uint32_t count = 0;

    reader_list(reader, node);
    if (node == NULL || node->child_count == 0 || !reader_is_good(reader)) {
        return;
    }
    if (node->child_count > FAULTS_MAX) {
        reader_fail(reader, node, "more than %d faults", FAULTS_MAX);
        return;
    }
    struct fault *faults = arena_alloc(&scenario->arena, node->child_count * sizeof(*faults));
    for (const struct tree_node *item = node->first; item != NULL && reader_is_good(reader);
         item = item->next) {
        read_fault(reader, item, scenario->fleet, &faults[count++]);
    }
    scenario->faults = faults;
    scenario->fault_count = count;
}

void scenario_parts_read(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario)
{
    const struct tree_node *arrivals = reader_need(reader, node, "arrivals");
    const struct tree_node *jobs = tree_find(node, "jobs");

    if (!reader_is_good(reader)) {
        return;
    }
    read_arrivals(reader, arrivals, scenario);
    scenario_read_jobs(reader, jobs, scenario);
    scenario_check_length(reader, jobs != NULL ? jobs : arrivals, scenario);
    read_rows(reader, tree_find(node, "rows"), scenario);
    scenario_read_noise(reader, tree_find(node, "noise"), scenario);
    scenario_read_warmup(reader, tree_find(node, "warmup"), scenario);
    read_seeds(reader, tree_find(node, "seeds"), scenario);
    read_faults(reader, tree_find(node, "faults"), scenario);
}
