/* Covers: src/protocol/oip_response.c */
#include "protocol/oip_response.h"

#include <math.h>

#include "base/memory.h"
#include "oip_fixture.h"

static struct weft_error error;

static void add(
    struct bundle *bundle, const char *name, enum weft_dtype dtype, const void *data,
    uint64_t bytes, int64_t extent)
{
    struct weft_tensor tensor = {.dtype = dtype, .rank = 1, .shape = {extent}, .bytes = bytes};
    (void)snprintf(tensor.name, sizeof(tensor.name), "%s", name);
    memcpy(bundle_add(bundle, &tensor), data, bytes);
}

/* The answer of @workflow with @bundles, one a sink, to a request for everything. */
static enum weft_status answer(
    const struct workflow *workflow, const struct bundle *const *bundles, bool is_binary,
    struct oip_response *response_out)
{
    struct oip_request request = {
        .id = "a\"b",
        .output_count = 2,
        .outputs = {{.result = 0, .is_binary = is_binary}, {.result = 1}},
    };
    const struct oip_answer given = {
        .workflow = workflow, .request = &request, .bundle_count = 2, .bundles = bundles};
    error.message[0] = '\0';
    const enum weft_status status = oip_response_write(&given, response_out, &error);
    if (status == WEFT_OK) { /* It has a length, and no zero at its end. */
        char *text = memory_zeroed(response_out->length + 1, 1);
        memcpy(text, response_out->json, response_out->length);
        free(response_out->json);
        response_out->json = text;
    }
    return status;
}

static void results_are_named_as_the_client_knows_them(ATTR_UNUSED void **state)
{
    static const float numbers[] = {1.0F, -2.5F, 1e10F, 0.1F, INFINITY, NAN};
    struct workflow *workflow = oip_workflow();
    struct bundle *first = bundle_create();
    struct bundle *second = bundle_create();
    const struct bundle *bundles[] = {first, second};
    struct oip_response response;
    add(first, "m", WEFT_FP32, numbers, sizeof(numbers), 6);
    add(second, "t", WEFT_BYTES, "\2\0\0\0h\"\0\0\0\0", 10, 2);
    assert_int_equal(answer(workflow, bundles, false, &response), WEFT_OK);
    assert_int_equal(response.part_count, 0);
    assert_int_equal(response.length, strlen(response.json));
    assert_string_equal(
        response.json,
        "{\"model_name\":\"ocr\",\"model_version\":\"1\",\"id\":\"a\\\"b\",\"outputs\":["
        "{\"name\":\"mask\",\"datatype\":\"FP32\",\"shape\":[6],"
        "\"data\":[1,-2.5,10000000000,0.100000001,null,null]},"
        "{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[2],\"data\":[\"h\\\"\",\"\"]}]}");
    oip_response_deinit(&response);

    assert_int_equal(answer(workflow, bundles, true, &response), WEFT_OK);
    assert_int_equal(response.part_count, 1);
    assert_ptr_equal(response.parts[0], bundle_find(first, "m"));
    assert_non_null(strstr(response.json, "\"parameters\":{\"binary_data_size\":24}"));
    oip_response_deinit(&response);
    bundle_destroy(first);
    bundle_destroy(second);
    workflow_destroy(workflow);
}

static void numbers_of_all_types_are_written(ATTR_UNUSED void **state)
{
    static const uint64_t bits[] = {UINT64_C(0x8000000000000001), 3};
    static const struct {
        enum weft_dtype dtype;
        uint64_t width;
        const char *data;
    } cases[] = {
        {WEFT_BOOL, 1, "[true,false]"},
        {WEFT_UINT8, 1, "[1,0]"},
        {WEFT_INT8, 1, "[1,0]"},
        {WEFT_UINT16, 2, "[1,0]"},
        {WEFT_INT16, 2, "[1,0]"},
        {WEFT_UINT32, 4, "[1,2147483648]"},
        {WEFT_INT32, 4, "[1,-2147483648]"},
        {WEFT_UINT64, 8, "[9223372036854775809,3]"},
        {WEFT_INT64, 8, "[-9223372036854775807,3]"},
        {WEFT_FP16, 2, "[5.9605e-08,0]"},
        {WEFT_FP64, 8, "[-4.9406564584124654e-324,1.4821969375237396e-323]"},
    };
    struct workflow *workflow = oip_workflow();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bundle *first = bundle_create();
        struct bundle *second = bundle_create();
        const struct bundle *bundles[] = {first, second};
        struct oip_response response;
        add(first, "m", cases[i].dtype, bits, 2 * cases[i].width, 2);
        add(second, "t", WEFT_UINT8, "", 0, 0);
        assert_int_equal(answer(workflow, bundles, false, &response), WEFT_OK);
        if (strstr(response.json, cases[i].data) == NULL) {
            fail_msg("%s", response.json);
        }
        oip_response_deinit(&response);
        bundle_destroy(first);
        bundle_destroy(second);
    }
    workflow_destroy(workflow);
}

static void what_was_only_pretended_has_no_outputs(ATTR_UNUSED void **state)
{
    struct workflow *workflow = oip_workflow();
    const struct bundle *bundles[] = {NULL, NULL};
    struct oip_response response;
    assert_int_equal(answer(workflow, bundles, false, &response), WEFT_OK);
    assert_non_null(strstr(response.json, "\"parameters\":{\"emulated\":true},\"outputs\":[]}"));
    oip_response_deinit(&response);
    workflow_destroy(workflow);
}

static void a_result_that_was_not_made_is_a_failure(ATTR_UNUSED void **state)
{
    struct workflow *workflow = oip_workflow();
    struct bundle *first = bundle_create();
    const struct bundle *bundles[] = {first, first};
    struct oip_response response;
    add(first, "m", WEFT_UINT8, "a", 1, 1);
    assert_int_equal(answer(workflow, bundles, false, &response), WEFT_FAILED);
    assert_string_equal(error.message, "output 'text' was not made");
    bundle_destroy(first);
    workflow_destroy(workflow);
}

static void a_workflow_that_declares_nothing_gives_everything(ATTR_UNUSED void **state)
{
    struct workflow *workflow = workflow_create("plain");
    const struct workflow_task task = {.name = "t"};
    const struct oip_request request = {.is_binary = true};
    uint32_t index;
    struct bundle *bundle = bundle_create();
    const struct bundle *bundles[] = {bundle};
    const struct oip_answer given = {
        .workflow = workflow, .request = &request, .bundle_count = 1, .bundles = bundles};
    struct oip_response response;
    assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    add(bundle, "a", WEFT_UINT8, "12", 2, 2);
    add(bundle, "b", WEFT_UINT8, "3", 1, 1);
    assert_int_equal(oip_response_write(&given, &response, &error), WEFT_OK);
    assert_int_equal(response.part_count, 2);
    assert_string_equal(response.parts[1]->name, "b");
    oip_response_deinit(&response);
    bundle_destroy(bundle);
    workflow_destroy(workflow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_named_as_the_client_knows_them),
        cmocka_unit_test(numbers_of_all_types_are_written),
        cmocka_unit_test(what_was_only_pretended_has_no_outputs),
        cmocka_unit_test(a_result_that_was_not_made_is_a_failure),
        cmocka_unit_test(a_workflow_that_declares_nothing_gives_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
