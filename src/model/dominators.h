/*
 * dominators.h - which vertices no way can avoid: the dominator tree.
 *
 * A vertex dominates another if every way to it from the entry passes the first. The entry is
 * virtual: it leads to all sources, and is the root. A tree owns its memory, is only read, and
 * does not refer to the graph.
 */
#ifndef MODEL_DOMINATORS_H
#define MODEL_DOMINATORS_H

#include <stdint.h>

struct digraph;

struct dominators {
    uint32_t root;    /* The virtual vertex: its number is the count of the others. */
    uint32_t *parent; /* Immediate dominator; VERTEX_NONE for the root. */
    uint32_t *depth;  /* 0 for the root. */
};

/* The tree of the sealed @graph. */
struct dominators *dominators_create(const struct digraph *graph);

/* Release @tree. NULL is allowed. */
void dominators_destroy(struct dominators *tree);

/* The nearest vertex that dominates both: where their ways were last the same. */
uint32_t dominators_nearest(const struct dominators *tree, uint32_t a, uint32_t b);

#endif /* MODEL_DOMINATORS_H */
