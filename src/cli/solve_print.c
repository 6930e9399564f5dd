#include "cli/solve_print.h"

#include <inttypes.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/memory.h"
#include "base/units.h"
#include "cli/report_json.h"
#include "console/table.h"
#include "document/scenario.h"
#include "mixture/mixture.h"
#include "mixture/program.h"
#include "model/links_route.h"

enum { BUSIEST = 5, NAME_MAX_BYTES = 64 };

/* A worker or link and how busy it is. */
struct place {
    uint32_t number;
    double load;
};

/* The busiest first, in a tie the lowest number. */
static int compare_places(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    if (a->load != b->load) {
        return a->load < b->load ? 1 : -1;
    }
    return a->number < b->number ? -1 : 1;
}

static struct place *sorted(const double *loads, uint32_t count)
{
    struct place *places = memory_zeroed(count > 0 ? count : 1, sizeof(*places));
    for (uint32_t i = 0; i < count; i++) {
        places[i] = (struct place){.number = i, .load = loads[i]};
    }
    qsort(places, count, sizeof(*places), compare_places);
    return places;
}

/* As people speak of links: "up from node 3". */
static void name_link(const struct fleet *fleet, uint32_t link, char out[NAME_MAX_BYTES])
{
    const uint32_t nodes = fleet->node_count;
    if (link < nodes) {
        (void)snprintf(out, NAME_MAX_BYTES, "up from node %" PRIu32, link);
    } else if (link < 2 * nodes) {
        (void)snprintf(out, NAME_MAX_BYTES, "down to node %" PRIu32, link - nodes);
    } else if (fleet->network.kind == NETWORK_BOTTLENECK) {
        (void)snprintf(out, NAME_MAX_BYTES, "the one link");
    } else {
        const uint32_t core = link - 2 * nodes;
        (void)snprintf(
            out, NAME_MAX_BYTES, "%s rack %" PRIu32, core % 2 == 0 ? "up from" : "down to",
            core / 2);
    }
}

static void print_busiest(const struct solution *solution, FILE *file)
{
    const struct mixture *mixture = solution->mixture;
    struct place *workers = sorted(mixture->worker_load, mixture->worker_count);
    struct place *links = sorted(mixture->link_load, mixture->link_count);
    (void)fputs("busiest workers:", file);
    for (uint32_t i = 0; i < BUSIEST && i < mixture->worker_count; i++) {
        (void)fprintf(
            file, "%s %" PRIu32 " (%.1f %%)", i == 0 ? "" : ",", workers[i].number,
            100 * workers[i].load);
    }
    (void)fputs("\nbusiest links:", file);
    const char *comma = "";
    for (uint32_t i = 0; i < BUSIEST && i < mixture->link_count && links[i].load > 0; i++) {
        char name[NAME_MAX_BYTES];
        name_link(solution->scenario->fleet, links[i].number, name);
        (void)fprintf(file, "%s %s (%.1f %%)", comma, name, 100 * links[i].load);
        comma = ",";
    }
    (void)fputs(*comma == '\0' ? " none has a limit that is used\n" : "\n", file);
    free(workers);
    free(links);
}

/* How many workers the jobs of a workflow use, on average. */
static double spread_of(const struct mixture_workflow *mixed)
{
    double spread = 0;
    for (uint32_t i = 0; i < mixed->pattern_count; i++) {
        const uint16_t *placement = mixed->placements + (size_t)i * mixed->task_count;
        uint32_t distinct = 0;
        for (uint32_t task = 0; task < mixed->task_count; task++) {
            uint32_t before = 0;
            while (placement[before] != placement[task]) {
                before++;
            }
            distinct += before == task ? 1 : 0;
        }
        spread += mixed->weights[i] * distinct;
    }
    return spread;
}

void solve_print(const struct solution *solution, FILE *file)
{
    static const struct table_column columns[] = {
        {"workflow", false}, {"rate/s", true},          {"mean ms", true},
        {"patterns", true},  {"workers per job", true},
    };
    const struct mixture *mixture = solution->mixture;
    const struct catalogue *catalogue = solution->scenario->catalogue;
    struct table table;
    (void)fprintf(
        file,
        "%s: %.3f ms expected on average, %.3f ms without waits; busiest %.1f %%\n"
        "%" PRIu32 " patterns, %" PRIu64 " evaluations in %.2f s, gap %.2g %%\n\n",
        solution->scenario->name, mixture->mean_ns / NS_PER_MS,
        solution->report->idle_ns / NS_PER_MS, 100 * solution->report->load_max,
        solution->report->patterns, solution->report->evaluations, solution->wall_s,
        100 * solution->report->gap);
    table_init(&table, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        const struct mixture_workflow *mixed = &mixture->workflows[i];
        if (!mixture_has(mixture, i)) {
            continue;
        }
        table_add(&table, "%s", catalogue->workflows[i]->name);
        table_add(&table, "%.1f", mixed->rate_per_s);
        table_add(&table, "%.3f", mixed->mean_ns / NS_PER_MS);
        table_add(&table, "%" PRIu32, mixed->pattern_count);
        table_add(&table, "%.2f", spread_of(mixed));
    }
    table_print(&table, file);
    table_deinit(&table);
    (void)fputc('\n', file);
    print_busiest(solution, file);
}

static json_t *workflow_json(const struct mixture_workflow *mixed)
{
    return json_pack(
        "{s:f, s:f, s:i, s:f}", "rate_per_s", mixed->rate_per_s, "mean_ms",
        mixed->mean_ns / NS_PER_MS, "patterns", (int)mixed->pattern_count, "workers_per_job",
        spread_of(mixed));
}

static json_t *loads_json(const double *loads, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        (void)json_array_append_new(list, json_real(loads[i])); /* Fails without memory only. */
    }
    return list;
}

void solve_print_json(const struct solution *solution, FILE *file)
{
    const struct mixture *mixture = solution->mixture;
    json_t *workflows = json_object();
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        if (mixture_has(mixture, i)) {
            (void)json_object_set_new(
                workflows, solution->scenario->catalogue->workflows[i]->name,
                workflow_json(&mixture->workflows[i]));
        }
    }
    json_t *root = json_pack(
        "{s:s, s:f, s:f, s:f, s:f, s:I, s:I, s:f, s:o, s:o, s:o}", "scenario",
        solution->scenario->name, "mean_ms", mixture->mean_ns / NS_PER_MS, "idle_ms",
        solution->report->idle_ns / NS_PER_MS, "load_max", solution->report->load_max, "gap",
        solution->report->gap, "patterns", (json_int_t)solution->report->patterns, "evaluations",
        (json_int_t)solution->report->evaluations, "wall_s", solution->wall_s, "workflows",
        workflows, "workers", loads_json(mixture->worker_load, mixture->worker_count), "links",
        loads_json(mixture->link_load, mixture->link_count));
    report_json_print(root, file);
}
