#include "mixture/response_tree.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "mixture/congestion.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/contract.h"
#include "model/digraph.h"
#include "model/series_parallel.h"

/*
 * Two ways are kept between any two spots: the cheapest one, and the cheapest of those that
 * leave most of the first spot's time to others, which may be better beside something else.
 */
enum { SPOTS = RESPONSE_TREE_SPOTS, WAYS = 2, WAY_CHEAP = 0, WAY_LIGHT = 1 };

/* One of the ways of a part. */
struct pick {
    uint8_t from;
    uint8_t to;
    uint8_t which;
};

struct way {
    double time_ns;
    double toll_ns;
    double busy_ns;   /* Work on the spot where it begins. */
    struct pick left; /* What it is made of. */
    struct pick right;
};

/*
 * A part that begins with a unit has no unit before it: its first spot is its own choice,
 * and not that of whoever stands beside it. The same at its end.
 */
struct table {
    struct way ways[SPOTS][SPOTS][WAYS];
    bool opens;
    bool closes;
};

struct tree {
    const struct congestion *congestion;
    const struct stream *stream;
    const struct spot *spots;
    uint32_t count;
    struct table *tables; /* By part. */
};

static double cost_of(const struct way *way)
{
    return way->time_ns + way->toll_ns;
}

static const struct way *way_at(const struct table *table, struct pick pick)
{
    return &table->ways[pick.from][pick.to][pick.which];
}

static bool is_better(const struct way *a, const struct way *b, uint32_t which)
{
    if (which == WAY_LIGHT && a->busy_ns != b->busy_ns) {
        return a->busy_ns < b->busy_ns;
    }
    return cost_of(a) < cost_of(b);
}

/* Keep @way between two spots if it is better than what is known. */
static void offer(struct table *table, uint32_t s, uint32_t t, const struct way *way)
{
    for (uint32_t which = 0; which < WAYS && !isinf(cost_of(way)); which++) {
        struct way *known = &table->ways[s][t][which];
        if (isinf(cost_of(known)) || is_better(way, known, which)) {
            *known = *way;
        }
    }
}

static uint32_t queue_of(const struct tree *tree, uint32_t spot)
{
    const struct spot *at = &tree->spots[spot];
    return tree->congestion->sites->sites[at->site].worker_first + at->slot;
}

static void solve_unit(const struct tree *tree, uint32_t unit, struct table *table)
{
    const struct contraction *units = tree->stream->units;
    const struct congestion *congestion = tree->congestion;
    table->opens = true;
    table->closes = true;
    for (uint32_t s = 0; s < tree->count; s++) {
        const uint32_t queue = queue_of(tree, s);
        const uint32_t device =
            sites_device(congestion->sites, tree->spots[s].site, tree->spots[s].slot);
        double time_ns = 0;
        double second = 0;
        for (uint32_t i = units->member_first[unit]; i < units->member_first[unit + 1]; i++) {
            const struct task_time *time = stream_time(tree->stream, units->members[i], device);
            time_ns = time->mean_ns < 0 ? (double)INFINITY : time_ns + time->mean_ns;
            second += time->variance;
        }
        const struct way way = {
            .time_ns = time_ns,
            .busy_ns = time_ns,
            .toll_ns = congestion->tolls[queue].work * time_ns +
                       congestion->tolls[queue].second * (time_ns * time_ns + second),
        };
        offer(table, s, s, &way);
    }
}

/* From one spot to another: the transfer, and the wait there. */
static struct way edge_way(const struct tree *tree, double bytes, uint32_t s, uint32_t t)
{
    const struct congestion *congestion = tree->congestion;
    const struct sites *sites = congestion->sites;
    struct way way = {0};
    struct crossing crossing;
    double longest_ns = 0;
    if (s == t) {
        return way;
    }
    way.time_ns = congestion->prices[queue_of(tree, t)];
    if (spot_same_machine(tree->spots[s], tree->spots[t])) {
        return way;
    }
    sites_cross(sites, tree->spots[s].site, tree->spots[t].site, &crossing);
    for (uint32_t i = 0; i < crossing.count; i++) {
        const uint32_t link = crossing.queues[i];
        const double wire_ns = bytes / sites->queues[link].bytes_per_ns;
        longest_ns = wire_ns > longest_ns ? wire_ns : longest_ns;
        way.time_ns += congestion->prices[link] * (sites->queues[link].shared ? wire_ns : 1);
        way.toll_ns += congestion->tolls[link].work * wire_ns +
                       congestion->tolls[link].second * wire_ns * wire_ns;
    }
    way.time_ns += longest_ns + sites->latency_ns;
    return way;
}

static void solve_edge(const struct tree *tree, uint32_t edge, struct table *table)
{
    const double bytes = (double)tree->stream->units->graph->edges[edge].bytes;
    for (uint32_t s = 0; s < tree->count; s++) {
        for (uint32_t t = 0; t < tree->count; t++) {
            const struct way way = edge_way(tree, bytes, s, t);
            offer(table, s, t, &way);
        }
    }
}

/* One of the first part's ways, then one of the second's from where that ends. */
static void offer_series(
    const struct table *parts[2], struct pick left, struct pick right, struct table *table)
{
    const struct way *a = way_at(parts[0], left);
    const struct way *b = way_at(parts[1], right);
    const struct way way = {
        .time_ns = a->time_ns + b->time_ns,
        .toll_ns = a->toll_ns + b->toll_ns,
        .busy_ns = a->busy_ns + (right.from == left.from ? b->busy_ns : 0),
        .left = left,
        .right = right,
    };
    offer(table, left.from, right.to, &way);
}

static void solve_series(const struct tree *tree, const struct table *parts[2], struct table *table)
{
    table->opens = parts[0]->opens;
    table->closes = parts[1]->closes;
    for (uint32_t i = 0; i < tree->count * tree->count * tree->count; i++) {
        const uint8_t s = (uint8_t)(i % tree->count);
        const uint8_t middle = (uint8_t)(i / tree->count % tree->count);
        const uint8_t t = (uint8_t)(i / tree->count / tree->count);
        for (uint32_t which = 0; which < WAYS * WAYS; which++) {
            const struct pick left = {s, middle, (uint8_t)(which % WAYS)};
            const struct pick right = {middle, t, (uint8_t)(which / WAYS)};
            offer_series(parts, left, right, table);
        }
    }
}

/* The best way of @table between two spots, of which open ends are its own choice. */
static struct pick choose_ends(
    const struct tree *tree, const struct table *table, struct pick wanted)
{
    struct pick best = wanted;
    for (uint8_t s = 0; s < tree->count; s++) {
        for (uint8_t t = 0; t < tree->count; t++) {
            const bool fits =
                (table->opens || s == wanted.from) && (table->closes || t == wanted.to);
            const struct pick pick = {s, t, wanted.which};
            if (fits && is_better(way_at(table, pick), way_at(table, best), wanted.which)) {
                best = pick;
            }
        }
    }
    return best;
}

static void solve_parallel(
    const struct tree *tree, const struct table *parts[2], struct table *table)
{
    ASSERT(tree->count > 0);
    table->opens = parts[0]->opens;
    table->closes = parts[0]->closes;
    for (uint32_t i = 0; i < tree->count * tree->count * WAYS * WAYS; i++) {
        const uint8_t s = (uint8_t)(i % tree->count);
        const uint8_t t = (uint8_t)(i / tree->count % tree->count);
        const uint32_t which = i / tree->count / tree->count;
        const struct pick left =
            choose_ends(tree, parts[0], (struct pick){s, t, (uint8_t)(which % WAYS)});
        const struct pick right =
            choose_ends(tree, parts[1], (struct pick){s, t, (uint8_t)(which / WAYS)});
        const struct way *a = way_at(parts[0], left);
        const struct way *b = way_at(parts[1], right);
        struct way way = {
            .time_ns = a->time_ns > b->time_ns ? a->time_ns : b->time_ns,
            .toll_ns = a->toll_ns + b->toll_ns,
            .busy_ns = a->busy_ns + b->busy_ns,
            .left = left,
            .right = right,
        };
        if (left.from == right.from && way.busy_ns > way.time_ns) {
            way.time_ns = way.busy_ns; /* One worker does one after the other. */
        }
        offer(table, s, t, &way);
    }
}

static void solve_part(const struct tree *tree, uint32_t number)
{
    const struct part *part = &tree->stream->tree->parts[number];
    struct table *table = &tree->tables[number];
    for (uint32_t i = 0; i < SPOTS * SPOTS * WAYS; i++) {
        table->ways[i / WAYS / SPOTS][i / WAYS % SPOTS][i % WAYS].time_ns = (double)INFINITY;
    }
    const struct table *parts[2] = {&tree->tables[part->left], &tree->tables[part->right]};
    switch (part->kind) {
    case PART_VERTEX:
        solve_unit(tree, part->index, table);
        return;
    case PART_EDGE:
        solve_edge(tree, part->index, table);
        return;
    case PART_SERIES:
        solve_series(tree, parts, table);
        return;
    case PART_PARALLEL:
        solve_parallel(tree, parts, table);
        return;
    }
    ASSERT(false);
}

/* From the root down: which way of each part was taken. */
static void read_out(const struct tree *tree, struct pick *picks, struct spot *units_out)
{
    const struct series_parallel *shape = tree->stream->tree;
    for (uint32_t number = shape->part_count; number-- > 0;) {
        const struct part *part = &shape->parts[number];
        const struct way *way = way_at(&tree->tables[number], picks[number]);
        if (part->kind == PART_VERTEX) {
            units_out[part->index] = tree->spots[picks[number].from];
        } else if (part->kind != PART_EDGE) {
            picks[part->left] = way->left;
            picks[part->right] = way->right;
        }
    }
}

bool response_tree_solve(
    const struct congestion *congestion, const struct stream *stream, const struct spot *spots,
    uint32_t count, struct spot *units_out)
{
    const struct series_parallel *shape = stream->tree;
    ASSERT(count > 0);
    ASSERT(count <= SPOTS);
    struct tree tree = {.congestion = congestion, .stream = stream, .spots = spots, .count = count};
    tree.tables = memory_zeroed(shape->part_count, sizeof(*tree.tables));
    struct pick *picks = memory_zeroed(shape->part_count, sizeof(*picks));
    for (uint32_t i = 0; i < shape->part_count; i++) {
        solve_part(&tree, i);
    }
    const struct table *root = &tree.tables[shape->root];
    double best = (double)INFINITY;
    for (uint32_t s = 0; s < count; s++) {
        for (uint32_t t = 0; t < count; t++) {
            const struct pick pick = {(uint8_t)s, (uint8_t)t, WAY_CHEAP};
            const double cost =
                cost_of(way_at(root, pick)) + congestion->prices[queue_of(&tree, s)];
            if (cost < best) {
                best = cost;
                picks[shape->root] = pick;
            }
        }
    }
    if (!isinf(best)) {
        read_out(&tree, picks, units_out);
    }
    free(picks);
    free(tree.tables);
    return !isinf(best);
}
