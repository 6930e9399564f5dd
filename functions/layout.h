/*
 * layout.h - the parts of a page in the outputs of a PicoDet detector.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdbool.h>

#include <weft/function.h>

enum {
    LAYOUT_WIDTH = 608, /* Of the picture that the detector sees. */
    LAYOUT_HEIGHT = 800,
    LAYOUT_LEVELS = 4, /* It looks for large and small things apart. */
    LAYOUT_KINDS = 10,
    LAYOUT_PARTS_MAX = 100,
};

/* A part of the page, in shares of its width and height. */
struct part {
    float left;
    float top;
    float right;
    float bottom;
    float score;
    uint32_t kind;
};

/* "text", "title", … */
extern const char *const layout_kinds[LAYOUT_KINDS];

/*
 * Find the parts in the detector's outputs, best first: @scores and @boxes by level. Returns
 * how many, or -1 if the outputs do not have the shapes of this detector.
 */
int32_t layout_find(
    const struct weft_tensor *const *scores, const struct weft_tensor *const *boxes,
    struct part *parts_out);

#endif /* LAYOUT_H */
