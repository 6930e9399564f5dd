/*
 * search.h - the cheapest ways through a chain of stages within a time.
 *
 * Each stage offers choices with a time and a cost; a path takes one of every stage. Asked
 * for are the first choices of the cheapest paths that end in time, each with its best
 * path: the dispatcher uses the first choice, needs others where it does not fit, and
 * searches again before the next stage.
 *
 * This is the question of ESG_1Q (ESG, HPDC 2024). Its answer here is exact: stages meet
 * only in the sums of times and costs, so of what follows the first stage only sums matter
 * to which no other is both as fast and as cheap: a front. Fronts are built from the last
 * stage backwards, and what a path could not need is left out:
 *
 *   time blade   too slow, even with the fastest choices of all stages before it
 *   cost blade   too dear, even with the cheapest ones: there are already as many other
 *                first choices as were asked for whose known paths cost less
 *
 * Since first choices are never merged, dominance does not lose any of them. Times and
 * costs are integers, so ties are exact: by cost, then time, then the lowest index.
 * The rest of a chain depends on nothing that changes: its fronts can be made ahead, and a
 * search is then one look into a front for each first choice.
 */
#ifndef CONFIGS_SEARCH_H
#define CONFIGS_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SEARCH_STAGES_MAX = 16,
    SEARCH_CHOICES_MAX = 4096, /* Of one stage. */
    SEARCH_PATHS_MAX = 16,
    SEARCH_REST_ONE = 256, /* What follows takes as long as its fronts say. */
};

struct search_choice {
    int64_t time_ns;
    int64_t cost;   /* Of one item, in any unit. */
    uint32_t batch; /* Items that it runs together. */
    uint32_t front; /* Of what follows it: see search_best(). */
};

struct search_stage {
    uint32_t count;
    const struct search_choice *choices;
    int64_t extra_ns; /* What every choice takes on top: a transfer, a cold start. */
};

/* A sum over the rest of a chain. */
struct search_point {
    int64_t time_ns;
    int64_t cost;
    uint32_t choice; /* Of the first of these stages. */
    uint32_t next;   /* The point that follows, in the front of the next stage. */
};

/* By time ascending; costs descend. */
struct search_front {
    uint32_t count;
    struct search_point *points;
};

/* The fronts of a chain: number j sums up the stages from j on. The last has one point, 0. */
struct search_chain {
    uint32_t stage_count;
    struct search_front fronts[SEARCH_STAGES_MAX + 1];
};

enum search_rule {
    SEARCH_MET,  /* In time: the cheapest first. */
    SEARCH_LATE, /* None is in time, but time is left: the fastest first. */
    SEARCH_LOST, /* No time is left: the cheapest first choice, to leave room for others. */
};

struct search_path {
    uint32_t first; /* The choice of the first stage. */
    uint32_t rest;  /* A point of the front of the others. */
    int64_t time_ns;
    int64_t cost;
};

struct search_answer {
    enum search_rule rule;
    uint32_t count; /* 0: no choice is small enough for the queue. */
    struct search_path paths[SEARCH_PATHS_MAX];
};

struct search_query {
    int64_t target_ns;
    uint32_t batch_min;  /* Items that cannot be told apart: choices for fewer do not count. */
    uint32_t batch_max;  /* Items that wait: choices that want more do not count. */
    uint32_t path_count; /* First choices asked for. */
    int64_t rest;        /* What follows takes, in SEARCH_REST_ONE parts of its time; 0: all. */
};

struct arena;

/*
 * The fronts of all stages, whose paths end within @horizon_ns; they lie in @arena. A front
 * may be empty: then no path from there on ends in time.
 */
void search_prepare(
    struct arena *arena, const struct search_stage *stages, uint32_t stage_count,
    int64_t horizon_ns, struct search_chain *chain_out);

/*
 * Choices of @first with their best paths. @rests sum up what follows: each choice says by its
 * number which of them does. Takes no memory.
 */
void search_best(
    const struct search_stage *first, const struct search_front *rests,
    const struct search_query *query, struct search_answer *answer_out);

/* Whether any of these paths is in time: whether search_best() would answer by SEARCH_MET. */
bool search_is_met(
    const struct search_stage *first, const struct search_front *rests,
    const struct search_query *query);

/* What was looked at, for comparisons. */
struct search_effort {
    uint64_t points; /* Sums that were formed. */
    uint64_t kept;   /* Of these: not made superfluous by another. */
};

/*
 * The same from nothing, for one target: both blades cut the fronts. The memory for them is
 * taken and given back; @effort_out may be NULL. The rest of the paths is not told.
 */
void search_run(
    const struct search_stage *stages, uint32_t stage_count, const struct search_query *query,
    struct search_answer *answer_out, struct search_effort *effort_out);

#endif /* CONFIGS_SEARCH_H */
