/* What the emulated engine promises beyond the contract: times, the bus, memory, noise. */
#include "base/attributes.h"
#include "conformance/engine_host.h"
#include "dies.h"

static double noise;
static struct host host;

static struct engine *create(struct host *world, const struct engine_host *port)
{
    const struct engine_emulated_options options = {
        .fleet = world->fleet,
        .catalogue = world->catalogue,
        .profile = world->profile,
        .seed = 3,
        .noise = noise,
        .host = *port,
    };
    return engine_emulated_create(&options);
}

static int setup(ATTR_UNUSED void **state)
{
    noise = 0;
    host_init(&host, create);
    return 0;
}

static int teardown(ATTR_UNUSED void **state)
{
    host_deinit(&host);
    return 0;
}

static void loads_of_a_device_take_the_bus_in_turn(ATTR_UNUSED void **state)
{
    host_load(&host, 0, 0);
    host_load(&host, 1, 0);
    host_load(&host, 0, 1);
    host_run(&host);
    assert_int_equal(host.done_count, 3);
    assert_int_equal(host.done[0].at_ns, 35);
    assert_int_equal(host.done[1].at_ns, 35); /* Each device has a bus of its own. */
    assert_int_equal(host.done[1].done.worker, 1);
    assert_int_equal(host.done[2].at_ns, 70);
}

static void a_cancelled_load_frees_the_bus(ATTR_UNUSED void **state)
{
    host_load(&host, 0, 0);
    host.now_ns = 10;
    engine_cancel_load(host.engine, 0, 0);
    host_load(&host, 0, 1);
    host_run(&host);
    assert_int_equal(host.done_count, 1);
    assert_int_equal(host.done[0].at_ns, 45);
}

static void a_batch_takes_the_time_of_the_profile(ATTR_UNUSED void **state)
{
    host_load(&host, 0, 1);
    host_run(&host);
    host_launch(&host, 0, /* batch */ 1, /* task */ 1, /* task_count */ 3);
    host_run(&host);
    assert_int_equal(host.done[1].at_ns, 35 + 600);
    assert_int_equal(host.done[1].done.run_ns, 600);
    assert_int_equal(host.done[1].outputs[0].bytes, 0); /* A sink hands nothing on. */
    assert_int_equal(host.done[1].outputs[0].items, 1);
}

static void the_first_run_after_a_load_takes_longer(ATTR_UNUSED void **state)
{
    host.profile->models[1].curves[0].first_run_ns = 30;
    host_load(&host, 0, 1);
    host_run(&host);
    host_launch(&host, 0, /* batch */ 1, /* task */ 1, /* task_count */ 1);
    host_run(&host);
    host_launch(&host, 0, /* batch */ 2, /* task */ 1, /* task_count */ 1);
    host_run(&host);
    assert_int_equal(host.done[1].done.run_ns, 230);
    assert_int_equal(host.done[2].done.run_ns, 200);
}

static void a_share_takes_its_own_time_and_all_units_are_the_whole(ATTR_UNUSED void **state)
{
    const struct profile_point half = {.items = 1, .gpu = 2, .run_ns = 555};
    assert_int_equal(profile_add_point(host.profile, 1, 0, &half), WEFT_OK);
    host_load(&host, 0, 1);
    host_run(&host);
    host_launch(&host, 0, /* batch */ 1, /* task */ 1, /* task_count */ 1);
    host_run(&host);
    assert_int_equal(host.done[1].done.run_ns, 200);
    host.gpu = 2;
    host_launch(&host, 0, /* batch */ 1, /* task */ 1, /* task_count */ 1);
    host_launch(&host, 0, /* batch */ 2, /* task */ 1, /* task_count */ 1);
    host_run(&host);
    assert_int_equal(host.done[2].done.run_ns, 555);
    assert_int_equal(host.done[3].at_ns, host.done[2].at_ns); /* Side by side. */
}

static void launch_a_third(void *unused)
{
    (void)unused;
    host_launch(&host, 0, /* batch */ 3, /* task */ 1, /* task_count */ 1);
}

static void shares_beyond_the_device_stop_the_program(ATTR_UNUSED void **state)
{
    host_load(&host, 0, 1);
    host_run(&host);
    host.gpu = 2;
    host_launch(&host, 0, /* batch */ 1, /* task */ 1, /* task_count */ 1);
    host_launch(&host, 0, /* batch */ 2, /* task */ 1, /* task_count */ 1);
    assert_true(dies(launch_a_third, NULL));
    host_run(&host);
}

static void load_another(void *unused)
{
    (void)unused;
    engine_load(host.engine, 0, 0);
}

static void what_does_not_fit_stops_the_program(ATTR_UNUSED void **state)
{
    host.profile->models[1].resident_bytes = 701;
    host_load(&host, 0, 1);
    assert_true(dies(load_another, NULL));
    host_load(&host, 1, 0); /* The other device is empty. */
    host_run(&host);
    assert_int_equal(host.done_count, 2);
}

static void launch_large(void *unused)
{
    (void)unused;
    host_launch(&host, 0, /* batch */ 1, /* task */ 1, /* task_count */ 64);
}

static void a_workspace_counts_as_memory(ATTR_UNUSED void **state)
{
    host.profile->models[1].resident_bytes = 930;
    host_load(&host, 0, 1);
    host_run(&host);
    assert_true(dies(launch_large, NULL)); /* 930 + 10 + 64. */
    host_launch(&host, 0, /* batch */ 1, /* task */ 1, /* task_count */ 60);
    host_run(&host);
    assert_int_equal(host.done_count, 2);
}

static void launch_unloaded(void *unused)
{
    (void)unused;
    host_launch(&host, 0, /* batch */ 1, /* task */ 1, /* task_count */ 1);
}

static void a_model_must_be_resident_to_run(ATTR_UNUSED void **state)
{
    assert_true(dies(launch_unloaded, NULL));
    host_load(&host, 0, 1);
    assert_true(dies(launch_unloaded, NULL));
    host_run(&host);
    assert_false(dies(launch_unloaded, NULL));
}

static void noise_spreads_run_times_evenly_about_the_profile(ATTR_UNUSED void **state)
{
    int64_t sum = 0;
    int64_t low = INT64_MAX;
    int64_t high = 0;
    host_deinit(&host);
    noise = 0.5;
    host_init(&host, create);
    host_load(&host, 0, 1);
    host_run(&host);
    for (uint32_t i = 0; i < 2000; i++) {
        host.done_count = 0;
        host_launch(&host, 0, /* batch */ i, /* task */ 1, /* task_count */ 1);
        host_run(&host);
        const int64_t run_ns = host.done[0].done.run_ns;
        sum += run_ns;
        low = run_ns < low ? run_ns : low;
        high = run_ns > high ? run_ns : high;
    }
    assert_in_range(low, 100, 105);
    assert_in_range(high, 295, 300);
    assert_in_range(sum / 2000, 195, 205);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loads_of_a_device_take_the_bus_in_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_load_frees_the_bus, setup, teardown),
        cmocka_unit_test_setup_teardown(a_batch_takes_the_time_of_the_profile, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_run_after_a_load_takes_longer, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_share_takes_its_own_time_and_all_units_are_the_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(shares_beyond_the_device_stop_the_program, setup, teardown),
        cmocka_unit_test_setup_teardown(what_does_not_fit_stops_the_program, setup, teardown),
        cmocka_unit_test_setup_teardown(a_workspace_counts_as_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(a_model_must_be_resident_to_run, setup, teardown),
        cmocka_unit_test_setup_teardown(
            noise_spreads_run_times_evenly_about_the_profile, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
