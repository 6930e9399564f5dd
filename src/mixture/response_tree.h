/*
 * response_tree.h - dynamic programming over units that nest: a good place to start from.
 *
 * A part of a series-parallel tree costs what is cheapest between the workers at its two
 * ends. In series the worker between them is free to choose; in parallel both have the same
 * ends, take the longer time and pay both tolls.
 */
#ifndef MIXTURE_RESPONSE_TREE_H
#define MIXTURE_RESPONSE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "mixture/pattern.h"

struct congestion;
struct stream;

enum { RESPONSE_TREE_SPOTS = 6 };

/*
 * Choose one of @count spots, RESPONSE_TREE_SPOTS at most, for each unit of @stream, which
 * has a tree. False if none will do.
 */
bool response_tree_solve(
    const struct congestion *congestion, const struct stream *stream, const struct spot *spots,
    uint32_t count, struct spot *units_out);

#endif /* MIXTURE_RESPONSE_TREE_H */
