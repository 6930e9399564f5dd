/*
 * operators.h - the operators of well-known networks, as graphs.
 *
 * Vertices and edges are those of the traced networks (torchvision's, for one image of the
 * size that each was made for, and GPT-2's smallest for 128 tokens); work and sizes follow
 * from the shapes of the layers, in 32-bit floats. Contract them (model/contract.h) before
 * they are scheduled: most operators are followed by one other alone.
 */
#ifndef LAB_OPERATORS_H
#define LAB_OPERATORS_H

#include <stdint.h>

struct digraph;

/* What a machine does. All zero means the defaults. */
struct operators_speed {
    double macs_per_s;  /* Multiplications with additions; 0: 1e11, a server without a GPU. */
    double bytes_per_s; /* Results written to memory; 0: 2e10. */
};

struct operators {
    struct digraph *graph; /* Sealed. An edge carries the whole result of its producer. */
    uint64_t *macs;        /* By vertex. */
    uint64_t input_bytes;  /* What a request brings. */
};

/* NULL-terminated: the networks that can be built. */
extern const char *const operators_names[];

/*
 * Build the network @name. A vertex takes its work over the one rate plus its result over
 * the other. The caller owns the result; NULL if there is no such network.
 */
struct operators *operators_create(const char *name, const struct operators_speed *speed);

/* Release @operators. NULL is allowed. */
void operators_destroy(struct operators *operators);

#endif /* LAB_OPERATORS_H */
