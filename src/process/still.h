/*
 * still.h - an engine process on a GPU that stands still: it was stopped, or is stuck in the
 * system.
 *
 * While such a process has batches, it asks the device after them without pause (cuda/run.c), and
 * so uses a processor. One that has used none for several looks in a row, and has reported nothing,
 * although none of its threads waits for a processor, stands still. Between two looks the server
 * reads all reports, so that it makes no difference if it stood still itself.
 */
#ifndef PROCESS_STILL_H
#define PROCESS_STILL_H

#include <stdbool.h>
#include <stdint.h>

struct process_worker;

/* What a process was seen to do. All zero: it began. */
struct process_use {
    bool is_proven; /* It has reported something. */
    uint64_t ticks; /* Of processors, that it had used at the last look. */
    uint32_t still; /* Since so many looks it has used none, nor reported anything. */
};

/* The process of @worker has reported something of @kind. */
void process_still_heard(struct process_worker *worker, uint32_t kind);

/* Whether the process of @worker, on a GPU, stands still. To be asked at each look. */
bool process_is_still(struct process_worker *worker);

#endif /* PROCESS_STILL_H */
