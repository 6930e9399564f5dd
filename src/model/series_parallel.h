/*
 * series_parallel.h - graphs that nest: one part after another, or parts side by side.
 *
 * A graph is two-terminal series-parallel if it can be taken apart down to single
 * vertices and edges in only these two ways. Programs over such a graph (split a
 * deadline, find the best placement) are loops over the tree of its parts:
 *
 *         b                        series
 *       /   \                     /  |   \
 *      a     d                   a parallel d
 *       \   /                     /      \
 *         c              a->b, b, b->d   a->c, c, c->d
 *
 * Every vertex and every edge is one leaf. Several sources follow a virtual entry, and
 * several sinks lead to a virtual exit; neither appears in the tree. Trees own their
 * memory and are only read.
 */
#ifndef MODEL_SERIES_PARALLEL_H
#define MODEL_SERIES_PARALLEL_H

#include <stdint.h>

struct digraph;

enum part_kind {
    PART_VERTEX,
    PART_EDGE,
    PART_SERIES,   /* All of @left comes before all of @right. */
    PART_PARALLEL, /* No way leads between @left and @right. */
};

struct part {
    enum part_kind kind;
    uint32_t index; /* Of a leaf: the vertex or edge. */
    uint32_t left;  /* Of the others: parts with lower numbers. */
    uint32_t right;
};

struct series_parallel {
    uint32_t part_count;
    uint32_t root;
    struct part *parts; /* Children first: ascending is bottom-up, descending top-down. */
};

/*
 * Take the sealed @graph apart. NULL if it is not series-parallel; the caller owns the
 * tree otherwise. The time is linear in vertices and edges.
 */
struct series_parallel *series_parallel_create(const struct digraph *graph);

/* Release @tree. NULL is allowed. */
void series_parallel_destroy(struct series_parallel *tree);

#endif /* MODEL_SERIES_PARALLEL_H */
