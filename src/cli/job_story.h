/*
 * job_story.h - what happened to one job, read from a trace of JSON lines.
 *
 * It is read twice: for the records of the job, and for what others did meanwhile, that is
 * for the jobs that ran in its batches and the models that its workers loaded while it waited.
 */
#ifndef CLI_JOB_STORY_H
#define CLI_JOB_STORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>
#include <weft/status.h>

struct job_story_line {
    int64_t at_ns;
    bool is_own;      /* A record of the job; otherwise a load that ended while a task waited. */
    json_t *json;     /* Borrowed from the list below. */
    json_t *mates;    /* Of a start: the names of other jobs in its batch. Owned; NULL: none. */
    int64_t began_ns; /* Of a load. */
};

struct job_story {
    json_t *records; /* All that is kept of the trace. Owned. */
    uint32_t count;
    uint32_t own_count;           /* Records of the job. */
    struct job_story_line *lines; /* By time; what is equal, as in the trace. */
};

/*
 * Read what the trace in @file says of @job, such as "0.14": of the last life of its owner, if
 * there are several. Errors call the trace @name. On success the caller owns what is in @story_out.
 *
 * Errors: WEFT_INVALID for what is not a trace of JSON lines; WEFT_NOT_FOUND if it has nothing of
 * the job.
 */
enum weft_status job_story_read(
    FILE *file, const char *name, const char *job, struct job_story *story_out,
    struct weft_error *error);

void job_story_deinit(struct job_story *story);

/* The text or number of @key; "" or @otherwise if there is none. */
const char *job_story_text(const json_t *record, const char *key);
int64_t job_story_number(const json_t *record, const char *key, int64_t otherwise);

/* In which life of its owner the job of @record came: lives have jobs of the same names. */
int64_t job_story_life(const json_t *record);

#endif /* CLI_JOB_STORY_H */
