#include "document/scenario_parts.h"

#include "document/arrivals_document.h"

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
#define FAULT_FOR_NS_DEFAULT INT64_C(1000000000)
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

    /* A list is no longer than a duration, and neither is a trace that takes no time. */
    if (!reader_is_good(reader) || arrivals->rate_per_s <= 0) {
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
    arrivals_read_rate(reader, node, &scenario->arrivals);
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
    if (arrivals->kind == ARRIVALS_TRACE && !arrivals->repeat && jobs > arrivals->list_count) {
        reader_fail(
            reader, node, "'jobs' is %llu, but the trace has only %u rows; it may be repeated",
            (unsigned long long)jobs, arrivals->list_count);
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

void scenario_read_profile_error(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario)
{
    read_share(reader, node, &scenario->profile_error);
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

/* How long a fault lasts, and how bad it is, where its kind asks for that. */
static void read_fault_extent(
    struct reader *reader, const struct tree_node *node, struct fault *fault_out)
{
    static const struct reader_range slowness = {1, 1e6, "how many times longer"};
    static const struct reader_range probability = {0, 1, "a probability"};
    const enum fault_kind kind = fault_out->kind;
    const struct tree_node *lasts = tree_find(node, "for");
    const struct tree_node *factor = tree_find(node, "factor");

    if (lasts != NULL) {
        fault_out->for_ns =
            (int64_t)reader_quantity(reader, lasts, QUANTITY_DURATION, &reader_any_duration);
    } else if (kind == FAULT_STOP || kind == FAULT_PARTITION || kind == FAULT_NO_DIRECTORY) {
        reader_fail(reader, node, "this fault wants 'for': how long it lasts");
    }
    if (kind == FAULT_SLOW || kind == FAULT_LOSS || kind == FAULT_FAIL_LOADS ||
        kind == FAULT_FAIL_BATCHES) {
        fault_out->factor = reader_quantity(
            reader, reader_need(reader, node, "factor"), QUANTITY_SHARE,
            kind == FAULT_SLOW ? &slowness : &probability);
    } else if (factor != NULL) {
        reader_fail(reader, factor, "this fault has no 'factor'");
    }
}

static void read_fault(
    struct reader *reader, const struct tree_node *node, const struct fleet *fleet,
    struct fault *fault_out)
{
#define X(kind, name) name,
    static const char *const keys[] = {FAULT_KINDS(X) "at", "for", "factor", NULL};
#undef X
    const struct tree_node *victim = NULL;

    reader_mapping(reader, node, keys);
    fault_out->at_ns = (int64_t)reader_quantity(
        reader, reader_need(reader, node, "at"), QUANTITY_DURATION, &reader_any_duration);
    for (uint32_t i = 0; i < FAULT_KIND_COUNT && reader_is_good(reader); i++) {
        const struct tree_node *named = tree_find(node, keys[i]);
        if (named != NULL && victim != NULL) {
            reader_fail(reader, named, "one fault has one kind, such as crash, stop or slow");
        }
        if (named != NULL) {
            victim = named;
            fault_out->kind = (enum fault_kind)i;
        }
    }
    if (victim == NULL) {
        reader_fail(reader, node, "a fault wants a kind, such as crash, stop or slow");
        return;
    }
    const bool worker = fault_hits_worker(fault_out->kind);
    const uint32_t count = worker ? fleet->worker_count : fleet->node_count;
    fault_out->victim = (uint32_t)reader_quantity(reader, victim, QUANTITY_COUNT, &node_range);
    if (fault_out->victim >= count) {
        reader_fail(
            reader, victim, "there is no %s %u; the last one is %u", worker ? "worker" : "node",
            fault_out->victim, count - 1);
    }
    if (reader_is_good(reader)) {
        read_fault_extent(reader, node, fault_out);
    }
}

static uint32_t read_kinds(struct reader *reader, const struct tree_node *node)
{
#define X(kind, name) name,
    static const char *const names[] = {FAULT_KINDS(X) NULL};
#undef X
    uint32_t kinds = 0;

    reader_list(reader, node);
    if (node == NULL || !reader_is_good(reader)) {
        return fault_drawable_kinds();
    }
    for (const struct tree_node *item = node->first; item != NULL; item = item->next) {
        const uint32_t kind = reader_word(reader, item, names);
        if (reader_is_good(reader) && (fault_drawable_kinds() >> kind & 1) == 0) {
            reader_fail(
                reader, item, "'%s' cannot be drawn: a random fault ends by itself", names[kind]);
        }
        kinds |= UINT32_C(1) << kind;
    }
    if (kinds == 0) {
        reader_fail(reader, node, "'kinds' is empty");
    }
    return kinds;
}

static void read_random_faults(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario)
{
    static const char *const keys[] = {"rate", "until", "for", "kinds", NULL};
    static const char *const alone[] = {"random", NULL};
    static const struct reader_range rate_range = {1e-6, 1e6, "between 0.000001/s and 1000000/s"};
    static const struct reader_range for_range = {1e3, 864e12, "between 1us and ten days"};
    const struct tree_node *random = tree_find(node, "random");
    const struct tree_node *lasts = tree_find(random, "for");
    struct fault_random drawn = {.for_ns = FAULT_FOR_NS_DEFAULT};

    reader_mapping(reader, node, alone);
    reader_mapping(reader, random, keys);
    drawn.rate_per_s =
        reader_quantity(reader, reader_need(reader, random, "rate"), QUANTITY_RATE, &rate_range);
    drawn.until_ns = (int64_t)reader_quantity(
        reader, reader_need(reader, random, "until"), QUANTITY_DURATION, &reader_any_duration);
    if (lasts != NULL) {
        drawn.for_ns = (int64_t)reader_quantity(reader, lasts, QUANTITY_DURATION, &for_range);
    }
    drawn.kinds = read_kinds(reader, tree_find(random, "kinds"));
    if (!reader_is_good(reader)) {
        return;
    }
    if (drawn.rate_per_s * (double)drawn.until_ns / 1e9 > FAULTS_MAX / 4.0) {
        reader_fail(reader, random, "more than %d faults are to be expected", FAULTS_MAX / 4);
    } else if (scenario->fault_random_count == FAULT_RANDOMS_MAX) {
        reader_fail(reader, random, "more than %d times random faults", FAULT_RANDOMS_MAX);
    } else if (scenario->fleet->node_count < 2) {
        reader_fail(reader, random, "random faults spare node 0, and there is no other");
    } else {
        scenario->fault_randoms[scenario->fault_random_count++] = drawn;
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
        if (item->kind == TREE_MAPPING && tree_find(item, "random") != NULL) {
            read_random_faults(reader, item, scenario);
        } else {
            read_fault(reader, item, scenario->fleet, &faults[count++]);
        }
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
    arrivals_read(reader, arrivals, scenario->catalogue, &scenario->arena, &scenario->arrivals);
    if (scenario->arrivals.list_count > 0) {
        scenario->jobs = scenario->arrivals.list_count;
    }
    scenario_read_jobs(reader, jobs, scenario);
    scenario_check_length(reader, jobs != NULL ? jobs : arrivals, scenario);
    read_rows(reader, tree_find(node, "rows"), scenario);
    scenario_read_noise(reader, tree_find(node, "noise"), scenario);
    scenario_read_profile_error(reader, tree_find(node, "profile_error"), scenario);
    scenario_read_warmup(reader, tree_find(node, "warmup"), scenario);
    read_seeds(reader, tree_find(node, "seeds"), scenario);
    read_faults(reader, tree_find(node, "faults"), scenario);
}
