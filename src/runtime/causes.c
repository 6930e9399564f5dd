#include "runtime/causes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"

#define NAMED "model '" /* How a message begins that says of which model it speaks. */

void causes_init(struct causes *causes, const struct catalogue *catalogue)
{
    *causes = (struct causes){.catalogue = catalogue};
    causes->models = memory_zeroed(catalogue->model_count + 1, sizeof(*causes->models));
}

void causes_deinit(struct causes *causes)
{
    free(causes->models);
}

void causes_note_model(struct causes *causes, uint32_t model, const char *message)
{
    ASSERT(model < causes->catalogue->model_count);
    char *text = causes->models[model];
    text[0] = '\0';
    if (message != NULL && strncmp(message, NAMED, strlen(NAMED)) == 0) {
        (void)snprintf(text, CAUSE_BYTES, "%s", message);
    } else if (message != NULL) {
        (void)snprintf(
            text, CAUSE_BYTES, NAMED "%s': %s", causes->catalogue->models[model], message);
    }
}

/* The place of the oldest, for another. */
static struct cause *add(struct causes *causes)
{
    struct cause *cause = &causes->jobs[causes->job_count % CAUSES_JOBS];
    *cause = (struct cause){.job = {0}};
    causes->job_count++;
    return cause;
}

void causes_note_job(
    struct causes *causes, struct job_id job, uint32_t workflow, uint32_t task, const char *message)
{
    struct cause *cause = add(causes);
    cause->job = job;
    (void)snprintf(
        cause->text, sizeof(cause->text), "task '%s': %s",
        causes->catalogue->workflows[workflow]->tasks[task].name, message);
}

void causes_note_told(
    struct causes *causes, const struct message *message, const struct message_cause *told)
{
    struct cause *cause = add(causes);
    if (message_is_end(message->kind)) {
        cause->key = message->deputy.key;
    } else {
        cause->job = message->job;
    }
    (void)snprintf(cause->text, sizeof(cause->text), "%.*s", (int)told->bytes, told->text);
}

/* The newest that is of @job, or of the request with @key. */
static const char *find(const struct causes *causes, struct job_id job, struct request_key key)
{
    const uint32_t count = causes->job_count < CAUSES_JOBS ? causes->job_count : CAUSES_JOBS;
    for (uint32_t i = 1; i <= count; i++) {
        const struct cause *cause = &causes->jobs[(causes->job_count - i) % CAUSES_JOBS];
        if (job_equal(cause->job, job) && request_key_equal(cause->key, key)) {
            return cause->text;
        }
    }
    return "";
}

const char *causes_find_request(const struct causes *causes, struct request_key key)
{
    return request_key_is_set(key) ? find(causes, (struct job_id){0}, key) : "";
}

const char *causes_find(
    const struct causes *causes, struct job_id job, uint32_t workflow, enum reason reason)
{
    const struct workflow *run = causes->catalogue->workflows[workflow];
    const char *text = find(causes, job, (struct request_key){{0}});
    if (text[0] != '\0' && reason != REASON_LOAD_FAILED) {
        return text;
    }
    for (uint32_t i = 0; i < run->task_count; i++) {
        for (uint32_t k = 0; k < run->tasks[i].model_count; k++) {
            const char *fault = causes->models[run->tasks[i].models[k]];
            if (fault[0] != '\0') {
                return fault;
            }
        }
    }
    return text;
}
