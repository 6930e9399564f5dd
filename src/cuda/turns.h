/*
 * turns.h - graphs that run in turn on one share, and how long the first of them takes, while
 * those of other shares run again and again.
 *
 * In a server a model follows others on its worker, and finds the device's cache as they left it.
 */
#ifndef CUDA_TURNS_H
#define CUDA_TURNS_H

#include "cuda/graph.h"
#include "profile/estimate.h"

enum { TURNS_MAX = 2, TURNS_RUNS_MAX = 200 };

struct turns {
    struct cuda_graph graphs[TURNS_MAX];
    uint32_t count;
    uint32_t at; /* The one that runs, or is next. */
    bool is_running;
};

/* How often a graph is timed. */
struct turns_enough {
    uint32_t runs; /* At least so many. */
    int64_t ns;    /* And for so long, but TURNS_RUNS_MAX times at most. */
};

/* What runs took: all, and half of them. */
struct turns_times {
    struct estimate_times all;
    int64_t median_ns;
};

/*
 * Time the first graph of @own, which the others follow each time, while @count @others run beside
 * them.
 *
 * Errors: those of cuda_check().
 */
enum weft_status turns_time(
    struct turns *own, struct turns *others, uint32_t count, const struct turns_enough *enough,
    struct turns_times *times_out, struct weft_error *error);

void turns_close(struct turns *turns);

#endif /* CUDA_TURNS_H */
