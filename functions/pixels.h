/*
 * pixels.h - pictures in memory, and the planes of numbers that models take.
 *
 * A picture is red, green and blue bytes, row by row from the top, as tensor [height, width,
 * 3]. Planes are floats, one colour after the other, as tensor [3, height, width].
 */
#ifndef PIXELS_H
#define PIXELS_H

#include <stdbool.h>

#include <weft/function.h>

/* 40 megapixels: more is refused before anything is allocated for it. */
enum { PIXELS_MAX = 40000000 };

struct pixels {
    int32_t width;
    int32_t height;
    const uint8_t *data;
};

/* How a byte becomes a float: (byte * scale - mean) / deviation, by colour of the picture. */
struct normal {
    float scale;
    float mean[3];
    float deviation[3];
    bool reversed; /* Blue first. */
};

/* Three planes, or the left part of them: rows begin @stride floats apart. */
struct planes {
    int32_t width;
    int32_t height;
    int32_t stride;
    float *data;
};

/* A parallelogram of a picture: a corner, and the way along its two sides. */
struct frame {
    float x;
    float y;
    float right_x;
    float right_y;
    float down_x;
    float down_y;
};

/* Whether a picture of this size has pixels, and not too many. */
bool pixels_fit(int64_t width, int64_t height);

/* Decode the JPEG or PNG in @file into output @name of @call. */
enum weft_status pixels_decode(
    const struct weft_call *call, const struct weft_tensor *file, const char *name);

/* The picture in @tensor; false if it is none, and the call has failed. */
bool pixels_of(
    const struct weft_call *call, const struct weft_tensor *tensor, struct pixels *pixels_out);

/*
 * A smaller picture of the same, halved until it would no longer be @width by @height: what is
 * sampled from it afterwards has seen every pixel. *owned_out is to be freed, also if it is
 * NULL because nothing was done. False without memory.
 */
bool pixels_shrink(struct pixels *pixels, int32_t width, int32_t height, uint8_t **owned_out);

/* The whole picture as planes of @width by @height, shrunk first and then linearly. */
bool pixels_resize(
    const struct pixels *pixels, const struct normal *normal, int32_t width, int32_t height,
    float *planes_out);

/*
 * Fill @planes with the part of the picture inside @frame. Outside of the picture its border
 * goes on. False without memory.
 */
bool pixels_cut(
    const struct pixels *pixels, const struct frame *frame, const struct normal *normal,
    const struct planes *planes);

/* Models that were trained on ImageNet, in the order of colours given by @reversed. */
struct normal normal_imagenet(bool reversed);

/* From -1 to 1. */
struct normal normal_signed(bool reversed);

#endif /* PIXELS_H */
