/*
 * audit.h - nothing waits for ever because a message was lost.
 *
 * Transports are reliable until a connection breaks; what was under way then is gone, and
 * no node may notice. So a node that has heard nothing of a job for long asks: a visit asks the
 * owner whether the job still exists, and drops it if not; an owner asks the workers of the
 * placement, and those who have moved tasks, whether anything of the job waits for a device,
 * runs, or is under way from there. If none says so until the next audit, the job runs again,
 * with twice the patience.
 *
 * Who has sent a tensor off knows nothing more of it, but its host does: a tensor that waits for
 * a slow link is not lost, however long it takes. So the host is asked, by FIND. It may arrive just
 * when its owner asks: after its receiver has said nothing, and before its sender is asked. So who
 * gets an input of an old job says so.
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

/* The sender of @message wants to know whether a tensor of its job is under way from here. */
void audit_find(struct node *node, const struct message *message);

/* One is, and @asker wanted to know. */
void audit_under_way(struct node *node, struct job_id job, uint32_t asker);

/* An input for @visit has come from another node: if its job is old, its owner hears of that. */
void audit_arrived(struct node *node, const struct visit *visit);

/* The job of @message is worked on, or something of it is under way. */
void audit_alive(struct node *node, const struct message *message);

#endif /* NODE_AUDIT_H */
