/*
 * configs.h - the ways in which a task can run on a fleet: measured, priced, by time.
 *
 * A choice is a point of the profile that some worker of the fleet could hold: its share of
 * a device, its units of CPU, its memory. Devices of one kind may differ: a share of the whole
 * device is one of the largest, and not every worker of the kind can hold every choice. Costs are
 * of one item, in picodollars: run time times the price of what is held, over the items that share
 * it. Where batches share the processors of a device, times are planned and charged as if others
 * held the rest of it: with the interference that was measured. Tables lie in an arena and are only
 * read.
 */
#ifndef CONFIGS_CONFIGS_H
#define CONFIGS_CONFIGS_H

#include <stdbool.h>

#include "configs/search.h"
#include "profile/profile.h"

struct arena;
struct catalogue;
struct workflow_task;

/* What a unit costs an hour, in millionths of a dollar. */
struct configs_prices {
    int64_t cpu;
    int64_t gpu;
};

struct configs_choice {
    struct config config; /* With the units of the whole device written out. */
    uint32_t device;      /* The kind it was measured on. */
    int64_t run_ns;       /* As measured, with the hand-off. */
    int64_t sd_ns;        /* Standard deviation of single runs. */
    double interference;  /* As in struct profile_point. */
    int64_t beside_ns;    /* What it takes while others hold the rest of the device: the plan. */
};

/* By planned time, then cost, then as in the profile. */
struct configs {
    uint32_t count; /* At least 1. */
    struct configs_choice *choices;
    struct search_choice *weights; /* The same ones as the search sees them. */
};

struct configs_rules {
    bool whole;    /* Whole devices only. */
    bool single;   /* One item at a time. */
    double margin; /* Planned times are longer than measured ones by this share. */
};

/* What @run_ns of @config cost, in picodollars, for each of its @config.batch items. */
int64_t configs_cost(struct configs_prices prices, struct config config, int64_t run_ns);

/*
 * What units cost in @fleet. Where nothing is charged, a unit of a device counts twenty times
 * one of CPU, as large clouds charge: cheap configs still leave room for others.
 */
struct configs_prices configs_prices(const struct fleet *fleet);

/* The first worker of kind @device where batches share processors. WORKER_NONE: none. */
uint32_t configs_sharer(const struct fleet *fleet, uint32_t device);

/*
 * What @run_ns on @gpu units, 0 for all, become while others hold the rest of the device. @sharer
 * is the first worker of its kind where batches share the processors.
 */
int64_t configs_beside_ns(
    const struct fleet *fleet, uint32_t sharer, uint32_t gpu, int64_t run_ns, double interference);

/* Whether @worker could ever hold a batch that needs @bytes, if nothing else were there. */
bool configs_can_hold(
    const struct fleet *fleet, uint32_t worker, const struct config *config, uint64_t bytes);

/*
 * All choices for @task. If the rules leave none of the measured points, there is one that
 * keeps them: one item on the whole device, at the time that the profile guesses.
 */
void configs_collect(
    struct arena *arena, const struct fleet *fleet, const struct profile *profile,
    const struct workflow_task *task, const struct configs_rules *rules,
    struct configs *configs_out);

/*
 * Average normalised lengths of a workflow's tasks over the configs that all of them have,
 * from the tables of its tasks; see budget.h.
 */
void configs_lengths(const struct configs *tables, uint32_t task_count, int64_t *lengths_out);

#endif /* CONFIGS_CONFIGS_H */
