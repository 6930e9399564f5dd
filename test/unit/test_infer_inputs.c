#include "client/infer_inputs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

/* What becomes of @value, "x=1,2" or NULL, for an input x of @dtype and @shape. */
static enum weft_status make(
    const char *value, const char *dtype, const char *shape, struct weft_error *error)
{
    char metadata[512];
    char item[512];
    char *items[] = {item};
    struct infer_body body = {.bytes = NULL};
    (void)snprintf(item, sizeof(item), "%s", value == NULL ? "" : value);
    (void)snprintf(
        metadata, sizeof(metadata),
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"%s\",\"shape\":%s}]}", dtype, shape);
    const struct http_reply described = {.body = metadata, .body_bytes = strlen(metadata)};
    const struct infer_values values = {
        .items = items, .count = value == NULL ? 0 : 1, .fills = true};
    const struct infer_outputs outputs = {.is_binary = true};
    error->message[0] = '\0';
    const enum weft_status status = infer_body_make(&described, &values, &outputs, &body, error);
    free(body.bytes);
    return status;
}

static void fails(
    const char *value, const char *dtype, const char *shape, enum weft_status status,
    const char *cause)
{
    struct weft_error error;
    assert_int_equal(make(value, dtype, shape, &error), status);
    if (strstr(error.message, cause) == NULL) {
        fail_msg("'%s' is not in '%s'", cause, error.message);
    }
}

static void values_take_the_declared_shape(ATTR_UNUSED void **state)
{
    struct weft_error error;
    assert_int_equal(make("x=1,2,3,4", "FP32", "[-1,2]", &error), WEFT_OK);
    assert_int_equal(make("x=1", "INT64", "[]", &error), WEFT_OK);
    assert_int_equal(make("x=", "INT64", "[0]", &error), WEFT_OK);
    assert_int_equal(make("x=hello", "BYTES", "[1]", &error), WEFT_OK);
    assert_int_equal(make(NULL, "FP16", "[-1,1000]", &error), WEFT_OK);
    fails("x=1,2,3", "FP32", "[-1,2]", WEFT_INVALID, "3 elements do not fit its shape [-1,2]");
}

/* The product of the first is 101, that of the second 0, if it is not looked at closely. */
static void extents_whose_product_is_no_number_are_refused(ATTR_UNUSED void **state)
{
    char value[2 + 101 * 2] = "x=";
    for (size_t i = 2; i + 1 < sizeof(value); i++) {
        value[i] = (char)(i % 2 == 0 ? '1' : ',');
    }
    value[sizeof(value) - 1] = '\0';
    fails(value, "FP64", "[7,5270498306774157619]", WEFT_INVALID, "101 elements do not fit");
    fails("x=", "FP32", "[4294967296,4294967296]", WEFT_INVALID, "0 elements do not fit");
    fails("x=", "FP32", "[4294967296,4294967296,-1]", WEFT_INVALID, "0 elements do not fit");
    fails("x=hello", "BYTES", "[4294967296,4294967296]", WEFT_INVALID, "do not fit");
}

static void too_much_is_not_made_up(ATTR_UNUSED void **state)
{
    fails(NULL, "FP32", "[4294967296,4294967296]", WEFT_LIMIT, "too large to make up");
    fails(NULL, "UINT8", "[1073741825]", WEFT_LIMIT, "too large to make up");
    fails(NULL, "FP64", "[2305843009213693952]", WEFT_LIMIT, "too large to make up");
}

static void what_does_not_exist_is_not_guessed(ATTR_UNUSED void **state)
{
    const char *cause = "declares a type or a shape that does not exist";
    fails("x=1", "FP33", "[1]", WEFT_INVALID, cause);
    fails("x=1", "FP32", "[-2]", WEFT_INVALID, cause);
    fails("x=1", "FP32", "[1.5]", WEFT_INVALID, cause);
    fails("x=1", "FP32", "\"[1]\"", WEFT_INVALID, cause);
    fails("x=1", "FP32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", WEFT_INVALID, cause);
    fails(NULL, "FP32", "null", WEFT_INVALID, cause);
    fails("x=1", "FP32", "[", WEFT_IO, "the server did not describe the workflow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_take_the_declared_shape),
        cmocka_unit_test(extents_whose_product_is_no_number_are_refused),
        cmocka_unit_test(too_much_is_not_made_up),
        cmocka_unit_test(what_does_not_exist_is_not_guessed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
