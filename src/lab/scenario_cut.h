/*
 * scenario_cut.h - a smaller scenario out of a scenario: some things left out, or made plain.
 *
 * What can be cut comes in parts, each with a number of pieces in a row. Pieces of some
 * parts are left out, with what depends on them; those of others only become simpler.
 * Nothing is judged here: a cut may well describe what no document may say.
 */
#ifndef LAB_SCENARIO_CUT_H
#define LAB_SCENARIO_CUT_H

#include "document/scenario.h"

/* In the order in which they are best tried: what makes most difference first. */
enum scenario_part {
    CUT_JOBS, /* Of a list of arrivals; see scenario_cut_to_list(). */
    CUT_FAULTS,
    CUT_WORKFLOWS,       /* With their jobs. */
    CUT_WORKFLOWS_MOVED, /* Their jobs go to the first one left. */
    CUT_NODES,
    CUT_TASKS,         /* Those after them lose an input. */
    CUT_TASKS_BETWEEN, /* Those after them take the inputs of the task. */
    CUT_EDGES,
    CUT_WORKERS,         /* But one stays at each node. */
    CUT_SETTINGS,        /* Noise, rows, network, patience, policy: as if nothing were said. */
    CUT_POLICY,          /* Roles of a composition. */
    CUT_MACHINES,        /* Shares, interference and links of a node. */
    CUT_SPREAD,          /* Of the run times of a model. */
    CUT_WORKSPACES,      /* And fixed load times. */
    CUT_WORKFLOW_EXTRAS, /* SLO and input. */
    CUT_GIVES,           /* Items that tasks give. */
    CUT_BYTES,           /* Of edges. */
    CUT_ITEMS,           /* Of jobs. */
    CUT_JOB_TIMES,       /* Rounded, as all below. */
    CUT_FAULT_TIMES,
    CUT_MODEL_FIGURES,
    CUT_PARTS
};

struct scenario_cut {
    enum scenario_part part;
    uint32_t first; /* Of its pieces. */
    uint32_t count; /* Of pieces. */
};

/* "jobs", "faults"; NULL for parts whose pieces are not left out. Two ways have one name. */
const char *scenario_cut_name(enum scenario_part part);

/* Whether @part is another way to leave out what a part before it has left out already. */
bool scenario_cut_is_other_way(enum scenario_part part);

/* How many pieces @part of @scenario has. */
uint32_t scenario_cut_count(const struct scenario *scenario, enum scenario_part part);

/* A copy without, or with plain, pieces. NULL if nothing would change. The caller owns it. */
struct scenario *scenario_cut_apply(
    const struct scenario *scenario, const struct scenario_cut *cut);

/* A copy with at most @jobs. The caller owns it. */
struct scenario *scenario_cut_to_jobs(const struct scenario *scenario, uint64_t jobs);

/*
 * A copy with all arrivals of the first seed as a list. NULL if it is one already, if that
 * would be too long for a document, or if it goes on for too long. The caller owns it.
 */
struct scenario *scenario_cut_to_list(const struct scenario *scenario);

#endif /* LAB_SCENARIO_CUT_H */
