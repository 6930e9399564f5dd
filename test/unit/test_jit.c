/*
 * jit: hash placement; a task moves only if its worker would make it wait, and then to
 * the smallest free time plus load of what is missing.
 *
 *     entry ──► next ──► last     entry ──► last
 */
#include "policy_fixture.h"

enum { ENTRY, NEXT, LAST };
enum { MODEL = 1, OTHER = 2 };

#define LOAD_NS 1000

static void init(struct cluster *cluster, const char *text)
{
    cluster_init(cluster, 3, 1);
    cluster_load(cluster, MODEL, LOAD_NS);
    cluster_load(cluster, OTHER, 70);
    (void)cluster_task(cluster, MODEL);
    (void)cluster_task(cluster, MODEL);
    (void)cluster_task(cluster, MODEL);
    cluster_edge(cluster, ENTRY, NEXT, 0);
    cluster_edge(cluster, ENTRY, LAST, 0);
    cluster_edge(cluster, NEXT, LAST, 0);
    cluster_seal(cluster);
    cluster_seat(cluster, text);
}

static void jobs_start_from_the_hash_placement(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "jit");
    for (uint32_t number = 1; number < 40; number++) {
        uint16_t by_jit[3];
        uint16_t by_hash[3];
        cluster.job.id.number = number;
        cluster_seat(&cluster, "jit");
        cluster_place_job(&cluster, by_jit);
        cluster_seat(&cluster, "hash");
        cluster_place_job(&cluster, by_hash);
        assert_memory_equal(by_jit, by_hash, sizeof(by_jit));
    }
    cluster_deinit(&cluster);
}

struct placed {
    int64_t queued_ns[3];
    uint32_t holders; /* A bit for each worker that has the model. */
    uint32_t planned;
    uint32_t worker;
};

static void check(const char *text, const struct placed *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct cluster cluster;
        init(&cluster, text);
        for (uint32_t worker = 0; worker < 3; worker++) {
            cluster_queue(&cluster, worker, cases[i].queued_ns[worker]);
            if ((cases[i].holders >> worker & 1) != 0) {
                cluster_hold(&cluster, worker, MODEL);
            }
        }
        assert_int_equal(cluster_place(&cluster, NEXT, cases[i].planned, 0), cases[i].worker);
        assert_int_equal(cluster_place(&cluster, LAST, cases[i].planned, 0), cases[i].worker);
        cluster_deinit(&cluster);
    }
}

static void a_task_moves_only_from_a_busy_worker(void **state)
{
    (void)state;
    static const struct placed cases[] = {
        {{0, 0, 0}, 0, 2, 2},                 /* Idle: stays. */
        {{0, 0, 0}, 1, 2, 2},                 /* Idle, without the model that 0 has: stays. */
        {{0, 0, 1}, 1, 2, 0},                 /* One nanosecond of waiting is enough. */
        {{0, 0, 1}, 4, 2, 2},                 /* Busy, but loading elsewhere takes longer. */
        {{0, 0, LOAD_NS - 1}, 4, 2, 2},       /* Still. */
        {{0, 0, LOAD_NS}, 4, 2, 0},           /* As long: the lowest index. */
        {{0, 0, LOAD_NS + 1}, 4, 2, 0},       /* Longer: it pays to load. */
        {{500, 400, 300}, 0, 2, 2},           /* No worker holds it: the shortest queue. */
        {{500, 400, 300}, 1, 2, 0},           /* 500 with the model beats 300 without. */
        {{LOAD_NS + 400, 400, 450}, 1, 2, 0}, /* 1400, 1400, 1450. */
        {{LOAD_NS + 401, 400, 450}, 1, 2, 1}, /* 1401, 1400, 1450. */
        {{7, 7, 7}, 7, 2, 0},                 /* All alike: the lowest index, planned or not. */
        {{5, 0, 0}, 0, WORKER_NONE, 1},       /* Unbound. */
    };
    check("jit", cases, sizeof(cases) / sizeof(cases[0]));
}

static void a_threshold_keeps_tasks_longer(void **state)
{
    (void)state;
    static const struct placed cases[] = {
        {{0, 0, 2500000}, 1, 2, 2},
        {{0, 0, 2500001}, 1, 2, 0},
    };
    check("jit:threshold_ms=2.5", cases, sizeof(cases) / sizeof(cases[0]));
    static const struct placed never[] = {{{0, 0, INT64_C(1) << 49}, 1, 2, 2}};
    check("jit:threshold_ms=1e9", never, 1);
}

static void every_missing_model_counts(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 3, 1);
    cluster_load(&cluster, MODEL, 100);
    cluster_load(&cluster, OTHER, 70);
    cluster.profile->models[OTHER].load_fixed_ns = 5;
    const struct workflow_task both = {
        .name = "both", .run = MODEL, .models = {MODEL, OTHER}, .model_count = 2};
    uint32_t task = 0;
    assert_int_equal(workflow_add_task(cluster.graph, &both, &task), WEFT_OK);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "jit");
    cluster_queue(&cluster, 0, 74); /* 74 + 100 */
    cluster_hold(&cluster, 0, OTHER);
    cluster_queue(&cluster, 1, 100); /* 100 + 70 + 5 */
    cluster_hold(&cluster, 1, MODEL);
    cluster_queue(&cluster, 2, 1); /* 1 + 100 + 70 + 5 */
    assert_int_equal(cluster_place(&cluster, task, 2, 2), 0);
    cluster_queue(&cluster, 0, 76);
    assert_int_equal(cluster_place(&cluster, task, 2, 2), 1);
    cluster_queue(&cluster, 1, 102);
    assert_int_equal(cluster_place(&cluster, task, 2, 2), 0);
    cluster_queue(&cluster, 0, 77);
    assert_int_equal(cluster_place(&cluster, task, 2, 2), 2);
    cluster_deinit(&cluster);
}

/* Two inputs of 300 and 200 on nodes 0 and 1. */
static uint32_t place_with_inputs(const char *text, int64_t queued_0_ns)
{
    struct cluster cluster;
    init(&cluster, text);
    for (uint32_t worker = 0; worker < 3; worker++) {
        cluster_hold(&cluster, worker, MODEL);
    }
    cluster_queue(&cluster, 0, queued_0_ns);
    cluster_queue(&cluster, 1, 90);
    cluster_queue(&cluster, 2, 1);
    const struct input_facts inputs[] = {{.worker = 0, .bytes = 300}, {.worker = 1, .bytes = 200}};
    const struct task_facts facts = {
        .job = &cluster.job,
        .task = LAST,
        .items = 1,
        .planned = 2,
        .here = 0,
        .gathered = true,
        .input_count = 2,
        .inputs = inputs,
    };
    const uint32_t worker = policy_place_task(&cluster.seat, &facts);
    cluster_deinit(&cluster);
    return worker;
}

static void transfers_count_only_if_asked(void **state)
{
    (void)state;
    assert_int_equal(place_with_inputs("jit", 100), 2);
    /* 0: q + 200, 1: 90 + 300, 2: 1 + 500 */
    assert_int_equal(place_with_inputs("jit:transfer=1", 190), 0);
    assert_int_equal(place_with_inputs("jit:transfer=1", 191), 1);
    assert_int_equal(place_with_inputs("jit:transfer=0", 191), 2);
}

static void a_lost_worker_is_left(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "jit");
    cluster_usable(&cluster, 2, false);
    cluster_usable(&cluster, 0, false);
    assert_int_equal(cluster_place(&cluster, NEXT, 2, 0), 1);
    cluster_usable(&cluster, 1, false);
    assert_int_equal(cluster_place(&cluster, NEXT, 2, 0), WORKER_NONE);
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_start_from_the_hash_placement),
        cmocka_unit_test(a_task_moves_only_from_a_busy_worker),
        cmocka_unit_test(a_threshold_keeps_tasks_longer),
        cmocka_unit_test(every_missing_model_counts),
        cmocka_unit_test(transfers_count_only_if_asked),
        cmocka_unit_test(a_lost_worker_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
