/*
 * agreement.h - one number for all that nodes must have alike to work together.
 *
 * Nodes name workers, models, workflows and tasks by dense numbers. Two nodes whose agreement
 * differs would mean different things by the same number. Its upper half is of the cluster, which
 * is the same for as long as a node runs; its lower half is of the catalogue, and of how nodes
 * speak to each other. Nodes that have only the upper half in common are members of one cluster,
 * and do not work for each other.
 */
#ifndef MODEL_AGREEMENT_H
#define MODEL_AGREEMENT_H

#include <stdbool.h>
#include <stdint.h>

struct catalogue;
struct fleet;

/* @names: a hash of the nodes' names in their order. @protocol: what nodes speak, as a number. */
uint64_t agreement_of(
    const struct fleet *fleet, const struct catalogue *catalogue, uint64_t names,
    uint32_t protocol);

/* Whether those who have @a and @b can be members of one cluster. */
static inline bool agreement_is_of_one_cluster(uint64_t a, uint64_t b)
{
    return a >> 32 == b >> 32;
}

#endif /* MODEL_AGREEMENT_H */
