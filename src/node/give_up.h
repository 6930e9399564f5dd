/*
 * give_up.h - tasks of jobs that cannot be in time any more end before they start, and their
 * jobs with them: no worker spends its time on an answer that no client waits for.
 *
 * Asked only where a policy has an opinion (seat.gives_up), of what is about to start.
 */
#ifndef NODE_GIVE_UP_H
#define NODE_GIVE_UP_H

#include "node/inside.h"

enum prospect {
    PROSPECT_GOOD, /* Or unknown. */
    PROSPECT_GONE, /* The head was hopeless, and has left with all of its job that was here. */
    PROSPECT_LATER /* It is hopeless, but this step has done enough: the next one goes on. */
};

/* What is to be expected of the head of queue @number of @worker. */
enum prospect give_up_head(struct node *node, const struct worker *worker, uint32_t number);

/*
 * Give up what stands hopelessly at the head of home queue @number. False if there is nothing
 * left to start there in this step.
 */
bool give_up_tickets(struct node *node, uint32_t number);

#endif /* NODE_GIVE_UP_H */
