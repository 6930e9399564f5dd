/*
 * subject.h - a model that is measured, or that runs beside one that is: weights and graphs.
 *
 * Parts of a device are workers, and each has weights of its own: what reads the same as its
 * neighbour finds it in the device's cache. Nothing is released, as the process ends.
 */
#ifndef CUDA_SUBJECT_H
#define CUDA_SUBJECT_H

#include "cuda/graph.h"
#include "cuda/weights.h"

enum { SUBJECT_PARTS_MAX = 8 };

/* What all subjects use. */
struct subject_card {
    struct cuda_device device;
    struct cuda_torch torch;
    struct cuda_blocks blocks;
    struct CUstream_st *copies;
};

/* The weights, as a worker has them for itself, and packages that are bound to them. */
struct subject_held {
    bool is_open;  /* There is an address. */
    bool is_there; /* There are weights. */
    struct cuda_weights weights;
    struct cuda_package *packages[CUDA_PACKAGES_MAX];
};

struct subject {
    struct cuda_manifest manifest;
    struct subject_held held[SUBJECT_PARTS_MAX]; /* Of the first workers. */
};

/* A share, and the number of its worker. */
struct subject_place {
    struct cuda_share *share;
    uint32_t part;
};

/* Bring the weights to the card for worker @part, which may have them. Errors: of cuda_check(). */
enum weft_status subject_hold(
    struct subject_card *card, struct subject *subject, uint32_t part, struct weft_error *error);

/* Take them away from the first worker, which has them, and bring them again: the latter takes
 * *ns_out. Errors: likewise. */
enum weft_status subject_load_again(
    struct subject_card *card, struct subject *subject, int64_t *ns_out, struct weft_error *error);

/*
 * A graph of package @package at @place, with made-up inputs.
 *
 * Errors: those of cuda_package_open() and cuda_graph_open().
 */
enum weft_status subject_graph(
    struct subject_card *card, struct subject *subject, const struct subject_place *place,
    uint32_t package, struct cuda_graph *graph_out, struct weft_error *error);

/* The package that runs @rows rows: the smallest that can, or else the largest. */
uint32_t subject_package(const struct subject *subject, uint32_t rows);

#endif /* CUDA_SUBJECT_H */
