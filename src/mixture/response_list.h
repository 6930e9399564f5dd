/*
 * response_list.h - units one by one, the costliest way to the end first: a place to start from.
 *
 * Each unit goes where it ends earliest, tolls included, given where those before it are: list
 * scheduling as in HEFT (Topcuoglu et al., 2002), at the waits of a loaded cluster. Sees that
 * units of one job hold each other up, but not what comes after a unit.
 */
#ifndef MIXTURE_RESPONSE_LIST_H
#define MIXTURE_RESPONSE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "mixture/pattern.h"

struct congestion;
struct stream;

/*
 * Choose one of @count spots for each unit of @stream; of a site that has room for more
 * machines, as many copies of a spot as are wanted. False if a unit can run on none of them.
 */
bool response_list_solve(
    const struct congestion *congestion, const struct stream *stream, const struct spot *spots,
    uint32_t count, struct spot *units_out);

#endif /* MIXTURE_RESPONSE_LIST_H */
