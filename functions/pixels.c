#include "pixels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLOURS = 3,
    CUT_COLUMNS = 64, /* Of a row that are cut at a time: their places stay in the cache. */
};

/* The colours of a pixel side by side, and one lane that is not used. */
typedef float lanes __attribute__((vector_size(16)));
typedef int32_t lane_numbers __attribute__((vector_size(16)));
typedef uint16_t lane_halves __attribute__((vector_size(16)));
typedef uint8_t lane_bytes __attribute__((vector_size(16)));

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

/* The same for all planes: lanes are colours of the picture. */
struct shades {
    lanes factor;
    lanes offset;
    uint32_t planes[COLOURS]; /* By lane: the plane that shows it. */
};

static struct shades shades_of(const struct normal *normal)
{
    struct shades shades = {.factor = {0}};
    for (uint32_t plane = 0; plane < COLOURS; plane++) {
        const struct colour colour = colour_of(normal, plane);
        shades.factor[colour.number] = colour.factor;
        shades.offset[colour.number] = colour.offset;
        shades.planes[colour.number] = plane;
    }
    return shades;
}

static lanes lanes_at(const float *floats)
{
    lanes loaded;
    memcpy(&loaded, floats, sizeof(loaded));
    return loaded;
}

/* Where an output pixel lies among the pixels of one side: the one before it, and how far past. */
struct place {
    int32_t first;
    float part;
};

static inline struct place place_at(float position, int32_t extent)
{
    const float last = (float)(extent - 1);
    const int32_t first_max = extent > 1 ? extent - 2 : 0;
    const float low = position < 0 ? 0 : position;
    const float inside = low > last ? last : low;
    const int32_t first = (int32_t)inside < first_max ? (int32_t)inside : first_max;
    return (struct place){.first = first, .part = inside - (float)first};
}

/* Each pixel the mean of four. An odd row or column at the end is left out. */
static uint8_t *halve(struct pixels *pixels)
{
    const size_t row_bytes = (size_t)pixels->width * COLOURS;
    const int32_t width = pixels->width / 2;
    const int32_t height = pixels->height / 2;
    uint8_t *smaller = malloc((size_t)width * (size_t)height * COLOURS);
    uint16_t *sums = calloc(row_bytes, sizeof(*sums)); /* Of two rows. */
    if (smaller == NULL || sums == NULL) {
        free(smaller);
        free(sums);
        return NULL;
    }
    for (int32_t y = 0; y < height; y++) {
        const uint8_t *restrict upper = pixels->data + (size_t)y * 2 * row_bytes;
        const uint8_t *restrict lower = upper + row_bytes;
        uint8_t *restrict out = smaller + (size_t)y * (size_t)width * COLOURS;
        for (size_t i = 0; i < row_bytes; i++) { /* Vectorised: bytes side by side. */
            sums[i] = (uint16_t)(upper[i] + lower[i]);
        }
        for (int32_t x = 0; x < width; x++) {
            const uint16_t *pair = sums + (size_t)x * 2 * COLOURS;
            for (int32_t c = 0; c < COLOURS; c++) {
                out[x * COLOURS + c] = (uint8_t)((pair[c] + pair[COLOURS + c] + 2) / 4);
            }
        }
    }
    free(sums);
    *pixels = (struct pixels){.width = width, .height = height, .data = smaller};
    return smaller;
}

bool pixels_shrink(struct pixels *pixels, int32_t width, int32_t height, uint8_t **owned_out)
{
    *owned_out = NULL;
    while (pixels->width > 1 && pixels->height > 1 && pixels->width / 2 >= width &&
           pixels->height / 2 >= height) {
        uint8_t *smaller = halve(pixels);
        free(*owned_out);
        *owned_out = smaller;
        if (smaller == NULL) {
            return false;
        }
    }
    return true;
}

/* Where the rows of all planes begin that show a row of the picture, by colour of the picture. */
struct target {
    float *restrict red;
    float *restrict green;
    float *restrict blue;
};

static struct target target_at(
    const struct planes *planes, const struct shades *shades, int32_t row, int32_t column)
{
    const size_t plane_floats = (size_t)planes->height * (size_t)planes->stride;
    float *at = planes->data + (size_t)row * (size_t)planes->stride + column;
    return (struct target){
        .red = at + shades->planes[0] * plane_floats,
        .green = at + shades->planes[1] * plane_floats,
        .blue = at + shades->planes[2] * plane_floats,
    };
}

static inline void put(const struct target *target, int32_t x, lanes colours)
{
    target->red[x] = colours[0];
    target->green[x] = colours[1];
    target->blue[x] = colours[2];
}

/* Two rows of a picture as one row of floats, @part of the way from the upper to the lower. */
static void mix_rows(
    const uint8_t *restrict upper, const uint8_t *restrict lower, float part, size_t count,
    float *restrict row)
{
    for (size_t i = 0; i < count; i++) { /* Vectorised: bytes side by side. */
        row[i] = (float)upper[i] + ((float)lower[i] - (float)upper[i]) * part;
    }
}

static bool resize(
    const struct pixels *pixels, const struct normal *normal, const struct planes *planes)
{
    const struct shades shades = shades_of(normal);
    const size_t row_floats = (size_t)pixels->width * COLOURS;
    const int32_t right = pixels->width > 1 ? COLOURS : 0;
    float *row = calloc(row_floats + 1, sizeof(*row)); /* The unused lane. */
    struct place *places = malloc((size_t)planes->width * sizeof(*places));
    if (row == NULL || places == NULL) {
        free(row);
        free(places);
        return false;
    }
    for (int32_t x = 0; x < planes->width; x++) {
        const float position =
            ((float)x + 0.5F) * (float)pixels->width / (float)planes->width - 0.5F;
        places[x] = place_at(position, pixels->width);
    }
    for (int32_t y = 0; y < planes->height; y++) {
        const float position =
            ((float)y + 0.5F) * (float)pixels->height / (float)planes->height - 0.5F;
        const struct place place = place_at(position, pixels->height);
        const uint8_t *upper = pixels->data + (size_t)place.first * row_floats;
        const uint8_t *lower = pixels->height > 1 ? upper + row_floats : upper;
        const struct target target = target_at(planes, &shades, y, 0);
        mix_rows(upper, lower, place.part, row_floats, row);
        for (int32_t x = 0; x < planes->width; x++) {
            const float *at = row + (size_t)places[x].first * COLOURS;
            const lanes left = lanes_at(at);
            const lanes mixed = left + (lanes_at(at + right) - left) * places[x].part;
            put(&target, x, mixed * shades.factor - shades.offset);
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
    const struct planes planes = {width, height, width, planes_out};
    uint8_t *owned;
    struct pixels shrunk = *pixels;
    const bool is_done =
        pixels_shrink(&shrunk, width, height, &owned) && resize(&shrunk, normal, &planes);
    free(owned);
    return is_done;
}

/* Four bytes of a picture, of which the lowest three are the colours of a pixel. */
static inline lanes colours_of(uint32_t four)
{
    const lane_bytes no_bytes = {0};
    const lane_halves no_halves = {0};
    lane_numbers numbers = {(int32_t)four};
    lane_bytes bytes;
    lane_halves halves;
    memcpy(&bytes, &numbers, sizeof(bytes));
    bytes = __builtin_shufflevector(
        bytes, no_bytes, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    memcpy(&halves, &bytes, sizeof(halves));
    halves = __builtin_shufflevector(halves, no_halves, 0, 8, 1, 9, 2, 10, 3, 11);
    memcpy(&numbers, &halves, sizeof(numbers));
    return __builtin_convertvector(numbers, lanes);
}

static inline uint32_t four_at(const uint8_t *bytes)
{
    uint32_t four;
    memcpy(&four, bytes, sizeof(four));
    return four;
}

/* The pixel at @at and the one to its right, @part of the way; not a byte beyond them is read. */
static inline lanes mix_pair(const uint8_t *at, float part)
{
    const lanes left = colours_of(four_at(at));
    const lanes right = colours_of(four_at(at + COLOURS - 1) >> 8);
    return left + (right - left) * part;
}

/* Where some pixels of a row come from: the upper left of four, and how far past it. */
struct places {
    int32_t at[CUT_COLUMNS]; /* In bytes: a picture has not more than fit. */
    float part_x[CUT_COLUMNS];
    float part_y[CUT_COLUMNS];
};

_Static_assert(COLOURS *(int64_t)PIXELS_MAX <= INT32_MAX, "a place fits 32 bits");

static void find_places(
    const struct pixels *pixels, const struct frame *frame, const struct planes *planes, int32_t y,
    int32_t first, struct places *places)
{
    const float along_y = ((float)y + 0.5F) / (float)planes->height;
    const float width = (float)planes->width;
    const int32_t row_bytes = pixels->width * COLOURS;
    for (int32_t i = 0; i < CUT_COLUMNS; i++) { /* Vectorised; past the end it is harmless. */
        const float along_x = ((float)(first + i) + 0.5F) / width;
        const struct place px = place_at(
            frame->x + along_x * frame->right_x + along_y * frame->down_x - 0.5F, pixels->width);
        const struct place py = place_at(
            frame->y + along_x * frame->right_y + along_y * frame->down_y - 0.5F, pixels->height);
        places->at[i] = py.first * row_bytes + px.first * COLOURS;
        places->part_x[i] = px.part;
        places->part_y[i] = py.part;
    }
}

/* A picture of a single row or column, with both of them twice. NULL without memory. */
static uint8_t *thicken(struct pixels *pixels)
{
    const int32_t width = pixels->width < 2 ? 2 : pixels->width;
    const int32_t height = pixels->height < 2 ? 2 : pixels->height;
    uint8_t *thick = malloc((size_t)width * (size_t)height * COLOURS);
    for (int32_t i = 0; thick != NULL && i < width * height; i++) {
        const int32_t x = i % width < pixels->width ? i % width : 0;
        const int32_t y = i / width < pixels->height ? i / width : 0;
        memcpy(
            thick + (size_t)i * COLOURS,
            pixels->data + ((size_t)y * (size_t)pixels->width + (size_t)x) * COLOURS, COLOURS);
    }
    *pixels = (struct pixels){.width = width, .height = height, .data = thick};
    return thick;
}

static void cut(
    const struct pixels *pixels, const struct frame *frame, const struct normal *normal,
    const struct planes *planes)
{
    const struct shades shades = shades_of(normal);
    const size_t row_bytes = (size_t)pixels->width * COLOURS;
    struct places places;
    for (int32_t y = 0; y < planes->height; y++) {
        for (int32_t first = 0; first < planes->width; first += CUT_COLUMNS) {
            const struct target target = target_at(planes, &shades, y, first);
            const int32_t left = planes->width - first;
            const int32_t count = left < CUT_COLUMNS ? left : CUT_COLUMNS;
            find_places(pixels, frame, planes, y, first, &places);
            for (int32_t i = 0; i < count; i++) {
                const uint8_t *at = pixels->data + places.at[i];
                const lanes upper = mix_pair(at, places.part_x[i]);
                const lanes lower = mix_pair(at + row_bytes, places.part_x[i]);
                const lanes mixed = upper + (lower - upper) * places.part_y[i];
                put(&target, i, mixed * shades.factor - shades.offset);
            }
        }
    }
}

bool pixels_cut(
    const struct pixels *pixels, const struct frame *frame, const struct normal *normal,
    const struct planes *planes)
{
    struct pixels thick = *pixels;
    uint8_t *owned = NULL;
    if (pixels->width < 2 || pixels->height < 2) {
        owned = thicken(&thick);
        if (owned == NULL) {
            return false;
        }
    }
    cut(&thick, frame, normal, planes);
    free(owned);
    return true;
}
