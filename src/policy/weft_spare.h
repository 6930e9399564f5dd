/*
 * weft_spare.h - memory that models leave for what batches work with.
 *
 * Rows say which models a worker has, and which units are free, but not what its batches work with:
 * units may be free where memory is not. A batch then waits there until another one ends.
 */
#ifndef POLICY_WEFT_SPARE_H
#define POLICY_WEFT_SPARE_H

#include "policy/policy.h"

/*
 * What models leave of the memory of @worker, by its row; UINT64_MAX where it need not be looked
 * at: memory has room for much more than all models, the worker is idle, or less than half of all
 * units are. Then there is hardly another place, and a model that is there is worth the wait.
 */
uint64_t weft_spare_bytes(const struct policy_input *input, uint32_t worker, uint32_t units_free);

#endif /* POLICY_WEFT_SPARE_H */
