/*
 * rows.h - whether what a model makes of a row depends on the rows beside it.
 *
 * Most models treat rows alone, and tasks may share their runs. Some do not (a softmax or a mean
 * over the first axis, say): in company they would answer with a mixture of several clients' data.
 * Nothing in their file says so. So the first time that tasks which differ share a run, the first
 * and the last of them are run again alone, and the results compared. Tasks that are equal show
 * less, since the mean of equal rows is the same as one of them, and are looked at once as well.
 */
#ifndef ONNX_ROWS_H
#define ONNX_ROWS_H

#include <stdatomic.h>

#include "engine/bundle.h"
#include "onnx/turns.h"

enum onnx_rows {
    ROWS_UNKNOWN,
    ROWS_ALIKE, /* A row alone, and beside one that is equal, gave the same. */
    ROWS_APART, /* The same beside others: tasks may share runs. */
    ROWS_MIXED, /* They did not: never together. */
};

/* What runs of a model have shown; all zero at first. */
struct onnx_shown {
    atomic_uchar rows; /* enum onnx_rows */
    uint64_t digest;   /* Of the file that showed it. */
    struct onnx_turns turns;
};

/*
 * Whether @a and @b, which have the same tensors, hold the same numbers but for what other orders
 * of summation make of them: a hundredth of a number, or a thousandth of the largest in its tensor.
 */
bool onnx_rows_agree(const struct bundle *a, const struct bundle *b);

#endif /* ONNX_ROWS_H */
