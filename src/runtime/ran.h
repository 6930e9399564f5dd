/*
 * ran.h - what an engine took for a batch or a load, as those hear who keep profiles.
 */
#ifndef RUNTIME_RAN_H
#define RUNTIME_RAN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/slowing.h"
#include "profile/profile.h"

struct engine_usage;

/* A batch that ran well. */
struct runtime_ran {
    uint32_t worker;
    uint32_t model; /* Or function. */
    uint32_t items;
    struct config config;
    uint32_t fresh_count;   /* Models of the task that had not run there since they were loaded. */
    uint32_t fresh;         /* One of them, if there are any. */
    int64_t run_ns;         /* As the engine measured it. */
    bool is_disturbed;      /* Something else may have made it slower. */
    int64_t took_ns;        /* From the launch until its end was noticed. */
    struct slowing slowing; /* What it met of other batches on processors of its node. */
    uint32_t usage_count;   /* What it needed of models, as far as that was measured. */
    const struct engine_usage *usages;
};

/* A model that was loaded well. */
struct runtime_loaded {
    uint32_t worker;
    uint32_t model;
    uint64_t bytes; /* What it occupies; 0: as the profile says. */
    int64_t load_ns;
};

#endif /* RUNTIME_RAN_H */
