/* Manifests: what is written is read, and what makes no sense is refused with its line. */
#include "cuda/manifest.h"

#include "unit/cuda_fixture.h"

static void a_model_is_read(ATTR_UNUSED void **state)
{
    struct cuda_manifest manifest;
    struct weft_error error;
    const char *folder = cuda_make_model("good", 2, 1, 4096);
    if (cuda_manifest_read(folder, &manifest, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    assert_string_equal(manifest.folder, folder);
    assert_string_equal(manifest.weights, "weights.bin");
    assert_int_equal(manifest.weights_bytes, 4096);
    assert_int_equal(manifest.constant_count, 2);
    assert_string_equal(manifest.constants[1].name, "layer.shift");
    assert_int_equal(manifest.constants[1].at, FIXTURE_SHIFT_AT);
    assert_int_equal(manifest.constants[1].rank, 0);
    assert_int_equal(manifest.constants[0].type, 6);
    assert_int_equal(manifest.input_count, 1);
    assert_int_equal(manifest.inputs[0].dtype, WEFT_FP32);
    assert_int_equal(manifest.inputs[0].row_bytes, 4 * FIXTURE_EXTENT);
    assert_int_equal(manifest.package_count, 2);
    assert_int_equal(manifest.packages[1].rows, 4);
    assert_string_equal(manifest.packages[1].folder, "four");
    cuda_manifest_free(&manifest);
}

#define HEAD "weft-cuda 1\nweights w 4096\n"
#define TAIL "output y FP32 1 8\npackage 1 one\n"

static enum weft_status read_text(
    const char *text, struct cuda_manifest *manifest_out, struct weft_error *error)
{
    const char *folder = cuda_path("text");
    (void)mkdir(folder, 0700);
    cuda_write(folder, "manifest", text, strlen(text));
    return cuda_manifest_read(folder, manifest_out, error);
}

static void a_view_is_read(ATTR_UNUSED void **state)
{
    struct cuda_manifest manifest;
    struct weft_error error;
    assert_int_equal(
        read_text(
            HEAD
            "input x FP16 3 4 5 3 view 3 3 4 5 1 15 3\ninput z INT64 0\ninput b BF16 1 3\n" TAIL,
            &manifest, &error),
        WEFT_OK);
    const struct cuda_port *port = &manifest.inputs[0];
    assert_int_equal(port->row_bytes, 120);
    assert_int_equal(port->shape[2], 3);
    assert_int_equal(port->view_rank, 3);
    assert_int_equal(port->view_shape[0], 3);
    assert_int_equal(port->view_strides[1], 15);
    assert_int_equal(manifest.inputs[1].row_bytes, 8);
    assert_int_equal(manifest.inputs[2].dtype, WEFT_BF16);
    assert_int_equal(manifest.inputs[2].row_bytes, 6);
    cuda_manifest_free(&manifest);
}

static void nonsense_is_refused(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"", "are needed"},
        {"weft-cuda 2\n", "manifest:1:"},
        {HEAD TAIL, "are needed"},
        {HEAD "input x FP32 1 8\noutput y FP32 1 8\n", "are needed"},
        {HEAD "input x FP32 1 8\n" TAIL "package 1 two\n", "manifest:6:"}, /* Not more rows. */
        {HEAD "input x FP32 1 8\n" TAIL "package 0 two\n", "manifest:6:"},
        {HEAD "input x FP32 1 8\n" TAIL "package 2 ../two\n", "manifest:6:"},
        {HEAD "input x FP32 1 8\n" TAIL "package 2 /two\n", "manifest:6:"},
        {HEAD "input x FP32 2 8\n" TAIL, "manifest:3:"},
        {HEAD "input x FP31 1 8\n" TAIL, "manifest:3:"},
        {HEAD "input x FP32 1 8 8\n" TAIL, "manifest:3:"},
        {HEAD "input x FP32 1 0\n" TAIL, "manifest:3:"},
        {HEAD "input x FP32 1 8 view 1 9 1\n" TAIL, "manifest:3:"}, /* Beyond the row. */
        {HEAD "constant c 0 4 FP32 1 2 1\n", "manifest:3:"},        /* Beyond its bytes. */
        {HEAD "constant c 4093 4 FP32 1 1 1\n", "manifest:3:"},     /* Beyond the file. */
        {HEAD "constant c 0 4 FP32 1 -1 1\n", "manifest:3:"},
        {HEAD "constant c 0 18446744073709551616 FP32 0\n", "manifest:3:"},
        {HEAD "constant c 0 64 FP32 2 1073741824 1073741824 1073741824 1073741824\n",
         "manifest:3:"},
        {HEAD "weights w 4096\n", "manifest:3:"},
        {HEAD "speed 9\n", "manifest:3: cannot read 'speed 9'"},
        {HEAD "input x FP32 1 8", "no end"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cuda_manifest manifest;
        struct weft_error error = {.status = WEFT_OK};
        const enum weft_status status = read_text(cases[i].text, &manifest, &error);
        if (status == WEFT_OK || strstr(error.message, cases[i].says) == NULL) {
            fail_msg("case %zu: %d %s", i, status, error.message);
        }
    }
}

static void many_constants_and_none(ATTR_UNUSED void **state)
{
    struct cuda_manifest manifest;
    struct weft_error error;
    static char text[65536];
    size_t used = (size_t)snprintf(text, sizeof(text), "%s", HEAD);
    for (uint32_t i = 0; i < 1000; i++) {
        used += (size_t)snprintf(
            text + used, sizeof(text) - used, "constant c%u %u 4 FP32 0\n", i, 4 * i);
    }
    (void)snprintf(text + used, sizeof(text) - used, "input x FP32 1 8\n" TAIL);
    assert_int_equal(read_text(text, &manifest, &error), WEFT_OK);
    assert_int_equal(manifest.constant_count, 1000);
    assert_string_equal(manifest.constants[999].name, "c999");
    assert_int_equal(manifest.constants[64].at, 256);
    cuda_manifest_free(&manifest);
    assert_int_equal(cuda_manifest_read("/nowhere", &manifest, &error), WEFT_IO);
}

static int remove_all(ATTR_UNUSED void **state)
{
    cuda_remove_folder();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_read),
        cmocka_unit_test(a_view_is_read),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(many_constants_and_none),
    };
    return cmocka_run_group_tests(tests, NULL, remove_all);
}
