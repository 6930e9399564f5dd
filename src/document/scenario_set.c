#include "document/scenario_set.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"

static const struct reader_range workers_range = {1, WORKERS_MAX, "between 1 and 16384"};

_Static_assert(WORKERS_MAX == 16384, "as workers_range says");

static const struct tree_node *find(const struct tree_node *root, const char *path)
{
    char key[NAME_BYTES_MAX];

    while (root != NULL && *path != '\0') {
        const size_t length = strcspn(path, ".");
        (void)snprintf(key, sizeof(key), "%.*s", (int)length, path);
        root = tree_find(root, key);
        path += path[length] == '.' ? length + 1 : length;
    }
    return root;
}

static double number_at(
    const struct tree_node *root, const char *path, enum quantity_kind kind, double fallback)
{
    const struct tree_node *node = find(root, path);
    double value = fallback;

    /* What is not a number is found when the tree is read. */
    return node != NULL && quantity_parse(kind, node->text, &value) ? value : fallback;
}

/* Bursts keep their proportion to what is between them; a trace has a rate instead of a speed. */
static const struct tree_node *set_rate(
    struct reader *reader, struct arena *arena, const struct tree_node *root,
    const struct tree_node *value)
{
    const double before = number_at(root, "arrivals.rate", QUANTITY_RATE, /* fallback */ 0);
    const double burst = number_at(root, "arrivals.burst.rate", QUANTITY_RATE, /* fallback */ 0);
    struct tree_node scaled = *value;
    char text[NAME_BYTES_MAX];
    double rate = 0;

    (void)reader;
    if (before > 0 && burst > 0 && quantity_parse(QUANTITY_RATE, value->text, &rate)) {
        (void)snprintf(text, sizeof(text), "%.17g/s", burst * (rate / before));
        scaled.text = arena_text(arena, text);
        root = tree_with(arena, root, "arrivals.burst.rate", &scaled);
    }
    root = tree_with(arena, root, "arrivals.speed", NULL);
    return tree_with(arena, root, "arrivals.rate", value);
}

/* Devices, or partitions of them, of all machines together. */
static const struct tree_node *set_workers(
    struct reader *reader, struct arena *arena, const struct tree_node *root,
    const struct tree_node *value)
{
    const struct tree_node *machines = find(root, "cluster.machines");
    const uint32_t count = (uint32_t)reader_quantity(reader, value, QUANTITY_COUNT, &workers_range);
    struct tree_node machine_count = *value;
    char text[NAME_BYTES_MAX];

    if (machines != NULL && machines->kind == TREE_LIST) {
        if (machines->child_count > 1) {
            reader_fail(reader, value, "'workers' can be set only if all machines are alike");
        }
        machines = machines->first;
    }
    const double each = number_at(machines, "devices", QUANTITY_COUNT, /* fallback */ 1) *
                        number_at(machines, "partitions", QUANTITY_COUNT, /* fallback */ 1);
    if (!(each >= 1 && each <= count) || count % (uint32_t)each != 0) {
        reader_fail(reader, value, "'workers' is %u, but each machine has %g", count, each);
    }
    if (!reader_is_good(reader)) {
        return root;
    }
    (void)snprintf(text, sizeof(text), "%u", count / (uint32_t)each);
    machine_count.text = arena_text(arena, text);
    return tree_with(arena, root, "cluster.machines.count", &machine_count);
}

struct setting {
    const char *key;
    const char *path; /* Where the value goes in the tree of a scenario. NULL: set() does it. */
    const struct tree_node *(*set)(
        struct reader *reader, struct arena *arena, const struct tree_node *root,
        const struct tree_node *value);
};

static const struct setting settings[] = {
    {.key = "rate", .set = set_rate},
    {.key = "deadline", .path = "arrivals.deadline"},
    {.key = "patience", .path = "arrivals.patience"},
    {.key = "jobs", .path = "jobs"},
    {.key = "noise", .path = "noise"},
    {.key = "profile_error", .path = "profile_error"},
    {.key = "deputies", .path = "deputies"},
    {.key = "warmup", .path = "warmup"},
    {.key = "workers", .set = set_workers},
    {.key = "link", .path = "cluster.network.link"},
    {.key = "latency", .path = "cluster.network.latency"},
    {.key = "rows.load", .path = "rows.load"},
    {.key = "rows.cache", .path = "rows.cache"},
    {.key = "memory", .path = "cluster.machines.device.memory"},
    {.key = "policy", .path = "policy"},
    {.key = "seeds", .path = "seeds"},
};

enum { SETTINGS = ARRAY_COUNT(settings) };

static void fail_unknown(struct reader *reader, const char *key)
{
    const char *names[SETTINGS + 1] = {NULL};
    char quoted[READER_QUOTE_BYTES];
    char suggestion[READER_QUOTE_BYTES];

    for (uint32_t i = 0; i < SETTINGS; i++) {
        names[i] = settings[i].key;
    }
    reader_keep(
        reader, error_set(
                    reader->error, WEFT_NOT_FOUND, "unknown setting %s%s",
                    reader_quote_text(quoted, key), reader_suggestion(key, names, suggestion)));
}

const struct tree_node *scenario_set(
    struct reader *reader, struct arena *arena, const struct tree_node *root,
    const struct scenario_setting *setting)
{
    const struct tree_node value = {
        .kind = TREE_SCALAR, .key = setting->key, .text = setting->value};

    for (uint32_t i = 0; i < SETTINGS && reader_is_good(reader); i++) {
        if (strcmp(settings[i].key, setting->key) == 0) {
            return settings[i].set != NULL ? settings[i].set(reader, arena, root, &value)
                                           : tree_with(arena, root, settings[i].path, &value);
        }
    }
    if (reader_is_good(reader)) {
        fail_unknown(reader, setting->key);
    }
    return root;
}
