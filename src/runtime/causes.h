/*
 * causes.h - why loads and batches failed, in the engine's own words.
 *
 * The core knows only reasons. What an engine says about a model stays until the model is
 * loaded well; what it says about a job is kept for the last CAUSES_JOBS jobs. So a job
 * that fails long after it was told of may be answered with its reason alone.
 */
#ifndef RUNTIME_CAUSES_H
#define RUNTIME_CAUSES_H

#include <stdint.h>

#include "model/catalogue.h"
#include "node/record.h"
#include "wire/message.h"

enum { CAUSES_JOBS = 256, CAUSE_BYTES = MESSAGE_CAUSE_BYTES_MAX + 1 };

struct cause {
    struct job_id job;      /* Number 0: of the request with this key, at any node. */
    struct request_key key; /* All zero: of the job. */
    char text[CAUSE_BYTES];
};

struct causes {
    const struct catalogue *catalogue; /* Borrowed. */
    char (*models)[CAUSE_BYTES];       /* By model; "" if nothing is wrong with it. */
    struct cause jobs[CAUSES_JOBS];    /* A ring. */
    uint32_t job_count;                /* Ever. */
};

void causes_init(struct causes *causes, const struct catalogue *catalogue);
void causes_deinit(struct causes *causes);

/* @model could not be loaded; or, without a @message, it was. */
void causes_note_model(struct causes *causes, uint32_t model, const char *message);

/* A batch with @task of @job, of @workflow, failed. */
void causes_note_job(
    struct causes *causes, struct job_id job, uint32_t workflow, uint32_t task,
    const char *message);

/* Another node says in @message, with @told, why a job that works here failed, or a request with a
 * key, whatever its job is called there. */
void causes_note_told(
    struct causes *causes, const struct message *message, const struct message_cause *told);

/* Why @job of @workflow failed for @reason: "" if no engine said. Valid until the next note. */
const char *causes_find(
    const struct causes *causes, struct job_id job, uint32_t workflow, enum reason reason);

/* What another node said of the request with @key: "" if nothing. The same. */
const char *causes_find_request(const struct causes *causes, struct request_key key);

#endif /* RUNTIME_CAUSES_H */
