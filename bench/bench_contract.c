/*
 * How long the contraction of an operator graph takes, beside a plain topological sort of
 * the same graph.
 *
 *     bench_contract [rounds]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/rng.h"
#include "model/contract.h"
#include "model/digraph.h"

enum { VERTICES = 1300, LAYER = 13, BLOCKS = 12, HEADS = 12 };

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void arc(struct digraph *graph, uint32_t from, uint32_t to)
{
    const struct digraph_edge edge = {.from = from, .to = to, .bytes = 1000};
    if (digraph_add_edge(graph, &edge) != WEFT_OK) {
        exit(EXIT_FAILURE);
    }
}

/* @count operators one after another, behind @from; returns the last. */
static uint32_t chain(struct digraph *graph, uint32_t from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t next;
        if (digraph_add_vertex(graph, /* run_ns */ 1000, &next) != WEFT_OK) {
            exit(EXIT_FAILURE);
        }
        if (from != VERTEX_NONE) {
            arc(graph, from, next);
        }
        from = next;
    }
    return from;
}

static uint32_t join(struct digraph *graph, uint32_t left, uint32_t right)
{
    const uint32_t next = chain(graph, left, 1);
    arc(graph, right, next);
    return next;
}

static void build_chain(struct digraph *graph)
{
    (void)chain(graph, VERTEX_NONE, VERTICES);
}

/* Each vertex needs one to three of the layer before its own. */
static void build_layers(struct digraph *graph)
{
    struct rng rng = rng_stream(1, RNG_TEST, 0);

    for (uint32_t i = 0; i < VERTICES; i++) {
        const uint32_t to = chain(graph, VERTEX_NONE, 1);
        const uint32_t inputs = 1 + rng_below(&rng, 3);
        const uint32_t start = rng_below(&rng, LAYER);
        for (uint32_t j = 0; j < inputs && i >= LAYER; j++) {
            arc(graph, (i / LAYER - 1) * LAYER + (start + j) % LAYER, to);
        }
    }
}

/* GPT-2 with the heads of its attention apart: 1,291 operators. */
static void build_blocks(struct digraph *graph)
{
    const uint32_t tokens = chain(graph, VERTEX_NONE, 1);
    const uint32_t positions = chain(graph, tokens, 2);
    uint32_t last = join(graph, chain(graph, tokens, 1), positions);

    for (uint32_t i = 0; i < BLOCKS; i++) {
        const uint32_t norm = chain(graph, last, 1);
        const uint32_t all = chain(graph, VERTEX_NONE, 1);
        for (uint32_t j = 0; j < HEADS; j++) {
            const uint32_t queries = chain(graph, norm, 1);
            const uint32_t keys = chain(graph, norm, 2);
            const uint32_t values = chain(graph, norm, 1);
            const uint32_t scores = chain(graph, join(graph, queries, keys), 2);
            arc(graph, join(graph, scores, values), all);
        }
        const uint32_t mixed = join(graph, chain(graph, all, 3), last);
        last = join(graph, chain(graph, mixed, 4), mixed);
    }
    (void)chain(graph, last, 2);
}

/* Seconds of one sort: the best of @rounds, as other work only ever adds. */
static double time_sort(const struct digraph *graph, uint32_t rounds)
{
    static uint32_t order[GRAPH_VERTICES_MAX];
    double best = 1e9;

    for (uint32_t i = 0; i < rounds; i++) {
        const double start = seconds();
        const uint32_t count = digraph_sort(graph, order);
        const double taken = seconds() - start;
        if (count != graph->vertex_count) {
            exit(EXIT_FAILURE);
        }
        best = taken < best ? taken : best;
    }
    return best;
}

static double time_contract(
    const struct digraph *graph, enum contract_rule rule, uint32_t rounds, uint32_t *left_out)
{
    double best = 1e9;

    for (uint32_t i = 0; i < rounds; i++) {
        const double start = seconds();
        struct contraction *contraction = contraction_create(graph, rule);
        const double taken = seconds() - start;
        *left_out = contraction->graph->vertex_count;
        contraction_destroy(contraction);
        best = taken < best ? taken : best;
    }
    return best;
}

static void measure(const char *name, void (*build)(struct digraph *graph), uint32_t rounds)
{
    struct digraph *graph = digraph_create();
    uint32_t plain_left = 0;
    uint32_t wide_left = 0;

    build(graph);
    if (digraph_seal(graph) != WEFT_OK) {
        exit(EXIT_FAILURE);
    }
    const double sort = time_sort(graph, rounds);
    const double plain = time_contract(graph, CONTRACT_NEIGHBOURS, rounds, &plain_left);
    const double wide = time_contract(graph, CONTRACT_CLOSURE, rounds, &wide_left);
    (void)printf(
        "%s: %u vertices, %u edges; topological sort %.1f us\n"
        "  neighbours: %u left, %.1f us, ratio %.1f\n"
        "  closure:    %u left, %.1f us, ratio %.1f\n",
        name, graph->vertex_count, graph->edge_count, sort * 1e6, plain_left, plain * 1e6,
        plain / sort, wide_left, wide * 1e6, wide / sort);
    digraph_destroy(graph);
}

int main(int argc, char **argv)
{
    const uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000;

    measure("chain", build_chain, rounds);
    measure("random layers", build_layers, rounds);
    measure("gpt-2 by head", build_blocks, rounds);
    return EXIT_SUCCESS;
}
