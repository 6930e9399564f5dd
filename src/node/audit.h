/*
 * audit.h - nothing waits for ever because a message was lost.
 *
 * Transports are reliable until a connection breaks; what was under way then is gone, and
 * nobody may notice. So whoever has heard nothing of a job for long asks: a visit asks the
 * owner whether the job still exists, and drops it if not; an owner asks the workers of the
 * placement whether anything of the job waits for a device or runs. If nobody says so until
 * the next audit, the job runs again, with twice the patience.
 */
#ifndef NODE_AUDIT_H
#define NODE_AUDIT_H

#include "node/inside.h"

/* There is a job or a visit now: make sure that audits go on. */
void audit_start(struct node *node);

/* The time has come. */
ATTR_COLD void audit_run(struct node *node);

/* Whether this step has room for so many messages more: audits are in no hurry. */
bool audit_has_room(const struct node *node, uint32_t messages);

/* The owner of @job asks whether it is being worked on here. */
void audit_probed(struct node *node, const struct message *message);

/* Somebody works on @job. */
void audit_alive(struct node *node, struct job_id job);

#endif /* NODE_AUDIT_H */
