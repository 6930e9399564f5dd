/*
 * inside_mail.h - messages that a node keeps for later. For the files of this layer alone.
 */
#ifndef NODE_INSIDE_MAIL_H
#define NODE_INSIDE_MAIL_H

#include "node/bounds.h"
#include "wire/message.h"

/* A message that waits for a blocked peer. The placement follows. */
struct parked {
    uint32_t next;
    uint32_t node;
    uint32_t tensor; /* POOL_NONE for a plain message. */
    int64_t since_ns;
    struct message message;
    uint16_t placement[];
};

/* News that waits for that of its sender: see early.h. */
struct early {
    struct message *messages; /* The oldest first. */
    uint32_t count;
};

/* A task whose reservation is too late: see withdrawn.h. */
struct withdrawn_task {
    struct job_id job;
    uint32_t task;
    uint32_t attempt;
};

struct withdrawn {
    uint32_t count;
    struct withdrawn_task items[WITHDRAWN_MAX]; /* About the oldest first. */
};

#endif /* NODE_INSIDE_MAIL_H */
