/*
 * synthetic.h - made-up tensors: to measure models with, and for made-up requests.
 *
 * Open extents are filled in: the first with a number of items, the others with
 * SYNTHETIC_EXTENT. Whole numbers are 0, which is an index into anything; others are 0.5.
 */
#ifndef SERVICE_SYNTHETIC_H
#define SERVICE_SYNTHETIC_H

#include "engine/bundle.h"
#include "model/workflow.h"

enum { SYNTHETIC_EXTENT = 64 };

/* A bundle of @items items with one tensor for each of @inputs. NULL if there is no room. */
struct bundle *synthetic_bundle(
    const struct workflow_input *inputs, uint32_t input_count, uint32_t items);

/* Change the numbers in @bundle, to others that models take: no two rows are alike then. */
void synthetic_vary(struct bundle *bundle);

#endif /* SERVICE_SYNTHETIC_H */
