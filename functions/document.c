/*
 * document.c - reading a page: what is done between the models of PP-OCR.
 *
 *   decode   file                       -> pixels
 *   resize   pixels                     -> x: for the detector
 *   crop     pixels, map                -> lines: one item each; upright, boxes
 *   turn     lines, upside_down         -> lines: those that stood on their heads turned
 *   text     probabilities, boxes       -> text, lines, scores, boxes
 *
 * A page without text is one empty line, so that every later task has something to do.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "regions.h"

enum {
    SIDE_MAX = 960, /* Of the picture that the detector sees. */
    SIDE_STEP = 32, /* Both of its sides are multiples of this. */
    MAP_SIDE_MAX = 2 * SIDE_MAX,
    LINE_HEIGHT = 48,
    /* Lines are as wide as the widest of their page, in few steps: so pages are read together. */
    LINE_WIDTH_STEP = 320,
    LINE_WIDTH_MAX = 2560,
    UPRIGHT_WIDTH = 192,
    UPRIGHT_OUTPUTS = 2,
};

#define SURE_UPSIDE_DOWN 0.9F

static enum weft_status decode(const struct weft_call *call)
{
    return pixels_decode(call, weft_call_input(call, "file"), "pixels");
}

static int32_t detector_side(int32_t side, float scale)
{
    const int32_t steps = (int32_t)((float)side * scale / SIDE_STEP + 0.5F);
    return (steps < 1 ? 1 : steps) * SIDE_STEP;
}

static enum weft_status resize(const struct weft_call *call)
{
    struct pixels pixels;
    if (!pixels_of(call, weft_call_input(call, "pixels"), &pixels)) {
        return WEFT_INVALID;
    }
    const int32_t longer = pixels.width > pixels.height ? pixels.width : pixels.height;
    const float scale = longer > SIDE_MAX ? (float)SIDE_MAX / (float)longer : 1;
    const int32_t width = detector_side(pixels.width, scale);
    const int32_t height = detector_side(pixels.height, scale);
    const int64_t shape[] = {1, 3, height, width};
    const struct normal normal = normal_imagenet(/* reversed */ true);
    float *planes = weft_call_output(call, "x", WEFT_FP32, 4, shape);
    if (planes == NULL || !pixels_resize(&pixels, &normal, width, height, planes)) {
        return WEFT_NO_MEMORY;
    }
    weft_call_give_items(call, 1);
    return WEFT_OK;
}

/* From pixels of the map to those of the page. */
static void stretch(struct region *region, float by_x, float by_y)
{
    struct frame *frame = &region->frame;
    frame->x *= by_x;
    frame->y *= by_y;
    frame->right_x *= by_x;
    frame->right_y *= by_y;
    frame->down_x *= by_x;
    frame->down_y *= by_y;
    region->width = sqrtf(frame->right_x * frame->right_x + frame->right_y * frame->right_y);
    region->height = sqrtf(frame->down_x * frame->down_x + frame->down_y * frame->down_y);
}

/* How wide a region is once it is LINE_HEIGHT high. */
static int32_t line_width(const struct region *region)
{
    const float width = ceilf(region->width * LINE_HEIGHT / region->height);
    return width > LINE_WIDTH_MAX ? LINE_WIDTH_MAX : width < 1 ? 1 : (int32_t)width;
}

static void write_box(const struct region *region, uint32_t row, float *box)
{
    const struct frame *f = &region->frame;
    const float corners[] = {
        f->x,
        f->y,
        f->x + f->right_x,
        f->y + f->right_y,
        f->x + f->right_x + f->down_x,
        f->y + f->right_y + f->down_y,
        f->x + f->down_x,
        f->y + f->down_y,
        (float)row,
        region->score,
    };
    memcpy(box, corners, sizeof(corners));
}

/* One line of the page, and nothing in the columns that it does not reach. */
static bool cut_line(
    const struct pixels *pixels, const struct frame *frame, const struct planes *line)
{
    const struct normal normal = normal_signed(/* reversed */ true);
    const size_t stride = (size_t)line->stride;
    const size_t used = (size_t)line->width;
    for (size_t row = 0; row < (size_t)3 * LINE_HEIGHT; row++) {
        memset(line->data + row * stride + used, 0, (stride - used) * sizeof(float));
    }
    return pixels_cut(pixels, frame, &normal, line);
}

static enum weft_status cut_lines(
    const struct weft_call *call, const struct pixels *pixels, const struct region *regions,
    const uint32_t *rows, uint32_t count)
{
    const uint32_t items = count == 0 ? 1 : count;
    int32_t width = LINE_WIDTH_STEP;
    for (uint32_t i = 0; i < count; i++) {
        while (width < line_width(&regions[i])) {
            width += LINE_WIDTH_STEP;
        }
    }
    const int64_t line_shape[] = {items, 3, LINE_HEIGHT, width};
    const int64_t upright_shape[] = {items, 3, LINE_HEIGHT, UPRIGHT_WIDTH};
    const int64_t box_shape[] = {items, BOX_FLOATS};
    const size_t line_floats = (size_t)3 * LINE_HEIGHT * (size_t)width;
    const size_t upright_floats = (size_t)3 * LINE_HEIGHT * UPRIGHT_WIDTH;
    float *lines = weft_call_output(call, "lines", WEFT_FP32, 4, line_shape);
    float *uprights = weft_call_output(call, "upright", WEFT_FP32, 4, upright_shape);
    float *boxes = weft_call_output(call, "boxes", WEFT_FP32, 2, box_shape);
    if (lines == NULL || uprights == NULL || boxes == NULL) {
        return WEFT_NO_MEMORY;
    }
    memset(boxes, 0, (size_t)items * BOX_FLOATS * sizeof(float));
    if (count == 0) {
        memset(lines, 0, line_floats * sizeof(float));
        memset(uprights, 0, upright_floats * sizeof(float));
    }
    for (uint32_t i = 0; i < count; i++) {
        const int32_t own = line_width(&regions[i]);
        const struct planes line = {own, LINE_HEIGHT, width, lines + i * line_floats};
        const struct planes upright = {
            own < UPRIGHT_WIDTH ? own : UPRIGHT_WIDTH, LINE_HEIGHT, UPRIGHT_WIDTH,
            uprights + i * upright_floats};
        if (!cut_line(pixels, &regions[i].frame, &line) ||
            !cut_line(pixels, &regions[i].frame, &upright)) {
            return WEFT_NO_MEMORY;
        }
        write_box(&regions[i], rows[i], boxes + (size_t)i * BOX_FLOATS);
    }
    weft_call_give_items(call, items);
    return WEFT_OK;
}

static enum weft_status crop(const struct weft_call *call)
{
    struct pixels pixels;
    struct region regions[REGIONS_MAX];
    uint32_t rows[REGIONS_MAX];
    const struct weft_tensor *map = weft_call_input(call, "map");
    if (!pixels_of(call, weft_call_input(call, "pixels"), &pixels)) {
        return WEFT_INVALID;
    }
    if (map == NULL || map->dtype != WEFT_FP32 || map->rank != 4 || map->shape[0] != 1 ||
        map->shape[1] != 1 || map->shape[2] < 1 || map->shape[2] > MAP_SIDE_MAX ||
        map->shape[3] < 1 || map->shape[3] > MAP_SIDE_MAX) {
        return weft_call_fail(call, "'map' must be FP32 of shape [1, 1, height, width]");
    }
    const int32_t width = (int32_t)map->shape[3];
    const int32_t height = (int32_t)map->shape[2];
    const int32_t count = regions_find(map->data, width, height, regions);
    if (count < 0) {
        return WEFT_NO_MEMORY;
    }
    for (int32_t i = 0; i < count; i++) {
        stretch(
            &regions[i], (float)pixels.width / (float)width, (float)pixels.height / (float)height);
    }
    regions_sort(regions, (uint32_t)count, rows);
    return cut_lines(call, &pixels, regions, rows, (uint32_t)count);
}

/* Turn one line of @width, of which only the first @used columns have something, by half. */
static void turn_line(const float *line, int32_t width, int32_t used, float *out)
{
    for (int32_t row = 0; row < 3 * LINE_HEIGHT; row++) {
        const int32_t opposite = row / LINE_HEIGHT * 2 * LINE_HEIGHT + LINE_HEIGHT - 1 - row;
        const float *restrict from = line + (size_t)opposite * (size_t)width;
        float *restrict to = out + (size_t)row * (size_t)width;
        for (int32_t i = 0; i < used; i++) {
            to[i] = from[used - 1 - i];
        }
        memcpy(to + used, from + used, (size_t)(width - used) * sizeof(*to));
    }
}

/* How many columns of a line were cut from the page. */
static int32_t used_width(const float *box, int32_t width)
{
    const float right =
        sqrtf((box[2] - box[0]) * (box[2] - box[0]) + (box[3] - box[1]) * (box[3] - box[1]));
    const float down =
        sqrtf((box[6] - box[0]) * (box[6] - box[0]) + (box[7] - box[1]) * (box[7] - box[1]));
    const struct region region = {.width = right, .height = down};
    const int32_t used = down > 0 ? line_width(&region) : width;
    return used < width ? used : width;
}

static enum weft_status turn(const struct weft_call *call)
{
    const struct weft_tensor *lines = weft_call_input(call, "lines");
    const struct weft_tensor *boxes = weft_call_input(call, "boxes");
    const struct weft_tensor *upside_down = weft_call_input(call, "upside_down");
    if (lines == NULL || lines->dtype != WEFT_FP32 || lines->rank != 4 || lines->shape[1] != 3 ||
        lines->shape[2] != LINE_HEIGHT || lines->shape[3] < 1 || lines->shape[3] > LINE_WIDTH_MAX) {
        return weft_call_fail(call, "'lines' must be FP32 of shape [lines, 3, 48, width]");
    }
    const int64_t count = lines->shape[0];
    if (boxes == NULL || boxes->dtype != WEFT_FP32 || boxes->rank != 2 ||
        boxes->shape[0] != count || boxes->shape[1] != BOX_FLOATS) {
        return weft_call_fail(call, "'boxes' must be FP32 of shape [lines, 10]");
    }
    if (upside_down == NULL || upside_down->dtype != WEFT_FP32 || upside_down->rank != 2 ||
        upside_down->shape[0] != count || upside_down->shape[1] != UPRIGHT_OUTPUTS) {
        return weft_call_fail(call, "'upside_down' must be FP32 of shape [lines, 2]");
    }
    const int32_t width = (int32_t)lines->shape[3];
    const size_t line_floats = (size_t)3 * LINE_HEIGHT * (size_t)width;
    const float *chances = upside_down->data;
    const float *corners = boxes->data;
    const float *from = lines->data;
    float *out = weft_call_output(call, "lines", WEFT_FP32, 4, lines->shape);
    if (out == NULL) {
        return WEFT_NO_MEMORY;
    }
    for (int64_t i = 0; i < count; i++, from += line_floats, out += line_floats) {
        if (chances[i * UPRIGHT_OUTPUTS + 1] > SURE_UPSIDE_DOWN) {
            turn_line(from, width, used_width(corners + i * BOX_FLOATS, width), out);
        } else {
            memcpy(out, from, line_floats * sizeof(*out));
        }
    }
    weft_call_give_items(call, (uint32_t)count);
    return WEFT_OK;
}

WEFT_FUNCTIONS(
    {"decode", decode}, {"resize", resize}, {"crop", crop}, {"turn", turn},
    {"text", document_text});
