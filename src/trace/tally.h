/*
 * tally.h - what became of jobs, by workflow, read from trace records.
 *
 * The one place that says which end of a job counts as what: reports, metrics and screens all
 * count by it. A tally that follows jobs also keeps, of each that is open, what its tasks did,
 * and tells at the end where the time of the job went.
 */
#ifndef TRACE_TALLY_H
#define TRACE_TALLY_H

#include <stdbool.h>

#include "model/catalogue.h"
#include "model/fleet.h"
#include "node/record.h"
#include "trace/latency_parts.h"

struct tally;

/* How a request ended. */
enum outcome {
    OUTCOME_OPEN,    /* It did not, with this record. */
    OUTCOME_GOOD,    /* Answered well, within the SLO of its workflow if that has one. */
    OUTCOME_SLOW,    /* Answered well, after the SLO. */
    OUTCOME_LATE,    /* Ended by its deadline, or because it was sure to miss it. */
    OUTCOME_LEFT,    /* Cancelled: its client has left, or another node answers it. */
    OUTCOME_FAILED,  /* In any other way. */
    OUTCOME_REFUSED, /* It was never accepted. */
    OUTCOMES
};

struct tally_counts {
    uint64_t arrived;         /* And accepted. */
    uint64_t ended[OUTCOMES]; /* By outcome. */
};

static inline uint64_t tally_completed(const struct tally_counts *counts)
{
    return counts->ended[OUTCOME_GOOD] + counts->ended[OUTCOME_SLOW];
}

static inline uint64_t tally_cancelled(const struct tally_counts *counts)
{
    return counts->ended[OUTCOME_LATE] + counts->ended[OUTCOME_LEFT];
}

/* Accepted, and not answered yet. */
static inline uint64_t tally_open(const struct tally_counts *counts)
{
    return counts->arrived - tally_completed(counts) - tally_cancelled(counts) -
           counts->ended[OUTCOME_FAILED];
}

/*
 * A tally of the workflows of @catalogue; of their jobs on @fleet, if it @follows them. Both are
 * borrowed. The caller owns it.
 */
struct tally *tally_create(
    const struct fleet *fleet, const struct catalogue *catalogue, bool follows);

/* NULL is allowed. */
void tally_destroy(struct tally *tally);

/*
 * Take the next record. A tally that does not follow jobs needs only ARRIVED, REFUSED and
 * ANSWERED. If a request has ended, *parts_out says where its time went if it was followed to a
 * good or slow end, and has no time in it otherwise; it may be NULL.
 */
enum outcome tally_add(
    struct tally *tally, const struct record *record, struct latency_parts *parts_out);

/*
 * What is known of the task of @record, of a job that is followed; NULL if that has been answered.
 * Changed by the next record.
 */
const struct latency_task *tally_task(const struct tally *tally, const struct record *record);

/* How long the last load of @model on @worker took, which has ended. Of a tally that follows jobs.
 */
int64_t tally_load_ns(const struct tally *tally, uint32_t worker, uint32_t model);

/* What it was made for. */
const struct fleet *tally_fleet(const struct tally *tally);
const struct catalogue *tally_catalogue(const struct tally *tally);

/* Borrowed, and changed by the next record. */
const struct tally_counts *tally_workflow(const struct tally *tally, uint32_t workflow);
const struct tally_counts *tally_total(const struct tally *tally);

#endif /* TRACE_TALLY_H */
