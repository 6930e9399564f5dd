/*
 * dominators.h - which vertices no way can avoid: dominator and post-dominator trees.
 *
 * A vertex dominates another if every way to it from the entry passes the first; it
 * post-dominates it if every way from it to the exit does. Entry and exit are virtual:
 * one leads to all sources, the other follows all sinks, and each is the root of its tree.
 * Trees own their memory, are only read, and do not refer to the graph.
 */
#ifndef MODEL_DOMINATORS_H
#define MODEL_DOMINATORS_H

#include <stdbool.h>
#include <stdint.h>

struct digraph;

enum dominators_side {
    DOMINATORS_ENTRY, /* Dominators. */
    DOMINATORS_EXIT,  /* Post-dominators. */
};

struct dominators {
    uint32_t root;         /* The virtual vertex: its number is the count of the others. */
    uint32_t *parent;      /* Immediate dominator; VERTEX_NONE for the root. */
    uint32_t *depth;       /* 0 for the root. */
    uint32_t *child_first; /* Into children; one more than the last is the next one's first. */
    uint32_t *children;    /* By parent. No way leads from one of them to an earlier one. */
};

/* The tree of the sealed @graph; for post-dominators, ways are meant backwards. */
struct dominators *dominators_create(const struct digraph *graph, enum dominators_side side);

/* Release @tree. NULL is allowed. */
void dominators_destroy(struct dominators *tree);

/* Whether @vertex dominates @other. Every vertex dominates itself, the root all. */
bool dominators_covers(const struct dominators *tree, uint32_t vertex, uint32_t other);

/* The nearest vertex that dominates both: where their ways were last the same. */
uint32_t dominators_nearest(const struct dominators *tree, uint32_t a, uint32_t b);

static inline uint32_t dominators_child_count(const struct dominators *tree, uint32_t vertex)
{
    return tree->child_first[vertex + 1] - tree->child_first[vertex];
}

static inline uint32_t dominators_child(
    const struct dominators *tree, uint32_t vertex, uint32_t index)
{
    return tree->children[tree->child_first[vertex] + index];
}

#endif /* MODEL_DOMINATORS_H */
