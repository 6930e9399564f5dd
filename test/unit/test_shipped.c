#include "base/shipped.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"

/* The folder of this program, and @name in it. */
static void place(char path_out[SHIPPED_PATH_BYTES], const char *name)
{
    char program[256];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    assert_true(length > 0);
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    (void)snprintf(path_out, SHIPPED_PATH_BYTES, "%s/%s", program, name);
}

static void a_file_is_found_in_either_place(ATTR_UNUSED void **state)
{
    static const char *const folders[] = {"deps", "lib/weft"};
    char top[SHIPPED_PATH_BYTES];
    place(top, "lib");
    (void)mkdir(top, 0777);
    for (uint32_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char folder[SHIPPED_PATH_BYTES];
        char file[SHIPPED_PATH_BYTES + 16];
        char found[SHIPPED_PATH_BYTES];
        place(folder, folders[i]);
        (void)mkdir(folder, 0777);
        (void)snprintf(file, sizeof(file), "%s/a.thing", folder);
        assert_false(shipped_find("a.thing", found));
        FILE *stream = fopen(file, "w");
        assert_non_null(stream);
        assert_int_equal(fclose(stream), 0);
        assert_true(shipped_find("a.thing", found));
        assert_string_equal(found, file);
        assert_int_equal(unlink(file), 0);
        assert_int_equal(rmdir(folder), 0);
    }
    assert_int_equal(rmdir(top), 0);
}

static void a_name_that_is_too_long_is_nowhere(ATTR_UNUSED void **state)
{
    char name[SHIPPED_PATH_BYTES * 2];
    char found[SHIPPED_PATH_BYTES];
    (void)memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_false(shipped_find(name, found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_found_in_either_place),
        cmocka_unit_test(a_name_that_is_too_long_is_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
