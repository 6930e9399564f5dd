#include "document/mixture_document.h"

#include <string.h>

#include "base/error.h"
#include "document/reader.h"
#include "mixture/mixture.h"
#include "model/catalogue.h"
#include "model/links_route.h"

static const struct reader_range version_range = {MIXTURE_VERSION, MIXTURE_VERSION, "1"};
static const struct reader_range weight_range = {0, 1e12, "between 0 and 1e12"};
static const struct reader_range rate_range = {0, 1e9, "between 0 and 1000000000"};
static const struct reader_range mean_range = {0, 1e15, "between 0 and 1e15"};
static const struct reader_range load_range = {0, 1e6, "between 0 and 1000000"};

#define NS_PER_MS 1e6

/* What a document is read against, and into. */
struct reading {
    struct reader *reader;
    const struct catalogue *catalogue;
    struct mixture *mixture;
};

static double read_number(
    struct reader *reader, const struct tree_node *mapping, const char *key,
    const struct reader_range *range)
{
    const struct tree_node *node = tree_find(mapping, key);
    return node == NULL ? 0 : reader_quantity(reader, node, QUANTITY_NUMBER, range);
}

/* Which task each column of the patterns is of: every one once. */
static void read_tasks(
    struct reader *reader, const struct tree_node *node, const struct workflow *workflow,
    uint32_t *tasks_out)
{
    char name[NAME_BYTES_MAX];
    char quoted[READER_QUOTE_BYTES];
    uint32_t count = 0;

    reader_list(reader, node);
    if (!reader_is_good(reader)) {
        return;
    }
    if (node->child_count != workflow->task_count) {
        reader_fail(
            reader, node, "'%s' has %u tasks, not %u", workflow->name, workflow->task_count,
            node->child_count);
    }
    const struct tree_node *item = reader_is_good(reader) ? node->first : NULL;
    for (; item != NULL && reader_is_good(reader); item = item->next) {
        reader_name(reader, item, name);
        const uint32_t task = workflow_find_task(workflow, name);
        if (task == TASK_NONE && reader_is_good(reader)) {
            reader_fail(
                reader, item, "'%s' has no task %s", workflow->name, reader_quote(quoted, item));
        }
        for (uint32_t i = 0; i < count && reader_is_good(reader); i++) {
            if (tasks_out[i] == task) {
                reader_fail(reader, item, "task '%s' is named twice", name);
            }
        }
        tasks_out[count] = task;
        count++;
    }
}

static void read_pattern(
    struct reading *reading, const struct tree_node *node, uint32_t number, const uint32_t *tasks)
{
    static const char *const keys[] = {"weight", "workers", NULL};
    struct reader *reader = reading->reader;
    const uint32_t task_count = reading->mixture->workflows[number].task_count;
    const struct reader_range worker_range = {
        0, reading->mixture->worker_count - 1.0, "the number of a worker"};
    uint16_t placement[WORKFLOW_TASKS_MAX];
    uint32_t count = 0;

    reader_mapping(reader, node, keys);
    const double weight = reader_quantity(
        reader, reader_need(reader, node, "weight"), QUANTITY_NUMBER, &weight_range);
    const struct tree_node *workers = reader_need(reader, node, "workers");
    reader_list(reader, workers);
    if (reader_is_good(reader) && workers->child_count != task_count) {
        reader_fail(
            reader, workers, "a pattern needs %u workers, one for each task, not %u", task_count,
            workers->child_count);
    }
    const struct tree_node *item = reader_is_good(reader) ? workers->first : NULL;
    for (; item != NULL && reader_is_good(reader); item = item->next) {
        const double worker = reader_quantity(reader, item, QUANTITY_COUNT, &worker_range);
        placement[tasks[count]] = (uint16_t)worker;
        count++;
    }
    if (!reader_is_good(reader)) {
        return;
    }
    if (mixture_add_pattern(reading->mixture, number, placement, weight) != WEFT_OK) {
        reader_fail(reader, node, "more than %d patterns", MIXTURE_PATTERNS_MAX);
    }
}

/* A workflow without a pattern of some weight could not be drawn. */
static void check_weights(
    struct reader *reader, const struct tree_node *node, const struct mixture_workflow *mixed)
{
    double sum = 0;

    for (uint32_t i = 0; i < mixed->pattern_count; i++) {
        sum += mixed->weights[i];
    }
    if (reader_is_good(reader) && !(sum > 0)) {
        reader_fail(reader, node, "no pattern has a weight above 0");
    }
}

static void read_workflow(struct reading *reading, const struct tree_node *node)
{
    static const char *const keys[] = {"rate_per_s", "mean_ms", "tasks", "patterns", NULL};
    struct reader *reader = reading->reader;
    uint32_t tasks[WORKFLOW_TASKS_MAX] = {0};
    char name[NAME_BYTES_MAX];

    reader_key_name(reader, node, name);
    const uint32_t number = catalogue_find_workflow(reading->catalogue, name);
    if (reader_is_good(reader) && number == UINT32_MAX) {
        reader_fail(reader, node, "there is no workflow '%s'", name);
    }
    reader_mapping(reader, node, keys);
    if (!reader_is_good(reader)) {
        return;
    }
    const struct workflow *workflow = reading->catalogue->workflows[number];
    const double rate_per_s = read_number(reader, node, "rate_per_s", &rate_range);
    mixture_set_workflow(reading->mixture, number, workflow->task_count, rate_per_s);
    reading->mixture->workflows[number].mean_ns =
        NS_PER_MS * read_number(reader, node, "mean_ms", &mean_range);
    read_tasks(reader, reader_need(reader, node, "tasks"), workflow, tasks);
    const struct tree_node *patterns = reader_need(reader, node, "patterns");
    reader_list(reader, patterns);
    const struct tree_node *item = reader_is_good(reader) ? patterns->first : NULL;
    for (; item != NULL && reader_is_good(reader); item = item->next) {
        read_pattern(reading, item, number, tasks);
    }
    check_weights(reader, patterns, &reading->mixture->workflows[number]);
}

/* A load for each of @count, or none at all. */
static void read_loads(
    struct reader *reader, const struct tree_node *node, uint32_t count, double *loads_out)
{
    if (node == NULL) {
        return;
    }
    reader_list(reader, node);
    if (reader_is_good(reader) && node->child_count != count) {
        reader_fail(reader, node, "there are %u %s, not %u", count, node->key, node->child_count);
    }
    const struct tree_node *item = reader_is_good(reader) ? node->first : NULL;
    for (uint32_t i = 0; item != NULL && reader_is_good(reader); item = item->next, i++) {
        loads_out[i] = reader_quantity(reader, item, QUANTITY_NUMBER, &load_range);
    }
}

static void read_all(struct reading *reading, const struct tree_node *node)
{
    static const char *const keys[] = {"weft_mixture", "mean_ms", "workflows",
                                       "workers",      "links",   NULL};
    struct reader *reader = reading->reader;
    struct mixture *mixture = reading->mixture;

    reader_mapping(reader, node, keys);
    (void)reader_quantity(
        reader, reader_need(reader, node, "weft_mixture"), QUANTITY_COUNT, &version_range);
    mixture->mean_ns = NS_PER_MS * read_number(reader, node, "mean_ms", &mean_range);
    const struct tree_node *workflows = reader_need(reader, node, "workflows");
    reader_any_mapping(reader, workflows);
    const struct tree_node *item = reader_is_good(reader) ? workflows->first : NULL;
    for (; item != NULL && reader_is_good(reader); item = item->next) {
        read_workflow(reading, item);
    }
    read_loads(reader, tree_find(node, "workers"), mixture->worker_count, mixture->worker_load);
    read_loads(reader, tree_find(node, "links"), mixture->link_count, mixture->link_load);
}

enum weft_status mixture_read(
    const struct tree_node *node, const struct catalogue *catalogue, const struct fleet *fleet,
    struct mixture **mixture_out, struct weft_error *error)
{
    struct reader reader = {.error = error};
    struct reading reading = {
        .reader = &reader,
        .catalogue = catalogue,
        .mixture =
            mixture_create(catalogue->workflow_count, fleet->worker_count, links_count(fleet)),
    };

    read_all(&reading, node);
    if (reader_is_good(&reader)) {
        reader_keep(&reader, mixture_seal(reading.mixture, error));
    }
    if (!reader_is_good(&reader)) {
        mixture_destroy(reading.mixture);
        return reader.status;
    }
    *mixture_out = reading.mixture;
    return WEFT_OK;
}

enum weft_status mixture_load(
    const char *path, const struct catalogue *catalogue, const struct fleet *fleet,
    struct mixture **mixture_out, struct weft_error *error)
{
    struct tree *tree = NULL;

    enum weft_status status = tree_load(path, &tree, error);
    if (status != WEFT_OK) {
        return status;
    }
    status = mixture_read(tree->root, catalogue, fleet, mixture_out, error);
    tree_destroy(tree);
    return status;
}
