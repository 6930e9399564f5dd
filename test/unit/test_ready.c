/* Covers: src/process/ready.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "process/short.h"

enum { WINDOW = 36, REST = 4096, WAIT_MIN = 4 * REST, WAIT_MAX = 64 * WAIT_MIN }; /* As there. */
enum { ROUND = WINDOW * PROCESS_READY_TRIALS, MOST_NS = 50000, PAUSE_NS = 8 * MOST_NS + 1 };

/* What a batch takes in one way. */
struct costs {
    int64_t wall_ns;
    int64_t cpu_ns;
    uint32_t tasks;
    bool is_late; /* Requests do not come soon then. */
};

static struct process_ready ready;
static struct costs costs[READY_WAYS];
static int64_t now_ns;
static int64_t cpu_now_ns;

static int64_t cpu_ns(void)
{
    return cpu_now_ns;
}

/* One batch, in whatever way it is, and @more_ns besides. */
static void run_one(int64_t more_ns)
{
    const struct costs *cost = &costs[ready.way];
    now_ns += cost->wall_ns + more_ns;
    cpu_now_ns += cost->cpu_ns + more_ns;
    process_ready_ran(&ready, cost->tasks);
    process_ready_idle(&ready, now_ns, !cost->is_late);
}

/* How many of @count batches were not in the best way that was known. */
static uint32_t run(uint32_t count)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < count; i++) {
        others += ready.way == ready.best ? 0 : 1;
        run_one(0);
    }
    return others;
}

static void set(uint32_t way, int64_t wall_us, int64_t cpu_us)
{
    costs[way] = (struct costs){.wall_ns = 1000 * wall_us, .cpu_ns = 1000 * cpu_us, .tasks = 1};
}

static void set_all(int64_t wall_us, int64_t cpu_us)
{
    for (uint32_t way = 0; way < READY_WAYS; way++) {
        set(way, wall_us, cpu_us);
    }
}

static int setup(ATTR_UNUSED void **state)
{
    now_ns = 1000000000;
    cpu_now_ns = 0;
    set_all(50, 50);
    process_ready_init(&ready, MOST_NS, cpu_ns);
    return 0;
}

static void nothing_is_tried_while_requests_do_not_come_soon(ATTR_UNUSED void **state)
{
    for (uint32_t way = 0; way < READY_WAYS; way++) {
        costs[way].is_late = true;
    }
    set(READY_AS_IT_IS, 10, 10);
    assert_int_equal(run(2 * ROUND), 0);
    assert_int_equal(ready.way, READY_LOOP);
}

static void the_cheapest_way_is_used(ATTR_UNUSED void **state)
{
    for (uint32_t best = 0; best < READY_WAYS; best++) {
        (void)setup(NULL);
        set(best, 45, 45);
        (void)run(ROUND + 1);
        assert_int_equal(ready.way, best);
        assert_int_equal(run(REST), 0);
    }
}

/* A way that takes half the processor time may take a little longer, and the other way round. */
static void time_counts_as_much_as_processor_time(ATTR_UNUSED void **state)
{
    set(READY_AS_IT_IS, 60, 30);
    (void)run(ROUND + 1);
    assert_int_equal(ready.way, READY_AS_IT_IS);
    (void)setup(NULL);
    set(READY_AS_IT_IS, 90, 30);
    (void)run(ROUND + 1);
    assert_int_equal(ready.way, READY_LOOP);
    (void)setup(NULL);
    set(READY_LOOP | READY_CLIENT, 20, 60);
    (void)run(ROUND + 1);
    assert_int_equal(ready.way, READY_LOOP | READY_CLIENT);
}

static void what_is_hardly_cheaper_changes_nothing(ATTR_UNUSED void **state)
{
    set(READY_AS_IT_IS, 49, 49);
    (void)run(ROUND + 1);
    assert_int_equal(ready.way, READY_LOOP);
}

/* A way that gathers more tasks into a batch takes longer for each batch. */
static void what_counts_is_a_task(ATTR_UNUSED void **state)
{
    set(READY_AS_IT_IS, 75, 75);
    costs[READY_AS_IT_IS].tasks = 2;
    (void)run(ROUND + 1);
    assert_int_equal(ready.way, READY_AS_IT_IS);
}

static void a_disturbance_or_two_do_not_count(ATTR_UNUSED void **state)
{
    set(READY_AS_IT_IS, 45, 45);
    for (uint32_t i = 0; i < ROUND; i++) {
        const uint32_t turn = ready.trial / READY_WAYS;
        run_one(ready.way == READY_AS_IT_IS && (turn == 1 || turn == 3) ? 300000 : 0);
    }
    run_one(0);
    assert_int_equal(ready.way, READY_AS_IT_IS);
}

static void a_client_that_rests_is_not_counted(ATTR_UNUSED void **state)
{
    uint32_t rested = PROCESS_READY_TRIALS; /* In which trial, last. */
    set(READY_AS_IT_IS, 45, 45);
    for (uint32_t i = 0; i < 2 * ROUND; i++) {
        const bool rests =
            ready.way == READY_AS_IT_IS && ready.batches == WINDOW / 2 && ready.trial != rested;
        rested = rests ? ready.trial : rested;
        run_one(rests ? PAUSE_NS : 0);
    }
    assert_int_equal(ready.way, READY_AS_IT_IS);
}

static void the_first_ones_in_another_way_do_not_count(ATTR_UNUSED void **state)
{
    set(READY_AS_IT_IS, 45, 45);
    for (uint32_t i = 0; i < ROUND; i++) {
        run_one(ready.way == READY_AS_IT_IS && ready.batches < 4 ? 100000 : 0);
    }
    run_one(0);
    assert_int_equal(ready.way, READY_AS_IT_IS);
}

/* Where requests come too late for it, a way is not used, and is not tried forever. */
static void a_way_in_which_requests_come_late_is_not_used(ATTR_UNUSED void **state)
{
    set(READY_AS_IT_IS, 20, 20);
    costs[READY_AS_IT_IS].is_late = true;
    (void)run(ROUND + 1);
    assert_int_equal(ready.way, READY_LOOP);
    assert_int_equal(run(REST), 0);
}

static void another_cost_is_noticed(ATTR_UNUSED void **state)
{
    set(READY_AS_IT_IS, 30, 30);
    (void)run(ROUND + 1);
    assert_int_equal(ready.way, READY_AS_IT_IS);
    set(READY_AS_IT_IS, 80, 80);
    (void)run(REST + 4 * WINDOW + ROUND);
    assert_int_equal(ready.way, READY_LOOP);
    set_all(30, 30); /* It has become cheaper, and so may have others. */
    set(READY_AS_IT_IS, 10, 10);
    (void)run(REST + 4 * WINDOW + ROUND);
    assert_int_equal(ready.way, READY_AS_IT_IS);
}

static void one_strange_window_is_not(ATTR_UNUSED void **state)
{
    (void)run(ROUND + REST + 1);
    for (uint32_t i = 0; i < 8 * WINDOW; i++) {
        const bool was_used = ready.way == ready.best;
        run_one(i / WINDOW % 3 == 0 ? 100000 : 0);
        assert_true(was_used);
    }
}

static void where_nothing_changes_it_is_tried_less_and_less(ATTR_UNUSED void **state)
{
    (void)run(ROUND + 1);
    for (uint32_t wait = WAIT_MIN; wait < 4 * WAIT_MAX; wait *= 2) {
        const uint32_t most = wait < WAIT_MAX ? wait : WAIT_MAX;
        assert_int_equal(run(most - 1), 0);
        assert_int_equal(run(ROUND), ROUND - ROUND / READY_WAYS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_tried_while_requests_do_not_come_soon, setup),
        cmocka_unit_test_setup(the_cheapest_way_is_used, setup),
        cmocka_unit_test_setup(time_counts_as_much_as_processor_time, setup),
        cmocka_unit_test_setup(what_is_hardly_cheaper_changes_nothing, setup),
        cmocka_unit_test_setup(what_counts_is_a_task, setup),
        cmocka_unit_test_setup(a_disturbance_or_two_do_not_count, setup),
        cmocka_unit_test_setup(a_client_that_rests_is_not_counted, setup),
        cmocka_unit_test_setup(the_first_ones_in_another_way_do_not_count, setup),
        cmocka_unit_test_setup(a_way_in_which_requests_come_late_is_not_used, setup),
        cmocka_unit_test_setup(another_cost_is_noticed, setup),
        cmocka_unit_test_setup(one_strange_window_is_not, setup),
        cmocka_unit_test_setup(where_nothing_changes_it_is_tried_less_and_less, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
