/*
 * ahead.h - which task an engine process may run before it is told to.
 *
 * In a chain of short tasks the way to the host and back takes longer than the runs. So an engine
 * process that has run a batch may go on with the task that comes next, and reports both ends at
 * once. To the host nothing changes: it decides what is launched where, and if that is what was
 * run, the answer is there already. If it decides otherwise the work was in vain.
 */
#ifndef PROCESS_AHEAD_H
#define PROCESS_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "model/workflow.h"

enum { PROCESS_AHEAD_MAX = 7 };       /* Tasks that may follow one that was launched. */
enum { PROCESS_AHEAD_BYTES = 65536 }; /* What is passed on must be smaller: it goes both ways. */
/*
 * Learn from a run of @run_ns in *@average, which is 0 at first; runs up to @short_ns are short.
 * Now and then a run takes long because something else ran meanwhile: it counts as four times
 * as long at most, and with an eighth.
 */
static inline void process_learn_run(int64_t *average, int64_t run_ns, int64_t short_ns)
{
    const int64_t before = *average == 0 ? 2 * short_ns : *average;
    const int64_t counted = run_ns < 4 * short_ns ? run_ns : 4 * short_ns;
    *average = before + (counted - before) / 8;
}

/* Whether the next run of a model with this @average will likely be short. */
static inline bool process_is_short(int64_t average, int64_t short_ns)
{
    return average != 0 && average <= short_ns;
}

/* Whether what @done made is all there, and small. */
static inline bool process_is_small(const struct engine_done *done)
{
    bool is_small = done->status == WEFT_OK && done->output_count > 0;
    for (uint32_t i = 0; i < done->output_count; i++) {
        is_small = is_small && done->outputs[i].status == WEFT_OK &&
                   done->outputs[i].bytes < PROCESS_AHEAD_BYTES;
    }
    return is_small;
}

/* The task that takes all that @task makes, and nothing else. TASK_NONE if there is none. */
static inline uint32_t process_task_ahead(const struct workflow *workflow, uint32_t task)
{
    if (workflow->tasks[task].out_count != 1) {
        return TASK_NONE;
    }
    const uint32_t next = workflow_out(workflow, task, 0)->to;
    return workflow->tasks[next].in_count == 1 ? next : TASK_NONE;
}

#endif /* PROCESS_AHEAD_H */
