/*
 * picture.c - what is in a picture: one picture for several models, and their answers joined.
 *
 *   decode    file                                    -> pixels
 *   prepare   pixels                                  -> orientation, layout, safety, words
 *   describe  pixels, orientation, safety, words,     -> degrees, unsafe, words, labels,
 *             scores0…3, boxes0…3                        parts, summary
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "pixels.h"
#include "texts.h"

enum {
    SMALL = 224,       /* What classifiers see: the middle */
    SMALL_WHOLE = 256, /* of a picture of this size. */
    WORDS_SIDE = 320,
    DEGREES = 4,
    PART_FLOATS = 5,
    NAME_BYTES = 32,
    SUMMARY_BYTES = 256,
};

#define WORD_THRESHOLD 0.3F
#define MIDDLE         ((float)SMALL / SMALL_WHOLE)

static enum weft_status decode(const struct weft_call *call)
{
    return pixels_decode(call, weft_call_input(call, "file"), "pixels");
}

static float *add_planes(
    const struct weft_call *call, const char *name, int64_t width, int64_t height)
{
    const int64_t shape[] = {1, 3, height, width};
    return weft_call_output(call, name, WEFT_FP32, 4, shape);
}

/* The middle part of @width by @height of a picture. */
static struct frame middle_of(const struct pixels *pixels, float width, float height)
{
    return (struct frame){
        .x = ((float)pixels->width - width) / 2,
        .y = ((float)pixels->height - height) / 2,
        .right_x = width,
        .down_y = height,
    };
}

/* For the classifier of directions: the middle square. */
static bool prepare_orientation(const struct weft_call *call, const struct pixels *pixels)
{
    const struct normal normal = normal_imagenet(/* reversed */ true);
    const float shorter = (float)(pixels->width < pixels->height ? pixels->width : pixels->height);
    const struct frame square = middle_of(pixels, shorter * MIDDLE, shorter * MIDDLE);
    float *out = add_planes(call, "orientation", SMALL, SMALL);
    const struct planes planes = {SMALL, SMALL, SMALL, out};
    return out != NULL && pixels_cut(pixels, &square, &normal, &planes);
}

/* For the classifier of what is safe: colours of one pixel side by side, blue first. */
static bool prepare_safety(const struct weft_call *call, const struct pixels *pixels)
{
    static const struct normal normal = {
        .scale = 1, .mean = {104, 117, 123}, .deviation = {1, 1, 1}, .reversed = true};
    const struct frame middle =
        middle_of(pixels, (float)pixels->width * MIDDLE, (float)pixels->height * MIDDLE);
    const int64_t shape[] = {1, SMALL, SMALL, 3};
    const size_t plane = (size_t)SMALL * SMALL;
    float *out = weft_call_output(call, "safety", WEFT_FP32, 4, shape);
    const struct planes planes = {SMALL, SMALL, SMALL, malloc(3 * plane * sizeof(float))};
    const bool is_done =
        out != NULL && planes.data != NULL && pixels_cut(pixels, &middle, &normal, &planes);
    if (is_done) {
        for (size_t i = 0; i < plane; i++) {
            out[3 * i] = planes.data[i];
            out[3 * i + 1] = planes.data[plane + i];
            out[3 * i + 2] = planes.data[2 * plane + i];
        }
    }
    free(planes.data);
    return is_done;
}

/* For a detector: all of the picture, which it may shrink as far as @width by @height. */
static bool prepare_detector(
    const struct weft_call *call, struct pixels *pixels, const char *name, int32_t width,
    int32_t height, uint8_t **owned_out)
{
    const struct normal normal = normal_imagenet(/* reversed */ true);
    float *out = add_planes(call, name, width, height);
    *owned_out = NULL;
    return out != NULL && pixels_shrink(pixels, width, height, owned_out) &&
           pixels_resize(pixels, &normal, width, height, out);
}

static enum weft_status prepare(const struct weft_call *call)
{
    uint8_t *owned[3] = {NULL};
    struct pixels pixels;
    if (!pixels_of(call, weft_call_input(call, "pixels"), &pixels)) {
        return WEFT_INVALID;
    }
    /* Largest first: each begins with what the one before it has shrunk. */
    const bool is_done =
        prepare_detector(call, &pixels, "layout", LAYOUT_WIDTH, LAYOUT_HEIGHT, &owned[0]) &&
        prepare_detector(call, &pixels, "words", WORDS_SIDE, WORDS_SIDE, &owned[1]) &&
        pixels_shrink(&pixels, SMALL_WHOLE, SMALL_WHOLE, &owned[2]) &&
        prepare_orientation(call, &pixels) && prepare_safety(call, &pixels);
    for (uint32_t i = 0; i < 3; i++) {
        free(owned[i]);
    }
    weft_call_give_items(call, 1);
    return is_done ? WEFT_OK : WEFT_NO_MEMORY;
}

/* The floats of input @name, if it has @count of them at least; NULL otherwise. */
static const struct weft_tensor *floats_of(
    const struct weft_call *call, const char *name, uint64_t count)
{
    const struct weft_tensor *tensor = weft_call_input(call, name);
    const bool is_good =
        tensor != NULL && tensor->dtype == WEFT_FP32 && tensor->bytes >= count * sizeof(float);
    return is_good ? tensor : NULL;
}

/* Where the picture's top is, of four possibilities. */
static int32_t degrees_of(const float *chances)
{
    int32_t best = 0;
    for (int32_t i = 1; i < DEGREES; i++) {
        best = chances[i] > chances[best] ? i : best;
    }
    return best * 90;
}

static float share_of_words(const struct weft_tensor *map)
{
    const float *chances = map->data;
    const uint64_t count = map->bytes / sizeof(*chances);
    uint64_t words = 0;
    for (uint64_t i = 0; i < count; i++) {
        words += chances[i] > WORD_THRESHOLD;
    }
    return (float)words / (float)count;
}

static int32_t find_parts(const struct weft_call *call, struct part *parts)
{
    const struct weft_tensor *scores[LAYOUT_LEVELS];
    const struct weft_tensor *boxes[LAYOUT_LEVELS];
    for (uint32_t i = 0; i < LAYOUT_LEVELS; i++) {
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof(name), "scores%u", i);
        scores[i] = weft_call_input(call, name);
        (void)snprintf(name, sizeof(name), "boxes%u", i);
        boxes[i] = weft_call_input(call, name);
    }
    return layout_find(scores, boxes, parts);
}

/* The parts as corners in pixels and a score, and their kinds as labels. */
static enum weft_status give_parts(
    const struct weft_call *call, const struct pixels *pixels, const struct part *parts,
    uint32_t count)
{
    struct text labels[LAYOUT_PARTS_MAX] = {0};
    const int64_t shape[] = {count, PART_FLOATS};
    float *out = weft_call_output(call, "parts", WEFT_FP32, 2, shape);
    if (out == NULL) {
        return WEFT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        const char *label = layout_kinds[parts[i].kind];
        *out++ = parts[i].left * (float)pixels->width;
        *out++ = parts[i].top * (float)pixels->height;
        *out++ = parts[i].right * (float)pixels->width;
        *out++ = parts[i].bottom * (float)pixels->height;
        *out++ = parts[i].score;
        text_add(&labels[i], label, strlen(label));
    }
    const enum weft_status status = texts_give(call, "labels", labels, count);
    for (uint32_t i = 0; i < count; i++) {
        text_release(&labels[i]);
    }
    return status;
}

/* What the heads found, in numbers. */
struct findings {
    int32_t degrees;
    float unsafe;
    float words;
    uint32_t parts;
};

static enum weft_status give_findings(
    const struct weft_call *call, const struct pixels *pixels, const struct findings *findings)
{
    const int64_t one[] = {1};
    int32_t *degrees = weft_call_output(call, "degrees", WEFT_INT32, 1, one);
    float *unsafe = weft_call_output(call, "unsafe", WEFT_FP32, 1, one);
    float *words = weft_call_output(call, "words", WEFT_FP32, 1, one);
    if (degrees == NULL || unsafe == NULL || words == NULL) {
        return WEFT_NO_MEMORY;
    }
    *degrees = findings->degrees;
    *unsafe = findings->unsafe;
    *words = findings->words;
    char line[SUMMARY_BYTES];
    const int length = snprintf(
        line, sizeof(line),
        "%d x %d pixels, turned by %d degrees, %.0f %% text in %u parts, %.0f %% unsafe",
        pixels->width, pixels->height, findings->degrees, (double)findings->words * 100,
        findings->parts, (double)findings->unsafe * 100);
    struct text summary = {0};
    text_add(&summary, line, (size_t)length);
    const enum weft_status status = texts_give(call, "summary", &summary, 1);
    text_release(&summary);
    weft_call_give_items(call, 1);
    return status;
}

static enum weft_status describe(const struct weft_call *call)
{
    struct pixels pixels;
    struct part parts[LAYOUT_PARTS_MAX];
    const struct weft_tensor *orientation = floats_of(call, "orientation", DEGREES);
    const struct weft_tensor *safety = floats_of(call, "safety", 2);
    const struct weft_tensor *words = floats_of(call, "words", 1);
    if (!pixels_of(call, weft_call_input(call, "pixels"), &pixels)) {
        return WEFT_INVALID;
    }
    if (orientation == NULL || safety == NULL || words == NULL) {
        return weft_call_fail(call, "'orientation', 'safety' and 'words' must be FP32");
    }
    const int32_t count = find_parts(call, parts);
    if (count < 0) {
        return weft_call_fail(call, "'scores0' to 'boxes3' are not those of the layout model");
    }
    const struct findings findings = {
        .degrees = degrees_of(orientation->data),
        .unsafe = ((const float *)safety->data)[1],
        .words = share_of_words(words),
        .parts = (uint32_t)count,
    };
    const enum weft_status status = give_parts(call, &pixels, parts, (uint32_t)count);
    return status == WEFT_OK ? give_findings(call, &pixels, &findings) : status;
}

WEFT_FUNCTIONS({"decode", decode}, {"prepare", prepare}, {"describe", describe});
