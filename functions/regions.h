/*
 * regions.h - text in a map of probabilities: connected regions and their smallest rectangles.
 *
 * What a detector of the DB family gives (Liao et al. 2020) is a map that is high inside of
 * lines of text, shrunk; regions are found in it, measured, and grown back.
 */
#ifndef REGIONS_H
#define REGIONS_H

#include "pixels.h"

enum { REGIONS_MAX = 512 };

/* A rectangle, turned as the text is: the frame's way to the right is the way of reading. */
struct region {
    struct frame frame;
    float width;
    float height;
    float score; /* The mean probability inside. */
};

/*
 * Find the regions of @map, in pixels of the map. At most REGIONS_MAX, the first from the
 * top. Returns how many, or -1 without memory.
 */
int32_t regions_find(const float *map, int32_t width, int32_t height, struct region *regions_out);

/* Bring @count regions into the order of reading: rows from the top, each from the left. */
void regions_sort(struct region *regions, uint32_t count, uint32_t *rows_out);

#endif /* REGIONS_H */
