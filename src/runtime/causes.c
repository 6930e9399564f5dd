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

void causes_note_job(
    struct causes *causes, struct job_id job, uint32_t workflow, uint32_t task, const char *message)
{
    struct cause *cause = &causes->jobs[causes->job_count % CAUSES_JOBS];
    cause->job = job;
    (void)snprintf(
        cause->text, sizeof(cause->text), "task '%s': %s",
        causes->catalogue->workflows[workflow]->tasks[task].name, message);
    causes->job_count++;
}

void causes_note_told(struct causes *causes, struct job_id job, const char *text, uint32_t count)
{
    struct cause *cause = &causes->jobs[causes->job_count % CAUSES_JOBS];
    cause->job = job;
    (void)snprintf(cause->text, sizeof(cause->text), "%.*s", (int)count, text);
    causes->job_count++;
}

static const char *find_job(const struct causes *causes, struct job_id job)
{
    const uint32_t count = causes->job_count < CAUSES_JOBS ? causes->job_count : CAUSES_JOBS;
    for (uint32_t i = 1; i <= count; i++) { /* The newest first. */
        const struct cause *cause = &causes->jobs[(causes->job_count - i) % CAUSES_JOBS];
        if (job_equal(cause->job, job)) {
            return cause->text;
        }
    }
    return "";
}

const char *causes_find(
    const struct causes *causes, struct job_id job, uint32_t workflow, enum reason reason)
{
    const struct workflow *run = causes->catalogue->workflows[workflow];
    const char *text = find_job(causes, job);
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
