/* Reading a page: each function of functions/document.c against answers known beforehand. */
#include "functions/fake_call.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spng.h>
#include <turbojpeg.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/attributes.h"

enum { WIDTH = 200, HEIGHT = 120 };

static struct fake *fake;

static int open_document(ATTR_UNUSED void **state)
{
    fake = fake_open("document");
    return 0;
}

static int close_document(ATTR_UNUSED void **state)
{
    fake_close(fake);
    return 0;
}

/* A picture whose colours say where a pixel is. */
static void paint(uint8_t *pixels)
{
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            *pixels++ = (uint8_t)x;
            *pixels++ = (uint8_t)(2 * y);
            *pixels++ = 77;
        }
    }
}

static void input_file(const void *bytes, size_t length)
{
    const int64_t shape[] = {(int64_t)length};
    fake_input(fake, "file", WEFT_UINT8, 1, shape, bytes);
}

static void *png_of(const uint8_t *pixels, size_t *length_out)
{
    int error = 0;
    spng_ctx *encoder = spng_ctx_new(SPNG_CTX_ENCODER);
    struct spng_ihdr header = {
        .width = WIDTH, .height = HEIGHT, .bit_depth = 8, .color_type = SPNG_COLOR_TYPE_TRUECOLOR};
    assert_int_equal(spng_set_option(encoder, SPNG_ENCODE_TO_BUFFER, 1), 0);
    assert_int_equal(spng_set_ihdr(encoder, &header), 0);
    assert_int_equal(
        spng_encode_image(
            encoder, pixels, (size_t)WIDTH * HEIGHT * 3, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE),
        0);
    void *file = spng_get_png_buffer(encoder, length_out, &error);
    assert_int_equal(error, 0);
    spng_ctx_free(encoder);
    return file;
}

static void a_png_is_decoded_exactly(ATTR_UNUSED void **state)
{
    uint8_t pixels[WIDTH * HEIGHT * 3];
    size_t length = 0;
    paint(pixels);
    void *file = png_of(pixels, &length);
    input_file(file, length);
    assert_int_equal(fake_call(fake, "decode"), WEFT_OK);
    const struct weft_tensor *out = fake_output(fake, "pixels");
    assert_int_equal(out->shape[0], HEIGHT);
    assert_int_equal(out->shape[1], WIDTH);
    assert_memory_equal(out->data, pixels, sizeof(pixels));

    input_file(file, length / 2);
    assert_int_equal(fake_call(fake, "decode"), WEFT_INVALID);
    assert_string_equal(fake_message(fake), "the PNG file is broken");
    free(file);
}

static void a_jpeg_is_decoded_closely(ATTR_UNUSED void **state)
{
    uint8_t pixels[WIDTH * HEIGHT * 3];
    unsigned char *file = NULL;
    unsigned long length = 0;
    paint(pixels);
    tjhandle encoder = tjInitCompress();
    assert_int_equal(
        tjCompress2(encoder, pixels, WIDTH, 0, HEIGHT, TJPF_RGB, &file, &length, TJSAMP_444, 98, 0),
        0);
    input_file(file, length);
    assert_int_equal(fake_call(fake, "decode"), WEFT_OK);
    const uint8_t *out = fake_output(fake, "pixels")->data;
    for (size_t i = 0; i < sizeof(pixels); i++) {
        assert_true(abs(out[i] - pixels[i]) <= 4);
    }
    input_file(file, 20);
    assert_int_equal(fake_call(fake, "decode"), WEFT_INVALID);
    tjFree(file);
    (void)tjDestroy(encoder);
}

/* A JPEG file of @pixels that says how it is to be shown, its numbers in one of two orders. */
static unsigned char *photograph_of(
    const uint8_t *pixels, uint8_t orientation, bool is_large_first, unsigned long *length_out)
{
    static const uint8_t small[] = {0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0, 0, 'I', 'I',
                                    42,   0,    8, 0,  0,   0,   1,   0,   0, 0, 0,   0,
                                    0,    0,    0, 0,  0,   0,   0,   0,   0, 0, 0,   0};
    static const uint8_t entry[] = {0x12, 0x01, 3, 0, 1, 0, 0, 0};
    static const uint8_t large_head[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1};
    static const uint8_t large_entry[] = {0x01, 0x12, 0, 3, 0, 0, 0, 1};
    unsigned char *plain = NULL;
    unsigned long length = 0;
    tjhandle encoder = tjInitCompress();
    assert_int_equal(
        tjCompress2(
            encoder, pixels, WIDTH, 0, HEIGHT, TJPF_RGB, &plain, &length, TJSAMP_444, 98, 0),
        0);
    (void)tjDestroy(encoder);
    unsigned char *file = calloc(length + sizeof(small), 1);
    assert_non_null(file);
    memcpy(file, plain, 2);
    memcpy(file + 2, small, sizeof(small));
    memcpy(file + 2 + 20, entry, sizeof(entry));
    file[2 + 28] = orientation;
    if (is_large_first) {
        memcpy(file + 2 + 10, large_head, sizeof(large_head));
        memcpy(file + 2 + 20, large_entry, sizeof(large_entry));
        file[2 + 28] = 0;
        file[2 + 29] = orientation;
    }
    memcpy(file + 2 + sizeof(small), plain + 2, length - 2);
    tjFree(plain);
    *length_out = length + sizeof(small);
    return file;
}

static void photographs_are_shown_the_right_way_up(ATTR_UNUSED void **state)
{
    /* Where the first pixel of the file, and the last of its first row, are to be seen. */
    static const struct {
        bool is_turned;
        int first_x, first_y, last_x, last_y;
    } shown[] = {
        {false, 0, 0, WIDTH - 1, 0},
        {false, WIDTH - 1, 0, 0, 0},
        {false, WIDTH - 1, HEIGHT - 1, 0, HEIGHT - 1},
        {false, 0, HEIGHT - 1, WIDTH - 1, HEIGHT - 1},
        {true, 0, 0, 0, WIDTH - 1},
        {true, HEIGHT - 1, 0, HEIGHT - 1, WIDTH - 1},
        {true, HEIGHT - 1, WIDTH - 1, HEIGHT - 1, 0},
        {true, 0, WIDTH - 1, 0, 0},
    };
    uint8_t pixels[WIDTH * HEIGHT * 3];
    paint(pixels); /* Red grows to the right, green downwards. */
    for (uint8_t i = 0; i < 16; i++) {
        unsigned long length = 0;
        unsigned char *file = photograph_of(pixels, i % 8 + 1, i >= 8, &length);
        input_file(file, length);
        free(file);
        assert_int_equal(fake_call(fake, "decode"), WEFT_OK);
        const struct weft_tensor *out = fake_output(fake, "pixels");
        const int64_t width = shown[i % 8].is_turned ? HEIGHT : WIDTH;
        assert_int_equal(out->shape[1], width);
        assert_int_equal(out->shape[0], shown[i % 8].is_turned ? WIDTH : HEIGHT);
        const uint8_t *colours = out->data;
        const uint8_t *first = colours + (shown[i % 8].first_y * width + shown[i % 8].first_x) * 3;
        const uint8_t *last = colours + (shown[i % 8].last_y * width + shown[i % 8].last_x) * 3;
        assert_true(first[0] < 8 && first[1] < 8);
        assert_true(last[0] > WIDTH - 8 && last[1] < 8);
    }
}

static void strange_orientations_are_none(ATTR_UNUSED void **state)
{
    uint8_t pixels[WIDTH * HEIGHT * 3];
    unsigned long length = 0;
    paint(pixels);
    for (uint8_t i = 0; i < 36; i++) { /* Broken in every byte of the segment, one by one. */
        unsigned char *file = photograph_of(pixels, 9, /* is_large_first */ false, &length);
        file[2 + i] ^= i < 4 ? 0 : 0xff;
        input_file(file, length);
        free(file);
        assert_int_equal(fake_call(fake, "decode"), WEFT_OK);
        assert_int_equal(fake_output(fake, "pixels")->shape[1], WIDTH);
    }
}

static void colours_for_print_are_refused(ATTR_UNUSED void **state)
{
    uint8_t pixels[WIDTH * HEIGHT * 4] = {0};
    unsigned char *file = NULL;
    unsigned long length = 0;
    tjhandle encoder = tjInitCompress();
    assert_int_equal(
        tjCompress2(
            encoder, pixels, WIDTH, 0, HEIGHT, TJPF_CMYK, &file, &length, TJSAMP_444, 90, 0),
        0);
    input_file(file, length);
    assert_int_equal(fake_call(fake, "decode"), WEFT_INVALID);
    assert_string_equal(fake_message(fake), "the JPEG file has colours for print (CMYK), not RGB");
    tjFree(file);
    (void)tjDestroy(encoder);
}

static void other_files_are_refused(ATTR_UNUSED void **state)
{
    input_file("GIF89a", 6);
    assert_int_equal(fake_call(fake, "decode"), WEFT_INVALID);
    assert_string_equal(fake_message(fake), "the picture is neither JPEG nor PNG");
    assert_int_equal(fake_call(fake, "decode"), WEFT_INVALID);
    /* 100,000 x 100,000 pixels, said by the header alone. */
    static const uint8_t huge[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0,   0,   0,
                                   13,   'I', 'H', 'D', 'R',  0,    1,    134,  160, 0,   1,
                                   134,  160, 8,   2,   0,    0,    0,    123,  123, 123, 123};
    input_file(huge, sizeof(huge));
    assert_int_equal(fake_call(fake, "decode"), WEFT_INVALID);
}

static void input_pixels(const uint8_t *pixels, int64_t width, int64_t height)
{
    const int64_t shape[] = {height, width, 3};
    fake_input(fake, "pixels", WEFT_UINT8, 3, shape, pixels);
}

static void sides_become_multiples_of_32(ATTR_UNUSED void **state)
{
    uint8_t *pixels = calloc(2000 * 100, 3);
    assert_non_null(pixels);
    input_pixels(pixels, 2000, 100);
    assert_int_equal(fake_call(fake, "resize"), WEFT_OK);
    const struct weft_tensor *x = fake_output(fake, "x");
    assert_int_equal(x->rank, 4);
    assert_int_equal(x->shape[2], 64); /* 48, to the nearest. */
    assert_int_equal(x->shape[3], 960);
    const float *values = x->data; /* Blue, green and red of a black page. */
    assert_true(fabsf(values[0] + 0.485F / 0.229F) < 1e-5F);
    assert_true(fabsf(values[64 * 960] + 0.456F / 0.224F) < 1e-5F);
    assert_true(fabsf(values[2 * 64 * 960] + 0.406F / 0.225F) < 1e-5F);
    free(pixels);
}

static void resizing_is_linear(ATTR_UNUSED void **state)
{
    uint8_t pixels[WIDTH * HEIGHT * 3];
    paint(pixels);
    input_pixels(pixels, WIDTH, HEIGHT); /* To 192 x 128: the wider side shrinks. */
    assert_int_equal(fake_call(fake, "resize"), WEFT_OK);
    const struct weft_tensor *x = fake_output(fake, "x");
    assert_int_equal(x->shape[2], 128);
    assert_int_equal(x->shape[3], 192);
    const float *red = (const float *)x->data + (ptrdiff_t)2 * 128 * 192;
    for (int column = 1; column < 191; column++) {
        const float there = ((float)column + 0.5F) * WIDTH / 192 - 0.5F;
        const float expected = (there / 255 - 0.406F) / 0.225F;
        assert_true(fabsf(red[50 * 192 + column] - expected) < 1e-3F);
    }
}

/* A page with a dark bar from (40, 30) to (160, 54), and the detector's map of it. */
static void input_page(float angle)
{
    uint8_t pixels[WIDTH * HEIGHT * 3];
    float map[WIDTH * HEIGHT];
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            const float dx = (float)x + 0.5F - 100;
            const float dy = (float)y + 0.5F - 60;
            const float u = dx * cosf(angle) + dy * sinf(angle);
            const float v = dy * cosf(angle) - dx * sinf(angle);
            const bool is_dark = fabsf(u) < 60 && fabsf(v) < 12;
            const bool is_left = is_dark && u < 0;
            const size_t at = (size_t)(y * WIDTH + x);
            pixels[3 * at] = is_left ? 200 : is_dark ? 10 : 255;
            pixels[3 * at + 1] = is_dark ? 10 : 255;
            pixels[3 * at + 2] = is_dark ? 10 : 255;
            map[at] = fabsf(u) < 52 && fabsf(v) < 5 ? 0.9F : 0.01F;
        }
    }
    const int64_t shape[] = {1, 1, HEIGHT, WIDTH};
    input_pixels(pixels, WIDTH, HEIGHT);
    fake_input(fake, "map", WEFT_FP32, 4, shape, map);
}

static void a_line_is_cut_as_it_lies(float angle)
{
    input_page(angle);
    assert_int_equal(fake_call(fake, "crop"), WEFT_OK);
    assert_int_equal(fake_items(fake), 1);
    const struct weft_tensor *lines = fake_output(fake, "lines");
    assert_int_equal(lines->shape[0], 1);
    assert_int_equal(lines->shape[2], 48);
    assert_int_equal(lines->shape[3], 320);
    const float *box = fake_output(fake, "boxes")->data;
    const float width = hypotf(box[2] - box[0], box[3] - box[1]);
    const float height = hypotf(box[6] - box[0], box[7] - box[1]);
    /* 104 x 10 grown by area * 1.6 / perimeter on every side. */
    assert_true(fabsf(width - 118.6F) < 4);
    assert_true(fabsf(height - 24.6F) < 4);
    assert_true(fabsf((box[0] + box[4]) / 2 - 100) < 1.5F);
    assert_true(fabsf((box[1] + box[5]) / 2 - 60) < 1.5F);
    assert_true(fabsf(atan2f(box[3] - box[1], box[2] - box[0]) - angle) < 0.05F);
    /* Blue first, red last: the left half of the bar is red. */
    const int used = (int)ceilf(width * 48 / height);
    const float *red = (const float *)lines->data + (ptrdiff_t)2 * 48 * 320;
    assert_true(red[24 * 320 + used / 4] > 0.4F);
    assert_true(red[24 * 320 + 3 * used / 4] < -0.8F);
    assert_true(red[24 * 320 + 319] == 0); /* Beyond the line there is nothing. */
}

static void a_level_line_is_cut(ATTR_UNUSED void **state)
{
    a_line_is_cut_as_it_lies(0);
}

static void a_sloping_line_is_cut_straight(ATTR_UNUSED void **state)
{
    a_line_is_cut_as_it_lies(0.3F);
    a_line_is_cut_as_it_lies(-0.2F);
}

static void an_empty_page_is_one_empty_line(ATTR_UNUSED void **state)
{
    uint8_t pixels[64 * 32 * 3] = {0};
    const float map[64 * 32] = {0};
    const int64_t shape[] = {1, 1, 32, 64};
    input_pixels(pixels, 64, 32);
    fake_input(fake, "map", WEFT_FP32, 4, shape, map);
    assert_int_equal(fake_call(fake, "crop"), WEFT_OK);
    assert_int_equal(fake_items(fake), 1);
    const float *box = fake_output(fake, "boxes")->data;
    assert_true(box[2] == 0 && box[9] == 0);
}

static void lines_come_in_the_order_of_reading(ATTR_UNUSED void **state)
{
    static const int places[][2] = {{120, 12}, {10, 70}, {10, 10}, {110, 72}}; /* x, y */
    uint8_t pixels[WIDTH * HEIGHT * 3];
    float map[WIDTH * HEIGHT] = {0};
    paint(pixels);
    for (size_t i = 0; i < 4; i++) {
        for (int y = 0; y < 12; y++) {
            for (int x = 0; x < 60; x++) {
                map[(places[i][1] + y) * WIDTH + places[i][0] + x] = 1;
            }
        }
    }
    const int64_t shape[] = {1, 1, HEIGHT, WIDTH};
    input_pixels(pixels, WIDTH, HEIGHT);
    fake_input(fake, "map", WEFT_FP32, 4, shape, map);
    assert_int_equal(fake_call(fake, "crop"), WEFT_OK);
    assert_int_equal(fake_items(fake), 4);
    const float *boxes = fake_output(fake, "boxes")->data;
    assert_true(boxes[0] < 20 && boxes[1] < 20);
    assert_true(boxes[10] > 100 && boxes[11] < 20);
    assert_true(boxes[20] < 20 && boxes[21] > 50);
    assert_true(boxes[30] > 100 && boxes[31] > 50);
    const float rows[] = {boxes[8], boxes[18], boxes[28], boxes[38]};
    assert_true(rows[0] == 0 && rows[1] == 0 && rows[2] == 1 && rows[3] == 1);
}

static void what_stands_on_its_head_is_turned(ATTR_UNUSED void **state)
{
    enum { LINE = 3 * 48 * 320 };
    float *lines = calloc(2 * LINE, sizeof(*lines));
    assert_non_null(lines);
    lines[0] = 1; /* Of both lines the first pixel; each is 96 wide. */
    lines[LINE] = 1;
    const float chances[] = {0.95F, 0.05F, 0.02F, 0.98F};
    const float boxes[20] = {0, 0, 40, 0, 40, 20, 0, 20, 0, 1, 0, 0, 40, 0, 40, 20, 0, 20, 1, 1};
    const int64_t shape[] = {2, 3, 48, 320};
    const int64_t chances_shape[] = {2, 2};
    const int64_t boxes_shape[] = {2, 10};
    fake_input(fake, "lines", WEFT_FP32, 4, shape, lines);
    fake_input(fake, "upside_down", WEFT_FP32, 2, chances_shape, chances);
    fake_input(fake, "boxes", WEFT_FP32, 2, boxes_shape, boxes);
    assert_int_equal(fake_call(fake, "turn"), WEFT_OK);
    const float *out = fake_output(fake, "lines")->data;
    assert_true(out[0] == 1);
    assert_true(out[LINE] == 0);
    assert_true(out[LINE + 47 * 320 + 95] == 1);
    assert_int_equal(fake_items(fake), 2);
    free(lines);
}

/* Write @letters, one a line, to where the function looks for them. */
static void write_letters(char *folder, char path[64], const char *letters)
{
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, 64, "%s/document.letters.txt", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(letters, file);
    (void)fclose(file);
    fake_set_folder(fake, folder);
}

static void letters_are_read_without_repetitions(ATTR_UNUSED void **state)
{
    enum { COLUMNS = 8, CLASSES = 5 }; /* Blank, "a", "b", "\u00e9", space. */
    static const uint32_t best[3][COLUMNS] = {
        {1, 1, 0, 1, 2, 2, 0, 0}, /* aab */
        {0, 3, 4, 4, 2, 0, 0, 0}, /* é b */
        {0, 0, 0, 0, 0, 0, 0, 0},
    };
    char folder[] = "/tmp/weft-letters-XXXXXX";
    char path[64];
    float chances[3 * COLUMNS * CLASSES] = {0};
    float boxes[30] = {0};
    write_letters(folder, path, "a\nb\n\xc3\xa9\n");
    for (uint32_t line = 0; line < 3; line++) {
        for (uint32_t column = 0; column < COLUMNS; column++) {
            chances[(line * COLUMNS + column) * CLASSES + best[line][column]] = 0.8F;
        }
        boxes[line * 10 + 8] = (float)line;
    }
    const int64_t shape[] = {3, COLUMNS, CLASSES};
    const int64_t boxes_shape[] = {3, 10};
    fake_input(fake, "probabilities", WEFT_FP32, 3, shape, chances);
    fake_input(fake, "boxes", WEFT_FP32, 2, boxes_shape, boxes);
    assert_int_equal(fake_call(fake, "text"), WEFT_OK);
    assert_string_equal(fake_text(fake, "lines", 0), "aab");
    assert_string_equal(fake_text(fake, "lines", 1), "\xc3\xa9 b");
    assert_string_equal(fake_text(fake, "lines", 2), "");
    assert_string_equal(fake_text(fake, "text", 0), "aab\n\xc3\xa9 b");
    const float *scores = fake_output(fake, "scores")->data;
    assert_true(fabsf(scores[0] - 0.8F) < 1e-6F);
    assert_true(scores[2] == 0);
    assert_int_equal(fake_items(fake), 1);
    (void)remove(path);
    (void)rmdir(folder);
}

static void long_alphabets_are_searched_to_their_end(ATTR_UNUSED void **state)
{
    enum { COLUMNS = 9, CLASSES = 1000 }; /* The blank, 998 letters, the space. */
    static const uint32_t best[COLUMNS] = {1, 0, 255, 256, 257, 0, 767, 768, 999};
    static float chances[COLUMNS * CLASSES];
    char folder[] = "/tmp/weft-letters-XXXXXX";
    char path[64];
    char letters[4 * CLASSES] = "";
    const float boxes[10] = {0};
    for (uint32_t i = 1; i < CLASSES - 1; i++) { /* Letter i is i, in base 90. */
        const char letter[] = {(char)(33 + i / 90), (char)(33 + i % 90), '\n', '\0'};
        memcpy(letters + 3 * (size_t)(i - 1), letter, sizeof(letter));
    }
    write_letters(folder, path, letters);
    for (uint32_t column = 0; column < COLUMNS; column++) {
        float *own = chances + (size_t)column * CLASSES;
        for (uint32_t i = 0; i < CLASSES; i++) {
            own[i] = i < best[column] ? -1.0F : 0.5F; /* Of equal ones the first counts. */
        }
    }
    const int64_t shape[] = {1, COLUMNS, CLASSES};
    const int64_t boxes_shape[] = {1, 10};
    fake_input(fake, "probabilities", WEFT_FP32, 3, shape, chances);
    fake_input(fake, "boxes", WEFT_FP32, 2, boxes_shape, boxes);
    assert_int_equal(fake_call(fake, "text"), WEFT_OK);
    char expected[32] = "";
    size_t used = 0;
    for (uint32_t column = 0; column < COLUMNS; column++) {
        const bool is_space = best[column] == CLASSES - 1;
        const char *letter = is_space ? " " : letters + 3 * (size_t)(best[column] - 1);
        if (best[column] > 0) {
            memcpy(expected + used, letter, is_space ? 1 : 2);
            used += is_space ? 1 : 2;
        }
    }
    assert_string_equal(fake_text(fake, "lines", 0), expected);
    (void)remove(path);
    (void)rmdir(folder);
}

/* The border of a picture goes on: a line cut out of a single column, or row, has its colours. */
static void the_thinnest_pictures_are_cut(ATTR_UNUSED void **state)
{
    static const int64_t sizes[][2] = {{1, 60}, {60, 1}, {1, 1}, {2, 2}}; /* width, height */
    float map[32 * 32];
    const int64_t shape[] = {1, 1, 32, 32};
    for (uint32_t i = 0; i < 32 * 32; i++) {
        map[i] = 0.9F;
    }
    for (size_t i = 0; i < 4; i++) {
        uint8_t pixels[60 * 3];
        for (size_t k = 0; k < 60; k++) {
            memcpy(pixels + 3 * k, (const uint8_t[]){255, 0, 51}, 3);
        }
        input_pixels(pixels, sizes[i][0], sizes[i][1]);
        fake_input(fake, "map", WEFT_FP32, 4, shape, map);
        assert_int_equal(fake_call(fake, "crop"), WEFT_OK);
        const float *line = fake_output(fake, "lines")->data;
        const int64_t plane = 48 * fake_output(fake, "lines")->shape[3];
        assert_true(fabsf(line[0] - (51.0F / 255 - 0.5F) / 0.5F) < 1e-5F); /* Blue first. */
        assert_true(line[plane] == -1 && line[2 * plane] == 1);
    }
}

static void inputs_of_other_shapes_are_refused(ATTR_UNUSED void **state)
{
    static const char *const functions[] = {"resize", "crop", "turn", "text"};
    static const char *const ports[] = {"pixels", "map", "lines", "probabilities", "boxes"};
    const float few[4] = {0};
    const int64_t shape[] = {2, 2};
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < 5; k++) {
            fake_input(fake, ports[k], WEFT_FP32, 2, shape, few);
        }
        assert_int_equal(fake_call(fake, functions[i]), WEFT_INVALID);
        assert_string_not_equal(fake_message(fake), "");
    }
}

#define IN_DOCUMENT(test) cmocka_unit_test_setup_teardown(test, open_document, close_document)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DOCUMENT(a_png_is_decoded_exactly),
        IN_DOCUMENT(a_jpeg_is_decoded_closely),
        IN_DOCUMENT(photographs_are_shown_the_right_way_up),
        IN_DOCUMENT(strange_orientations_are_none),
        IN_DOCUMENT(colours_for_print_are_refused),
        IN_DOCUMENT(other_files_are_refused),
        IN_DOCUMENT(sides_become_multiples_of_32),
        IN_DOCUMENT(resizing_is_linear),
        IN_DOCUMENT(a_level_line_is_cut),
        IN_DOCUMENT(a_sloping_line_is_cut_straight),
        IN_DOCUMENT(an_empty_page_is_one_empty_line),
        IN_DOCUMENT(lines_come_in_the_order_of_reading),
        IN_DOCUMENT(what_stands_on_its_head_is_turned),
        IN_DOCUMENT(letters_are_read_without_repetitions),
        IN_DOCUMENT(long_alphabets_are_searched_to_their_end),
        IN_DOCUMENT(the_thinnest_pictures_are_cut),
        IN_DOCUMENT(inputs_of_other_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
