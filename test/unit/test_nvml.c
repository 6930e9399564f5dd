/* Figures of GPUs: what the library says, and what it does not. */
#include "cuda/nvml.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

#define FAKE_NVML WEFT_TEST_FAKES "/fake_nvml.so"

static void a_library_that_is_not_there(ATTR_UNUSED void **state)
{
    struct nvml nvml;
    struct weft_error error;
    assert_int_equal(nvml_open("/nowhere/libnvidia-ml.so", &nvml, &error), WEFT_NOT_FOUND);
    assert_non_null(strstr(error.message, "there is no NVML"));
    assert_int_equal(nvml_open(WEFT_TEST_FAKES "/fake_cuda.so", &nvml, &error), WEFT_NOT_FOUND);
    assert_non_null(strstr(error.message, "too old"));
}

static void figures_are_in_plain_units(ATTR_UNUSED void **state)
{
    struct nvml nvml;
    struct weft_error error;
    assert_int_equal(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
    assert_int_equal(nvml_open(FAKE_NVML, &nvml, &error), WEFT_OK);
    const struct nvml_figures first = nvml_read(&nvml, 0);
    assert_true(first.memory_used_bytes == 1000);
    assert_true(first.utilisation == 0.25);
    assert_true(first.clock_hz == 1980e6);
    assert_true(first.power_w == 123.5);
    assert_true(first.celsius == 41);
    const struct nvml_figures second = nvml_read(&nvml, 1);
    assert_true(second.memory_used_bytes == 1001);
    assert_true(isnan(second.power_w));
    assert_true(isnan(nvml_read(&nvml, 2).memory_used_bytes));
    nvml_close(&nvml);
}

static void gpus_are_counted_as_engines_do(ATTR_UNUSED void **state)
{
    struct nvml nvml;
    struct weft_error error;
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "1,0,GPU-1", 1), 0);
    assert_int_equal(nvml_open(FAKE_NVML, &nvml, &error), WEFT_OK);
    assert_true(nvml_read(&nvml, 0).memory_used_bytes == 1001);
    assert_true(nvml_read(&nvml, 1).memory_used_bytes == 1000);
    assert_true(nvml_read(&nvml, 2).memory_used_bytes == 1001);
    assert_true(isnan(nvml_read(&nvml, 3).memory_used_bytes));
    assert_int_equal(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
    nvml_close(&nvml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_is_not_there),
        cmocka_unit_test(figures_are_in_plain_units),
        cmocka_unit_test(gpus_are_counted_as_engines_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
