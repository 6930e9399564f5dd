/*
 * fault.h - something that breaks, and when: the script of an experiment.
 */
#ifndef MODEL_FAULT_H
#define MODEL_FAULT_H

#include <stdint.h>

struct fleet;
struct rng;

enum { FAULTS_MAX = 1024, FAULT_RANDOMS_MAX = 8 };

/* X(kind, name in documents, what it wants besides a time) */
#define FAULT_KINDS(X)                                                                             \
    X(FAULT_CRASH, "crash")           /* node: stops for good, with everything on it */            \
    X(FAULT_RESTART, "restart")       /* node: comes back empty, in a new incarnation */           \
    X(FAULT_DRAIN, "drain")           /* node: finishes, and takes no more */                      \
    X(FAULT_STOP, "stop")             /* node, for: does nothing, hears everything later */        \
    X(FAULT_SLOW, "slow")             /* worker, for, factor: run times are so much longer */      \
    X(FAULT_PARTITION, "partition")   /* node, for: it and those after it cannot reach the rest */ \
    X(FAULT_LOSS, "loss")             /* node, for, factor: so many of its messages are lost */    \
    X(FAULT_FAIL_LOADS, "fail-loads") /* worker, for, factor: so many loads fail */                \
    X(FAULT_FAIL_BATCHES, "fail-batches") /* worker, for, factor: so many batches fail */          \
    X(FAULT_LOSE_DEVICE, "lose-device")   /* worker: every load and batch fails from now on */     \
    X(FAULT_NO_DIRECTORY, "no-directory") /* for: the member list does not change */               \
    X(FAULT_POISON, "poison")   /* workflow, for: its next request crashes nodes that run it */    \
    X(FAULT_VERSION, "version") /* node, for: it has a new version of a model; all get it */

enum fault_kind {
#define X(kind, name) kind,
    FAULT_KINDS(X)
#undef X
        FAULT_KIND_COUNT
};

struct fault {
    int64_t at_ns;
    int64_t for_ns; /* How long; 0: for good. POISON: until a node that has crashed restarts.
                       VERSION: until the last node has it. */
    enum fault_kind kind;
    uint32_t victim; /* A node, or a worker. POISON: a workflow. */
    double factor;   /* SLOW: at least 1. LOSS, FAIL_*: a probability. */
};

/*
 * Faults at random times: a Poisson process from the start of a run. Node 0 and its workers
 * are spared. A crash is followed by a restart; how slow, or how probable, is drawn, too.
 */
struct fault_random {
    double rate_per_s;
    int64_t until_ns; /* None begins after this. */
    int64_t for_ns;   /* How long each lasts on average; exponential. */
    uint32_t kinds;   /* Bits of enum fault_kind, each as likely as the others. */
};

/* The kinds that end by themselves, so that a run with them can go on. */
uint32_t fault_drawable_kinds(void);

/* The same for all @randoms of the run with @seed, each from a separate stream. */
uint32_t fault_draw_all(
    const struct fault_random *randoms, uint32_t random_count, const struct fleet *fleet,
    uint64_t seed, struct fault *faults_out, uint32_t faults_max);

/* Whether @kind hits a worker rather than a node. */
static inline int fault_hits_worker(enum fault_kind kind)
{
    return kind == FAULT_SLOW || kind == FAULT_FAIL_LOADS || kind == FAULT_FAIL_BATCHES ||
           kind == FAULT_LOSE_DEVICE;
}

#endif /* MODEL_FAULT_H */
