/*
 * catalogue.h - the models and workflows of one cluster, by name and by number.
 *
 * Numbers are dense and the same on every node. Each task of each workflow also has
 * a queue number, so that a worker keeps its queues in one array.
 */
#ifndef MODEL_CATALOGUE_H
#define MODEL_CATALOGUE_H

#include <stdint.h>

#include <weft/status.h>

#include "model/workflow.h"

struct catalogue {
    uint32_t model_count;
    uint32_t workflow_count;
    uint32_t queue_count;
    uint32_t task_count_max;   /* Over all workflows. */
    uint32_t *queue_workflows; /* By queue: its workflow. */
    char (*models)[NAME_BYTES_MAX];
    struct workflow **workflows; /* Owned. */
};

/* An empty catalogue; the caller owns it. */
struct catalogue *catalogue_create(void);

/* Release @catalogue and its workflows. NULL is allowed. */
void catalogue_destroy(struct catalogue *catalogue);

/* The number of model @name, added if it is new. MODEL_NONE past MODELS_MAX. */
uint32_t catalogue_model(struct catalogue *catalogue, const char *name);

/* MODEL_NONE if there is no such model. */
uint32_t catalogue_find_model(const struct catalogue *catalogue, const char *name);

/*
 * Take ownership of the sealed @workflow and number its queues.
 *
 * Errors: WEFT_LIMIT past WORKFLOWS_MAX; WEFT_EXISTS for a name used before. The
 * caller keeps the workflow then.
 */
enum weft_status catalogue_add_workflow(struct catalogue *catalogue, struct workflow *workflow);

/* UINT32_MAX if there is no such workflow. */
uint32_t catalogue_find_workflow(const struct catalogue *catalogue, const char *name);

#endif /* MODEL_CATALOGUE_H */
