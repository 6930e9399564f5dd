#include "layout.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

enum {
    SIDES = 4,
    DISTANCES = 8, /* A side's distance from the middle is spread over 0 … 7 strides. */
    CANDIDATES_MAX = 1000,
};

#define SCORE_MIN   0.4F
#define OVERLAP_MAX 0.5F

const char *const layout_kinds[LAYOUT_KINDS] = {
    "text",          "title",  "figure", "figure caption", "table",
    "table caption", "header", "footer", "reference",      "equation",
};

/* The mean of the distances under the softmax of @weights. */
static float distance_of(const float *weights)
{
    float largest = weights[0];
    float sum = 0;
    float mean = 0;
    for (uint32_t i = 1; i < DISTANCES; i++) {
        largest = weights[i] > largest ? weights[i] : largest;
    }
    for (uint32_t i = 0; i < DISTANCES; i++) {
        const float weight = expf(weights[i] - largest);
        sum += weight;
        mean += weight * (float)i;
    }
    return mean / sum;
}

static float clipped(float share)
{
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

static struct part part_at(const float *weights, int32_t column, int32_t row, int32_t stride)
{
    const float x = ((float)column + 0.5F) * (float)stride;
    const float y = ((float)row + 0.5F) * (float)stride;
    const float by = (float)stride;
    return (struct part){
        .left = clipped((x - by * distance_of(weights)) / LAYOUT_WIDTH),
        .top = clipped((y - by * distance_of(weights + DISTANCES)) / LAYOUT_HEIGHT),
        .right = clipped((x + by * distance_of(weights + (size_t)2 * DISTANCES)) / LAYOUT_WIDTH),
        .bottom = clipped((y + by * distance_of(weights + (size_t)3 * DISTANCES)) / LAYOUT_HEIGHT),
    };
}

static bool has_shape(const struct weft_tensor *tensor, int64_t cells, int64_t width)
{
    return tensor != NULL && tensor->dtype == WEFT_FP32 && tensor->rank == 3 &&
           tensor->shape[0] == 1 && tensor->shape[1] == cells && tensor->shape[2] == width;
}

/* Everything on one level that may be a part of some kind. Returns the new count. */
static uint32_t add_level(
    const struct weft_tensor *scores, const struct weft_tensor *boxes, int32_t stride,
    struct part *candidates, uint32_t count)
{
    const int32_t columns = (LAYOUT_WIDTH + stride - 1) / stride;
    const float *chances = scores->data;
    const float *weights = boxes->data;
    for (int32_t cell = 0; cell < (int32_t)scores->shape[1]; cell++) {
        for (uint32_t kind = 0; kind < LAYOUT_KINDS && count < CANDIDATES_MAX; kind++) {
            const float score = chances[(size_t)cell * LAYOUT_KINDS + kind];
            if (score > SCORE_MIN) {
                candidates[count] = part_at(
                    weights + (size_t)cell * SIDES * DISTANCES, cell % columns, cell / columns,
                    stride);
                candidates[count].score = score;
                candidates[count].kind = kind;
                count++;
            }
        }
    }
    return count;
}

static int by_score(const void *a, const void *b)
{
    const struct part *left = a;
    const struct part *right = b;
    return (left->score < right->score) - (left->score > right->score);
}

static float area_of(const struct part *part)
{
    return (part->right - part->left) * (part->bottom - part->top);
}

/* Whether two parts of a kind are the same thing seen twice: intersection over union. */
static bool is_same(const struct part *a, const struct part *b)
{
    const float width = fminf(a->right, b->right) - fmaxf(a->left, b->left);
    const float height = fminf(a->bottom, b->bottom) - fmaxf(a->top, b->top);
    if (a->kind != b->kind || width <= 0 || height <= 0) {
        return false;
    }
    const float common = width * height;
    return common > OVERLAP_MAX * (area_of(a) + area_of(b) - common);
}

static int32_t keep_best(struct part *candidates, uint32_t count, struct part *parts_out)
{
    uint32_t kept = 0;
    qsort(candidates, count, sizeof(*candidates), by_score);
    for (uint32_t i = 0; i < count && kept < LAYOUT_PARTS_MAX; i++) {
        bool is_new = true;
        for (uint32_t k = 0; k < kept && is_new; k++) {
            is_new = !is_same(&parts_out[k], &candidates[i]);
        }
        if (is_new) {
            parts_out[kept++] = candidates[i];
        }
    }
    return (int32_t)kept;
}

int32_t layout_find(
    const struct weft_tensor *const *scores, const struct weft_tensor *const *boxes,
    struct part *parts_out)
{
    struct part candidates[CANDIDATES_MAX];
    uint32_t count = 0;
    for (uint32_t level = 0; level < LAYOUT_LEVELS; level++) {
        const int32_t stride = 8 << level;
        const int64_t cells = (int64_t)((LAYOUT_WIDTH + stride - 1) / stride) *
                              ((LAYOUT_HEIGHT + stride - 1) / stride);
        if (!has_shape(scores[level], cells, LAYOUT_KINDS) ||
            !has_shape(boxes[level], cells, (int64_t)SIDES * DISTANCES)) {
            return -1;
        }
        count = add_level(scores[level], boxes[level], stride, candidates, count);
    }
    return keep_best(candidates, count, parts_out);
}
