#include "document/fault_document.h"

#include "base/units.h"

#define A_NODE     "number of a node"
#define A_WORKER   "number of a worker"
#define A_WORKFLOW "number of a workflow"

static const struct reader_range victim_range = {0, NODES_MAX, "the number of a node"};
static const struct reader_range slowness_range = {1, 1e6, "how many times longer"};
static const struct reader_range probability_range = {0, 1, "a probability"};

static const char *const kind_words[] = {
#define X(kind, name) name,
    FAULT_KINDS(X)
#undef X
        NULL,
};

static bool has_factor(enum fault_kind kind)
{
    return kind == FAULT_SLOW || kind == FAULT_LOSS || kind == FAULT_FAIL_LOADS ||
           kind == FAULT_FAIL_BATCHES;
}

static bool needs_end(enum fault_kind kind)
{
    return kind == FAULT_STOP || kind == FAULT_PARTITION || kind == FAULT_NO_DIRECTORY;
}

/* Whatever its kind is. */
static void write_kind(struct writer *writer, const void *record)
{
    const struct fault *fault = record;

    writer_key(writer, kind_words[fault->kind]);
    writer_quantity(writer, QUANTITY_COUNT, fault->victim);
}

static void write_for(struct writer *writer, const void *record)
{
    const struct fault *fault = record;

    if (fault->for_ns > 0 || needs_end(fault->kind)) {
        writer_key(writer, "for");
        writer_quantity(writer, QUANTITY_DURATION, (double)fault->for_ns);
    }
}

static void write_factor(struct writer *writer, const void *record)
{
    const struct fault *fault = record;

    if (has_factor(fault->kind)) {
        writer_key(writer, "factor");
        writer_quantity(writer, QUANTITY_NUMBER, fault->factor);
    }
}

const struct field fault_fields[] = {
    {"at", FIELD_DURATION(struct fault, at_ns), .range = &reader_any_duration, .needed = true,
     .help = "when it begins"},
    {"crash", .write = write_kind, .form = A_NODE,
     .help = "it stops, and loses everything on it, until a `restart`"},
    {"restart", .form = A_NODE, .help = "it comes back empty"},
    {"drain", .form = A_NODE,
     .help = "it ends what it runs, hands on what waits, and takes no more"},
    {"stop", .form = A_NODE, .help = "it does nothing, and hears of everything later; needs `for`"},
    {"slow", .form = A_WORKER, .help = "batches take longer; needs `factor`: how many times"},
    {"partition", .form = A_NODE,
     .help = "it and those after it cannot reach the others, nor the directory; needs `for`"},
    {"loss", .form = A_NODE,
     .help = "messages from and to it are lost, with their connection; needs `factor`: a "
             "probability"},
    {"fail-loads", .form = A_WORKER, .help = "loads fail; needs `factor`: a probability"},
    {"fail-batches", .form = A_WORKER, .help = "batches fail; needs `factor`: a probability"},
    {"lose-device", .form = A_WORKER, .help = "every load and batch fails from then on"},
    {"no-directory", .form = "0", .help = "nodes do not hear who is in the cluster; needs `for`"},
    {"poison", .form = A_WORKFLOW,
     .help =
         "the next request of it crashes every node that runs a task of it, which restarts after "
         "`for`; needs `deputies`"},
    {"version", .form = A_NODE,
     .help = "it has a new version of a model, which the last node has after `for`; jobs that come "
             "when all have it are run by it"},
    {"for", FIELD_DURATION(struct fault, for_ns), .range = &reader_any_duration, .write = write_for,
     .help = "how long it lasts", .left_out = "for good"},
    {"factor", .write = write_factor, .form = "fraction or number",
     .help = "how bad it is, where the kind needs it"},
    {0},
};

_Static_assert(ARRAY_COUNT(fault_fields) == FAULT_KIND_COUNT + 4, "a row for each kind");

/* The one kind that the fault at @node has, and its victim. */
static const struct tree_node *find_kind(
    struct reader *reader, const struct tree_node *node, struct fault *fault)
{
    const struct tree_node *victim = NULL;

    for (uint32_t i = 0; i < FAULT_KIND_COUNT && reader_is_good(reader); i++) {
        const struct tree_node *named = tree_find(node, kind_words[i]);
        if (named != NULL && victim != NULL) {
            reader_fail(reader, named, "one fault has one kind, such as crash, stop or slow");
        }
        if (named != NULL) {
            victim = named;
            fault->kind = (enum fault_kind)i;
        }
    }
    if (victim == NULL) {
        reader_fail(reader, node, "a fault wants a kind, such as crash, stop or slow");
    }
    return victim;
}

/* What a fault of @kind hits, and how many of these @scenario has. */
static const char *what_it_hits(
    enum fault_kind kind, const struct scenario *scenario, uint32_t *count_out)
{
    if (kind == FAULT_POISON) {
        *count_out = scenario->catalogue->workflow_count;
        return "workflow";
    }
    const bool is_worker = fault_hits_worker(kind);
    *count_out = is_worker ? scenario->fleet->worker_count : scenario->fleet->node_count;
    return is_worker ? "worker" : "node";
}

static void read_fault(
    struct reader *reader, const struct tree_node *node, const struct scenario *scenario,
    struct fault *fault_out)
{
    const struct tree_node *factor = tree_find(node, "factor");

    record_read(reader, node, fault_fields, fault_out);
    const struct tree_node *victim = find_kind(reader, node, fault_out);
    uint32_t count;
    const char *what = what_it_hits(fault_out->kind, scenario, &count);
    fault_out->victim = (uint32_t)reader_quantity(reader, victim, QUANTITY_COUNT, &victim_range);
    if (reader_is_good(reader) && fault_out->victim >= count) {
        reader_fail(
            reader, victim, "there is no %s %u; the last one is %u", what, fault_out->victim,
            count - 1);
    }
    if (fault_out->kind == FAULT_POISON && !scenario->has_deputies) {
        reader_fail(
            reader, node, "this fault wants 'deputies: true': other requests are not tried again");
    }
    if (needs_end(fault_out->kind) && tree_find(node, "for") == NULL) {
        reader_fail(reader, node, "this fault wants 'for': how long it lasts");
    }
    if (has_factor(fault_out->kind)) {
        fault_out->factor = reader_quantity(
            reader, reader_need(reader, node, "factor"), QUANTITY_FRACTION,
            fault_out->kind == FAULT_SLOW ? &slowness_range : &probability_range);
    } else if (factor != NULL) {
        reader_fail(reader, factor, "this fault has no 'factor'");
    }
}

static void read_kinds(struct reader *reader, const struct tree_node *node, void *record)
{
    struct fault_random *drawn = record;

    drawn->kinds = 0;
    reader_list(reader, node);
    READER_EACH (item, reader, node) {
        const uint32_t kind = reader_word(reader, item, kind_words);
        if (reader_is_good(reader) && (fault_drawable_kinds() >> kind & 1) == 0) {
            reader_fail(
                reader, item, "'%s' cannot be drawn: a random fault ends by itself",
                kind_words[kind]);
        }
        drawn->kinds |= UINT32_C(1) << kind;
    }
    if (drawn->kinds == 0) {
        reader_fail(reader, node, "'kinds' is empty");
    }
}

static void write_kinds(struct writer *writer, const void *record)
{
    const struct fault_random *drawn = record;

    writer_key(writer, "kinds");
    writer_open_list(writer, WRITER_INLINE);
    for (uint32_t kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        if ((drawn->kinds >> kind & 1) != 0) {
            writer_word(writer, kind_words[kind]);
        }
    }
    writer_close(writer);
}

const struct field fault_random_fields[] = {
    {"rate", FIELD_RATE(struct fault_random, rate_per_s), .needed = true,
     .range = FIELD_RANGE(1e-6, 1e6, "between 0.000001/s and 1000000/s"),
     .help = "how many begin, on average; with `until`, at most 256 in all"},
    {"until", FIELD_DURATION(struct fault_random, until_ns), .range = &reader_any_duration,
     .needed = true, .help = "none begins after this time"},
    {"for", FIELD_DURATION(struct fault_random, for_ns), .fallback = "1s", .always = true,
     .range = FIELD_RANGE(1e3, 864e12, "between 1us and ten days"),
     .help = "how long each lasts, on average; exponential"},
    {"kinds", .read = read_kinds, .write = write_kinds, .form = "list of kinds of faults",
     .help = "each as likely; neither `restart` nor `drain`", .left_out = "all"},
    {0},
};

static void read_random(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario)
{
    static const char *const alone[] = {"random", NULL};
    const struct tree_node *random = tree_find(node, "random");
    struct fault_random drawn = {.kinds = fault_drawable_kinds()};

    reader_mapping(reader, node, alone);
    record_read(reader, random, fault_random_fields, &drawn);
    if (!reader_is_good(reader)) {
        return;
    }
    if (drawn.rate_per_s * (double)drawn.until_ns / 1e9 > FAULTS_MAX / 4.0) {
        reader_fail(reader, random, "more than %d faults are to be expected", FAULTS_MAX / 4);
    } else if (scenario->fault_random_count == FAULT_RANDOMS_MAX) {
        reader_fail(reader, random, "more than %d entries of random faults", FAULT_RANDOMS_MAX);
    } else if (scenario->fleet->node_count < 2) {
        reader_fail(reader, random, "random faults spare node 0, and there is no other");
    } else {
        scenario->fault_randoms[scenario->fault_random_count++] = drawn;
    }
}

void faults_read(struct reader *reader, const struct tree_node *node, void *record)
{
    struct scenario *scenario = record;
    uint32_t count = 0;

    reader_list(reader, node);
    if (node->child_count > FAULTS_MAX) {
        reader_fail(reader, node, "more than %d faults", FAULTS_MAX);
    }
    if (!reader_is_good(reader) || node->child_count == 0) {
        return;
    }
    struct fault *faults = arena_alloc(&scenario->arena, node->child_count * sizeof(*faults));
    READER_EACH (item, reader, node) {
        if (item->kind == TREE_MAPPING && tree_find(item, "random") != NULL) {
            read_random(reader, item, scenario);
        } else {
            read_fault(reader, item, scenario, &faults[count++]);
        }
    }
    scenario->faults = faults;
    scenario->fault_count = count;
}

void faults_write(struct writer *writer, const void *record)
{
    const struct scenario *scenario = record;

    if (scenario->fault_count + scenario->fault_random_count == 0) {
        return;
    }
    writer_key(writer, "faults");
    writer_open_list(writer, WRITER_LINES);
    for (uint32_t i = 0; i < scenario->fault_count; i++) {
        record_write_inline(writer, fault_fields, &scenario->faults[i]);
    }
    for (uint32_t i = 0; i < scenario->fault_random_count; i++) {
        writer_open_mapping(writer, WRITER_LINES); /* Behind the dash. */
        writer_key(writer, "random");
        record_write_inline(writer, fault_random_fields, &scenario->fault_randoms[i]);
        writer_close(writer);
    }
    writer_close(writer);
}
