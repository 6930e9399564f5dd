/*
 * Whether a worker can ever run a task.
 *
 * Covers: src/profile/need.h
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "profile/need.h"

enum { FUNCTION, LARGE, WORKING, MODELS };

static struct profile *make_profile(void)
{
    struct profile *profile = profile_create(MODELS);
    const struct profile_point point = {.items = 1, .run_ns = 1};
    assert_int_equal(profile_add_point(profile, FUNCTION, 0, &point), WEFT_OK);
    assert_int_equal(profile_add_point(profile, WORKING, 0, &point), WEFT_OK);
    assert_int_equal(profile_add_point(profile, WORKING, 1, &point), WEFT_OK);
    profile->models[LARGE].resident_bytes = 70;
    profile->models[WORKING].resident_bytes = 20;
    profile->models[WORKING].workspace_bytes = 5;
    profile->models[WORKING].workspace_bytes_per_item = 2;
    return profile;
}

static const struct workflow_task plain = {.run = FUNCTION};
static const struct workflow_task both = {
    .run = WORKING, .models = {WORKING, LARGE}, .model_count = 2};

static void all_models_and_the_workspace_of_all_items_must_fit(void **state)
{
    (void)state;
    struct profile *profile = make_profile();
    struct fleet_worker worker = {.memory_bytes = 20 + 70 + 5 + 3 * 2};
    assert_true(need_is_met(need_of(profile, &both, 1), &worker));
    assert_true(need_is_met(need_of(profile, &both, 3), &worker));
    assert_false(need_is_met(need_of(profile, &both, 4), &worker));
    worker.memory_bytes--;
    assert_false(need_is_met(need_of(profile, &both, 3), &worker));
    profile_destroy(profile);
}

static void a_kind_without_a_time_does_not_do_however_large(void **state)
{
    (void)state;
    struct profile *profile = make_profile();
    const struct fleet_worker worker = {.device = 1, .memory_bytes = 1000};
    assert_false(need_is_met(need_of(profile, &plain, 1), &worker));
    assert_true(need_is_met(need_of(profile, &both, 1), &worker));
    assert_true(need_is_met(NEED_NOTHING, &worker));
    profile_destroy(profile);
}

static void a_fleet_is_asked_for_every_worker_with_its_own_memory(void **state)
{
    (void)state;
    struct profile *profile = make_profile();
    struct fleet *fleet = fleet_create();
    struct fleet_worker device = {.memory_bytes = 50, .gpu_units = 1, .partitions = 2};
    device.device = fleet_device(fleet, "plain");
    assert_true(fleet_add_machine(fleet, &device, /* device_count */ 1, /* cpu_units */ 1));
    assert_true(need_is_met_by_any(need_of(profile, &plain, 1), fleet));
    assert_false(need_is_met_by_any(need_of(profile, &both, 1), fleet)); /* Halves of 100. */
    device.partitions = 1;
    device.memory_bytes = 100;
    assert_true(fleet_add_machine(fleet, &device, /* device_count */ 1, /* cpu_units */ 1));
    assert_true(need_is_met_by_any(need_of(profile, &both, 1), fleet));
    fleet_destroy(fleet);
    profile_destroy(profile);
}

static void room_is_the_largest_of_each_kind_and_no_other(void **state)
{
    (void)state;
    struct profile *profile = make_profile();
    const struct need large = need_of(profile, &both, 1);
    const struct need small = need_of(profile, &plain, 1);
    struct need_room room = {0};
    assert_false(need_room_meets(&room, small)); /* No worker is there, so none has room for 0. */
    assert_false(need_room_meets(&room, NEED_NOTHING));
    need_room_add(&room, &(struct fleet_worker){.device = 1, .memory_bytes = 50});
    assert_false(need_room_meets(&room, small));
    assert_true(need_room_meets(&room, NEED_NOTHING));
    need_room_add(&room, &(struct fleet_worker){.device = 1, .memory_bytes = 100});
    need_room_add(&room, &(struct fleet_worker){.device = 1, .memory_bytes = 60});
    need_room_add(&room, &(struct fleet_worker){.device = 0, .memory_bytes = 0});
    assert_true(need_room_meets(&room, small));
    assert_true(need_room_has(&room, small, 0));
    assert_true(need_room_meets(&room, large));
    assert_true(need_room_has(&room, large, 1));
    assert_false(need_room_has(&room, large, 0));
    profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_models_and_the_workspace_of_all_items_must_fit),
        cmocka_unit_test(a_kind_without_a_time_does_not_do_however_large),
        cmocka_unit_test(a_fleet_is_asked_for_every_worker_with_its_own_memory),
        cmocka_unit_test(room_is_the_largest_of_each_kind_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
