/*
 * assert.h - stop at the first sign of a programmer error.
 *
 * ASSERT stays on in every build: a scheduler that goes on with corrupt state
 * makes wrong placements look like slow ones. Do not use it for failures that a
 * correct program can meet; those are statuses.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

#include "base/attributes.h"

ATTR_COLD _Noreturn void assert_fail(const char *file, int line, const char *condition);

#define ASSERT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            assert_fail(__FILE__, __LINE__, #condition);                                           \
        }                                                                                          \
    } while (0)

#endif /* BASE_ASSERT_H */
