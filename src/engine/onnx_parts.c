/* onnx_parts.c - rows of one run on several threads. */
#include "base/numbers.h"
#include "engine/onnx_inside.h"

enum { PARTS_MAX = 64 };

/* What one thread does. */
struct part {
    struct onnx_job *job;
    const struct onnx_group *group;
    uint64_t rows_max;
    onnx_range_run run;
    uint64_t first;
    uint64_t end;
    bool is_good; /* The outcome. */
    bool has_thread;
    pthread_t thread;
};

/* Whether the only task of a group has failed, so that the rest of it is not needed. */
static bool has_failed(struct part *part)
{
    struct onnx_job *job = part->job;
    (void)pthread_mutex_lock(&job->lock);
    const bool is_open = job->is_open[part->group->members[0]];
    (void)pthread_mutex_unlock(&job->lock);
    return part->group->count == 1 && !is_open;
}

static void *run_part(void *context)
{
    struct part *part = context;
    part->is_good = true;
    for (uint64_t at = part->first; at < part->end && part->is_good && !has_failed(part);) {
        const uint64_t left = part->end - at;
        const uint64_t range[2] = {at, left > part->rows_max ? at + part->rows_max : part->end};
        part->is_good = part->run(part->job, part->group, range);
        at = range[1];
    }
    return NULL;
}

bool onnx_run_parts(
    struct onnx_job *job, const struct onnx_group *group, uint64_t rows_max, onnx_range_run run)
{
    struct part parts[PARTS_MAX];
    const uint64_t wanted = min_u32(job->parts, PARTS_MAX);
    const uint64_t count = wanted < 1 ? 1 : wanted > group->rows ? group->rows : wanted;
    bool is_good = true;
    for (uint64_t i = 0; i < count; i++) {
        parts[i] = (struct part){
            .job = job,
            .group = group,
            .rows_max = rows_max,
            .run = run,
            .first = group->rows * i / count,
            .end = group->rows * (i + 1) / count,
        };
    }
    for (uint64_t i = 1; i < count; i++) {
        parts[i].has_thread = pthread_create(&parts[i].thread, NULL, run_part, &parts[i]) == 0;
    }
    for (uint64_t i = 0; i < count; i++) { /* Those without a thread come behind the first. */
        if (!parts[i].has_thread) {
            (void)run_part(&parts[i]);
        }
    }
    for (uint64_t i = 0; i < count; i++) {
        if (parts[i].has_thread) {
            (void)pthread_join(parts[i].thread, NULL);
        }
        is_good = is_good && parts[i].is_good;
    }
    return is_good;
}
