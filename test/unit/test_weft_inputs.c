/*
 * weft's home queues: what it costs to bring the inputs of a batch together.
 *
 * Covers: src/policy/weft_inputs.c
 */
#include "policy/weft_inputs.h"

#include "home_fixture.h"

static struct cluster cluster;

/* Two racks of two machines, whose workers have the models; a byte takes a nanosecond. */
static int setup(void **state)
{
    *state = &cluster;
    home_init_priced(&cluster);
    for (uint32_t model = 0; model < 2; model++) {
        home_point(&cluster, model, 1, 1, 1, 100);
        home_point(&cluster, model, 4, 1, 1, 200);
        (void)cluster_task(&cluster, model);
    }
    cluster_edge(&cluster, 0, 1, 10 * MS);
    cluster.fleet->network.kind = NETWORK_TWO_TIER;
    cluster.fleet->network.nodes_per_rack = 2;
    cluster.fleet->network.core_bytes_per_s = 1000000000;
    cluster_seal(&cluster);
    cluster_seat(&cluster, "weft");
    return 0;
}

/* A task whose inputs are at worker 2, where there is room in @wait_ms, as at its neighbour. */
static struct dispatch_answer ask_beside(int64_t wait_ms)
{
    struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 2000);
    for (uint32_t worker = 2; worker < 4; worker++) {
        struct row row = cluster.board.entries[worker].live;
        row.load.gpu_free = 0;
        row.load.queued_ns = cluster.view.now_ns - CLUSTER_NOW_NS + wait_ms * MS;
        cluster_write(&cluster, &row);
    }
    queue.holder = 2;
    return home_ask(&cluster, &queue);
}

/* How many tasks in a row leave their rack, of 40, rather than wait for 6 ms. */
static uint32_t count_leaving(const char *policy)
{
    uint32_t count = 0;
    cluster_seat(&cluster, policy);
    while (count < 40 && ask_beside(6).count > 0) {
        count++;
    }
    return count;
}

/*
 * Each takes 20 ms of a quarter of a second, for two homes: on the links of the machines, and of
 * racks if it leaves. Behind two of them the next costs others 1.9 ms, and itself a quarter of
 * that, beyond the 10 ms of its way; to wait for 6 ms costs 12.
 */
static void what_fills_links_stays(void **state)
{
    (void)state;
    const enum network_kind kinds[] = {NETWORK_STAR, NETWORK_TWO_TIER, NETWORK_BOTTLENECK};
    for (uint32_t i = 0; i < 3; i++) {
        cluster.fleet->network.kind = kinds[i];
        assert_int_equal(count_leaving("weft:haste=0:toll=0"), 40);
        const uint32_t count = count_leaving("weft:haste=0");
        assert_int_equal(count, 2);
        assert_int_equal(ask_beside(6).waits_for, 2);
        const struct dispatch_answer answer = ask_beside(60); /* That is worth the toll. */
        assert_int_equal(answer.count, 1);
        assert_true(answer.workers[0] < 2);
        cluster.view.now_ns += 1000 * MS; /* By now links are believed to be idle again. */
        assert_int_equal(ask_beside(6).count, 1);
        assert_true(count_leaving("weft:haste=0:toll=4") < count);
    }
}

/* A sixteenth of the fastest run, on links that are as fast as can be. */
static void short_ways_are_free(void **state)
{
    (void)state;
    cluster.fleet->network.link_bytes_per_s *= 2;
    cluster.fleet->network.core_bytes_per_s *= 2;
    assert_int_equal(count_leaving("weft:haste=0"), 40);
}

/* What is known of the inputs of four tasks: two at worker 2, one each at workers 1 and 3. */
struct four {
    struct policy_input input;
    struct queue_facts queue;
    struct fit_ask ask;
    struct weft_brought brought;
};

static void find(struct four *four, struct weft_inputs *inputs_out)
{
    const uint32_t holders[] = {2, 1, 2, 3};
    four->input.view = &cluster.view;
    four->input.catalogue = &cluster.catalogue;
    four->queue = home_queue(&cluster, 1, 4, 0, 2000);
    four->queue.holder = 2;
    four->queue.look_count = 4;
    memcpy(four->queue.holders, holders, sizeof(holders));
    four->ask =
        (struct fit_ask){.input = &four->input, .queue = &four->queue, .bytes_per_item = 1000000};
    weft_inputs_find(inputs_out, &four->ask, &four->brought, /* run_ns */ MS);
}

static void only_what_leaves_its_rack_uses_its_link(void **state)
{
    (void)state;
    static struct four four;
    struct weft_inputs inputs;
    find(&four, &inputs);
    assert_int_equal(weft_inputs_toll_ns(&inputs, 4, 2), 0); /* Links are idle. */
    weft_inputs_bring(&inputs, 4, 2, &four.brought);
    assert_int_equal(four.brought.out[0].busy_ns, 2 * MS); /* From worker 1, for two homes. */
    assert_int_equal(four.brought.in[1].busy_ns, 2 * MS);
    assert_int_equal(four.brought.out[1].busy_ns, 0);
    assert_int_equal(four.brought.in[0].busy_ns, 0);
    weft_inputs_bring(&inputs, 2, 2, &four.brought); /* Those at worker 2 come first. */
    assert_int_equal(four.brought.out[0].busy_ns, 2 * MS);
    weft_inputs_bring(&inputs, 4, 0, &four.brought);
    assert_int_equal(four.brought.out[0].busy_ns, 2 * MS); /* It is a neighbour. */
    assert_int_equal(four.brought.out[1].busy_ns, 6 * MS);
    assert_int_equal(four.brought.in[0].busy_ns, 6 * MS);
}

static struct weft_link busy_for(int64_t ms)
{
    return (struct weft_link){
        .busy_ns = ms * MS, .span_ns = 1000 * MS, .seen_ns = cluster.view.now_ns};
}

/* For a fifth of the time, a third and a half. What is counted is the dearest of a way. */
static void tolls_grow_with_the_load_of_the_dearest_link(void **state)
{
    (void)state;
    static struct four four;
    struct weft_inputs inputs;
    four.brought.out[0] = busy_for(200);
    find(&four, &inputs);
    assert_in_range(weft_inputs_toll_ns(&inputs, 4, 2), 248000, 252000); /* From worker 1. */
    four.brought.in[1] = busy_for(333);
    find(&four, &inputs);
    assert_in_range(weft_inputs_toll_ns(&inputs, 4, 2), 490000, 510000);
    assert_in_range(weft_inputs_toll_ns(&inputs, 4, 3), 490000, 510000);
    assert_int_equal(weft_inputs_toll_ns(&inputs, 2, 2), 0);
    four.brought.up[2] = busy_for(500);
    find(&four, &inputs);
    assert_in_range(weft_inputs_toll_ns(&inputs, 4, 3), 2480000, 2520000);
    four.brought.down[2] = busy_for(500);
    find(&four, &inputs);
    assert_in_range(weft_inputs_toll_ns(&inputs, 4, 2), 1980000, 2020000);
}

/* Both ways are one link, which all machines share. */
static void a_bottleneck_is_one_link(void **state)
{
    (void)state;
    static struct four four;
    struct weft_inputs inputs;
    cluster.fleet->network.kind = NETWORK_BOTTLENECK;
    find(&four, &inputs);
    weft_inputs_bring(&inputs, 4, 2, &four.brought);
    assert_int_equal(four.brought.out[0].busy_ns, 4 * MS); /* From workers 1 and 3. */
    assert_int_equal(four.brought.up[1].busy_ns, 2 * MS);
    assert_int_equal(four.brought.down[2].busy_ns, 4 * MS);
    find(&four, &inputs);
    assert_true(weft_inputs_toll_ns(&inputs, 4, 2) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(what_fills_links_stays),
        CLUSTER_CASE(short_ways_are_free),
        CLUSTER_CASE(only_what_leaves_its_rack_uses_its_link),
        CLUSTER_CASE(tolls_grow_with_the_load_of_the_dearest_link),
        CLUSTER_CASE(a_bottleneck_is_one_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
