/*
 * weft's home queues: most workers are not looked at, and no decision is another one by that.
 *
 * Who asks what was weighed has all of them looked at: the answers have to be the same.
 *
 * Covers: src/policy/weft_home.c src/policy/weft_learn.c
 */
#include "base/rng.h"
#include "home_fixture.h"
#include "policy/weft_learn.h"
#include "policy/weighed.h"

enum { WORKERS = 8, CASES = 3000 };

static struct cluster cluster;
static struct weighed weighed;

/* One of the rows, links and queues that there may be. */
struct case_at {
    struct queue_facts queue;
    struct ended_facts ended[WORKERS * 2];
    uint32_t ended_count;
};

static void setup(struct rng *rng)
{
    home_init(&cluster, WORKERS, /* model_count */ 1);
    for (uint32_t model = 0; model < 2; model++) {
        home_point(&cluster, model, 1, 1, 1, 100);
        home_point(&cluster, model, 1, 1, 2, 62);
        home_point(&cluster, model, 1, 2, 7, 30);
        home_point(&cluster, model, 4, 1, 1, 200);
        home_point(&cluster, model, 4, 1, 2, 120);
        cluster_load(&cluster, model, 20 * MS);
        cluster.profile->models[model].resident_bytes = 1 << 18;
        (void)cluster_task(&cluster, model);
    }
    cluster_edge(&cluster, 0, 1, (1 + rng_below(rng, 8)) * MS);
    cluster.fleet->prices = (struct fleet_prices){.cpu = 0.05, .gpu = 1};
    cluster.fleet->network.kind = (enum network_kind)rng_below(rng, 3);
    cluster.fleet->network.nodes_per_rack = 4;
    cluster.fleet->network.core_bytes_per_s = 500000000;
    cluster.fleet->network.has_own_rates = rng_below(rng, 4) == 0;
    cluster.fleet->nodes[5].down_bytes_per_s = 4000000000;
    cluster_seal(&cluster);
}

/* A full worker is left out without a look at how fast it is: @least units are free. */
static void draw_row(struct rng *rng, uint32_t worker, uint32_t least)
{
    struct row row = cluster.board.entries[worker].live;
    row.load.gpu_free = (uint8_t)(rng_below(rng, 3) == 0 ? rng_below(rng, 8) : rng_below(rng, 3));
    row.load.gpu_free = row.load.gpu_free < least ? (uint8_t)least : row.load.gpu_free;
    row.load.queued_ns = row.load.gpu_free == 7 ? 0 : rng_below(rng, 40) * MS;
    row.load.accepting = (uint8_t)(ROW_ACCEPTING + (rng_below(rng, 8) == 0 ? 24 : 0));
    if (rng_below(rng, 3) > 0) {
        model_set_add(&row.cache.resident, 1);
    }
    cluster_write(&cluster, &row);
}

/* A batch that took as long as was measured, or half or thrice as long on some workers. */
static struct ended_facts draw_batch(struct rng *rng, uint32_t worker, bool is_odd)
{
    static const int64_t took_ms[] = {100, 50, 300};
    return (struct ended_facts){
        .task = 1,
        .worker = worker,
        .items = 1,
        .config = {.batch = 1, .cpu = 1, .gpu = 1},
        .run_ns = took_ms[is_odd ? rng_below(rng, 3) : 0] * MS,
        .completed = true,
    };
}

static struct case_at draw(struct rng *rng)
{
    struct case_at drawn = {0};
    const bool is_odd = rng_below(rng, 3) == 0;
    setup(rng);
    for (uint32_t worker = 0; worker < WORKERS; worker++) {
        draw_row(rng, worker, is_odd ? 1 : 0);
    }
    drawn.ended_count = rng_below(rng, 2) * WORKERS * 2;
    for (uint32_t i = 0; i < drawn.ended_count; i++) {
        drawn.ended[i] = draw_batch(rng, i % WORKERS, is_odd && i >= WORKERS);
    }
    const uint32_t items = 1 + rng_below(rng, 5);
    const int64_t slo_ms = 40 + rng_below(rng, 400);
    drawn.queue = home_queue(&cluster, 1, items, /* ago_ms */ 20, slo_ms);
    drawn.queue.rechecks = rng_below(rng, 3);
    drawn.queue.holder = rng_below(rng, WORKERS);
    drawn.queue.look_count = items;
    const bool is_apart = rng_below(rng, 3) == 0;
    for (uint32_t i = 0; i < items; i++) {
        drawn.queue.holders[i] = is_apart ? rng_below(rng, WORKERS) : drawn.queue.holder;
    }
    return drawn;
}

/* What is decided, by a policy that has learnt of the same batches. */
static struct dispatch_answer ask(const struct case_at *drawn, struct weighed *weighed_out)
{
    cluster.meter.weighed = weighed_out;
    cluster_seat(&cluster, "weft");
    for (uint32_t i = 0; i < drawn->ended_count; i++) {
        policy_ended(&cluster.seat, &drawn->ended[i]);
    }
    return home_ask(&cluster, &drawn->queue);
}

static void workers_that_cannot_win_are_not_looked_at(void **state)
{
    (void)state;
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    uint32_t started = 0;
    for (uint32_t i = 0; i < CASES; i++) {
        const struct case_at drawn = draw(&rng);
        const struct dispatch_answer some = ask(&drawn, NULL);
        const struct dispatch_answer all = ask(&drawn, &weighed);
        assert_int_equal(some.count > 0, all.count > 0);
        assert_int_equal(some.wake_at_ns, all.wake_at_ns);
        if (some.count > 0) {
            assert_int_equal(some.workers[0], all.workers[0]);
            assert_memory_equal(&some.configs[0], &all.configs[0], sizeof(some.configs[0]));
        } else {
            assert_int_equal(some.waits_for, all.waits_for);
        }
        started += some.count > 0 ? 1 : 0;
        cluster_deinit(&cluster);
    }
    assert_in_range(started, CASES / 3, CASES * 9 / 10);
}

/* A worker that runs twice as fast as measured is one that wins although its inputs are far. */
static void it_is_known_whether_any_worker_is_faster(void **state)
{
    (void)state;
    static struct weft_learn learn;
    struct weft_batch batch = {.queue = 3, .config = {.batch = 1, .gpu = 1}};
    for (uint32_t i = 0; i < 40; i++) {
        batch.worker = 1 + i % 4;
        weft_learn_note(&learn, &batch, 100 * MS, 100 * MS, i);
    }
    assert_false(weft_learnt_is_any_faster(&learn));
    batch.worker = 1;
    weft_learn_note(&learn, &batch, 100 * MS, 30 * MS, 40);
    assert_true(weft_learnt_is_any_faster(&learn));
    assert_true(weft_learnt_worker(&learn, 1, 40) < WEFT_LEARN_ONE);
    for (uint32_t i = 0; i < 8; i++) {
        weft_learn_note(&learn, &batch, 100 * MS, 100 * MS, 41 + i);
    }
    assert_false(weft_learnt_is_any_faster(&learn));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_that_cannot_win_are_not_looked_at),
        cmocka_unit_test(it_is_known_whether_any_worker_is_faster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
