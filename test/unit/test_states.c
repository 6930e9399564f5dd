/*
 * Which state may follow which: every pair is tried, and what is not allowed stops the
 * program. The tables here are written from the pictures in the header, not copied.
 *
 * Covers: src/node/states.h
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dies.h"
#include "node/states.h"

struct move {
    uint8_t from;
    uint8_t to;
};

static void move_task(void *argument)
{
    struct move *move = argument;
    task_state_move(&move->from, (enum task_state)move->to);
}

static void move_batch(void *argument)
{
    struct move *move = argument;
    batch_state_move(&move->from, (enum batch_state)move->to);
}

static void move_model(void *argument)
{
    struct move *move = argument;
    model_state_move(&move->from, (enum model_state)move->to);
}

/* Try all of @count * @count moves; exactly those of @allowed may be made. */
static void expect_moves(
    void (*make)(void *), uint8_t count, const struct move *allowed, uint32_t allowed_count)
{
    for (uint8_t from = 0; from < count; from++) {
        for (uint8_t to = 0; to < count; to++) {
            struct move move = {from, to};
            bool is_allowed = false;
            for (uint32_t i = 0; i < allowed_count; i++) {
                is_allowed = is_allowed || (allowed[i].from == from && allowed[i].to == to);
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

static void a_task_goes_forward_or_goes(void **state)
{
    (void)state;
    static const struct move allowed[] = {
        {TASK_GONE, TASK_PLANNED},      {TASK_GONE, TASK_GATHERING},
        {TASK_PLANNED, TASK_GATHERING}, {TASK_PLANNED, TASK_GONE},
        {TASK_GATHERING, TASK_QUEUED},  {TASK_GATHERING, TASK_GONE},
        {TASK_QUEUED, TASK_RUNNING},    {TASK_QUEUED, TASK_GONE},
        {TASK_RUNNING, TASK_GONE},      {TASK_GATHERING, TASK_OFFERED},
        {TASK_GATHERING, TASK_CLAIMED}, {TASK_OFFERED, TASK_CLAIMED},
        {TASK_OFFERED, TASK_GONE},      {TASK_CLAIMED, TASK_OFFERED},
        {TASK_CLAIMED, TASK_RUNNING},   {TASK_CLAIMED, TASK_GONE},
    };
    expect_moves(move_task, TASK_STATES, allowed, sizeof(allowed) / sizeof(allowed[0]));
}

static void a_batch_may_run_at_once_or_wait_for_its_share(void **state)
{
    (void)state;
    static const struct move allowed[] = {
        {BATCH_GONE, BATCH_SHAPING},      {BATCH_GONE, BATCH_RUNNING},
        {BATCH_SHAPING, BATCH_RUNNING},   {BATCH_SHAPING, BATCH_GONE},
        {BATCH_RUNNING, BATCH_GONE},      {BATCH_GONE, BATCH_GATHERING},
        {BATCH_GATHERING, BATCH_SHAPING}, {BATCH_GATHERING, BATCH_RUNNING},
        {BATCH_GATHERING, BATCH_GONE},
    };
    expect_moves(move_batch, BATCH_STATES, allowed, sizeof(allowed) / sizeof(allowed[0]));
}

static void a_model_never_skips_its_load_or_unload(void **state)
{
    (void)state;
    static const struct move allowed[] = {
        {MODEL_ABSENT, MODEL_LOADING},   {MODEL_LOADING, MODEL_RESIDENT},
        {MODEL_LOADING, MODEL_ABSENT},   {MODEL_RESIDENT, MODEL_UNLOADING},
        {MODEL_UNLOADING, MODEL_ABSENT},
    };
    expect_moves(move_model, MODEL_STATES, allowed, sizeof(allowed) / sizeof(allowed[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_goes_forward_or_goes),
        cmocka_unit_test(a_batch_may_run_at_once_or_wait_for_its_share),
        cmocka_unit_test(a_model_never_skips_its_load_or_unload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
