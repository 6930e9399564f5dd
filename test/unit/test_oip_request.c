/* Covers: src/protocol/oip_request.c */
#include "base/units.h"
#include "protocol/oip_request.h"

#include "base/error.h"
#include "oip_fixture.h"

static struct weft_error error;

#define WORDS "{\"name\":\"words\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"hi\"]}"
#define IMAGE "{\"name\":\"image\",\"shape\":[1,2],\"datatype\":\"UINT8\",\"data\":[[7,8]]}"

/* Read @json with @rest behind it. */
static enum weft_status read_request(
    const struct workflow *workflow, const char *json, const char *rest, uint64_t rest_bytes,
    struct oip_request *request_out)
{
    const struct oip_bounds bounds = {.binary_bytes_max = rest_bytes};
    error.message[0] = '\0';
    enum weft_status status =
        oip_request_read(json, strlen(json), workflow, &bounds, request_out, &error);
    if (status == WEFT_OK) {
        status = oip_request_fill(request_out, (const uint8_t *)rest, rest_bytes, &error);
        if (status != WEFT_OK) {
            oip_request_deinit(request_out);
        }
    }
    return status;
}

static void a_request_becomes_a_bundle(ATTR_UNUSED void **state)
{
    struct workflow *workflow = oip_workflow();
    struct oip_request request;
    const enum weft_status status = read_request(
        workflow,
        "{\"id\":\"42\",\"parameters\":{\"timeout\":1500,\"priority\":3,\"items\":2},"
        "\"inputs\":[" IMAGE "," WORDS "],\"outputs\":[{\"name\":\"text\"}]}",
        "", 0, &request);
    assert_int_equal(status, WEFT_OK);
    assert_string_equal(request.id, "42");
    assert_int_equal(request.timeout_ns, 1500000);
    assert_int_equal(request.priority, 3);
    assert_int_equal(request.bundle->items, 2);
    assert_int_equal(request.output_count, 1);
    assert_int_equal(request.outputs[0].result, 1);
    assert_false(request.outputs[0].is_binary);
    assert_memory_equal(bundle_find(request.bundle, "image")->data, "\7\10", 2);
    assert_memory_equal(bundle_find(request.bundle, "words")->data, "\2\0\0\0hi", 6);
    oip_request_deinit(&request);
    workflow_destroy(workflow);
}

static void bytes_behind_the_json_go_to_their_tensors(ATTR_UNUSED void **state)
{
    static const char json[] =
        "{\"parameters\":{\"binary_data_output\":true},\"inputs\":["
        "{\"name\":\"words\",\"shape\":[2],\"datatype\":\"BYTES\","
        "\"parameters\":{\"binary_data_size\":11}},"
        "{\"name\":\"image\",\"shape\":[1,2],\"datatype\":\"UINT8\","
        "\"parameters\":{\"binary_data_size\":2}}],"
        "\"outputs\":[{\"name\":\"mask\",\"parameters\":{\"binary_data\":false}},"
        "{\"name\":\"text\"}]}";
    struct workflow *workflow = oip_workflow();
    struct oip_request request;
    assert_int_equal(
        read_request(workflow, json, "\3\0\0\0abc\0\0\0\0\5\6", 13, &request), WEFT_OK);
    assert_int_equal(request.binary_count, 2);
    assert_memory_equal(bundle_find(request.bundle, "image")->data, "\5\6", 2);
    assert_int_equal(bundle_find(request.bundle, "words")->bytes, 11);
    assert_false(request.outputs[0].is_binary);
    assert_true(request.outputs[1].is_binary);
    oip_request_deinit(&request);

    assert_int_equal(
        read_request(workflow, json, "\3\0\0\0abc\0\0\0\0\5", 12, &request), WEFT_INVALID);
    assert_non_null(strstr(error.message, "more than the body has"));
    assert_int_equal(
        read_request(workflow, json, "\3\0\0\0abc\0\0\0\0\5\6!", 14, &request), WEFT_INVALID);
    assert_non_null(strstr(error.message, "14 bytes follow the JSON, its inputs name 13"));
    assert_int_equal(
        read_request(workflow, json, "\4\0\0\0abc\0\0\0\0\5\6", 13, &request), WEFT_INVALID);
    assert_non_null(strstr(error.message, "lengths of its texts"));
    workflow_destroy(workflow);
}

static const struct {
    const char *json;
    const char *cause;
} wrong_requests[] = {
    {"", "not JSON"},
    {"[]", "not a JSON object"},
    {"{\"inputs\":5}", "'inputs' is not an array"},
    {"{\"id\":5}", "'id' is not a string"},
    {"{\"a\":1,\"a\":2}", "duplicate"},
    {"{\"inputs\":[]}", "input 'image' of 'ocr' is missing"},
    {"{\"inputs\":[" IMAGE "]}", "input 'words' of 'ocr' is missing"},
    {"{\"inputs\":[" IMAGE "," IMAGE "," WORDS "]}", "'image' is given twice"},
    {"{\"inputs\":[{}]}", "input 0 has no name"},
    {"{\"inputs\":[{\"name\":\"image\"}]}", "'' is not a datatype"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"INT4\"}]}", "'INT4' is not a datatype"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\"}]}", "has no shape"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[-1,2]}]}",
     "dimension 0 of its shape is not a whole number >= 0"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[1,1,1,1,1,1,1,1,1]}]}",
     "at most 8 dimensions"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"INT8\",\"shape\":[1,2]}]}",
     "input 'image' is UINT8, not INT8"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[1,3]}]}",
     "has shape [-1,2], not [1,3]"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[2]}]}",
     "has shape [-1,2], not [2]"},
    {"{\"inputs\":[{\"name\":\"foto\",\"datatype\":\"UINT8\",\"shape\":[1,2]}]}",
     "'ocr' has no input 'foto'; it has image, words"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[1,2]}]}",
     "has no array 'data'"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[1,2],\"data\":null}]}",
     "has no array 'data'"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[1,2],\"data\":3}]}",
     "has no array 'data'"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[1,2],\"data\":[1,300]}"
     "]}",
     "element 1 of its data is out of range (UINT8)"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[4611686018427387904,2]"
     ","
     "\"data\":[1]}]}",
     "fewer elements than its shape"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[1000000,2],"
     "\"data\":[1]}]}",
     "fewer elements than its shape [1000000,2]"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[1,2],\"data\":[1,2],"
     "\"parameters\":{\"binary_data_size\":2}}]}",
     "both 'data' and 'binary_data_size'"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[1,2],"
     "\"parameters\":{\"binary_data_size\":-2}}]}",
     "more than the body"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[1,2],"
     "\"parameters\":{\"shared_memory_region\":\"r\"}}]}",
     "shared memory is not supported"},
    {"{\"outputs\":[{\"name\":\"sound\"}]}", "'ocr' has no output 'sound'"},
    {"{\"outputs\":[{\"name\":\"text\"},{\"name\":\"mask\"},{\"name\":\"text\"}]}",
     "output 'text' is asked for twice"},
    {"{\"outputs\":[{}]}", "has no name"},
    {"{\"outputs\":{}}", "'outputs' is not an array"},
    {"{\"outputs\":[{\"name\":\"text\",\"parameters\":{\"classification\":3}}]}",
     "neither classification"},
    {"{\"parameters\":{\"timeout\":1125899906843}}",
     "'timeout' is not a whole number from 0 to 1125899906842"},
    {"{\"parameters\":{\"timeout\":4700000000000000}}", "'timeout' is not a whole number"},
    {"{\"parameters\":{\"timeout\":9223372036854775}}", "'timeout' is not a whole number"},
    {"{\"parameters\":{\"timeout\":-1}}", "'timeout' is not a whole number"},
    {"{\"parameters\":{\"timeout\":1.5}}", "'timeout' is not a whole number"},
    {"{\"parameters\":{\"timeout\":123456789012345678901234567890}}",
     "'timeout' is not a whole number"},
    {"{\"parameters\":{\"priority\":4294967296}}", "'priority' is not a whole number"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[1e30,2],"
     "\"data\":[1]}]}",
     "fewer elements than its shape"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\",\"shape\":[1.5,2]}]}",
     "dimension 0 of its shape is not a whole number >= 0"},
    {"{\"parameters\":{\"priority\":\"high\"}}", "'priority' is not a whole number"},
};

static void what_is_wrong_is_said_exactly(ATTR_UNUSED void **state)
{
    struct workflow *workflow = oip_workflow();
    for (size_t i = 0; i < sizeof(wrong_requests) / sizeof(wrong_requests[0]); i++) {
        struct oip_request request;
        const enum weft_status status =
            read_request(workflow, wrong_requests[i].json, "", 0, &request);
        if (status != WEFT_INVALID || strstr(error.message, wrong_requests[i].cause) == NULL) {
            fail_msg("case %zu: %d, %s", i, status, error.message);
        }
    }
    workflow_destroy(workflow);
}

static void sizes_of_binary_tensors_are_checked(ATTR_UNUSED void **state)
{
    struct workflow *workflow = oip_workflow();
    struct oip_request request;
    const enum weft_status status = read_request(
        workflow,
        "{\"inputs\":[{\"name\":\"image\",\"shape\":[2,2],\"datatype\":\"UINT8\","
        "\"parameters\":{\"binary_data_size\":3}}]}",
        "abc", 3, &request);
    assert_int_equal(status, WEFT_INVALID);
    assert_string_equal(
        error.message, "input 'image': binary_data_size is 3, its type and shape take 4");
    workflow_destroy(workflow);
}

static void a_workflow_without_inputs_takes_any(ATTR_UNUSED void **state)
{
    struct workflow *workflow = workflow_create("plain");
    const struct workflow_task task = {.name = "t"};
    uint32_t index;
    struct oip_request request;
    assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    const enum weft_status status = read_request(
        workflow,
        "{\"inputs\":[{\"name\":\"b\",\"shape\":[],\"datatype\":\"BOOL\","
        "\"parameters\":{\"binary_data_size\":1}}]}",
        "\1", 1, &request);
    assert_int_equal(status, WEFT_OK);
    assert_int_equal(request.bundle->count, 1);
    assert_int_equal(request.output_count, 0);
    oip_request_deinit(&request);
    assert_int_equal(
        read_request(
            workflow,
            "{\"inputs\":[{\"name\":\"b\",\"shape\":[],\"datatype\":\"BOOL\","
            "\"parameters\":{\"binary_data_size\":1}}]}",
            "\2", 1, &request),
        WEFT_INVALID);
    assert_non_null(strstr(error.message, "element 0 is neither 0 nor 1"));
    workflow_destroy(workflow);
}

/* What is not asked for may be larger than any integer; what is, not. */
static void large_numbers_matter_only_where_they_are_used(ATTR_UNUSED void **state)
{
    struct workflow *workflow = oip_workflow();
    struct oip_request request;
    assert_int_equal(
        read_request(
            workflow,
            "{\"parameters\":{\"huge\":123456789012345678901234567890,\"low\":-9e99,"
            "\"timeout\":7.0,\"priority\":4294967295},\"inputs\":[" IMAGE "," WORDS "]}",
            "", 0, &request),
        WEFT_OK);
    assert_int_equal(request.timeout_ns, 7000);
    assert_int_equal(request.priority, UINT32_MAX);
    oip_request_deinit(&request);
    workflow_destroy(workflow);
}

/* A number that would be infinite is refused wherever it stands, used or not. */
static void infinite_numbers_are_refused(ATTR_UNUSED void **state)
{
    static const char *const texts[] = {
        "{\"parameters\":{\"unused\":1e999},\"inputs\":[" IMAGE "," WORDS "]}",
        "{\"parameters\":{\"a\":[{\"b\":-1e999}]},\"inputs\":[" IMAGE "," WORDS "]}",
        "{\"inputs\":[" IMAGE "," WORDS "],\"unknown\":0.1e400}",
    };
    struct workflow *workflow = oip_workflow();
    for (uint32_t i = 0; i < ARRAY_COUNT(texts); i++) {
        struct oip_request request;
        assert_int_equal(read_request(workflow, texts[i], "", 0, &request), WEFT_INVALID);
        assert_non_null(strstr(error.message, "a number in the request is too large"));
    }
    workflow_destroy(workflow);
}

static enum weft_status hold_some(void *context, uint64_t bytes, struct weft_error *why)
{
    uint64_t *left = context;
    if (bytes > *left) {
        return error_set(why, WEFT_BUSY, "no more than %u", (unsigned)*left);
    }
    *left -= bytes;
    return WEFT_OK;
}

static void leave_is_asked_before_tensors_are_made(ATTR_UNUSED void **state)
{
    static const char json[] = "{\"inputs\":[" IMAGE "," WORDS "]}";
    struct workflow *workflow = oip_workflow();
    for (uint64_t room = 0; room <= 8; room++) {
        uint64_t left = room;
        struct oip_request request;
        const struct oip_bounds bounds = {.hold = hold_some, .context = &left};
        const enum weft_status status =
            oip_request_read(json, sizeof(json) - 1, workflow, &bounds, &request, &error);
        assert_int_equal(status, room < 8 ? WEFT_BUSY : WEFT_OK); /* Two bytes, and six. */
        if (status == WEFT_OK) {
            assert_int_equal(left, 0);
            oip_request_deinit(&request);
        }
    }
    workflow_destroy(workflow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_becomes_a_bundle),
        cmocka_unit_test(bytes_behind_the_json_go_to_their_tensors),
        cmocka_unit_test(what_is_wrong_is_said_exactly),
        cmocka_unit_test(sizes_of_binary_tensors_are_checked),
        cmocka_unit_test(a_workflow_without_inputs_takes_any),
        cmocka_unit_test(large_numbers_matter_only_where_they_are_used),
        cmocka_unit_test(infinite_numbers_are_refused),
        cmocka_unit_test(leave_is_asked_before_tensors_are_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
