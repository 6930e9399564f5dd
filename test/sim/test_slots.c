/*
 * A machine is lost, and another takes its place that has more workers, of another kind, or fewer:
 * the same numbers mean other devices from then on.
 *
 * Covers: src/model/resources.c
 */
#include "model/resources.h"

#include "base/attributes.h"
#include "parity/workload.h"
#include "policy/registry.h"
#include "sim/sim.h"

enum { NODES = 3, SLOTS = 4, CHANGED = 1, JOBS = 1000 };

static struct workload world;
static bool is_lost;            /* Both others know that the machine is gone. */
static uint32_t lost_count;     /* How many of them do. */
static uint32_t absent_count;   /* Tasks that began where there is no device. */
static uint32_t ran[SLOTS];     /* Tasks that began on the machine that changes, since. */
static uint32_t answered_count; /* Of all, well. */

static void on_record(ATTR_UNUSED void *context, const struct record *record)
{
    if (record->kind == RECORD_NODE_LOST) {
        lost_count++;
        is_lost = lost_count == NODES - 1;
    } else if (record->kind == RECORD_STARTED) {
        const struct fleet_worker *worker = &world.fleet->workers[record->worker];
        absent_count += worker->is_absent ? 1 : 0;
        if (worker->node == CHANGED && is_lost) {
            ran[record->worker - CHANGED * SLOTS]++;
        }
    } else if (record->kind == RECORD_ANSWERED && record->reason == REASON_NONE) {
        answered_count++;
    }
}

/* Two workers a machine, and room for four; of another kind, models take half as long. */
static void open_world(void)
{
    const struct workload_options options = {.node_count = 1, .workers_per_node = 1, .run_ns = MS};
    workload_init(&world, &options);
    fleet_destroy(world.fleet);
    world.fleet = fleet_create();
    const struct fleet_worker worker = {
        .memory_bytes = 1000,
        .bus_bytes_per_s = 20000,
        .gpu_units = 1,
        .device = fleet_device(world.fleet, "small"),
    };
    for (uint32_t i = 0; i < NODES; i++) {
        assert_true(fleet_add_machine(world.fleet, &worker, 2, /* cpu_units */ 8));
        assert_true(fleet_add_slots(world.fleet, SLOTS));
    }
    assert_int_equal(fleet_device(world.fleet, "large"), 1);
    for (uint32_t i = 0; i <= WORKLOAD_MODELS; i++) {
        const struct profile_point point = {
            .items = 1, .run_ns = profile_run_one_ns(world.profile, i, 0) / 2};
        assert_int_equal(profile_add_point(world.profile, i, 1, &point), WEFT_OK);
    }
    is_lost = false;
    lost_count = 0;
    absent_count = 0;
    answered_count = 0;
    for (uint32_t i = 0; i < SLOTS; i++) {
        ran[i] = 0;
    }
}

/* Jobs come to the nodes that stay; the other is replaced by the machine of @text. */
static void play(const char *policy, const char *text)
{
    static const struct fault faults[] = {
        {.kind = FAULT_CRASH, .at_ns = 100 * MS, .victim = CHANGED},
        {.kind = FAULT_RESTART, .at_ns = 4000 * MS, .victim = CHANGED},
    };
    const struct arrivals none = {.kind = ARRIVALS_POISSON, .rate_per_s = 1};
    struct policy_set policies;
    struct weft_error error;
    bool is_changed = false;
    assert_int_equal(policy_set_parse(policy, &policies, &error), WEFT_OK);
    const struct sim_options options = {
        .fleet = world.fleet,
        .catalogue = world.catalogue,
        .profile = world.profile,
        .policies = &policies,
        .arrivals = &none,
        .seed = 7,
        .row_load_ns = 10 * MS,
        .row_cache_ns = 50 * MS,
        .fault_count = sizeof(faults) / sizeof(faults[0]),
        .faults = faults,
        .check = true,
        .on_record = on_record,
    };
    struct sim *sim = sim_create(&options);
    for (uint32_t i = 0; i < JOBS; i++) {
        const struct arrival arrival = {
            .workflow = i % world.catalogue->workflow_count, .items = 1};
        sim_request(sim, (int64_t)i * 6 * MS, i % 2 == 0 ? 0 : 2, &arrival);
    }
    while (sim_run_some(sim, /* events */ 1)) {
        if (is_lost && !is_changed) {
            is_changed = true;
            assert_int_equal(resources_read(text, world.fleet, CHANGED, &error), WEFT_OK);
        }
    }
    assert_true(is_changed);
    assert_int_equal(absent_count, 0);
    assert_int_equal(answered_count, JOBS);
    sim_destroy(sim);
}

static const char *const policies[] = {
    "place=compass:pool:keep=16,order=weft,dispatch=first-fit:gpu=4:paying,cache=compass",
    "compass",
    "weft",
    "jit",
    "least-work",
    "heft",
    "po2",
    "hash",
};

static void a_larger_machine_is_used_in_the_place_of_another(ATTR_UNUSED void **state)
{
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        open_world();
        play(policies[i], "8 large:4:2000:1:0:1:0:0:0");
        for (uint32_t k = 0; k < SLOTS - 1; k++) { /* HEFT has enough with three. */
            assert_true(ran[k] > 0);
        }
        workload_deinit(&world);
    }
}

static void a_smaller_machine_is_given_what_it_can_take(ATTR_UNUSED void **state)
{
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        open_world();
        play(policies[i], "8 small:1:700:1:0:1:0:0:0");
        assert_true(ran[0] > 0);
        assert_int_equal(ran[1] + ran[2] + ran[3], 0);
        workload_deinit(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_larger_machine_is_used_in_the_place_of_another),
        cmocka_unit_test(a_smaller_machine_is_given_what_it_can_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
