/* Covers: src/onnx/file.c, src/onnx/declared.c */
#include "onnx/file.h"

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
            /* Whole up to here, but for what follows the graph: which opsets it wants. */
            assert_true(i + 32 > count);
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

static void what_cannot_be_passed_is_found(void **state)
{
    struct onnx_writer writer;
    struct weft_error error;
    const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    (void)state;
    onnx_write_same(path, ONNX_STRING, 1, (const int64_t[]){-1});
    assert_int_equal(check(&error), WEFT_OK);
    onnx_write_zipmap(path, NULL);
    assert_int_equal(check(&error), WEFT_OK);
    onnx_write_same(path, 14, 1, (const int64_t[]){-1});
    assert_int_equal(check(&error), WEFT_INVALID);
    assert_non_null(strstr(
        error.message,
        ": input 'x' is COMPLEX64, which cannot be passed: add a Cast to the model"));
    onnx_write_same(path, ONNX_FLOAT, 9, nine);
    assert_int_equal(check(&error), WEFT_LIMIT);
    assert_non_null(strstr(error.message, ": input 'x' has 9 dimensions; at most 8 can be passed"));
    onnx_writer_start(&writer);
    onnx_writer_output(
        &writer, "a_name_that_is_so_long_that_it_has_more_than_the_sixty_three_bytes_allowed",
        ONNX_FLOAT, 1, nine);
    onnx_writer_finish(&writer, path);
    assert_int_equal(check(&error), WEFT_LIMIT);
    assert_non_null(strstr(error.message, "has a name of 74 bytes; rename it to 63 or fewer"));
    onnx_writer_start(&writer);
    for (uint32_t i = 0; i < 257; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "x%u", (unsigned)i);
        onnx_writer_input(&writer, name, ONNX_FLOAT, 1, nine);
    }
    onnx_writer_finish(&writer, path);
    assert_int_equal(check(&error), WEFT_LIMIT);
    assert_non_null(strstr(error.message, ": it has 257 inputs; at most 256 can be passed"));
}

static void note_name(void *context, const struct onnx_declared *declared)
{
    char *names = context;
    (void)snprintf(names + strlen(names), 16, "%.8s", declared->name);
}

static void weights_are_no_inputs(void **state)
{
    struct onnx_writer writer;
    char names[256] = "";
    (void)state;
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 1, (const int64_t[]){1});
    onnx_writer_input(&writer, "w", 14, 1, (const int64_t[]){1});
    onnx_writer_input(&writer, "v", 14, 1, (const int64_t[]){1});
    onnx_writer_floats(&writer, "v", 1, (const int64_t[]){1}, (const float[]){1});
    onnx_writer_floats(&writer, "w", 1, (const int64_t[]){1}, (const float[]){1});
    onnx_writer_output(&writer, "y", ONNX_FLOAT, 1, (const int64_t[]){1});
    onnx_writer_finish(&writer, path);
    assert_int_equal(onnx_file_read(path, note_name, names, NULL), WEFT_OK);
    assert_string_equal(names, "xy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_one),        cmocka_unit_test(a_model_that_was_cut_is_none),
        cmocka_unit_test(other_files_are_none),  cmocka_unit_test(what_cannot_be_passed_is_found),
        cmocka_unit_test(weights_are_no_inputs),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
