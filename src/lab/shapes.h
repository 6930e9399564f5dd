/*
 * shapes.h - workflows drawn at random, with the shapes that graphs of tasks have.
 *
 * How many tasks a graph has, how many levels deep it is and on which level each task
 * stands follow the batch jobs of Alibaba's trace of 2018, and so does the spread of run times.
 * That trace has neither edges nor models: inputs beyond the
 * first, sizes, and how often a model is used again are assumed. The same seed gives the
 * same workflows on every machine, and more of them leave the first ones as they are.
 */
#ifndef LAB_SHAPES_H
#define LAB_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/rng.h"

struct catalogue;
struct workflow;

/* All zero means the defaults. */
struct shapes_options {
    uint32_t tasks_min;    /* Of a workflow; 0: 2. */
    uint32_t tasks_max;    /* 0: 64. At most SHAPES_TASKS_MAX. */
    int64_t run_median_ns; /* Of models; 0: 20 ms. */
    double reuse;          /* How many tasks run a model that is there already; 0: half of them. */
    double slo_factor;     /* The SLO over the critical path; 0: 5. */
};

enum { SHAPES_TASKS_MAX = 199 };

/* What a profile would say of a model, or of a function: that has no bytes. */
struct shapes_model {
    int64_t run_ns; /* One item; whole microseconds. */
    uint64_t bytes; /* Whole megabytes. */
};

struct shapes {
    struct shapes_options options;
    struct catalogue *catalogue; /* Borrowed. Nothing else adds models to it. */
    uint64_t seed;
    uint32_t workflow_count;                /* Drawn so far. */
    struct shapes_model models[MODELS_MAX]; /* By number in the catalogue. */
};

/* Begin. @catalogue is empty and stays with the caller; @options is copied. */
void shapes_init(
    struct shapes *shapes, const struct shapes_options *options, struct catalogue *catalogue,
    uint64_t seed);

/* A sealed workflow called @name, which the caller owns. Its models go to the catalogue. */
struct workflow *shapes_draw(struct shapes *shapes, const char *name);

#endif /* LAB_SHAPES_H */
