/* The driver: what is missing is said, and what is fatal is known. */
#include "unit/cuda_fixture.h"

static void a_driver_that_is_not_there(ATTR_UNUSED void **state)
{
    struct cuda_driver driver;
    struct weft_error error;
    assert_int_equal(cuda_driver_open("/nowhere/libcuda.so", &driver, &error), WEFT_NOT_FOUND);
    assert_non_null(strstr(error.message, "no NVIDIA driver"));
    assert_int_equal(
        cuda_driver_open(WEFT_TEST_FAKES "/libtorch.so", &driver, &error), WEFT_REFUSED);
    assert_non_null(strstr(error.message, "too old"));
}

static void a_device_is_described(ATTR_UNUSED void **state)
{
    struct cuda_world world;
    struct cuda_device other;
    struct weft_error error;
    cuda_world_open(&world);
    assert_string_equal(world.device.name, "Fake GPU");
    assert_int_equal(world.device.processors, FAKE_PROCESSORS);
    assert_true(world.device.memory_bytes > 0);
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "-1", 1), 0);
    assert_int_equal(cuda_device_open(&world.driver, &other, &error), WEFT_NOT_FOUND);
    assert_int_equal(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
    assert_int_equal(cuda_device_enter(&world.device, &error), WEFT_OK);
    cuda_world_close(&world);
}

static void a_process_sees_one_gpu(ATTR_UNUSED void **state)
{
    struct weft_error error;
    assert_int_equal(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
    assert_int_equal(unsetenv("CUDA_DEVICE_MAX_CONNECTIONS"), 0);
    assert_int_equal(cuda_choose(1, /* streams */ 8, &error), WEFT_OK);
    assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), "1");
    assert_string_equal(getenv("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
    assert_null(getenv("CUDA_DEVICE_MAX_CONNECTIONS")); /* There are enough for those. */
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "3,GPU-5,7", 1), 0);
    assert_int_equal(cuda_choose(3, /* streams */ 8, &error), WEFT_NOT_FOUND);
    assert_string_equal(error.message, "there is no GPU 3: CUDA_VISIBLE_DEVICES is '3,GPU-5,7'");
    /* Of those that the operator left. */
    assert_int_equal(cuda_choose(1, /* streams */ 16, &error), WEFT_OK);
    assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), "GPU-5");
    assert_string_equal(getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "32");
    assert_int_equal(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
    assert_int_equal(unsetenv("CUDA_DEVICE_MAX_CONNECTIONS"), 0);
}

static void an_old_driver_is_refused(ATTR_UNUSED void **state)
{
    struct cuda_world world;
    struct cuda_device other;
    struct weft_error error;
    cuda_world_open(&world);
    world.cause(FAKE_OLD_DRIVER, 0);
    assert_int_equal(cuda_device_open(&world.driver, &other, &error), WEFT_REFUSED);
    assert_non_null(strstr(error.message, "CUDA 11.8"));
    world.cause(FAKE_NO_FAULT, 0);
    cuda_world_close(&world);
}

static void results_have_a_meaning(ATTR_UNUSED void **state)
{
    struct cuda_world world;
    struct weft_error error;
    cuda_world_open(&world);
    assert_int_equal(cuda_check(&world.driver, CUDA_SUCCESS, "work", NULL), WEFT_OK);
    assert_int_equal(cuda_check(&world.driver, 2, "work", &error), WEFT_NO_MEMORY);
    assert_string_equal(error.message, "work: CUDA_ERROR_OUT_OF_MEMORY (2)");
    assert_int_equal(cuda_check(&world.driver, 700, "work", &error), WEFT_LOST);
    assert_int_equal(cuda_check(&world.driver, 719, "work", &error), WEFT_LOST);
    assert_int_equal(cuda_check(&world.driver, 1, "work", &error), WEFT_FAILED);
    assert_false(cuda_is_fatal(CUDA_NOT_READY));
    assert_false(cuda_is_fatal(CUDA_OUT_OF_MEMORY));
    assert_true(cuda_is_fatal(CUDA_ASSERTED));
    cuda_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_that_is_not_there), cmocka_unit_test(a_device_is_described),
        cmocka_unit_test(a_process_sees_one_gpu),     cmocka_unit_test(an_old_driver_is_refused),
        cmocka_unit_test(results_have_a_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
