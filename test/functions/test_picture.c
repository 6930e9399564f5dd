/* Pictures: each function of functions/picture.c against answers known beforehand. */
#include "functions/fake_call.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

static struct fake *fake;

static int open_picture(ATTR_UNUSED void **state)
{
    fake = fake_open("picture");
    return 0;
}

static int close_picture(ATTR_UNUSED void **state)
{
    fake_close(fake);
    return 0;
}

static void input_pixels(int64_t width, int64_t height, uint8_t red)
{
    uint8_t *pixels = calloc((size_t)(width * height), 3);
    const int64_t shape[] = {height, width, 3};
    assert_non_null(pixels);
    for (int64_t i = 0; i < width * height; i++) {
        pixels[3 * i] = red;
    }
    fake_input(fake, "pixels", WEFT_UINT8, 3, shape, pixels);
    free(pixels);
}

static void every_model_gets_its_own_form(ATTR_UNUSED void **state)
{
    input_pixels(700, 500, 255);
    assert_int_equal(fake_call(fake, "prepare"), WEFT_OK);
    const struct weft_tensor *orientation = fake_output(fake, "orientation");
    const struct weft_tensor *layout = fake_output(fake, "layout");
    const struct weft_tensor *safety = fake_output(fake, "safety");
    const struct weft_tensor *words = fake_output(fake, "words");
    assert_int_equal(orientation->shape[3], 224);
    assert_int_equal(layout->shape[2], 800);
    assert_int_equal(layout->shape[3], 608);
    assert_int_equal(words->shape[2], 320);
    assert_int_equal(safety->shape[3], 3);
    const float *pixel = safety->data; /* Blue, green, red of a red picture. */
    assert_true(pixel[0] == -104 && pixel[1] == -117 && pixel[2] == 255 - 123);
    const float *planes = layout->data;
    assert_true(fabsf(planes[0] + 0.485F / 0.229F) < 1e-5F);
    assert_true(fabsf(planes[2 * 800 * 608] - (1 - 0.406F) / 0.225F) < 1e-5F);
}

/* The outputs of the layout model with nothing in them. */
struct heads {
    float *scores[4];
    float *boxes[4];
    int64_t cells[4];
};

static void heads_make(struct heads *heads)
{
    static const int64_t cells[] = {7600, 1900, 475, 130};
    for (int i = 0; i < 4; i++) {
        heads->cells[i] = cells[i];
        heads->scores[i] = calloc((size_t)cells[i] * 10, sizeof(float));
        heads->boxes[i] = calloc((size_t)cells[i] * 32, sizeof(float));
        assert_true(heads->scores[i] != NULL && heads->boxes[i] != NULL);
    }
}

/* Something of @kind around the middle of cell @cell of level 1, @distance strides each way. */
static void heads_put(
    struct heads *heads, int64_t cell, uint32_t kind, float score, uint32_t distance)
{
    heads->scores[1][cell * 10 + kind] = score;
    for (uint32_t side = 0; side < 4; side++) {
        heads->boxes[1][cell * 32 + side * 8 + distance] = 50; /* All but certain. */
    }
}

static void heads_input(const struct heads *heads)
{
    for (int i = 0; i < 4; i++) {
        char name[32];
        const int64_t scores[] = {1, heads->cells[i], 10};
        const int64_t boxes[] = {1, heads->cells[i], 32};
        (void)snprintf(name, sizeof(name), "scores%d", i);
        fake_input(fake, name, WEFT_FP32, 3, scores, heads->scores[i]);
        (void)snprintf(name, sizeof(name), "boxes%d", i);
        fake_input(fake, name, WEFT_FP32, 3, boxes, heads->boxes[i]);
    }
}

static void heads_release(struct heads *heads)
{
    for (int i = 0; i < 4; i++) {
        free(heads->scores[i]);
        free(heads->boxes[i]);
    }
}

static void input_others(void)
{
    const float orientation[] = {0.1F, 0.1F, 0.7F, 0.1F};
    const float safety[] = {0.75F, 0.25F};
    const float words[] = {0.9F, 0.1F, 0.1F, 0.1F};
    const int64_t four[] = {1, 4};
    const int64_t two[] = {1, 2};
    const int64_t map[] = {1, 1, 2, 2};
    fake_input(fake, "orientation", WEFT_FP32, 2, four, orientation);
    fake_input(fake, "safety", WEFT_FP32, 2, two, safety);
    fake_input(fake, "words", WEFT_FP32, 4, map, words);
}

static void answers_are_joined(ATTR_UNUSED void **state)
{
    struct heads heads;
    heads_make(&heads);
    /* 38 columns of 16 pixels. The same title twice, a text there too, and one too faint. */
    heads_put(&heads, 10 * 38 + 12, 1, 0.6F, 4);
    heads_put(&heads, 10 * 38 + 13, 1, 0.9F, 4);
    heads_put(&heads, 10 * 38 + 13, 0, 0.5F, 4);
    heads_put(&heads, 40 * 38 + 20, 4, 0.3F, 3);
    input_pixels(304, 400, 9); /* Half of what the model sees. */
    heads_input(&heads);
    input_others();
    assert_int_equal(fake_call(fake, "describe"), WEFT_OK);
    assert_int_equal(*(const int32_t *)fake_output(fake, "degrees")->data, 180);
    assert_true(*(const float *)fake_output(fake, "unsafe")->data == 0.25F);
    assert_true(*(const float *)fake_output(fake, "words")->data == 0.25F);
    const struct weft_tensor *parts = fake_output(fake, "parts");
    assert_int_equal(parts->shape[0], 2);
    const float *part = parts->data;
    assert_true(fabsf(part[0] - (13.5F - 4) * 16 / 2) < 0.01F);
    assert_true(fabsf(part[1] - (10.5F - 4) * 16 / 2) < 0.01F);
    assert_true(fabsf(part[2] - (13.5F + 4) * 16 / 2) < 0.01F);
    assert_true(part[4] == 0.9F && part[9] == 0.5F);
    assert_string_equal(fake_text(fake, "labels", 0), "title");
    assert_string_equal(fake_text(fake, "labels", 1), "text");
    assert_string_equal(
        fake_text(fake, "summary", 0),
        "304 x 400 pixels, turned by 180 degrees, 25 % text in 2 parts, 25 % unsafe");
    heads_release(&heads);
}

static void outputs_of_another_model_are_refused(ATTR_UNUSED void **state)
{
    struct heads heads;
    heads_make(&heads);
    heads.cells[2] = 100;
    input_pixels(304, 400, 9);
    heads_input(&heads);
    input_others();
    assert_int_equal(fake_call(fake, "describe"), WEFT_INVALID);
    heads_release(&heads);
    input_pixels(304, 400, 9);
    assert_int_equal(fake_call(fake, "describe"), WEFT_INVALID);
    assert_int_equal(fake_call(fake, "prepare"), WEFT_INVALID);
}

#define IN_PICTURE(test) cmocka_unit_test_setup_teardown(test, open_picture, close_picture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PICTURE(every_model_gets_its_own_form),
        IN_PICTURE(answers_are_joined),
        IN_PICTURE(outputs_of_another_model_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
