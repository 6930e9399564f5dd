/*
 * weft_spot.h - what it costs to run one config of a home queue on one worker.
 *
 *     delay = wait for room or memory + max(load of models, transfers of all inputs + toll / 4)
 *     score = delay + what runs take longer there + wait + toll + 2 x load + loss, if it evicts
 *
 * A worker loads one model after another, so a load waits for the one under way. A batch would hold
 * units meanwhile: while less than half of all are idle, the worker counts as full for it until
 * then.
 */
#ifndef POLICY_WEFT_SPOT_H
#define POLICY_WEFT_SPOT_H

#include "policy/esg_plan.h"
#include "policy/fit.h"
#include "policy/weft_inputs.h"
#include "policy/weft_learn.h"

/* A worker without room is free in a moment at the earliest, even if its row is about to say so. */
#define WEFT_WAIT_LEAST_NS INT64_C(1000000)

/* The queue in question. */
struct weft_ask {
    struct fit_ask fit; /* With the input as it is. */
    const struct weft_inputs *inputs;
    const struct esg_queue *known;
    const struct weft_learn *learn;
    uint32_t number;      /* Of the queue. */
    uint64_t model_bytes; /* Of its models. */
    int64_t model;        /* What its model takes, as a ratio to the profile. */
    int64_t slower;       /* Than expected, by rows, on average. */
};

/* A worker: what does not depend on the config. */
struct weft_place {
    struct fit_place fit;
    uint32_t node;
    int64_t kept_ns;      /* It counts as full for so long, as it loads; 0: it does not. */
    int64_t load_ns;      /* Else with what is loaded before. */
    int64_t eviction_ns;  /* What a load costs others: nothing if there is room for it. */
    int64_t slowness;     /* What everything takes there, as a ratio. */
    uint64_t spare_bytes; /* Memory for what batches work with; UINT64_MAX: enough. */
};

/* A config: what does not depend on the worker. */
struct weft_bid {
    struct config config;
    const struct configs_choice *choice;
    uint64_t bytes;   /* What it needs. */
    int64_t slowness; /* What it takes, as a ratio to what was planned. */
    int64_t floor_ns; /* Where none of its inputs are, its score is no lower. */
};

/* One config, and where it would run. */
struct weft_spot {
    uint32_t worker; /* WORKER_NONE: nowhere. */
    bool has_room;
    int64_t delay_ns; /* Until the batch starts. */
    int64_t more_ns;  /* What its run takes beyond what was planned. */
    int64_t score_ns; /* Both, with what it costs others. */
    uint32_t left;    /* Units of the device that are free. */
    bool is_ideal;    /* It starts at once, costs others nothing and is as fast as measured. */
};

static const struct weft_spot WEFT_SPOT_NOWHERE = {.worker = WORKER_NONE, .score_ns = INT64_MAX};

/* What does not depend on the config, of @worker; and not on the worker, of @choice. */
struct weft_place weft_spot_place(const struct weft_ask *ask, uint32_t worker);
struct weft_bid weft_spot_bid(const struct weft_ask *ask, const struct configs_choice *choice);

/* Whether @place could ever run @bid. */
bool weft_spot_can_hold(
    const struct weft_ask *ask, const struct weft_place *place, const struct weft_bid *bid);

/* How @bid would run at @place, which could hold it. */
struct weft_spot weft_spot_look(
    const struct weft_ask *ask, const struct weft_place *place, const struct weft_bid *bid);

#endif /* POLICY_WEFT_SPOT_H */
