/*
 * segment.h - memory of tensors that other processes can read: files in memory, used again and
 * again.
 *
 * Fresh pages cost several times what it takes to fill them, so a segment that comes back is kept
 * for the next tensor. Whether a segment is free stands in a ledger, a byte for each. A process
 * that lends segments to another lends its ledger, too: the borrower marks a segment free when it
 * is done, from any thread and without a message (lender.h). A segment can never shrink or grow,
 * so a process that has mapped it can read it whatever becomes of the other; and only the process
 * that made it can write to it. Safe from any thread.
 */
#ifndef ENGINE_SEGMENT_H
#define ENGINE_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEGMENTS_MAX = 2048 };

#define SEGMENTS_KEPT_MAX (UINT64_C(128) << 20) /* Bytes of free segments, at most. */

struct segment {
    uint64_t key;  /* No other segment of any process has it. */
    uint32_t slot; /* In the ledger. */
    int file;
    size_t bytes;
    void *data;
};

/* A segment of this process with room for @bytes. NULL if the system gives none. */
struct segment *segment_take(size_t bytes);

/* What the ledger says of a segment. */
enum segment_state { SEGMENT_FREE, SEGMENT_USED, SEGMENT_LENT };

/* It is free again. */
void segment_give(struct segment *segment);

/* Its borrower frees @segment from now on, by the ledger. */
void segment_lend(struct segment *segment);

/* The file of this process's ledger, to be passed to a process that borrows. -1 if there is none.
 */
int segment_ledger_file(void);

/* Give the free segments back to the system. */
void segments_trim(void);

/* This process was forked: it has no segments. */
void segments_forked(void);

#endif /* ENGINE_SEGMENT_H */
