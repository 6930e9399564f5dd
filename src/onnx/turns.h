/*
 * turns.h - how many rows of a batch a call of the library takes at a time: a turn.
 *
 * Matrix products of eight rows take little longer than of one, since weights are read once for
 * all. Convolutions over long lines take longer per line in company, since what lies between two
 * layers no longer fits into the caches. No file says which it is, so that both are tried: of each
 * size of rows, turns of 1, 2, 4 ... rows and all rows at once, on batches that have to run anyway.
 * What counts is the processor time of a byte of input. Once a size has had its trials the best one
 * is used, and all are tried again now and then, the less often the longer that changes nothing.
 *
 * Sizes are tried from the largest down, and not below one that is far worse than a larger one.
 * What was found is kept in a file beside the model as it is mapped. Threads may share all of it.
 */
#ifndef ONNX_TURNS_H
#define ONNX_TURNS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TURN_SIZES = 8,    /* Rows: 1, 2, 4 ... 64, 128 and above. */
    TURN_CLASSES = 40, /* Bytes of a row: 1, 2, 4 ... */
    TURN_TRIALS = 3,   /* Of a size, before it counts as known. */
};

/* Of rows that are about as large. */
struct onnx_turn_class {
    float cost[TURN_SIZES];     /* Nanoseconds of a byte, the least that was seen; 0: not known. */
    uint8_t trials[TURN_SIZES]; /* Of the present round. */
    uint32_t waited;            /* Batches since the last round. */
    uint32_t wait;              /* So many until the next; 0: as in a class that is new. */
    uint8_t best;               /* When the last round ended. */
};

/* What runs of a model have shown; all zero at first. */
struct onnx_turns {
    struct onnx_turn_class classes[TURN_CLASSES];
};

/* What a batch should do. */
struct onnx_turn {
    uint64_t rows; /* At most so many in one call. */
    bool is_trial; /* What it takes is to be told by onnx_turns_tell(). */
    uint32_t size; /* For that call, as are the next two. */
    uint32_t top;  /* The size that stands for all rows at once. */
    uint32_t class;
};

/*
 * The turn for a batch of @rows rows of @row_bytes bytes each, of which at most @rows_max may run
 * together.
 */
struct onnx_turn onnx_turns_choose(
    struct onnx_turns *turns, uint64_t rows, uint64_t row_bytes, uint64_t rows_max);

/* The same without a trial: the best that is known. */
struct onnx_turn onnx_turns_best(
    struct onnx_turns *turns, uint64_t rows, uint64_t row_bytes, uint64_t rows_max);

/* What became of a trial. */
struct onnx_trial {
    bool is_worse; /* Another size takes notably less: the batch took longer than others will. */
    bool is_over;  /* It was the last of a round: what is known is worth being kept. */
};

/* @turn, a trial, took @took_ns for @bytes of input. */
struct onnx_trial onnx_turns_tell(
    struct onnx_turns *turns, const struct onnx_turn *turn, int64_t took_ns, uint64_t bytes);

/* Know nothing. */
void onnx_turns_forget(struct onnx_turns *turns);

/* Write what is known to @path, which appears complete or not at all. */
void onnx_turns_save(struct onnx_turns *turns, const char *path);

/* Know what the file at @path says; nothing, if it cannot be read or does not make sense. */
void onnx_turns_load(struct onnx_turns *turns, const char *path);

#endif /* ONNX_TURNS_H */
