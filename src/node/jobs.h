/*
 * jobs.h - jobs at their owner, from request to answer.
 *
 * The owner keeps a job's inputs until it has answered, exactly once. When a worker is
 * lost it finds another for the tasks that were there and runs the job again from its
 * inputs: tasks are pure, so what runs twice is only wasted.
 */
#ifndef NODE_JOBS_H
#define NODE_JOBS_H

#include "node/inside.h"

#define CLIENT_NONE UINT64_MAX /* Of a job that was taken over: no client has asked yet. */

void jobs_request(struct node *node, const struct event_request *request);

/* Tell the client of @request that it is refused, and give its inputs back. */
void jobs_refuse(
    struct node *node, const struct event_request *request, enum reason reason,
    int64_t retry_after_ns);

/*
 * Open a job, and do not place it, for a request that was another node's. It is not refused: an
 * owner has accepted it. POOL_NONE if there is no room now.
 */
uint32_t jobs_adopt(struct node *node, const struct event_request *request, int64_t deadline_ns);

/* Place job @slot for the first time; ends it if no worker can run it. */
void jobs_place(struct node *node, uint32_t slot);

/* The slot of job @id; MAP_NONE if this node does not own it, or has answered it. */
uint32_t jobs_find(const struct node *node, struct job_id id);

/* Send @message to every node of the placement of @job that is up, each once. */
void jobs_tell(struct node *node, const struct job *job, const struct message *message);

/* Answer job @slot and forget it. */
void jobs_end(struct node *node, uint32_t slot, enum weft_status status, enum reason reason);

/* The client no longer wants @job. */
void jobs_cancel(struct node *node, struct job_id job);

/* An output of a sink has come. Takes over one reference to @tensor. */
void jobs_output(struct node *node, const struct message *message, uint32_t tensor);

/* Whether all outputs of @job are here: it only waits for its deputy, and nothing of it runs. */
bool jobs_is_complete(const struct node *node, const struct job *job);

/* Answer job @slot if it is complete, and nothing keeps it from being answered. */
void jobs_finish(struct node *node, uint32_t slot);

/* Whether a task of @job is placed on @peer. */
bool jobs_is_placed_on(const struct node *node, const struct job *job, uint32_t peer);

/* Whether @peer may have something of @job: a task is placed on it, or was moved from there. */
bool jobs_is_known_to(const struct node *node, struct job *job, uint32_t peer);

/* A task went to another worker than the owner knows of. */
void jobs_moved(struct node *node, const struct message *message);

/* A task could not be run. */
void jobs_failed(struct node *node, const struct message *message);

/* A node asks whether a job is still wanted. */
void jobs_query(struct node *node, const struct message *message);

/* Re-place what lost its worker: a few jobs per call. False when all have been looked at. */
bool jobs_repair(struct node *node);

#endif /* NODE_JOBS_H */
