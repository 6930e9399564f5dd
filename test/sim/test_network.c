/*
 * Transfers by hand, over links of a byte a nanosecond, and what queueing theory says.
 *
 * Covers: src/model/links_route.c src/sim/network_background.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/exact.h"
#include "sim/inside.h"
#include "stage.h"

#define GB_PER_S UINT64_C(1000000000) /* A byte a nanosecond. */

enum { LATENCY_NS = 5, SENT_MAX = 8, NODES = 6 };

/* A tensor to be sent, and when it comes. */
struct sent {
    int64_t at_ns;
    uint32_t from;
    uint32_t to;
    uint64_t bytes;
    int64_t expected_ns;
};

static struct fleet_network plain(enum network_sharing sharing)
{
    return (struct fleet_network){
        .link_bytes_per_s = GB_PER_S, .latency_ns = LATENCY_NS, .sharing = sharing};
}

/* Machines 0 to 2 and 3 to 5, and between the racks no more than one machine can send. */
static struct fleet_network two_tiers(enum network_sharing sharing)
{
    struct fleet_network network = plain(sharing);
    network.kind = NETWORK_TWO_TIER;
    network.rack_count = 2;
    network.core_bytes_per_s = GB_PER_S;
    return network;
}

static void open_network(struct stage *stage, const struct fleet_network *network)
{
    stage_open(stage, NODES, MB(100));
    stage->fleet->network = *network;
    (void)stage_model(stage, "a", 0, MS(10));
    (void)stage_model(stage, "b", 0, MS(10));
    (void)stage_chain(stage, "chain", "a b");
}

/* One event of the network. What is delivered is noted by its number, and goes nowhere. */
static void step(struct sim *sim, const struct timed_item *item, int64_t *came_ns)
{
    const enum timed_kind kind = payload_kind(item->payload);
    const uint32_t large = payload_large(item->payload);
    sim->now_ns = item->at_ns;
    if (kind == TIMED_AT_SWITCH) {
        network_at_switch(sim, large);
    } else if (kind == TIMED_PASSED) {
        network_passed(sim);
    } else if (kind == TIMED_DELIVERED) {
        const struct parcel *parcel = pool_at(&sim->parcels, large);
        came_ns[parcel->message.task] = sim->now_ns;
        pool_give(&sim->parcels, large);
    }
}

static void play_until(struct sim *sim, int64_t until_ns, int64_t *came_ns)
{
    struct timed_item item;
    while (event_queue_peek(&sim->queue, &item) && item.at_ns < until_ns &&
           event_queue_pop(&sim->queue, &item)) {
        step(sim, &item, came_ns);
    }
}

/* Send @count tensors, in the order of time, and see when each comes. */
static void play(struct stage *stage, const struct sent *sent, uint32_t count)
{
    int64_t came_ns[SENT_MAX] = {0};
    stage_start(stage, "least-work");
    for (uint32_t i = 0; i < count; i++) {
        const struct message message = {
            .kind = MESSAGE_INPUT, .task = i, .work = {.bytes = sent[i].bytes}};
        play_until(stage->sim, sent[i].at_ns, came_ns);
        stage->sim->now_ns = sent[i].at_ns;
        network_send(
            stage->sim, sent[i].from, sent[i].to, &message, (struct handle){.id = UINT64_MAX});
    }
    play_until(stage->sim, INT64_MAX, came_ns);
    for (uint32_t i = 0; i < count; i++) {
        if (came_ns[i] != sent[i].expected_ns) {
            fail_msg("%u came at %d, not at %d", i, (int)came_ns[i], (int)sent[i].expected_ns);
        }
    }
    assert_int_equal(stage->sim->parcels.used, 0);
    stage_close(stage);
}

static void a_fifo_star_sends_one_after_the_other(ATTR_UNUSED void **state)
{
    static const struct sent sent[] = {
        {0, 0, 1, 1000, 1005},  {0, 0, 2, 1000, 2005}, /* Waits for the link up, */
        {0, 3, 1, 1000, 2005},                         /* for the link down, */
        {0, 4, 5, 1000, 1005},                         /* for no other. */
        {100, 5, 4, 0, 105},                           /* Nothing to carry. */
        {500, 4, 3, 100, 1105},
    };
    const struct fleet_network network = plain(SHARING_FIFO);
    struct stage stage;
    open_network(&stage, &network);
    play(&stage, sent, 6);
}

/* The tensor that reaches a link first has it, even if the other was sent without a wait. */
static void no_tensor_overtakes_one_in_flight(ATTR_UNUSED void **state)
{
    static const struct sent star[] = {
        {0, 0, 3, 1000, 1005},
        {0, 0, 1, 1000, 2005}, /* Leaves at 1000, and is at the link down at 1005; */
        {1002, 2, 1, 1000, 3005},
    };
    static const struct sent racks[] = {
        {0, 3, 0, 1000, 1005}, /* At the link down at 5, after two links between racks; */
        {3, 1, 0, 1000, 2005},
    };
    static const struct sent mixed[] = {
        {0, 1, 0, 1000, 2002}, /* Over a link up first; */
        {2, 2, 0, 1000, 1007}, /* at the link down at once, and then the latency. */
    };
    const struct fleet_network plain_star = plain(SHARING_FIFO);
    const struct fleet_network two_racks = two_tiers(SHARING_FIFO);
    struct fleet_network no_up = plain(SHARING_FIFO);
    struct stage stage;
    open_network(&stage, &plain_star);
    play(&stage, star, 3);
    open_network(&stage, &two_racks);
    play(&stage, racks, 2);
    no_up.link_bytes_per_s = 0;
    no_up.down_bytes_per_s = GB_PER_S;
    open_network(&stage, &no_up);
    fleet_set_rates(stage.fleet, /* node */ 1, /* up */ GB_PER_S, /* down */ 0);
    play(&stage, mixed, 2);
}

static void a_fair_star_shares(ATTR_UNUSED void **state)
{
    static const struct sent sent[] = {
        {0, 0, 1, 1000, 2005}, /* Half of the link up, */
        {0, 0, 2, 1000, 2005}, /* as this; the rest of the link down to 1 */
        {0, 3, 1, 500, 1005},  /* is for this one, which leaves when it has half. */
        {0, 4, 5, 1000, 1005}, {100, 5, 4, 0, 105},
    };
    const struct fleet_network network = plain(SHARING_FAIR);
    struct stage stage;
    open_network(&stage, &network);
    play(&stage, sent, 5);
}

/* Up is half as fast as down: two senders fill one receiver, and none waits without need. */
static void slow_links_up_fill_a_fast_link_down(ATTR_UNUSED void **state)
{
    static const struct sent sent[] = {
        {0, 0, 2, 1000, 2005},
        {0, 1, 2, 1000, 2005},
    };
    for (uint32_t sharing = SHARING_FIFO; sharing <= SHARING_FAIR; sharing++) {
        struct fleet_network network = plain((enum network_sharing)sharing);
        struct stage stage;
        network.up_bytes_per_s = GB_PER_S / 2;
        open_network(&stage, &network);
        play(&stage, sent, 2);
    }
}

static void a_slow_link_down_makes_others_wait(ATTR_UNUSED void **state)
{
    static const struct sent fifo[] = {
        {0, 0, 2, 1000, 2005},
        {0, 1, 2, 1000, 4005},
    };
    static const struct sent fair[] = {
        {0, 0, 2, 1000, 4005},
        {0, 1, 2, 1000, 4005},
    };
    for (uint32_t sharing = SHARING_FIFO; sharing <= SHARING_FAIR; sharing++) {
        struct fleet_network network = plain((enum network_sharing)sharing);
        struct stage stage;
        network.down_bytes_per_s = GB_PER_S / 2;
        open_network(&stage, &network);
        play(&stage, sharing == SHARING_FIFO ? fifo : fair, 2);
    }
}

static void a_machine_may_have_its_own_rates(ATTR_UNUSED void **state)
{
    static const struct sent sent[] = {
        {0, 0, 2, 1000, 4005},
        {0, 1, 0, 1000, 1005},
        {0, 3, 1, 1000, 2005},
    };
    for (uint32_t sharing = SHARING_FIFO; sharing <= SHARING_FAIR; sharing++) {
        const struct fleet_network network = plain((enum network_sharing)sharing);
        struct stage stage;
        open_network(&stage, &network);
        fleet_set_rates(stage.fleet, 0, /* up */ GB_PER_S / 4, /* down */ 0);
        fleet_set_rates(stage.fleet, 1, /* up */ 0, /* down */ GB_PER_S / 2);
        play(&stage, sent, 3);
    }
}

static void racks_meet_at_the_core(ATTR_UNUSED void **state)
{
    static const struct sent fifo[] = {
        {0, 0, 3, 1000, 1005},
        {0, 1, 4, 1000, 2005}, /* Waits for the rack's link up. */
        {0, 2, 0, 1000, 1005}, /* Stays in its rack. */
        {0, 5, 1, 1000, 1005}, /* The other direction is free. */
    };
    static const struct sent fair[] = {
        {0, 0, 3, 1000, 2005},
        {0, 1, 4, 1000, 2005},
        {0, 2, 0, 1000, 1005},
        {0, 5, 1, 1000, 1005},
    };
    const struct fleet_network with_fifo = two_tiers(SHARING_FIFO);
    const struct fleet_network with_fair = two_tiers(SHARING_FAIR);
    struct stage stage;
    open_network(&stage, &with_fifo);
    play(&stage, fifo, 4);
    open_network(&stage, &with_fair);
    play(&stage, fair, 4);
}

static void a_bottleneck_is_crossed_by_all(ATTR_UNUSED void **state)
{
    static const struct sent fifo[] = {
        {0, 0, 1, 2000, 672}, /* Two thirds of a microsecond, rounded up, and the latency. */
        {0, 2, 3, 2000, 1339},
        {0, 5, 4, 500, 1506},
    };
    static const struct sent fair[] = {
        {0, 0, 1, 2000, 1505},
        {0, 2, 3, 2000, 1505},
        {0, 5, 4, 500, 505}, /* A third each, then a half. */
    };
    for (uint32_t sharing = SHARING_FIFO; sharing <= SHARING_FAIR; sharing++) {
        const struct fleet_network network = {
            .latency_ns = LATENCY_NS,
            .kind = NETWORK_BOTTLENECK,
            .sharing = (enum network_sharing)sharing,
            .core_bytes_per_s = 3 * GB_PER_S,
        };
        struct stage stage;
        open_network(&stage, &network);
        play(&stage, sharing == SHARING_FIFO ? fifo : fair, 3);
    }
}

/* Means of batches, and whether an expected value lies in their 99 % interval. */
enum { BATCHES = 20, PER_BATCH = 40000 };

static void expect_mean(const double means[BATCHES], double expected, double load)
{
    const double t_squared = 2.861 * 2.861; /* Student, 19 degrees of freedom. */
    double mean = 0;
    double variance = 0;
    for (uint32_t i = 0; i < BATCHES; i++) {
        mean += means[i] / BATCHES;
    }
    for (uint32_t i = 0; i < BATCHES; i++) {
        variance += (means[i] - mean) * (means[i] - mean) / (BATCHES - 1);
    }
    const double off = mean - expected;
    if (off * off > t_squared * variance / BATCHES) {
        fail_msg("at load %.1f the mean is %.1f, not %.1f", load, mean, expected);
    }
    /* An interval that holds everything proves nothing. */
    assert_true(variance / BATCHES * t_squared < expected * expected * 0.01);
}

/* M/D/1, Pollaczek and Khinchine: the mean wait is load x service / (2 (1 - load)). */
static void a_fifo_link_is_an_m_d_1_queue(ATTR_UNUSED void **state)
{
    static const double loads[] = {0.5, 0.8, 0.9};
    const int64_t wire_ns = 1000000;
    for (uint32_t i = 0; i < 3; i++) {
        struct rng rng = rng_stream(/* seed */ 1, RNG_TEST, i);
        int64_t free_ns = 0;
        struct links_fifo links = {.free_ns = &free_ns};
        double means[BATCHES] = {0};
        double at_ns = 0;
        for (uint32_t j = 0; j < BATCHES * PER_BATCH; j++) {
            at_ns += exact_exponential(&rng) * (double)wire_ns / loads[i];
            const int64_t now_ns = (int64_t)at_ns;
            const int64_t start_ns = links_fifo_take(&links, 0, now_ns, wire_ns);
            means[j / PER_BATCH] += (double)(start_ns - now_ns) / PER_BATCH;
        }
        expect_mean(means, loads[i] * (double)wire_ns / (2 * (1 - loads[i])), loads[i]);
    }
}

/* The next time at which a lone fair link wants to be looked at. */
static void note_wake(void *context, int64_t at_ns)
{
    event_queue_push(context, at_ns, 0);
}

static void end_until(
    struct links_fair *links, struct event_queue *wakes, int64_t until_ns,
    void (*on_end)(uint32_t tag, int64_t at_ns))
{
    struct timed_item item;
    uint32_t tag;
    while (event_queue_peek(wakes, &item) && item.at_ns <= until_ns &&
           event_queue_pop(wakes, &item)) {
        while (links_fair_finish(links, item.at_ns, &tag)) {
            on_end(tag, item.at_ns);
        }
    }
}

static int64_t began_ns[BATCHES * PER_BATCH];
static double stays[BATCHES];

static void note_end(uint32_t tag, int64_t at_ns)
{
    stays[tag / PER_BATCH] += (double)(at_ns - began_ns[tag]) / PER_BATCH;
}

/* M/G/1 with processor sharing: the mean stay is service / (1 - load), whatever the sizes. */
static void a_fair_link_is_a_processor_sharing_queue(ATTR_UNUSED void **state)
{
    static const double loads[] = {0.5, 0.8};
    const double service_ns = 1000000;
    const struct route route = {.count = 1, .links = {0}};
    for (uint32_t i = 0; i < 4; i++) {
        struct rng rng = rng_stream(/* seed */ 2, RNG_TEST, i);
        struct event_queue wakes;
        struct links_fair links;
        double at_ns = 0;
        event_queue_init(&wakes);
        links_fair_init(&links, 1, (const uint64_t[]){GB_PER_S}, note_wake, &wakes);
        for (uint32_t j = 0; j < BATCHES; j++) {
            stays[j] = 0;
        }
        for (uint32_t j = 0; j < BATCHES * PER_BATCH; j++) {
            at_ns += exact_exponential(&rng) * service_ns / loads[i % 2];
            const double size = i < 2 ? 1 : exact_exponential(&rng);
            began_ns[j] = (int64_t)at_ns;
            end_until(&links, &wakes, began_ns[j], note_end);
            (void)links_fair_start(
                &links, began_ns[j], &route, (uint64_t)(size * service_ns) + 1, j);
        }
        end_until(&links, &wakes, INT64_MAX, note_end);
        assert_int_equal(links.flows.used, 0);
        expect_mean(stays, service_ns / (1 - loads[i % 2]), loads[i % 2]);
        links_fair_deinit(&links);
        event_queue_deinit(&wakes);
    }
}

/* Jobs of two tasks over a busy network; the report, and what others sent meanwhile. */
static struct report run_jobs(const struct fleet_network *network, struct network *network_out)
{
    struct stage stage;
    struct report report;
    struct weft_error error;
    open_network(&stage, network);
    stage.arrivals = (struct arrivals){.kind = ARRIVALS_POISSON, .rate_per_s = 100, .mix = {1}};
    stage.options.jobs = 300;
    assert_int_equal(policy_set_parse("po2", &stage.policies, &error), WEFT_OK);
    stage.sim = sim_create(&stage.options); /* The trace is not read. */
    sim_run(stage.sim);
    sim_report(stage.sim, &report);
    assert_int_equal(report.completed, 300);
    assert_int_equal(stage.sim->network.queued, 0);
    assert_int_equal(stage.sim->network.fair.flows.used, 0);
    *network_out = stage.sim->network;
    stage_close(&stage);
    return report;
}

static void other_traffic_disturbs_and_ends(ATTR_UNUSED void **state)
{
    for (uint32_t sharing = SHARING_FIFO; sharing <= SHARING_FAIR; sharing++) {
        struct fleet_network network = plain((enum network_sharing)sharing);
        struct network after;
        const struct report alone = run_jobs(&network, &after);
        assert_int_equal(after.background_count, 0);
        network.background =
            (struct network_background){.load = 0.5, .bytes = MB(1), .exponential = true};
        const struct report disturbed = run_jobs(&network, &after);
        const struct report again = run_jobs(&network, &after);
        assert_true(disturbed.latency_ms.mean > alone.latency_ms.mean);
        assert_true(disturbed.trace_hash == again.trace_hash);
        assert_true(disturbed.trace_hash != alone.trace_hash);
        /* Half of all twelve links, as long as a client waited. */
        const double expected = 0.5 * 2 * NODES * (double)GB_PER_S * disturbed.duration_s;
        const double ratio = (double)after.background_bytes / expected;
        assert_true(ratio > 0.9 && ratio < 1.1);
    }
}

/* A rate is the same for every link; fixed sizes are what they say. */
static void other_traffic_may_come_at_a_rate(ATTR_UNUSED void **state)
{
    struct fleet_network network = plain(SHARING_FAIR);
    struct network after;
    network.background = (struct network_background){.rate_per_s = 100, .bytes = MB(2)};
    const struct report report = run_jobs(&network, &after);
    const double ratio = (double)after.background_count / (100 * 2 * NODES * report.duration_s);
    assert_true(ratio > 0.9 && ratio < 1.1);
    assert_true(after.background_bytes == after.background_count * MB(2));
}

/* A request far away keeps it going, and after the answer nothing does. */
static void other_traffic_waits_for_the_last_request(ATTR_UNUSED void **state)
{
    struct fleet_network network = plain(SHARING_FAIR);
    struct stage stage;
    struct sim_counters counters;
    network.background = (struct network_background){.rate_per_s = 10, .bytes = MB(1)};
    open_network(&stage, &network);
    stage_start(&stage, "po2");
    stage_request(&stage, MS(10000), 0, 0);
    sim_run(stage.sim);
    sim_counters(stage.sim, &counters);
    assert_int_equal(counters.answered, 1);
    /* Ten a second on twelve links, for ten seconds; timers of nodes go on for longer. */
    assert_true(counters.now_ns > MS(15000));
    assert_in_range(stage.sim->network.background_count, 1100, 1300);
    stage_close(&stage);
}

/* Every build, by every compiler, must write this same trace. */
static void a_fair_network_with_other_traffic_gives_one_trace(ATTR_UNUSED void **state)
{
    static const char *const models[4] = {"f", "a", "b", "g"};
    struct stage stage;
    stage_open(&stage, /* node_count */ 4, MB(200));
    for (uint32_t i = 0; i < 4; i++) {
        (void)stage_model(&stage, models[i], MB(20), MS(2));
    }
    (void)stage_diamond(&stage, "diamond", models);
    stage.fleet->network = (struct fleet_network){
        .link_bytes_per_s = GB_PER_S / 10,
        .up_bytes_per_s = GB_PER_S / 30,
        .latency_ns = MS(0.1),
        .kind = NETWORK_TWO_TIER,
        .sharing = SHARING_FAIR,
        .core_bytes_per_s = GB_PER_S / 20,
        .nodes_per_rack = 2,
        .background = {.load = 0.4, .bytes = 100000, .exponential = true},
    };
    stage_start(&stage, "hash");
    stage_request(&stage, 0, 0, 0);
    stage_request(&stage, MS(1), 1, 0);
    stage_request(&stage, MS(1), 3, 0);
    stage_expect(&stage, "network-fair");
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fifo_star_sends_one_after_the_other),
        cmocka_unit_test(no_tensor_overtakes_one_in_flight),
        cmocka_unit_test(a_fair_star_shares),
        cmocka_unit_test(slow_links_up_fill_a_fast_link_down),
        cmocka_unit_test(a_slow_link_down_makes_others_wait),
        cmocka_unit_test(a_machine_may_have_its_own_rates),
        cmocka_unit_test(racks_meet_at_the_core),
        cmocka_unit_test(a_bottleneck_is_crossed_by_all),
        cmocka_unit_test(a_fifo_link_is_an_m_d_1_queue),
        cmocka_unit_test(a_fair_link_is_a_processor_sharing_queue),
        cmocka_unit_test(other_traffic_disturbs_and_ends),
        cmocka_unit_test(other_traffic_may_come_at_a_rate),
        cmocka_unit_test(other_traffic_waits_for_the_last_request),
        cmocka_unit_test(a_fair_network_with_other_traffic_gives_one_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
