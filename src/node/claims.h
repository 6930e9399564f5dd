/*
 * claims.h - batches that a home has sent off, until it hears of their end.
 *
 * A claim keeps the tickets of its tasks. They go back to their queue if it is declined or
 * lost with its worker: a task that was pulled meanwhile is found to be gone when it is
 * claimed again.
 */
#ifndef NODE_CLAIMS_H
#define NODE_CLAIMS_H

#include "node/inside.h"

/* What is claimed of a home queue. */
struct wanted {
    uint32_t worker;
    struct config config;
    enum reason reason; /* Why, if the policy did not say so. */
    bool near_first;    /* See struct dispatch_answer. */
};

/*
 * Claim tasks from the head of home queue @number, as many as the config takes. Returns how many;
 * @declined_out if the worker's node, this one, has declined at once.
 */
uint32_t claims_make(
    struct node *node, uint32_t number, const struct wanted *wanted, bool *declined_out);

/* The claim that @message, from the node of its worker, is about; POOL_NONE if none is. */
uint32_t claims_find(const struct node *node, const struct message *message);

/* The task of @message is gone: no claim may put it back. */
void claims_drop(struct node *node, const struct message *message);

void claims_declined(struct node *node, uint32_t slot, const struct message *message);
void claims_ended(struct node *node, uint32_t slot, const struct message *message);

/* Take back claims for workers that are gone. */
void claims_repair(struct node *node);

/* Ask after claims of which nothing has been heard for long. */
void claims_audit(struct node *node);

#endif /* NODE_CLAIMS_H */
