#include "base/event_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "dies.h"

static void items_leave_by_time_then_by_insertion(ATTR_UNUSED void **state)
{
    static const struct {
        int64_t at_ns;
        uint64_t payload;
    } in[] = {{30, 1}, {10, 2}, {10, 3}, {20, 4}, {10, 5}, {30, 6}};
    static const uint64_t out[] = {2, 3, 5, 4, 1, 6};
    struct event_queue queue;
    struct timed_item item;

    event_queue_init(&queue);
    for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
        event_queue_push(&queue, in[i].at_ns, in[i].payload);
    }
    for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
        assert_true(event_queue_pop(&queue, &item));
        assert_int_equal(item.payload, out[i]);
    }
    assert_false(event_queue_pop(&queue, &item));
    event_queue_deinit(&queue);
}

static void ties_keep_their_order_however_many_there_are(ATTR_UNUSED void **state)
{
    enum { ITEMS = 5000 };
    struct event_queue queue;
    struct timed_item item;

    event_queue_init(&queue);
    for (uint64_t i = 0; i < ITEMS; i++) {
        event_queue_push(&queue, /* at_ns */ 7, i);
    }
    for (uint64_t i = 0; i < ITEMS; i++) {
        assert_true(event_queue_pop(&queue, &item));
        assert_int_equal(item.payload, i);
        assert_int_equal(item.sequence, i);
        if (i % 3 == 0) { /* Into the place that the pop left: still behind all others. */
            event_queue_push(&queue, 7, ITEMS + i / 3);
        }
    }
    for (uint64_t i = 0; event_queue_pop(&queue, &item); i++) {
        assert_int_equal(item.payload, ITEMS + i);
    }
    event_queue_deinit(&queue);
}

static void an_item_pushed_during_its_own_instant_leaves_in_it(ATTR_UNUSED void **state)
{
    struct event_queue queue;
    struct timed_item item;

    event_queue_init(&queue);
    event_queue_push(&queue, 5, 1);
    event_queue_push(&queue, 9, 2);
    assert_true(event_queue_pop(&queue, &item));
    event_queue_push(&queue, 5, 3);
    event_queue_push(&queue, 0, 4);

    assert_true(event_queue_pop(&queue, &item));
    assert_int_equal(item.payload, 4);
    assert_true(event_queue_pop(&queue, &item));
    assert_int_equal(item.payload, 3);
    assert_int_equal(item.at_ns, 5);
    event_queue_deinit(&queue);
}

static void times_from_zero_to_the_largest_are_ordered(ATTR_UNUSED void **state)
{
    struct event_queue queue;
    struct timed_item item;

    event_queue_init(&queue);
    event_queue_push(&queue, INT64_MAX, UINT64_MAX);
    event_queue_push(&queue, INT64_C(1) << 32, 2);
    event_queue_push(&queue, (INT64_C(1) << 32) - 1, 1);
    event_queue_push(&queue, 0, 0);

    for (uint64_t i = 0; i < 3; i++) {
        assert_true(event_queue_pop(&queue, &item));
        assert_int_equal(item.payload, i);
    }
    assert_true(event_queue_pop(&queue, &item));
    assert_true(item.at_ns == INT64_MAX);
    assert_true(item.payload == UINT64_MAX);
    assert_int_equal(event_queue_count(&queue), 0);
    event_queue_deinit(&queue);
}

static void an_empty_queue_has_nothing_to_show(ATTR_UNUSED void **state)
{
    struct event_queue queue;
    struct timed_item item = {.payload = 77};

    event_queue_init(&queue);
    assert_false(event_queue_peek(&queue, &item));
    assert_false(event_queue_pop(&queue, &item));
    event_queue_push(&queue, 1, 1);
    assert_true(event_queue_pop(&queue, &item));
    item.payload = 77;
    assert_false(event_queue_peek(&queue, &item));
    assert_false(event_queue_pop(&queue, &item));
    assert_int_equal(event_queue_count(&queue), 0);
    assert_int_equal(item.payload, 77);
    event_queue_deinit(&queue);
}

enum { SHADOW_MAX = 20000 };

/* The same queue as an unsorted list, searched through each time. */
struct shadow {
    struct timed_item items[SHADOW_MAX];
    uint32_t count;
    uint64_t next_sequence;
};

static void shadow_push(struct shadow *shadow, int64_t at_ns, uint64_t payload)
{
    assert_true(shadow->count < SHADOW_MAX);
    shadow->items[shadow->count] = (struct timed_item){
        .at_ns = at_ns,
        .sequence = shadow->next_sequence,
        .payload = payload,
    };
    shadow->count++;
    shadow->next_sequence++;
}

static uint32_t shadow_first(const struct shadow *shadow)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < shadow->count; i++) {
        const struct timed_item *item = &shadow->items[i];
        const struct timed_item *best = &shadow->items[first];
        if (item->at_ns < best->at_ns ||
            (item->at_ns == best->at_ns && item->sequence < best->sequence)) {
            first = i;
        }
    }
    return first;
}

static void check_first(const struct event_queue *queue, const struct shadow *shadow)
{
    struct timed_item item;
    assert_int_equal(event_queue_count(queue), shadow->count);
    assert_int_equal(event_queue_peek(queue, &item), shadow->count > 0);
    if (shadow->count > 0) {
        const struct timed_item *expected = &shadow->items[shadow_first(shadow)];
        assert_int_equal(item.at_ns, expected->at_ns);
        assert_int_equal(item.sequence, expected->sequence);
        assert_int_equal(item.payload, expected->payload);
    }
}

static void pop_both(struct event_queue *queue, struct shadow *shadow)
{
    struct timed_item item;
    assert_int_equal(event_queue_pop(queue, &item), shadow->count > 0);
    if (shadow->count > 0) {
        const uint32_t first = shadow_first(shadow);
        assert_int_equal(item.at_ns, shadow->items[first].at_ns);
        assert_int_equal(item.sequence, shadow->items[first].sequence);
        assert_int_equal(item.payload, shadow->items[first].payload);
        shadow->count--;
        shadow->items[first] = shadow->items[shadow->count];
    }
}

/* Items that line up: @lined_percent of those pushed, most of them after the one before. */
static void push_both(
    struct event_queue *queue, struct shadow *shadow, struct rng *rng, uint32_t times,
    uint32_t lined_percent)
{
    const int64_t drawn_ns = rng_below(rng, times);
    const uint64_t payload = rng_next(rng);
    if (rng_below(rng, 100) >= lined_percent) {
        event_queue_push(queue, drawn_ns, payload);
        shadow_push(shadow, drawn_ns, payload);
        return;
    }
    const int64_t base_ns = shadow->count > 0 ? shadow->items[shadow_first(shadow)].at_ns : 0;
    const int64_t at_ns = rng_below(rng, 10) == 0 ? drawn_ns : base_ns + times / 2;
    event_queue_line_up(queue, at_ns, payload);
    shadow_push(shadow, at_ns, payload);
}

/* @push_percent of the steps push, at one of @times instants: few instants make ties. */
static void compare_with_shadow(
    uint64_t seed, uint32_t push_percent, uint32_t times, uint32_t lined_percent)
{
    static struct shadow shadow;
    struct rng rng = rng_from_seed(seed);
    struct event_queue queue;

    shadow = (struct shadow){0};
    event_queue_init(&queue);
    for (uint32_t step = 0; step < 6000; step++) {
        const uint32_t choice = rng_below(&rng, 100);
        if (choice < push_percent) {
            push_both(&queue, &shadow, &rng, times, lined_percent);
        } else {
            pop_both(&queue, &shadow);
        }
        check_first(&queue, &shadow);
    }
    while (shadow.count > 0) {
        pop_both(&queue, &shadow);
        check_first(&queue, &shadow);
    }
    event_queue_deinit(&queue);
}

static void random_use_agrees_with_a_search_through_a_list(ATTR_UNUSED void **state)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        for (uint32_t lined_percent = 0; lined_percent <= 100; lined_percent += 50) {
            compare_with_shadow(seed, /* push_percent */ 50, /* times */ 1000000, lined_percent);
            compare_with_shadow(seed, /* push_percent */ 55, /* times */ 4, lined_percent);
            compare_with_shadow(seed, /* push_percent */ 75, /* times */ 1000, lined_percent);
        }
    }
}

static void a_large_queue_drains_in_order(ATTR_UNUSED void **state)
{
    enum { ITEMS = 200000 };
    struct rng rng = rng_from_seed(9);
    struct event_queue queue;
    struct timed_item item;
    struct timed_item last = {0};
    uint64_t sum = 0;

    event_queue_init(&queue);
    for (uint64_t i = 0; i < ITEMS; i++) {
        const int64_t at_ns = rng_below(&rng, ITEMS / 4);
        event_queue_push(&queue, at_ns, i);
    }
    for (uint64_t i = 0; i < ITEMS; i++) { /* As a simulation does: pop one, push one later. */
        assert_true(event_queue_pop(&queue, &item));
        assert_true(item.at_ns >= last.at_ns);
        assert_true(item.at_ns > last.at_ns || item.sequence > last.sequence || i == 0);
        last = item;
        const int64_t delay_ns = rng_below(&rng, ITEMS / 4);
        event_queue_push(&queue, item.at_ns + delay_ns, item.payload);
    }
    assert_int_equal(event_queue_count(&queue), ITEMS);
    for (uint64_t i = 0; i < ITEMS; i++) {
        assert_true(event_queue_pop(&queue, &item));
        assert_true(
            item.at_ns > last.at_ns || (item.at_ns == last.at_ns && item.sequence > last.sequence));
        last = item;
        sum += item.payload;
    }
    assert_int_equal(sum, (uint64_t)ITEMS * (ITEMS - 1) / 2); /* Every payload once. */
    assert_false(event_queue_pop(&queue, &item));
    event_queue_deinit(&queue);
}

static void items_in_line_do_not_wait_for_a_later_one(ATTR_UNUSED void **state)
{
    static const uint64_t out[] = {4, 1, 3, 2};
    struct event_queue queue;
    struct timed_item item;

    event_queue_init(&queue);
    event_queue_line_up(&queue, 5, 1);
    event_queue_line_up(&queue, 9, 2);
    event_queue_push(&queue, 9, 5);
    event_queue_line_up(&queue, 7, 3); /* Earlier than the last in line. */
    event_queue_line_up(&queue, 0, 4);
    assert_int_equal(event_queue_count(&queue), 5);
    for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
        assert_true(event_queue_pop(&queue, &item));
        assert_int_equal(item.payload, out[i]);
    }
    assert_true(event_queue_pop(&queue, &item));
    assert_int_equal(item.payload, 5); /* Of the same instant as 2, and pushed after it. */
    assert_false(event_queue_pop(&queue, &item));
    event_queue_deinit(&queue);
}

static void push_before_time_began(void *argument)
{
    event_queue_push(argument, -1, 0);
}

static void line_up_before_time_began(void *argument)
{
    event_queue_line_up(argument, -1, 0);
}

static void a_negative_time_stops_the_program(ATTR_UNUSED void **state)
{
    struct event_queue queue;
    event_queue_init(&queue);
    assert_true(dies(push_before_time_began, &queue));
    assert_true(dies(line_up_before_time_began, &queue));
    event_queue_deinit(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_leave_by_time_then_by_insertion),
        cmocka_unit_test(ties_keep_their_order_however_many_there_are),
        cmocka_unit_test(an_item_pushed_during_its_own_instant_leaves_in_it),
        cmocka_unit_test(times_from_zero_to_the_largest_are_ordered),
        cmocka_unit_test(an_empty_queue_has_nothing_to_show),
        cmocka_unit_test(random_use_agrees_with_a_search_through_a_list),
        cmocka_unit_test(a_large_queue_drains_in_order),
        cmocka_unit_test(items_in_line_do_not_wait_for_a_later_one),
        cmocka_unit_test(a_negative_time_stops_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
