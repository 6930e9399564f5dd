/* A folder of small files that were used at known times. */
#include "onnx/cache_trim.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"

enum { FILE_BYTES = 100, PATH_ROOM = 128 };

static char folder[] = "/tmp/weft_trim_XXXXXX";
static const char *const names[] = {"a.ort",     "b.ort",        "c.ort",       "d.ort",
                                    "other.txt", "b.ort.packed", "b.ort.turns", "c.ort.packed"};

static void path_of(const char *name, char *out)
{
    (void)snprintf(out, PATH_ROOM, "%s/%s", folder, name);
}

static void put(const char *name, time_t age_s)
{
    char path[PATH_ROOM];
    const struct timespec used = {.tv_sec = time(NULL) - age_s};
    path_of(name, path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    for (int i = 0; i < FILE_BYTES; i++) {
        assert_int_equal(fputc('x', file), 'x');
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, (const struct timespec[]){used, used}, 0), 0);
}

static bool is_there(const char *name)
{
    char path[PATH_ROOM];
    path_of(name, path);
    return access(path, F_OK) == 0;
}

static int setup(ATTR_UNUSED void **state)
{
    (void)snprintf(folder, sizeof(folder), "/tmp/weft_trim_XXXXXX");
    assert_non_null(mkdtemp(folder));
    put("a.ort", 5000);
    put("b.ort", 9000);
    put("c.ort", 7000);
    put("d.ort", 10);
    put("other.txt", 99999);
    return 0;
}

static int teardown(ATTR_UNUSED void **state)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[PATH_ROOM];
        path_of(names[i], path);
        (void)unlink(path); /* It may be gone. */
    }
    return rmdir(folder);
}

/* Packed weights are as large as the model, and count. */
static void what_lies_beside_a_model_goes_with_it(ATTR_UNUSED void **state)
{
    put("b.ort.packed", 10);
    put("b.ort.turns", 10);
    put("c.ort.packed", 10);
    onnx_cache_trim(folder, 7 * FILE_BYTES, 3600);
    assert_true(is_there("b.ort"));
    onnx_cache_trim(folder, 7 * FILE_BYTES - 1, 3600);
    assert_false(is_there("b.ort"));
    assert_false(is_there("b.ort.packed"));
    assert_false(is_there("b.ort.turns"));
    assert_true(is_there("c.ort")); /* Three files have gone. */
    assert_true(is_there("c.ort.packed"));
}

static void what_was_unused_for_longest_goes_first(ATTR_UNUSED void **state)
{
    onnx_cache_trim(folder, 4 * FILE_BYTES, 3600);
    assert_true(is_there("b.ort"));
    onnx_cache_trim(folder, 4 * FILE_BYTES - 1, 3600);
    assert_false(is_there("b.ort"));
    assert_true(is_there("c.ort"));
    onnx_cache_trim(folder, 2 * FILE_BYTES, 3600);
    assert_false(is_there("c.ort"));
    assert_true(is_there("a.ort"));
    assert_true(is_there("other.txt")); /* Not ours. */
}

static void what_was_used_lately_stays(ATTR_UNUSED void **state)
{
    char path[PATH_ROOM];
    path_of("b.ort", path);
    onnx_cache_touch(path);
    onnx_cache_trim(folder, 0, 3600);
    assert_true(is_there("b.ort"));
    assert_true(is_there("d.ort"));
    assert_false(is_there("a.ort"));
    assert_false(is_there("c.ort"));
}

static void a_folder_that_is_not_there_is_left_alone(ATTR_UNUSED void **state)
{
    onnx_cache_trim("/no/such/folder", 0, 0);
    onnx_cache_touch("/no/such/file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_unused_for_longest_goes_first, setup, teardown),
        cmocka_unit_test_setup_teardown(what_lies_beside_a_model_goes_with_it, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_used_lately_stays, setup, teardown),
        cmocka_unit_test(a_folder_that_is_not_there_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
