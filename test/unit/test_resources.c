#include "model/resources.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

enum { SLOTS = 6 };

/* Two machines with two processors each, and with slots. */
static struct fleet *make_fleet(void)
{
    struct fleet *fleet = fleet_create();
    const struct fleet_worker worker = {
        .device = fleet_device(fleet, "cpu"), .memory_bytes = 500, .gpu_units = 1, .splits = true};
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(fleet_add_machine(fleet, &worker, 2, /* cpu_units */ 2));
        assert_true(fleet_add_slots(fleet, SLOTS));
    }
    return fleet;
}

static void slots_have_numbers_and_nothing_else(ATTR_UNUSED void **state)
{
    struct fleet *fleet = make_fleet();
    assert_true(fleet->has_slots);
    assert_int_equal(fleet->worker_count, 2 * SLOTS);
    assert_int_equal(fleet->nodes[1].worker_first, SLOTS);
    assert_int_equal(fleet->nodes[1].worker_count, 2);
    assert_int_equal(fleet->nodes[1].slot_count, SLOTS);
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        assert_int_equal(fleet->workers[i].node, i / SLOTS);
        assert_int_equal(fleet->workers[i].is_absent, i % SLOTS >= 2);
        assert_int_equal(fleet->workers[i].memory_bytes, i % SLOTS >= 2 ? 0 : 500);
    }
    assert_false(fleet_add_slots(fleet, 1)); /* It has more already. */
    fleet_destroy(fleet);
}

static void what_one_process_writes_another_reads(ATTR_UNUSED void **state)
{
    char text[RESOURCES_BYTES];
    char again[RESOURCES_BYTES];
    struct fleet *there = make_fleet();
    const struct fleet_worker gpu = {
        .device = fleet_device(there, "h200"),
        .memory_bytes = 20000000000,
        .gpu_units = 66,
        .partitions = 2,
        .interference = 0.25,
        .sharing = SHARES_SM,
    };
    const struct fleet_worker cpu = {
        .device = 0, .memory_bytes = 700, .gpu_units = 1, .splits = true, .shares_memory = true};
    assert_true(fleet_add_machine(there, &cpu, 3, /* cpu_units */ 3));
    assert_true(fleet_add_devices(there, &gpu, 1));
    assert_true(fleet_add_slots(there, SLOTS));
    assert_true(resources_write(there, 2, text, sizeof(text)));

    struct fleet *here = make_fleet();
    assert_int_equal(fleet_device(here, "other"), 1); /* Kinds have other numbers. */
    assert_int_equal(resources_read(text, here, 1, NULL), WEFT_OK);
    assert_int_equal(here->nodes[1].worker_count, 5);
    assert_int_equal(here->nodes[1].cpu_units, 3);
    assert_int_equal(here->nodes[0].worker_count, 2);
    for (uint32_t i = 0; i < SLOTS; i++) {
        const struct fleet_worker *read = &here->workers[SLOTS + i];
        const struct fleet_worker *written = &there->workers[2 * SLOTS + i];
        assert_int_equal(read->node, 1);
        assert_int_equal(read->is_absent, i == 5);
        assert_int_equal(read->memory_bytes, written->memory_bytes);
        assert_int_equal(read->gpu_units, written->gpu_units);
        assert_int_equal(read->sharing, written->sharing);
        assert_int_equal(read->partition, written->partition);
        assert_int_equal(read->splits, written->splits);
        assert_int_equal(read->shares_memory, written->shares_memory);
        assert_true(read->interference == written->interference);
        assert_string_equal(here->devices[read->device], there->devices[written->device]);
    }
    assert_int_equal(here->device_count, 3);
    assert_true(resources_write(here, 1, again, sizeof(again)));
    assert_string_equal(again, text);
    assert_false(resources_write(here, 1, again, strlen(text)));
    resources_say(text, again, sizeof(again));
    assert_string_equal(again, "3 x cpu 233B, 2 x h200 18.626GiB");
    fleet_destroy(there);
    fleet_destroy(here);
}

static void a_smaller_machine_leaves_slots_empty(ATTR_UNUSED void **state)
{
    struct fleet *fleet = make_fleet();
    assert_int_equal(resources_read("4 cpu:4:900:1:0:1:1:0:0", fleet, 0, NULL), WEFT_OK);
    assert_int_equal(fleet->nodes[0].worker_count, 4);
    assert_int_equal(resources_read("1 cpu:1:300:1:0:1:1:0:0", fleet, 0, NULL), WEFT_OK);
    assert_int_equal(fleet->nodes[0].worker_count, 1);
    assert_int_equal(fleet->nodes[0].slot_count, SLOTS);
    assert_int_equal(fleet->workers[0].memory_bytes, 300);
    for (uint32_t i = 1; i < SLOTS; i++) {
        assert_true(fleet->workers[i].is_absent);
        assert_int_equal(fleet->workers[i].memory_bytes, 0);
    }
    fleet_destroy(fleet);
}

static void what_makes_no_sense_changes_nothing(ATTR_UNUSED void **state)
{
    static const char *const wrong[] = {
        "",
        "2",
        "x cpu:1:1:1:0:1:0:0:0",
        "2 cpu",
        "2 cpu:1:1:1:0:1:0",
        "2 :1:1:1:0:1:0:0:0",
        "2 cpu:0:1:1:0:1:0:0:0",   /* No worker, */
        "2 cpu:1:0:1:0:1:0:0:0",   /* no memory, */
        "2 cpu:1:1:0:0:1:0:0:0",   /* no units, */
        "2 cpu:1:1:129:0:1:0:0:0", /* too many, */
        "2 cpu:1:1:1:3:1:0:0:0",   /* no such sharing, */
        "2 cpu:3:1:1:0:2:0:0:0",   /* half a device, */
        "2 cpu:1:1:1:0:1:2:0:0",   /* no truth value, */
        "2 cpu:1:99999999999999999999999:1:0:1:0:0:0",
        "2 cpu:1:1:1:0:1:0:0:0 ",
        "2 cpu:-1:1:1:0:1:0:0",
        "2 cpu:1:1:1:0:1:0:0:0 cpu",
        "99999 cpu:1:1:1:0:1:0:0:0",
    };
    struct weft_error error;
    struct fleet *fleet = make_fleet();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const enum weft_status status = resources_read(wrong[i], fleet, 0, &error);
        if (strcmp(wrong[i], "2 cpu:1:1:1:0:1:0:0:0 ") == 0) {
            assert_int_equal(status, WEFT_OK); /* A space at the end does no harm. */
            assert_int_equal(resources_read("2 cpu:2:500:1:0:1:1:0:0", fleet, 0, NULL), WEFT_OK);
            continue;
        }
        assert_int_equal(status, WEFT_INVALID);
        assert_int_equal(fleet->nodes[0].worker_count, 2);
        assert_int_equal(fleet->workers[0].memory_bytes, 500);
    }
    fleet_destroy(fleet);
}

static void there_are_only_so_many_slots_and_kinds(ATTR_UNUSED void **state)
{
    char name[NAME_BYTES_MAX];
    char text[RESOURCES_BYTES];
    struct weft_error error;
    struct fleet *fleet = make_fleet();
    assert_int_equal(
        resources_read("2 cpu:6:1:1:0:1:1:0:0 x:1:1:1:0:1:0:0:0", fleet, 0, &error), WEFT_LIMIT);
    assert_string_equal(error.message, "it has 7 workers, and there are 6 slots");
    assert_int_equal(fleet->device_count, 1); /* Not even a kind was added. */
    for (uint32_t i = 1; i < DEVICE_KINDS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "kind-%u", i);
        assert_int_equal(fleet_device(fleet, name), i);
    }
    assert_int_equal(resources_read("2 new:1:1:1:0:1:0:0:0", fleet, 0, &error), WEFT_LIMIT);
    assert_int_equal(resources_read("2 kind-31:1:1:1:0:1:0:0:0", fleet, 0, &error), WEFT_OK);
    resources_say("nonsense", text, sizeof(text));
    assert_string_equal(text, "-");
    fleet_destroy(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_have_numbers_and_nothing_else),
        cmocka_unit_test(what_one_process_writes_another_reads),
        cmocka_unit_test(a_smaller_machine_leaves_slots_empty),
        cmocka_unit_test(what_makes_no_sense_changes_nothing),
        cmocka_unit_test(there_are_only_so_many_slots_and_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
