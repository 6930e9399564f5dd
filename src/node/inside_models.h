/*
 * inside_models.h - models and the memory that they are held in, as a node keeps them; for the
 * files of this layer.
 */
#ifndef NODE_INSIDE_MODELS_H
#define NODE_INSIDE_MODELS_H

#include <stdbool.h>
#include <stdint.h>

struct fleet_worker;

struct model_slot {
    uint8_t state;          /* enum model_state */
    bool withdrawn;         /* From the repository: not to be loaded. */
    bool warm;              /* Loading because the policy wants it. */
    bool unwanted;          /* Loading, but the result is to be given back. */
    bool stale;             /* Out of date: leaves when the batches that use it have ended. */
    uint32_t users;         /* Batches that run with it. */
    uint32_t wanted;        /* Queued tasks, and batches that gather, that need it. */
    uint32_t failures;      /* Loads that failed in a row. */
    uint8_t failing_reason; /* enum reason: why the tasks below fail. */
    uint64_t failing_until; /* Tasks that wait for it up to this arrival fail. 0: none. */
    int64_t retry_at_ns;
    uint64_t bytes;     /* It occupies, or will, if no other worker has it. */
    uint64_t own_bytes; /* Of these: what each worker that has it takes for itself. */
    int64_t load_ns;
    int64_t first_run_ns; /* What its first run takes longer. */
    int64_t apart_ns;     /* Lost because it is not here: chains.h. */
};

/* How a bank's workers use a model. */
struct bank_model {
    int64_t used_ns;
    int64_t used;   /* The same by the bank's clock. */
    int64_t began;  /* Likewise, its last use. */
    uint32_t uses;  /* Up to as many as are remembered. */
    int64_t gap;    /* As in struct cache_entry. */
    int64_t recent; /* The same of the last few uses. */
};

/* Memory that models are held in: of one worker, or of all of the node that share it. See bank.h.
 */
struct bank {
    uint32_t worker_count;
    uint32_t unloading;              /* How many copies of models. */
    const struct fleet_worker *spec; /* Of the first of them: how much memory there is. */
    uint64_t used_bytes;
    int64_t clock; /* Goes on by USE with every use of a model. */
    struct bank_model *models;
};

/* Where tasks that wait together stand among all that wait in a node. */
struct turn {
    int64_t key; /* Of tasks that a home has claimed a batch for: before all others. */
    uint64_t arrival;
    uint32_t worker;
    uint32_t index;
};

#endif /* NODE_INSIDE_MODELS_H */
