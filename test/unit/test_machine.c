#include "service/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "fakes/fake_cuda.h"

static void names_of_processors_become_names(ATTR_UNUSED void **state)
{
    char out[NAME_BYTES_MAX];
    char text[200];

    machine_slug(" Intel(R) Xeon(R) CPU @ 2.60GHz\n", out);
    assert_string_equal(out, "intel-r-xeon-r-cpu-2-60ghz");
    machine_slug("***", out);
    assert_string_equal(out, "");
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    machine_slug(text, out);
    assert_int_equal(strlen(out), NAME_BYTES_MAX - 1);
}

static void limits_are_read(ATTR_UNUSED void **state)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_true(fputs("200000 100000\nmax 1\n", file) >= 0);
    rewind(file);
    assert_int_equal(machine_read_limit(file, 7), 200000);
    assert_int_equal(machine_read_limit(file, 7), 100000);
    assert_int_equal(machine_read_limit(file, 7), 7);
    assert_int_equal(fclose(file), 0);
}

static void this_machine_has_something(ATTR_UNUSED void **state)
{
    struct machine machine;
    machine_read(&machine);
    assert_true(machine.cores >= 1);
    assert_true(machine.memory_bytes > 1 << 20);
    assert_true(strlen(machine.device) > 0);
}

static void workers_are_as_the_settings_say(ATTR_UNUSED void **state)
{
    const struct machine machine = {.cores = 8, .memory_bytes = 64000000};
    struct settings settings;

    settings_default(&settings);
    struct fleet *fleet = machine_fleet(&machine, &settings, "cpu");
    assert_int_equal(fleet->node_count, 1);
    assert_int_equal(fleet->worker_count, 8);
    assert_int_equal(fleet->workers[7].memory_bytes, 32000000); /* All together a half. */
    assert_int_equal(fleet_sharers(fleet, 7), 8);
    assert_string_equal(fleet->devices[fleet->workers[7].device], "cpu");
    fleet_destroy(fleet);

    settings.nodes = 3;
    fleet = machine_fleet(&machine, &settings, "cpu");
    assert_int_equal(fleet->node_count, 3);
    assert_int_equal(fleet->worker_count, 6);
    fleet_destroy(fleet);

    settings.workers = 5;
    settings.memory_bytes = 123;
    fleet = machine_fleet(&machine, &settings, "cpu");
    assert_int_equal(fleet->worker_count, 15);
    assert_int_equal(fleet->workers[14].memory_bytes, 5 * 123);
    assert_int_equal(fleet_first_sharer(fleet, 14), 10);
    assert_int_equal(fleet->workers[14].node, 2);
    fleet_destroy(fleet);
}

static void each_gpu_is_a_worker(ATTR_UNUSED void **state)
{
    const struct machine machine = {
        .cores = 2,
        .memory_bytes = 64000000,
        .gpu_count = 3,
        .gpus =
            {
                {.device = "a", .memory_bytes = 500, .units = 16, .version = 13000},
                {.device = "a", .memory_bytes = 500, .units = 16, .version = 13000},
                {.device = "b", .memory_bytes = 700, .units = 1, .version = 13000},
            },
    };
    struct settings settings;

    settings_default(&settings);
    assert_int_equal(settings.gpus.count, 64);
    settings.nodes = 2;
    struct fleet *fleet = machine_fleet(&machine, &settings, "cpu");
    assert_int_equal(fleet->device_count, 3);
    assert_int_equal(fleet->worker_count, 5);
    assert_int_equal(fleet->nodes[0].worker_count, 2);
    assert_int_equal(fleet->workers[1].sharing, SHARES_SM);
    assert_int_equal(fleet->workers[1].gpu_units, 16);
    assert_int_equal(fleet->workers[1].memory_bytes, 500);
    assert_int_equal(fleet->workers[2].sharing, SHARES_COUNTED);
    assert_string_equal(fleet->devices[fleet->workers[4].device], "b");
    assert_int_equal(fleet->workers[4].node, 1);
    fleet_destroy(fleet);

    settings.gpus.memory_bytes = 99;
    fleet = machine_fleet(&machine, &settings, "cpu");
    assert_int_equal(fleet->workers[4].memory_bytes, 99);
    fleet_destroy(fleet);
}

static void hear(void *context, const char *note, bool is_used)
{
    (void)snprintf(context, 320, "%s%s", note, is_used ? "; it is used" : "");
}

static void gpus_are_found(ATTR_UNUSED void **state)
{
    struct machine machine;
    char heard[320] = "";
    assert_int_equal(setenv("WEFT_CUDA", "/nowhere/libcuda.so", 1), 0);
    machine_read(&machine);
    machine_find_gpus(&machine, /* most */ 64, hear, heard);
    assert_int_equal(machine.gpu_count, 0);
    assert_int_equal(setenv("WEFT_CUDA", WEFT_TEST_FAKES "/fake_cuda.so", 1), 0);
    machine_find_gpus(&machine, /* most */ 0, hear, heard);
    assert_int_equal(machine.gpu_count, 0);
    machine_find_gpus(&machine, /* most */ 64, hear, heard);
    assert_int_equal(machine.gpu_count, FAKE_GPUS);
    assert_string_equal(machine.gpus[1].device, "fake-gpu");
    assert_int_equal(machine.gpus[1].units, FAKE_UNITS);
    assert_int_equal(machine.gpus[1].version, 13000);
    assert_true(machine.gpus[1].memory_bytes > 1 << 20);
    assert_string_equal(heard, "");
    machine_read(&machine);
    assert_int_equal(setenv("FAKE_CUDA_OLD", "1", 1), 0);
    machine_find_gpus(&machine, /* most */ 64, hear, heard);
    assert_int_equal(machine.gpu_count, 0);
    assert_non_null(strstr(heard, "GPU 0, Fake GPU: the driver has CUDA 11.8"));
    assert_int_equal(unsetenv("FAKE_CUDA_OLD"), 0);
    assert_int_equal(setenv("FAKE_CUDA_WHOLE", "1", 1), 0);
    machine_find_gpus(&machine, /* most */ 1, hear, heard);
    assert_int_equal(machine.gpus[0].units, 1);
    assert_string_equal(
        heard, "GPU 0, Fake GPU: it cannot be shared: batches run one after another; it is used");
    assert_int_equal(unsetenv("FAKE_CUDA_WHOLE"), 0);
    machine_read(&machine);
    assert_int_equal(setenv("FAKE_CUDA_NAME", "Fake GPU MIG 1g.18gb", 1), 0);
    machine_find_gpus(&machine, /* most */ 1, hear, heard);
    assert_int_equal(machine.gpu_count, 1);
    assert_non_null(strstr(heard, "MIG 1g.18gb: it is an instance of MIG"));
    assert_int_equal(unsetenv("FAKE_CUDA_NAME"), 0);
}

/* What a machine with @name=@value in its environment says; it has @count GPUs then. */
static void expect_note(const char *name, const char *value, uint32_t count, const char *note)
{
    struct machine machine;
    char heard[320] = "";
    machine_read(&machine);
    assert_int_equal(setenv(name, value, 1), 0);
    machine_find_gpus(&machine, /* most */ 64, hear, heard);
    assert_int_equal(unsetenv(name), 0);
    assert_string_equal(heard, note);
    assert_int_equal(machine.gpu_count, count);
}

static void what_a_gpu_cannot_do_is_said(ATTR_UNUSED void **state)
{
    assert_int_equal(setenv("WEFT_CUDA", WEFT_TEST_FAKES "/fake_cuda.so", 1), 0);
    expect_note(
        "FAKE_CUDA_MODE", "2", 0,
        "GPU 0, Fake GPU: its compute mode is 'prohibited': no process may use it");
    expect_note(
        "FAKE_CUDA_MODE", "3", FAKE_GPUS,
        "GPU 1, Fake GPU: its compute mode is exclusive: an engine that ends has to be gone before "
        "the next; it is used");
    expect_note("FAKE_CUDA_INIT", "100", 0, ""); /* No GPU. */
    expect_note(
        "FAKE_CUDA_INIT", "803", 0, "GPU 0: the driver does not work: CUDA_ERROR_OTHER (803)");
    expect_note("CUDA_VISIBLE_DEVICES", "MIG-1,MIG-2,MIG-3", 3, "");
    expect_note(
        "CUDA_VISIBLE_DEVICES", "MIG-1", 1,
        "GPU 0, Fake GPU MIG 1g.18gb: it is an instance of MIG; others are used if "
        "CUDA_VISIBLE_DEVICES lists them; it is used");
    char folder[] = "/tmp/weft-mps-XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/control", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    expect_note(
        "CUDA_MPS_PIPE_DIRECTORY", folder, FAKE_GPUS,
        "GPU 1, Fake GPU: MPS is running; other processes may slow it down; it is used");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(setenv("WEFT_CUDA", WEFT_TEST_FAKES "/libtorch.so", 1), 0);
    expect_note("FAKE_CUDA_MODE", "0", 0, "GPU 0: the NVIDIA driver is too old: no cuInit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_processors_become_names),
        cmocka_unit_test(limits_are_read),
        cmocka_unit_test(this_machine_has_something),
        cmocka_unit_test(workers_are_as_the_settings_say),
        cmocka_unit_test(each_gpu_is_a_worker),
        cmocka_unit_test(gpus_are_found),
        cmocka_unit_test(what_a_gpu_cannot_do_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
