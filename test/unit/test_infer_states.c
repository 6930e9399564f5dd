/*
 * Which state of an inference request may follow which: every pair is tried, and what is not
 * allowed stops the program. The table is written from the picture in the header.
 *
 * Covers: src/server/infer.h
 */
#include "server/infer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "dies.h"

struct move {
    enum infer_state from;
    enum infer_state to;
};

static void make(void *argument)
{
    struct move *move = argument;
    infer_move(&move->from, move->to);
}

static void a_request_goes_forward_or_is_released(ATTR_UNUSED void **state)
{
    static const struct move steps[] = {
        {INFER_RECEIVING, INFER_FILLING}, {INFER_RECEIVING, INFER_SKIPPING},
        {INFER_RECEIVING, INFER_READING}, {INFER_FILLING, INFER_READING},
        {INFER_SKIPPING, INFER_READING},  {INFER_READING, INFER_RUNNING},
        {INFER_RUNNING, INFER_WRITING},   {INFER_WRITING, INFER_SENDING},
    };
    for (uint32_t from = 0; from < INFER_STATES; from++) {
        for (uint32_t to = 0; to < INFER_STATES; to++) {
            struct move move = {(enum infer_state)from, (enum infer_state)to};
            bool is_allowed = to == INFER_RELEASED && from != INFER_RELEASED;
            for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
                is_allowed = is_allowed || (steps[i].from == from && steps[i].to == to);
            }
            if (!is_allowed) {
                assert_true(dies(make, &move));
                continue;
            }
            make(&move);
            assert_int_equal(move.from, to);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_goes_forward_or_is_released),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
