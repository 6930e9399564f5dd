/*
 * bench_simgrid.h - the workload that Weft and SimGrid both simulate, and what came out.
 *
 * Plain C that compiles as C++: bench_simgrid.c has the side of Weft, bench_simgrid.cpp
 * the other one.
 */
#ifndef BENCH_SIMGRID_H
#define BENCH_SIMGRID_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DIAMOND_TASKS = 4, DIAMOND_EDGES = 4 };

/* One arrival, with the host of each task. */
struct diamond_job {
    int64_t at_ns;
    uint32_t hosts[DIAMOND_TASKS];
};

/*
 * Hosts in a star, each with one link up and one down that transfers share max-min fairly.
 * A host runs one task after the other, in the order in which their inputs are complete.
 */
struct diamond_workload {
    uint32_t host_count;
    uint32_t job_count;
    const struct diamond_job *jobs; /* By time, ascending. */
    int64_t run_ns[DIAMOND_TASKS];
    uint32_t edges[DIAMOND_EDGES][2];
    uint64_t edge_bytes[DIAMOND_EDGES]; /* Nothing moves between tasks of one host. */
    uint64_t link_bytes_per_s;
    int64_t latency_ns;
};

struct diamond_result {
    double mean_ms; /* From arrival to the end of the last task. */
    double p99_ms;
    double cpu_s;    /* Of the simulation alone, without preparing it. */
    uint64_t events; /* Weft: steps of nodes. SimGrid: activities that ended, and arrivals. */
    uint64_t completed;
};

/* How SimGrid is asked. */
enum simgrid_style {
    SIMGRID_ACTIVITIES,      /* No actors: callbacks start what comes next. */
    SIMGRID_ACTIVITIES_FULL, /* The same; every step updates all transfers, not only changed ones.
                              */
    SIMGRID_ACTORS,          /* A worker a host, a courier a transfer, a client. */
    SIMGRID_ACTORS_SMALL,    /* The same, with small stacks and no guard pages. */
    SIMGRID_STYLE_COUNT,
};

/* Run @workload on SimGrid. Once a process: SimGrid has one engine, and it runs once. */
void diamond_run_simgrid(
    const struct diamond_workload *workload, enum simgrid_style style,
    struct diamond_result *result_out);

#ifdef __cplusplus
}
#endif

#endif /* BENCH_SIMGRID_H */
