/*
 * mixture_copy.h - a sealed mixture as one piece of memory.
 *
 * For those who cannot release it part by part: a plan in an arena, the result of a search.
 * The copy points into itself and is only read. It is not for mixture_destroy().
 */
#ifndef MIXTURE_MIXTURE_COPY_H
#define MIXTURE_MIXTURE_COPY_H

#include <stddef.h>

struct arena;
struct mixture;

/* In one piece from malloc(); its owner calls free(). */
struct mixture *mixture_copy(const struct mixture *mixture);

/* In @arena. */
struct mixture *mixture_copy_to(struct arena *arena, const struct mixture *mixture);

#endif /* MIXTURE_MIXTURE_COPY_H */
