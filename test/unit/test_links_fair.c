/*
 * Fair links against sums done by hand, and against a solver that fills all links from
 * zero every time and knows nothing of changes.
 *
 * Covers: src/sim/links_fill.c
 * Covers: src/sim/links_held.c
 */
#include "sim/links_fair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"

#define GB_PER_S UINT64_C(1000000000) /* A byte a nanosecond. */

__extension__ typedef unsigned __int128 amount;

enum { LINKS_MAX = 36, FLOWS_MAX = 300, WAKES_MAX = 4096, FEW_LINKS = 12, FEW_FLOWS = 64 };

/* A transfer as the test knows it, by its tag. */
struct known {
    bool is_live;
    uint32_t slot;
    struct route route;
    amount work;  /* In the units of rate times nanoseconds. */
    amount moved; /* By the rates that were told. */
    int64_t ended_ns;
};

/* Links under a clock of their own. */
struct bed {
    struct links_fair links;
    uint32_t link_count;
    uint64_t rates[LINKS_MAX];
    int64_t now_ns;
    uint32_t wake_count;
    int64_t wake_at_ns[WAKES_MAX];
    uint32_t tag_count;
    struct known known[FLOWS_MAX];
};

static void on_wake(void *context, int64_t at_ns)
{
    struct bed *bed = context;
    assert_true(bed->wake_count < WAKES_MAX);
    assert_true(at_ns >= bed->now_ns);
    bed->wake_at_ns[bed->wake_count] = at_ns;
    bed->wake_count++;
}

static void open_bed(struct bed *bed, uint32_t link_count, const uint64_t *rates)
{
    *bed = (struct bed){.link_count = link_count};
    for (uint32_t i = 0; i < link_count; i++) {
        bed->rates[i] = rates[i];
    }
    links_fair_init(&bed->links, link_count, bed->rates, on_wake, bed);
}

static void close_bed(struct bed *bed)
{
    assert_int_equal(bed->links.flows.used, 0);
    links_fair_deinit(&bed->links);
}

/* Let time pass; every transfer moves at its rate. */
static void pass_until(struct bed *bed, int64_t at_ns)
{
    assert_true(at_ns >= bed->now_ns);
    for (uint32_t tag = 0; tag < bed->tag_count; tag++) {
        struct known *known = &bed->known[tag];
        if (known->is_live) {
            const uint64_t rate = links_fair_rate(&bed->links, known->slot);
            known->moved += (amount)rate * (uint64_t)(at_ns - bed->now_ns);
        }
    }
    bed->now_ns = at_ns;
}

static uint32_t start(struct bed *bed, const struct route *route, uint64_t bytes)
{
    const uint32_t tag = bed->tag_count;
    assert_true(tag < FLOWS_MAX);
    bed->tag_count++;
    bed->known[tag] = (struct known){
        .is_live = true,
        .route = *route,
        .work = (amount)bytes * FAIR_RATE_UNIT * GB_PER_S,
        .slot = links_fair_start(&bed->links, bed->now_ns, route, bytes, tag),
    };
    links_fair_check(&bed->links);
    return tag;
}

/* All of it has passed, and not a nanosecond ago. */
static void end(struct bed *bed, uint32_t tag, uint64_t last_rate)
{
    struct known *known = &bed->known[tag];
    assert_true(known->is_live);
    assert_true(known->moved >= known->work);
    assert_true(known->moved - known->work < last_rate);
    known->is_live = false;
    known->ended_ns = bed->now_ns;
}

/* The next wake of all, in order of insertion among equals. False if there is none. */
static bool take_wake(struct bed *bed, int64_t until_ns)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < bed->wake_count; i++) {
        first = bed->wake_at_ns[i] < bed->wake_at_ns[first] ? i : first;
    }
    if (bed->wake_count == 0 || bed->wake_at_ns[first] > until_ns) {
        return false;
    }
    pass_until(bed, bed->wake_at_ns[first]);
    bed->wake_count--;
    for (uint32_t i = first; i < bed->wake_count; i++) {
        bed->wake_at_ns[i] = bed->wake_at_ns[i + 1];
    }
    uint32_t tag;
    uint64_t rates[FLOWS_MAX];
    for (uint32_t i = 0; i < bed->tag_count; i++) {
        rates[i] = bed->known[i].is_live ? links_fair_rate(&bed->links, bed->known[i].slot) : 0;
    }
    while (links_fair_finish(&bed->links, bed->now_ns, &tag)) {
        const uint64_t last_rate = rates[tag];
        end(bed, tag, last_rate);
    }
    links_fair_check(&bed->links);
    return true;
}

static void run_until(struct bed *bed, int64_t until_ns)
{
    while (take_wake(bed, until_ns)) {
    }
    if (until_ns != INT64_MAX) {
        pass_until(bed, until_ns);
    }
}

static uint64_t rate_of(const struct bed *bed, uint32_t tag)
{
    return links_fair_rate(&bed->links, bed->known[tag].slot) / FAIR_RATE_UNIT;
}

static void a_lone_transfer_takes_the_slowest_of_its_links(ATTR_UNUSED void **state)
{
    struct bed bed;
    open_bed(&bed, 3, (const uint64_t[]){4 * GB_PER_S, GB_PER_S, 2 * GB_PER_S});
    run_until(&bed, 7);
    const uint32_t tag = start(&bed, &(struct route){.count = 3, .links = {0, 1, 2}}, 1000);
    assert_int_equal(rate_of(&bed, tag), GB_PER_S);
    run_until(&bed, INT64_MAX);
    assert_int_equal(bed.known[tag].ended_ns, 1007);
    close_bed(&bed);
}

/* Alone for 500 ns, together for 1000, alone again for 500. */
static void two_share_one_link(ATTR_UNUSED void **state)
{
    struct bed bed;
    const struct route route = {.count = 1, .links = {0}};
    open_bed(&bed, 1, (const uint64_t[]){GB_PER_S});
    const uint32_t first = start(&bed, &route, 1000);
    run_until(&bed, 500);
    const uint32_t second = start(&bed, &route, 1000);
    assert_int_equal(rate_of(&bed, first), GB_PER_S / 2);
    assert_int_equal(rate_of(&bed, second), GB_PER_S / 2);
    run_until(&bed, INT64_MAX);
    assert_int_equal(bed.known[first].ended_ns, 1500);
    assert_int_equal(bed.known[second].ended_ns, 2000);
    close_bed(&bed);
}

/* Three on 1 byte/ns: a third each. 100 bytes take 300 ns; what is odd is rounded up. */
static void an_end_is_never_early(ATTR_UNUSED void **state)
{
    struct bed bed;
    const struct route route = {.count = 1, .links = {0}};
    open_bed(&bed, 1, (const uint64_t[]){GB_PER_S});
    for (uint32_t i = 0; i < 3; i++) {
        (void)start(&bed, &route, 100);
    }
    run_until(&bed, INT64_MAX);
    assert_in_range(bed.known[0].ended_ns, 300, 301);
    assert_in_range(bed.known[2].ended_ns, 300, 302);
    assert_true(bed.known[0].ended_ns <= bed.known[1].ended_ns);
    assert_true(bed.known[1].ended_ns <= bed.known[2].ended_ns);
    close_bed(&bed);
}

/*
 *   link 0, rate 1:  a b        a is held back by link 0, which leaves more of link 1
 *   link 1, rate 4:  a   c
 */
static void a_chain_of_bottlenecks_is_filled_from_the_lowest(ATTR_UNUSED void **state)
{
    struct bed bed;
    open_bed(&bed, 2, (const uint64_t[]){GB_PER_S, 4 * GB_PER_S});
    const uint32_t a = start(&bed, &(struct route){.count = 2, .links = {0, 1}}, 1000);
    const uint32_t b = start(&bed, &(struct route){.count = 1, .links = {0}}, 500);
    const uint32_t c = start(&bed, &(struct route){.count = 1, .links = {1}}, 7000);
    assert_int_equal(rate_of(&bed, a), GB_PER_S / 2);
    assert_int_equal(rate_of(&bed, b), GB_PER_S / 2);
    assert_int_equal(rate_of(&bed, c), GB_PER_S / 2 * 7);
    run_until(&bed, 1000); /* b is gone: a has all of link 0 and takes more of link 1. */
    assert_int_equal(bed.known[b].ended_ns, 1000);
    assert_int_equal(rate_of(&bed, a), GB_PER_S);
    assert_int_equal(rate_of(&bed, c), 3 * GB_PER_S);
    run_until(&bed, INT64_MAX); /* a: 500 more bytes at 1. c: 3500 at 3, 1500 of them, then 4. */
    assert_int_equal(bed.known[a].ended_ns, 1500);
    assert_int_equal(bed.known[c].ended_ns, 2000);
    close_bed(&bed);
}

/*
 * The parking lot: one crosses four links, and link i has i + 1 transfers of its own. The
 * last link gives each a fifth; the others divide what that leaves.
 */
static void the_parking_lot(ATTR_UNUSED void **state)
{
    struct bed bed;
    const uint64_t rate = 60 * GB_PER_S;
    open_bed(&bed, 4, (const uint64_t[]){rate, rate, rate, rate});
    uint32_t tags[4] = {0};
    for (uint32_t link = 0; link < 4; link++) {
        for (uint32_t i = 0; i <= link; i++) {
            tags[link] = start(&bed, &(struct route){.count = 1, .links = {link}}, 1000000);
        }
    }
    const struct route all = {.count = 4, .links = {0, 1, 2, 3}};
    const uint32_t through = start(&bed, &all, 1000000);
    assert_int_equal(rate_of(&bed, through), rate / 5);
    assert_int_equal(rate_of(&bed, tags[0]), rate * 4 / 5);
    assert_int_equal(rate_of(&bed, tags[1]), rate * 4 / 5 / 2);
    assert_int_equal(rate_of(&bed, tags[2]), rate * 4 / 5 / 3);
    assert_int_equal(rate_of(&bed, tags[3]), rate / 5);
    run_until(&bed, INT64_MAX);
    close_bed(&bed);
}

static void nothing_ends_at_a_time_that_was_not_asked_for(ATTR_UNUSED void **state)
{
    struct bed bed;
    uint32_t tag = 77;
    open_bed(&bed, 1, (const uint64_t[]){GB_PER_S});
    assert_false(links_fair_finish(&bed.links, 0, &tag));
    (void)start(&bed, &(struct route){.count = 1, .links = {0}}, 1000);
    assert_false(links_fair_finish(&bed.links, 999, &tag));
    assert_int_equal(tag, 77);
    assert_int_equal(bed.wake_count, 1); /* Nor is anything asked for again. */
    run_until(&bed, INT64_MAX);
    close_bed(&bed);
}

/* The time that was asked for first comes, and nothing ends at it any more. */
static void a_stale_time_does_nothing(ATTR_UNUSED void **state)
{
    struct bed bed;
    const struct route route = {.count = 1, .links = {0}};
    open_bed(&bed, 1, (const uint64_t[]){GB_PER_S});
    const uint32_t long_one = start(&bed, &route, 1000); /* Asks for 1000. */
    run_until(&bed, 100);
    (void)start(&bed, &route, 10); /* Asks for 120. Then the first would end at 1010. */
    run_until(&bed, 1000);
    assert_true(bed.known[long_one].is_live);
    run_until(&bed, INT64_MAX);
    assert_int_equal(bed.known[long_one].ended_ns, 1010);
    close_bed(&bed);
}

/* The solver: all links from zero, in doubles, again and again for the lowest share. */
static void solve(const struct bed *bed, double rates_out[FLOWS_MAX])
{
    bool is_open[FLOWS_MAX];
    double left[LINKS_MAX];
    for (uint32_t i = 0; i < bed->tag_count; i++) {
        is_open[i] = bed->known[i].is_live;
        rates_out[i] = 0;
    }
    for (uint32_t link = 0; link < bed->link_count; link++) {
        left[link] = (double)bed->rates[link];
    }
    for (;;) {
        double lowest = 0;
        uint32_t full = LINKS_MAX;
        for (uint32_t link = 0; link < bed->link_count; link++) {
            uint32_t open = 0;
            for (uint32_t i = 0; i < bed->tag_count; i++) {
                for (uint32_t hop = 0; hop < bed->known[i].route.count; hop++) {
                    open += is_open[i] && bed->known[i].route.links[hop] == link;
                }
            }
            if (open > 0 && (full == LINKS_MAX || left[link] / open < lowest)) {
                lowest = left[link] / open;
                full = link;
            }
        }
        if (full == LINKS_MAX) {
            return;
        }
        for (uint32_t i = 0; i < bed->tag_count; i++) {
            const struct route *route = &bed->known[i].route;
            bool crosses = false;
            for (uint32_t hop = 0; hop < route->count; hop++) {
                crosses = crosses || route->links[hop] == full;
            }
            if (!is_open[i] || !crosses) {
                continue;
            }
            is_open[i] = false;
            rates_out[i] = lowest;
            for (uint32_t hop = 0; hop < route->count; hop++) {
                left[route->links[hop]] -= lowest;
            }
        }
    }
}

static void check_rates(const struct bed *bed, uint64_t seed)
{
    double expected[FLOWS_MAX];
    uint64_t used[LINKS_MAX] = {0};
    solve(bed, expected);
    for (uint32_t i = 0; i < bed->tag_count; i++) {
        if (!bed->known[i].is_live) {
            continue;
        }
        const uint64_t rate = links_fair_rate(&bed->links, bed->known[i].slot);
        const double ratio = (double)rate / FAIR_RATE_UNIT / expected[i];
        if (!(ratio > 1 - 1e-6 && ratio < 1 + 1e-6)) {
            fail_msg("seed %u: transfer %u has %g of its rate", (uint32_t)seed, i, ratio);
        }
        for (uint32_t hop = 0; hop < bed->known[i].route.count; hop++) {
            used[bed->known[i].route.links[hop]] += rate;
        }
    }
    for (uint32_t link = 0; link < bed->link_count; link++) {
        assert_true(used[link] <= bed->rates[link] * FAIR_RATE_UNIT);
    }
}

static struct route draw_route(struct rng *rng, uint32_t link_count)
{
    struct route route = {0};
    const uint32_t most = link_count < ROUTE_LINKS_MAX ? link_count : ROUTE_LINKS_MAX;
    const uint32_t wanted = 1 + rng_below(rng, most);
    uint32_t link = rng_below(rng, link_count);
    while (route.count < wanted) { /* Ascending with gaps, so that no link comes twice. */
        route.links[route.count] = link;
        route.count++;
        link += 1 + rng_below(rng, 2);
        link = link >= link_count ? link - link_count : link;
        if (link == route.links[0]) {
            break;
        }
        for (uint32_t i = 0; i < route.count; i++) {
            if (route.links[i] == link) {
                return route;
            }
        }
    }
    return route;
}

/* Arrivals at random times and ends as they come, with all rates compared at each. */
static void play(uint64_t seed)
{
    static struct bed bed;
    struct rng rng = rng_stream(seed, RNG_TEST, 0);
    uint64_t rates[LINKS_MAX];
    const uint32_t link_count = 1 + rng_below(&rng, FEW_LINKS);
    const uint64_t spread = rng_below(&rng, 3) == 0 ? 1 : 1000; /* Equal rates make ties. */
    for (uint32_t i = 0; i < link_count; i++) {
        rates[i] = GB_PER_S / 100 * rng_range(&rng, 1, spread);
    }
    open_bed(&bed, link_count, rates);
    const uint32_t arrivals = 1 + rng_below(&rng, FEW_FLOWS);
    for (uint32_t i = 0; i < arrivals; i++) {
        const struct route route = draw_route(&rng, link_count);
        const uint64_t bytes = rng_range(&rng, 1, 1000000);
        const int64_t gap_ns = (int64_t)rng_range(&rng, 0, 3) * rng_below(&rng, 100000);
        const int64_t until_ns = bed.now_ns + gap_ns;
        while (take_wake(&bed, until_ns)) {
            check_rates(&bed, seed);
        }
        pass_until(&bed, until_ns);
        (void)start(&bed, &route, bytes);
        check_rates(&bed, seed);
    }
    while (take_wake(&bed, INT64_MAX)) {
        check_rates(&bed, seed);
    }
    close_bed(&bed);
}

static void random_sets_agree_with_the_solver(ATTR_UNUSED void **state)
{
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        play(seed);
    }
}

/* Between machines in racks, or in one; the core is slow enough to hold some back. */
static struct route draw_racks(struct rng *rng, uint32_t machines, uint32_t racks)
{
    const uint32_t from = rng_below(rng, machines);
    const uint32_t to = (from + 1 + rng_below(rng, machines - 1)) % machines;
    if (from % racks == to % racks) {
        return (struct route){.count = 2, .links = {from, machines + to}};
    }
    const uint32_t up = 2 * machines + from % racks;
    const uint32_t down = 2 * machines + racks + to % racks;
    return (struct route){.count = 4, .links = {from, up, down, machines + to}};
}

/* Many at once, so that a change goes a long way. All rates compared at every tenth. */
static void crowd(uint64_t seed, uint32_t racks)
{
    static struct bed bed;
    enum { MACHINES = 16 };
    struct rng rng = rng_stream(seed, RNG_TEST, 1);
    uint64_t rates[LINKS_MAX];
    const uint32_t link_count = 2 * MACHINES + (racks > 1 ? 2 * racks : 0);
    for (uint32_t i = 0; i < link_count; i++) {
        rates[i] = i < 2 * MACHINES ? GB_PER_S : 3 * GB_PER_S;
    }
    open_bed(&bed, link_count, rates);
    for (uint32_t i = 0; i < FLOWS_MAX; i++) {
        const struct route route = draw_racks(&rng, MACHINES, racks);
        const int64_t until_ns = bed.now_ns + rng_below(&rng, 100000);
        run_until(&bed, until_ns);
        (void)start(&bed, &route, rng_range(&rng, 1, 1000000));
        if (i % 10 == 0) {
            check_rates(&bed, seed);
        }
    }
    for (uint32_t i = 0; take_wake(&bed, INT64_MAX); i++) {
        if (i % 10 == 0) {
            check_rates(&bed, seed);
        }
    }
    close_bed(&bed);
}

static void crowds_agree_with_the_solver(ATTR_UNUSED void **state)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        crowd(seed, /* racks */ 1);
        crowd(seed, /* racks */ 2);
    }
}

/*
 * Two that end at once on one link: who came first goes first, whatever they are shared with;
 * on two links: that of the lower index.
 */
static void what_ends_at_once_ends_in_order(ATTR_UNUSED void **state)
{
    struct bed bed;
    uint32_t tag;
    open_bed(&bed, 2, (const uint64_t[]){GB_PER_S, GB_PER_S});
    const uint32_t other = start(&bed, &(struct route){.count = 1, .links = {1}}, 1000);
    const uint32_t first = start(&bed, &(struct route){.count = 1, .links = {0}}, 500);
    const uint32_t second = start(&bed, &(struct route){.count = 1, .links = {0}}, 500);
    pass_until(&bed, 500);
    assert_false(links_fair_finish(&bed.links, 500, &tag)); /* The first is no longer alone. */
    pass_until(&bed, 1000);
    assert_true(links_fair_finish(&bed.links, 1000, &tag));
    assert_int_equal(tag, first);
    assert_true(links_fair_finish(&bed.links, 1000, &tag));
    assert_int_equal(tag, second);
    assert_true(links_fair_finish(&bed.links, 1000, &tag));
    assert_int_equal(tag, other);
    assert_false(links_fair_finish(&bed.links, 1000, &tag));
    close_bed(&bed);
}

/*
 * One link that holds back many has one time asked for, however often its level changes; and a
 * level that falls asks for nothing.
 */
static void a_time_is_asked_for_once(ATTR_UNUSED void **state)
{
    struct bed bed;
    const struct route route = {.count = 1, .links = {0}};
    open_bed(&bed, 1, (const uint64_t[]){GB_PER_S});
    for (uint32_t i = 0; i < 10; i++) {
        (void)start(&bed, &route, 1000);
    }
    assert_int_equal(bed.wake_count, 1);
    run_until(&bed, INT64_MAX);
    assert_int_equal(bed.known[9].ended_ns, 10000);
    close_bed(&bed);
}

/* More transfers than there are units of rate: each has one, and all end. */
static void too_many_for_a_slow_link_end_all_the_same(ATTR_UNUSED void **state)
{
    struct bed bed;
    uint32_t ended = 0;
    uint32_t tag;
    open_bed(&bed, 2, (const uint64_t[]){1, GB_PER_S});
    for (uint32_t i = 0; i < 2 * FAIR_RATE_UNIT; i++) {
        const struct route both = {.count = 2, .links = {i % 2, 1 - i % 2}};
        const uint32_t slot = links_fair_start(&bed.links, 0, &both, 1, i);
        assert_int_equal(
            links_fair_rate(&bed.links, slot), FAIR_RATE_UNIT / (i + 1) + (i >= FAIR_RATE_UNIT));
    }
    links_fair_check(&bed.links);
    while (bed.wake_count > 0) {
        bed.wake_count--;
        bed.now_ns = bed.wake_at_ns[bed.wake_count];
        while (links_fair_finish(&bed.links, bed.now_ns, &tag)) {
            ended++;
        }
    }
    assert_int_equal(ended, 2 * FAIR_RATE_UNIT);
    close_bed(&bed);
}

/* A terabyte over a link of one byte a second is cut to the longest duration there is. */
static void the_longest_transfer_ends(ATTR_UNUSED void **state)
{
    struct bed bed;
    open_bed(&bed, 1, (const uint64_t[]){1});
    const uint32_t tag = start(&bed, &(struct route){.count = 1, .links = {0}}, GB_PER_S * 1000);
    bed.known[tag].work = (amount)DURATION_NS_MAX * FAIR_RATE_UNIT;
    run_until(&bed, INT64_MAX);
    assert_int_equal(bed.known[tag].ended_ns, DURATION_NS_MAX);
    close_bed(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_transfer_takes_the_slowest_of_its_links),
        cmocka_unit_test(two_share_one_link),
        cmocka_unit_test(an_end_is_never_early),
        cmocka_unit_test(a_chain_of_bottlenecks_is_filled_from_the_lowest),
        cmocka_unit_test(the_parking_lot),
        cmocka_unit_test(nothing_ends_at_a_time_that_was_not_asked_for),
        cmocka_unit_test(a_stale_time_does_nothing),
        cmocka_unit_test(random_sets_agree_with_the_solver),
        cmocka_unit_test(crowds_agree_with_the_solver),
        cmocka_unit_test(what_ends_at_once_ends_in_order),
        cmocka_unit_test(a_time_is_asked_for_once),
        cmocka_unit_test(too_many_for_a_slow_link_end_all_the_same),
        cmocka_unit_test(the_longest_transfer_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
