#include "document/onnx_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/onnx_writer.h"

static char folder[] = "/tmp/weft-onnx-file-XXXXXX";
static char path[64];

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    (void)snprintf(path, sizeof(path), "%s/model.onnx", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static void put(const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static enum weft_status check(struct weft_error *error)
{
    *error = (struct weft_error){.status = WEFT_OK};
    return onnx_file_check(path, error);
}

static void a_model_is_one(void **state)
{
    struct weft_error error;
    (void)state;
    onnx_write_relu(path, -1);
    assert_int_equal(check(&error), WEFT_OK);
    onnx_write_mlp(path, 64, 2);
    assert_int_equal(check(&error), WEFT_OK);
}

/* Wherever it is cut; only its very first bytes are too little to tell. */
static void a_model_that_was_cut_is_none(void **state)
{
    struct weft_error error;
    uint8_t bytes[4096];
    (void)state;
    onnx_write_relu(path, -1);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t count = fread(bytes, 1, sizeof(bytes), file);
    assert_int_equal(fclose(file), 0);
    assert_in_range(count, 32, sizeof(bytes) - 1);
    for (size_t i = 0; i < count; i++) {
        put(bytes, i);
        const enum weft_status status = check(&error);
        if (status == WEFT_OK) {
            /* Whole up to here, but for what follows the graph: which opset it wants. */
            assert_true(i + 16 > count);
        } else {
            assert_int_equal(status, WEFT_INVALID);
        }
    }
    put(bytes, count / 2);
    assert_int_equal(check(&error), WEFT_INVALID);
    assert_non_null(strstr(error.message, "model.onnx: cut short"));
}

static void other_files_are_none(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *cause;
    } cases[] = {
        {"", 0, "the file is empty"},
        {"This is no model.", 17, "not an ONNX model"},
        {"\x08\x08", 2, "without a graph"},           /* ir_version: 8 */
        {"\x00\x00\x00\x00", 4, "not an ONNX model"}, /* Field 0. */
        {"\x0b", 1, "not an ONNX model"},             /* A group. */
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "not an ONNX model"},
        {"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "not an ONNX model"},
        {"\x08\x08\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13, "cut short"},
    };
    struct weft_error error;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put(cases[i].bytes, cases[i].count);
        assert_int_equal(check(&error), WEFT_INVALID);
        if (strstr(error.message, cases[i].cause) == NULL) {
            fail_msg("case %zu: %s", i, error.message);
        }
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(check(&error), WEFT_IO);
    assert_non_null(strstr(error.message, "No such file"));
    put("", 0); /* For the end. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_one),
        cmocka_unit_test(a_model_that_was_cut_is_none),
        cmocka_unit_test(other_files_are_none),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
