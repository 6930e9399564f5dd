/*
 * blur.h - the longest of several ways, without the corner where two are equally long.
 *
 * Where another way becomes the longest the slope of a job's time jumps. A descent that follows
 * the slope of one way stops there, though the time could fall by shortening both. So the largest
 * of the lengths l is blurred to
 *
 *     max over parts p >= 0 that sum to 1:  sum of p l  +  width / 2 (1 - sum of p^2)
 *
 * which has a slope everywhere: the parts. It is never less than the longest, and more by less
 * than half the width; it is the longest itself where all others are shorter by the width.
 * (The smoothing of Nesterov 2005, with a square.) Pure, and + - x / only.
 */
#ifndef MIXTURE_BLUR_H
#define MIXTURE_BLUR_H

#include <stdint.h>

enum { BLUR_WAYS_MAX = 6 };

/* Of @count lengths, 1 to BLUR_WAYS_MAX, with a positive @width. The parts of the ways go out. */
double blur_longest(const double *lengths_ns, uint32_t count, double width_ns, double *parts_out);

#endif /* MIXTURE_BLUR_H */
