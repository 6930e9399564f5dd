/*
 * give_up.h - tasks of jobs that cannot be in time any more end before they start, and their
 * jobs with them: no worker spends its time on an answer that no client waits for. Where only a
 * target is missed the answer is wanted all the same: such tasks wait once more, behind others.
 *
 * Asked only where a policy has an opinion (seat.gives_up), of what is about to start.
 */
#ifndef NODE_GIVE_UP_H
#define NODE_GIVE_UP_H

#include "node/inside.h"

enum prospect {
    PROSPECT_GOOD, /* Or unknown. */
    PROSPECT_GONE, /* It has left, with all of its job that was here, or has been put off. */
    PROSPECT_LATER /* It has to, but this step has done enough: the next one goes on. */
};

/* What is to be expected of the head of queue @number of @worker. */
enum prospect give_up_head(struct node *node, const struct worker *worker, uint32_t number);

/*
 * Give up or put off what stands at the head of home queue @number without hope. False if there is
 * nothing left to start there in this step.
 */
bool give_up_tickets(struct node *node, uint32_t number);

#endif /* NODE_GIVE_UP_H */
