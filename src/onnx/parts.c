/*
 * parts.c - rows of one run on several threads.
 *
 * Each thread takes the next few rows when it has done its last ones, so that one that has to share
 * its processor with others does less and is not waited for.
 */
#include "base/numbers.h"
#include "onnx/inside.h"

enum {
    PARTS_MAX = 64,
    TURNS = 3, /* That each thread has, if all are as fast. */
};

/* What the threads share. All but the first four under the lock of the job. */
struct split {
    struct onnx_job *job;
    const struct onnx_group *group;
    uint64_t turn_rows; /* At most so many at a time. */
    onnx_range_run run;
    uint64_t taken; /* Rows before this one are done, or under way. */
    bool is_good;
};

/* The next rows to run; false if there are none, or nothing is to be gained by them. */
static bool take_turn(struct split *split, uint64_t range_out[2])
{
    struct onnx_job *job = split->job;
    const struct onnx_group *group = split->group;
    (void)pthread_mutex_lock(&job->lock);
    const uint64_t left = group->rows - split->taken;
    const bool has_failed = group->count == 1 && !job->is_open[group->members[0]];
    range_out[0] = split->taken;
    range_out[1] = split->taken + (left < split->turn_rows ? left : split->turn_rows);
    split->taken = range_out[1];
    const bool goes_on = left > 0 && split->is_good && !has_failed;
    (void)pthread_mutex_unlock(&job->lock);
    return goes_on;
}

static void *run_turns(void *context)
{
    struct split *split = context;
    uint64_t range[2];
    while (take_turn(split, range)) {
        const bool is_good = split->run(split->job, split->group, range);
        (void)pthread_mutex_lock(&split->job->lock);
        split->is_good = split->is_good && is_good;
        (void)pthread_mutex_unlock(&split->job->lock);
    }
    return NULL;
}

bool onnx_run_parts(
    struct onnx_job *job, const struct onnx_group *group, uint64_t rows_max, onnx_range_run run)
{
    const uint64_t wanted = min_u32(job->parts, PARTS_MAX);
    const uint64_t count = wanted < 1 ? 1 : wanted > group->rows ? group->rows : wanted;
    const uint64_t turns = count > 1 ? count * TURNS : 1;
    const uint64_t rows = group->rows / turns + (group->rows % turns != 0);
    struct split split = {
        .job = job,
        .group = group,
        .turn_rows = rows < rows_max ? rows : rows_max,
        .run = run,
        .is_good = true,
    };
    pthread_t threads[PARTS_MAX];
    uint32_t started = 0;
    while (started + 1 < count && pthread_create(&threads[started], NULL, run_turns, &split) == 0) {
        started++; /* With fewer the others have more turns. */
    }
    (void)run_turns(&split);
    for (uint32_t i = 0; i < started; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    return split.is_good;
}
