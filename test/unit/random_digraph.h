/*
 * random_digraph.h - small random digraphs, written tersely, and who reaches whom.
 */
#ifndef UNIT_RANDOM_DIGRAPH_H
#define UNIT_RANDOM_DIGRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/rng.h"
#include "model/digraph.h"

enum { RANDOM_VERTICES_MAX = 12 };

/* to[a][b]: there is a way of at least one edge from a to b. */
struct ways {
    bool to[RANDOM_VERTICES_MAX][RANDOM_VERTICES_MAX];
};

static inline uint32_t vertex(struct digraph *graph, int64_t run_ns)
{
    uint32_t index;
    const enum weft_status status = digraph_add_vertex(graph, run_ns, &index);
    ASSERT(status == WEFT_OK);
    return index;
}

static inline void arc(struct digraph *graph, uint32_t from, uint32_t to, uint64_t bytes)
{
    const struct digraph_edge edge = {.from = from, .to = to, .bytes = bytes};
    const enum weft_status status = digraph_add_edge(graph, &edge);
    ASSERT(status == WEFT_OK);
}

static inline struct digraph *sealed(struct digraph *graph)
{
    const enum weft_status status = digraph_seal(graph);
    ASSERT(status == WEFT_OK);
    return graph;
}

/* The graph of @edges such as "ab ac bd cd": vertices are letters from a, of 1 ns, 1 byte. */
static inline struct digraph *drawn(const char *edges)
{
    struct digraph *graph = digraph_create();
    const char *at = edges;

    while (*at != '\0') {
        const uint32_t from = (uint32_t)(at[0] - 'a');
        const uint32_t to = (uint32_t)(at[1] - 'a');
        while (graph->vertex_count <= (from > to ? from : to)) {
            (void)vertex(graph, /* run_ns */ 1);
        }
        arc(graph, from, to, /* bytes */ 1);
        at += at[2] == ' ' ? 3 : 2;
    }
    return sealed(graph);
}

/* Sealed, with random times and bytes; ties are common. The caller owns it. */
static inline struct digraph *random_digraph(struct rng *rng)
{
    struct digraph *graph = digraph_create();
    const uint32_t count = 1 + rng_below(rng, RANDOM_VERTICES_MAX);
    const uint32_t density = rng_below(rng, 101);
    uint32_t level[RANDOM_VERTICES_MAX];

    for (uint32_t i = 0; i < count; i++) {
        (void)vertex(graph, rng_below(rng, 6));
        level[i] = rng_below(rng, 1000); /* Edges go up: not by index, which would be too tidy. */
    }
    for (uint32_t from = 0; from < count; from++) {
        for (uint32_t to = 0; to < count; to++) {
            const bool is_drawn = rng_below(rng, 100) < density;
            const uint64_t bytes = rng_below(rng, 10);
            if (is_drawn && level[from] < level[to]) {
                arc(graph, from, to, bytes);
            }
        }
    }
    return sealed(graph);
}

/* All ways that do not pass @without; VERTEX_NONE leaves out nothing. */
static inline void find_ways(const struct digraph *graph, uint32_t without, struct ways *ways_out)
{
    *ways_out = (struct ways){0};
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct digraph_edge *edge = &graph->edges[i];
        if (edge->from != without && edge->to != without) {
            ways_out->to[edge->from][edge->to] = true;
        }
    }
    for (uint32_t k = 0; k < graph->vertex_count; k++) {
        for (uint32_t i = 0; i < graph->vertex_count; i++) {
            for (uint32_t j = 0; j < graph->vertex_count; j++) {
                ways_out->to[i][j] |= ways_out->to[i][k] && ways_out->to[k][j];
            }
        }
    }
}

#endif /* UNIT_RANDOM_DIGRAPH_H */
