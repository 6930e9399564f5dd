#include "regions.h"

#include <math.h>
#include <stdlib.h>

#define THRESHOLD 0.3F /* A pixel is text from here on. */
#define SCORE_MIN 0.5F /* A region is text if its mean is at least this. */
#define GROWTH    1.6F /* The map was trained on lines shrunk by this: area over perimeter. */
#define SIDE_MIN  3.0F
#define UPRIGHT   1.5F /* A region so many times higher than wide is read downwards. */

struct point {
    float x;
    float y;
};

/* Everything that one search needs. */
struct search {
    const float *map;
    int32_t width;
    int32_t height;
    uint8_t *seen;
    int32_t *stack;
    struct point *border; /* Ends of the rows of a region, then its hull. */
    int32_t *left;        /* By row of the map: the ends of the region there. */
    int32_t *right;
};

struct extent {
    int32_t top;
    int32_t bottom;
    uint32_t pixels;
    double sum;
};

static void visit(struct search *search, int32_t pixel, int32_t *depth)
{
    if (!search->seen[pixel] && search->map[pixel] > THRESHOLD) {
        search->seen[pixel] = 1;
        search->stack[(*depth)++] = pixel;
    }
}

/*
 * Walk over the region of @start, its first pixel row by row, and note for every row where
 * it begins and ends.
 */
static struct extent flood(struct search *search, int32_t start)
{
    struct extent extent = {.top = start / search->width, .bottom = start / search->width - 1};
    int32_t depth = 0;
    visit(search, start, &depth);
    while (depth > 0) {
        const int32_t pixel = search->stack[--depth];
        const int32_t x = pixel % search->width;
        const int32_t y = pixel / search->width;
        if (y > extent.bottom) { /* Never by more than one: a region is connected. */
            extent.bottom = y;
            search->left[y] = x;
            search->right[y] = x;
        }
        search->left[y] = x < search->left[y] ? x : search->left[y];
        search->right[y] = x > search->right[y] ? x : search->right[y];
        extent.pixels++;
        extent.sum += (double)search->map[pixel];
        if (x > 0) {
            visit(search, pixel - 1, &depth);
        }
        if (x + 1 < search->width) {
            visit(search, pixel + 1, &depth);
        }
        if (y > 0) {
            visit(search, pixel - search->width, &depth);
        }
        if (y + 1 < search->height) {
            visit(search, pixel + search->width, &depth);
        }
    }
    return extent;
}

static float turn_of(struct point a, struct point b, struct point c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/*
 * The convex hull of the rows' ends, in place: down the right side, up the left. Points come
 * sorted by row, so one pass for each side does (Andrew's chain).
 */
static uint32_t hull_of(struct search *search, const struct extent *extent)
{
    struct point *hull = search->border;
    uint32_t count = 0;
    for (int32_t y = extent->top; y <= extent->bottom; y++) {
        for (int32_t edge = 0; edge < 2; edge++) { /* Both edges of the row of pixels. */
            const struct point next = {(float)search->right[y] + 1, (float)(y + edge)};
            while (count >= 2 && turn_of(hull[count - 2], hull[count - 1], next) <= 0) {
                count--;
            }
            hull[count++] = next;
        }
    }
    const uint32_t right_count = count;
    for (int32_t y = extent->bottom; y >= extent->top; y--) {
        for (int32_t edge = 1; edge >= 0; edge--) {
            const struct point next = {(float)search->left[y], (float)(y + edge)};
            while (count >= right_count + 1 &&
                   turn_of(hull[count - 2], hull[count - 1], next) <= 0) {
                count--;
            }
            hull[count++] = next;
        }
    }
    return count;
}

/* The rectangle around the hull that has a side along the direction (@ux, @uy). */
static struct region around(const struct point *hull, uint32_t count, float ux, float uy)
{
    float low_u = INFINITY;
    float high_u = -INFINITY;
    float low_v = INFINITY;
    float high_v = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        const float u = hull[i].x * ux + hull[i].y * uy;
        const float v = hull[i].y * ux - hull[i].x * uy;
        low_u = u < low_u ? u : low_u;
        high_u = u > high_u ? u : high_u;
        low_v = v < low_v ? v : low_v;
        high_v = v > high_v ? v : high_v;
    }
    const float width = high_u - low_u;
    const float height = high_v - low_v;
    return (struct region){
        .frame =
            {
                .x = low_u * ux - low_v * uy,
                .y = low_u * uy + low_v * ux,
                .right_x = ux * width,
                .right_y = uy * width,
                .down_x = -uy * height,
                .down_y = ux * height,
            },
        .width = width,
        .height = height,
    };
}

/* The smallest rectangle around a hull has a side along one of the hull's. */
static struct region smallest_around(const struct point *hull, uint32_t count)
{
    struct region best = around(hull, count, 1, 0);
    for (uint32_t i = 0; i < count; i++) {
        const struct point a = hull[i];
        const struct point b = hull[(i + 1) % count];
        const float length = sqrtf((b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y));
        if (length <= 0) {
            continue;
        }
        const struct region next = around(hull, count, (b.x - a.x) / length, (b.y - a.y) / length);
        if (next.width * next.height < best.width * best.height) {
            best = next;
        }
    }
    return best;
}

/* Exchange the sides of @region: what went down goes to the right. */
static struct region quarter_turn(const struct region *region)
{
    const struct frame *old = &region->frame;
    return (struct region){
        .frame =
            {
                .x = old->x + old->right_x,
                .y = old->y + old->right_y,
                .right_x = old->down_x,
                .right_y = old->down_y,
                .down_x = -old->right_x,
                .down_y = -old->right_y,
            },
        .width = region->height,
        .height = region->width,
        .score = region->score,
    };
}

/* Which of its four ways up a rectangle has: as upright as can be, unless it is a column. */
static struct region upright(struct region region)
{
    for (uint32_t i = 0; i < 4; i++) {
        const bool is_level = fabsf(region.frame.right_x) >= fabsf(region.frame.right_y);
        if (is_level && region.frame.right_x > 0) {
            break;
        }
        region = quarter_turn(&region);
    }
    return region.height >= UPRIGHT * region.width ? quarter_turn(&region) : region;
}

static struct region grown(struct region region)
{
    const float by = region.width * region.height * GROWTH / (2 * (region.width + region.height));
    struct frame *frame = &region.frame;
    const float right = by / region.width;
    const float down = by / region.height;
    frame->x -= frame->right_x * right + frame->down_x * down;
    frame->y -= frame->right_y * right + frame->down_y * down;
    frame->right_x *= 1 + 2 * right;
    frame->right_y *= 1 + 2 * right;
    frame->down_x *= 1 + 2 * down;
    frame->down_y *= 1 + 2 * down;
    region.width += 2 * by;
    region.height += 2 * by;
    return region;
}

static uint32_t search_all(struct search *search, struct region *regions_out)
{
    uint32_t count = 0;
    const int32_t pixels = search->width * search->height;
    for (int32_t start = 0; start < pixels && count < REGIONS_MAX; start++) {
        if (search->seen[start] || !(search->map[start] > THRESHOLD)) {
            continue;
        }
        const struct extent extent = flood(search, start);
        const float score = (float)(extent.sum / extent.pixels);
        struct region region = smallest_around(search->border, hull_of(search, &extent));
        const float shorter = region.width < region.height ? region.width : region.height;
        if (score < SCORE_MIN || shorter < SIDE_MIN) {
            continue;
        }
        region.score = score;
        regions_out[count] = grown(upright(region));
        regions_out[count].score = score;
        count++;
    }
    return count;
}

int32_t regions_find(const float *map, int32_t width, int32_t height, struct region *regions_out)
{
    const size_t pixels = (size_t)width * (size_t)height;
    struct search search = {
        .map = map,
        .width = width,
        .height = height,
        .seen = calloc(pixels, 1),
        .stack = malloc(pixels * sizeof(*search.stack)),
        .border = malloc(((size_t)height * 4 + 4) * sizeof(*search.border)),
        .left = malloc((size_t)height * sizeof(*search.left)),
        .right = malloc((size_t)height * sizeof(*search.right)),
    };
    int32_t count = -1;
    if (search.seen != NULL && search.stack != NULL && search.border != NULL &&
        search.left != NULL && search.right != NULL) {
        count = (int32_t)search_all(&search, regions_out);
    }
    free(search.seen);
    free(search.stack);
    free(search.border);
    free(search.left);
    free(search.right);
    return count;
}

static struct point centre_of(const struct region *region)
{
    const struct frame *frame = &region->frame;
    return (struct point){
        .x = frame->x + (frame->right_x + frame->down_x) / 2,
        .y = frame->y + (frame->right_y + frame->down_y) / 2,
    };
}

static int by_height(const void *a, const void *b)
{
    const float left = centre_of(a).y;
    const float right = centre_of(b).y;
    return (left > right) - (left < right);
}

static int by_side(const void *a, const void *b)
{
    const float left = centre_of(a).x;
    const float right = centre_of(b).x;
    return (left > right) - (left < right);
}

void regions_sort(struct region *regions, uint32_t count, uint32_t *rows_out)
{
    uint32_t row = 0;
    qsort(regions, count, sizeof(*regions), by_height);
    for (uint32_t first = 0; first < count;) {
        const float y = centre_of(&regions[first]).y;
        const float reach = regions[first].height / 2;
        uint32_t end = first + 1;
        while (end < count && centre_of(&regions[end]).y < y + reach) {
            end++;
        }
        qsort(regions + first, end - first, sizeof(*regions), by_side);
        for (uint32_t i = first; i < end; i++) {
            rows_out[i] = row;
        }
        row++;
        first = end;
    }
}
