#include "pixels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLOURS = 3 };

bool pixels_of(
    const struct weft_call *call, const struct weft_tensor *tensor, struct pixels *pixels_out)
{
    if (tensor == NULL || tensor->dtype != WEFT_UINT8 || tensor->rank != 3 ||
        tensor->shape[2] != COLOURS || !pixels_fit(tensor->shape[1], tensor->shape[0])) {
        (void)weft_call_fail(call, "'pixels' must be UINT8 of shape [height, width, 3]");
        return false;
    }
    *pixels_out = (struct pixels){
        .width = (int32_t)tensor->shape[1],
        .height = (int32_t)tensor->shape[0],
        .data = tensor->data,
    };
    return true;
}

struct normal normal_imagenet(bool reversed)
{
    struct normal normal = {
        .scale = 1.0F / 255,
        .mean = {0.485F, 0.456F, 0.406F},
        .deviation = {0.229F, 0.224F, 0.225F},
        .reversed = reversed,
    };
    return normal;
}

struct normal normal_signed(bool reversed)
{
    return (struct normal){
        .scale = 1.0F / 255,
        .mean = {0.5F, 0.5F, 0.5F},
        .deviation = {0.5F, 0.5F, 0.5F},
        .reversed = reversed,
    };
}

/* The colour of the picture that plane @plane shows, and what to do with it. */
struct colour {
    uint32_t number;
    float factor;
    float offset;
};

/* Means and deviations belong to planes: models state them in the order they take them in. */
static struct colour colour_of(const struct normal *normal, uint32_t plane)
{
    return (struct colour){
        .number = normal->reversed ? COLOURS - 1 - plane : plane,
        .factor = normal->scale / normal->deviation[plane],
        .offset = normal->mean[plane] / normal->deviation[plane],
    };
}

/* Where an output pixel lies among the pixels of one side: the one before it, and how far past. */
struct place {
    int32_t first;
    float part;
};

static struct place place_at(float position, int32_t extent)
{
    const float last = (float)(extent - 1);
    const float inside = position < 0 ? 0 : position > last ? last : position;
    int32_t first = (int32_t)inside;
    first = first > extent - 2 && extent > 1 ? extent - 2 : first;
    return (struct place){.first = first, .part = inside - (float)first};
}

/* Each pixel the mean of four. An odd row or column at the end is left out. */
static uint8_t *halve(struct pixels *pixels)
{
    const size_t row_bytes = (size_t)pixels->width * COLOURS;
    const int32_t width = pixels->width / 2;
    const int32_t height = pixels->height / 2;
    uint8_t *smaller = malloc((size_t)width * (size_t)height * COLOURS);
    if (smaller == NULL) {
        return NULL;
    }
    for (int32_t y = 0; y < height; y++) {
        const uint8_t *upper = pixels->data + (size_t)y * 2 * row_bytes;
        const uint8_t *lower = upper + row_bytes;
        uint8_t *out = smaller + (size_t)y * (size_t)width * COLOURS;
        for (int32_t x = 0; x < width; x++, upper += 2 * COLOURS, lower += 2 * COLOURS) {
            for (int32_t c = 0; c < COLOURS; c++) {
                const int sum = upper[c] + upper[COLOURS + c] + lower[c] + lower[COLOURS + c];
                *out++ = (uint8_t)((sum + 2) / 4);
            }
        }
    }
    *pixels = (struct pixels){.width = width, .height = height, .data = smaller};
    return smaller;
}

bool pixels_shrink(struct pixels *pixels, int32_t width, int32_t height, uint8_t **owned_out)
{
    *owned_out = NULL;
    while (pixels->width / 2 >= width && pixels->height / 2 >= height) {
        uint8_t *smaller = halve(pixels);
        free(*owned_out);
        *owned_out = smaller;
        if (smaller == NULL) {
            return false;
        }
    }
    return true;
}

static bool resize(
    const struct pixels *pixels, const struct normal *normal, int32_t width, int32_t height,
    float *planes_out)
{
    const size_t row_floats = (size_t)pixels->width * COLOURS;
    const int32_t right = pixels->width > 1 ? COLOURS : 0;
    float *row = malloc(row_floats * sizeof(*row));
    struct place *places = malloc((size_t)width * sizeof(*places));
    if (row == NULL || places == NULL) {
        free(row);
        free(places);
        return false;
    }
    for (int32_t x = 0; x < width; x++) {
        const float position = ((float)x + 0.5F) * (float)pixels->width / (float)width - 0.5F;
        places[x] = place_at(position, pixels->width);
    }
    for (int32_t y = 0; y < height; y++) {
        const float position = ((float)y + 0.5F) * (float)pixels->height / (float)height - 0.5F;
        const struct place place = place_at(position, pixels->height);
        const uint8_t *upper = pixels->data + (size_t)place.first * row_floats;
        const uint8_t *lower = pixels->height > 1 ? upper + row_floats : upper;
        for (size_t i = 0; i < row_floats; i++) { /* Bytes side by side: vectorised. */
            row[i] = (float)upper[i] + ((float)lower[i] - (float)upper[i]) * place.part;
        }
        for (uint32_t plane = 0; plane < COLOURS; plane++) {
            const struct colour colour = colour_of(normal, plane);
            float *out = planes_out + ((size_t)plane * (size_t)height + (size_t)y) * (size_t)width;
            for (int32_t x = 0; x < width; x++) {
                const float *at = row + (size_t)places[x].first * COLOURS + colour.number;
                out[x] =
                    (at[0] + (at[right] - at[0]) * places[x].part) * colour.factor - colour.offset;
            }
        }
    }
    free(row);
    free(places);
    return true;
}

bool pixels_resize(
    const struct pixels *pixels, const struct normal *normal, int32_t width, int32_t height,
    float *planes_out)
{
    uint8_t *owned;
    struct pixels shrunk = *pixels;
    const bool is_done = pixels_shrink(&shrunk, width, height, &owned) &&
                         resize(&shrunk, normal, width, height, planes_out);
    free(owned);
    return is_done;
}

void pixels_cut(
    const struct pixels *pixels, const struct frame *frame, const struct normal *normal,
    const struct planes *planes)
{
    const int32_t width = planes->width;
    const int32_t height = planes->height;
    const size_t stride = (size_t)planes->stride;
    const size_t row_bytes = (size_t)pixels->width * COLOURS;
    const size_t plane_floats = (size_t)height * stride;
    const size_t right = pixels->width > 1 ? COLOURS : 0;
    const size_t down = pixels->height > 1 ? row_bytes : 0;
    const struct colour colours[COLOURS] = {
        colour_of(normal, 0), colour_of(normal, 1), colour_of(normal, 2)};
    for (int32_t y = 0; y < height; y++) {
        const float along_y = ((float)y + 0.5F) / (float)height;
        for (int32_t x = 0; x < width; x++) {
            const float along_x = ((float)x + 0.5F) / (float)width;
            const struct place px = place_at(
                frame->x + along_x * frame->right_x + along_y * frame->down_x - 0.5F,
                pixels->width);
            const struct place py = place_at(
                frame->y + along_x * frame->right_y + along_y * frame->down_y - 0.5F,
                pixels->height);
            const uint8_t *at =
                pixels->data + (size_t)py.first * row_bytes + (size_t)px.first * COLOURS;
            float *out = planes->data + (size_t)y * stride + (size_t)x;
            for (uint32_t plane = 0; plane < COLOURS; plane++) {
                const uint8_t *corner = at + colours[plane].number;
                const float upper =
                    (float)corner[0] + ((float)corner[right] - (float)corner[0]) * px.part;
                const float lower = (float)corner[down] +
                                    ((float)corner[down + right] - (float)corner[down]) * px.part;
                out[plane * plane_floats] =
                    (upper + (lower - upper) * py.part) * colours[plane].factor -
                    colours[plane].offset;
            }
        }
    }
}
