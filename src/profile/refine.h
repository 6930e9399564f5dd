/*
 * refine.h - a profile that follows what is seen while models run.
 *
 * Every run moves the mean and the spread of its point by its share: the first by a ninth
 * where a point had been measured, later ones by less, down to a 64th, so that one slow run
 * changes little and what is long past is forgotten. A number of items that was never
 * measured begins with what was estimated for it. The profile changes in place: between two
 * steps of those who read it.
 *
 * No other point stays worse than that one allows: no batch takes longer than smaller ones in
 * turn. A batch size that looked bad in a busy hour is chosen no more, so that its own runs
 * would never correct it.
 *
 * On a busy machine a run of microseconds now and then takes milliseconds. Such a run counts
 * only up to four standard deviations above the mean. Where runs of that kind are rarer than one
 * in 16 the mean does not follow them; where they are more frequent they widen the deviation, and
 * are learnt. Of hand-offs, whose outliers are the same, the median is learnt.
 *
 * Points are what runs took, whatever slowed them, since that is what those who plan should expect;
 * and each point says what its runs met. By that, scatter.h tells apart what other processors did
 * and what was chance, and a simulator can do both again.
 *
 * The first run after a load is compared with what is known of later ones, and moves none of them:
 * what it takes longer is learnt, in the same way, of the model that was loaded.
 *
 * What is learnt travels: other nodes with the same kind of device plan with it. A point is told
 * when it has moved by more than a sixteenth since it was last told, and what a node is told it
 * does not tell again. A node that has seen eight runs of a point itself listens no more. What was
 * measured and never seen is told to nodes that join, which believe it only if they know nothing of
 * that point. Points of shares of a GPU are not told.
 */
#ifndef PROFILE_REFINE_H
#define PROFILE_REFINE_H

#include "model/learnt.h"
#include "profile/profile.h"

enum {
    REFINE_POINTS_MAX = 64, /* Of one model on one device, beside what was measured before. */
    REFINE_WEIGHT_MAX = 64,
    REFINE_PRIOR = 8,           /* What a measured point counts, in runs. */
    REFINE_GUESS = 2,           /* What an estimate counts, in runs. */
    REFINE_OWN = 8,             /* So many runs here count for more than what others say. */
    REFINE_WORKSPACES_MAX = 32, /* Numbers of items that are told apart, of one model. */
};

/* See struct refine_ran. */
#define REFINE_ALL_UNITS UINT32_MAX

struct refine;

/* For @profile, which is borrowed and changed. The caller owns it. */
struct refine *refine_create(struct profile *profile);

/* NULL is allowed. */
void refine_destroy(struct refine *refine);

struct refine_ran {
    uint32_t model;
    uint32_t device; /* Its kind; the batch had the whole of it, unless it is shared. */
    bool is_shared;  /* Others may have slowed the run: only the hand-off is learnt. */
    /*
     * The units of its share of a GPU, which takes as long as for the next larger point: the run is
     * learnt there. REFINE_ALL_UNITS: it had the whole GPU. 0: on processors.
     */
    uint32_t gpu;
    uint32_t fresh_count; /* Models of its task that had not run since they were loaded. */
    uint32_t fresh;       /* One of them, if there are any. */
    uint32_t items;
    struct slowing slowing; /* What it met, on a processor. */
    int64_t run_ns;         /* As the engine measured it. */
    int64_t handoff_ns;     /* What its worker was busy beside that. */
};

void refine_run(struct refine *refine, const struct refine_ran *ran);

/*
 * @model took @load_ns to become resident, where it occupies @bytes; 0 if that is not
 * known. The time counts as fixed: what a bus would add is part of what was seen. It is the median
 * of the last loads that is learnt: the first one of a process takes hundreds of times as long as
 * later ones.
 */
void refine_load(struct refine *refine, uint32_t model, int64_t load_ns, uint64_t bytes);

/* A run of @items of @model needed @bytes beside it. Counts when workspaces are learnt. */
void refine_workspace(struct refine *refine, uint32_t model, uint32_t items, uint64_t bytes);

/* Let the profile's workspaces grow to the most that runs have needed. */
void refine_learn_workspaces(struct refine *refine);

/* The next that others should hear of; it counts as told. False: there is none. */
bool refine_tell(struct refine *refine, struct learnt *news_out);

/*
 * All that was seen here is to be told again, and what was measured of the first @kind_count kinds
 * of devices: another node has come.
 */
void refine_tell_again(struct refine *refine, uint32_t kind_count);

/* Another node says @news, which may be anything. Whether the profile has followed. */
bool refine_hear(struct refine *refine, const struct learnt *news);

/* How many runs, loads and news were taken since the profile was created. */
uint64_t refine_count(const struct refine *refine);

#endif /* PROFILE_REFINE_H */
