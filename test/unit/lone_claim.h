/* lone_claim.h - claims that a lone node gets from the home of a queue. */
#ifndef UNIT_LONE_CLAIM_H
#define UNIT_LONE_CLAIM_H

#include "lone_node.h"

enum { HOME = 1, HOLDER = 2 }; /* The other two nodes, and their workers. */

/* Task @index of @count of a claim with the whole device. */
static inline struct message claim_of(
    struct lone *lone, struct job_id job, enum lone_workflow workflow, uint32_t index,
    uint32_t count)
{
    struct message message = lone_message(lone, MESSAGE_CLAIM, job, workflow, /* task */ 0);
    message.from = HOME;
    message.claim = (struct message_claim){
        .number = 7,
        .index = index,
        .count = count,
        .items = count,
        .batch = count,
        .gpu = 1,
        .holder = HOLDER,
    };
    return message;
}

#endif /* UNIT_LONE_CLAIM_H */
