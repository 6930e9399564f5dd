/*
 * samples.h - real requests that lie in a repository, and whether their answers are right.
 *
 *     inputs/WORKFLOW/NAME.EXTENSION     a file that the workflow takes: its only input, of bytes
 *     inputs/WORKFLOW/NAME.txt           the text that it should give; may be left out
 *     inputs/WORKFLOW/NAME.yaml          what its outputs should be; may be left out
 *
 * The files of a workflow are sent in turn. What is right: service/expected.h.
 */
#ifndef SERVICE_SAMPLES_H
#define SERVICE_SAMPLES_H

#include <stdbool.h>

#include "engine/bundle.h"
#include "model/arrivals.h"
#include "model/catalogue.h"
#include "runtime/runtime.h"

enum { SAMPLES_CAUSE_BYTES = 240 };

struct samples;

/* How the answers of a workflow compare with what was expected. */
struct samples_score {
    uint32_t files;
    uint64_t answers;                /* That there was something to compare with. */
    uint64_t right;                  /* Of these. */
    char wrong[SAMPLES_CAUSE_BYTES]; /* Of the first that was not right: why. */
    uint64_t refused;                /* When they came. */
    uint64_t given_up;               /* At their deadlines. */
    uint64_t failed;                 /* No answer for any other reason. */
    char cause[SAMPLES_CAUSE_BYTES]; /* Of the first that failed: why. */
    uint64_t letter_edits;
    uint64_t letters;
};

/*
 * Read the samples of the repository at @folder, for the workflows of @catalogue, which is
 * borrowed. *samples_out is NULL if it has no folder "inputs"; otherwise the caller owns it.
 *
 * Errors: WEFT_IO or WEFT_INVALID, with "path: cause".
 */
enum weft_status samples_load(
    const char *folder, const struct catalogue *catalogue, struct samples **samples_out,
    struct weft_error *error);

/* NULL is allowed, here and below: there are no samples. */
void samples_destroy(struct samples *samples);

/* Let requests come only for workflows that have samples, all alike. */
void samples_mix(const struct samples *samples, struct arrivals *arrivals);

/* Add the models and functions of all workflows that have samples. */
void samples_models(const struct samples *samples, struct model_set *models);

/* How many @workflow has. */
uint32_t samples_count(const struct samples *samples, uint32_t workflow);

/* The name of the file of the first one. NULL if @workflow has none. Borrowed. */
const char *samples_first(const struct samples *samples, uint32_t workflow);

/* Request @number of @workflow, which is below its count. NULL if there is no memory for it. */
struct bundle *samples_request(const struct samples *samples, uint32_t workflow, uint32_t number);

/* The next request for @workflow, and its number. NULL if there is none. */
struct bundle *samples_next(const struct samples *samples, uint32_t workflow, uint32_t *number_out);

/* Compare the answer to request @number of @workflow with what was expected. */
void samples_judge(
    const struct samples *samples, const struct runtime *runtime, uint32_t workflow,
    uint32_t number, const struct runtime_answer *answer);

/* NULL if @workflow has none. Borrowed. */
const struct samples_score *samples_score(const struct samples *samples, uint32_t workflow);

/* Whether nothing was wrong or failed. */
bool samples_are_right(const struct samples *samples);

#endif /* SERVICE_SAMPLES_H */
