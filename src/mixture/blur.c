#include "mixture/blur.h"

#include "base/assert.h"

static void sort_falling(const double *lengths_ns, uint32_t count, double *sorted_out)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        while (at > 0 && sorted_out[at - 1] < lengths_ns[i]) {
            sorted_out[at] = sorted_out[at - 1];
            at--;
        }
        sorted_out[at] = lengths_ns[i];
    }
}

/* What exceeds this level sums to the width: parts are what exceeds it, over the width. */
static double find_level(const double *lengths_ns, uint32_t count, double width_ns)
{
    double sorted[BLUR_WAYS_MAX];
    sort_falling(lengths_ns, count, sorted);
    double sum = sorted[0];
    double level = sum - width_ns;
    for (uint32_t i = 1; i < count && sorted[i] > level; i++) {
        sum += sorted[i];
        level = (sum - width_ns) / (i + 1);
    }
    return level;
}

double blur_longest(const double *lengths_ns, uint32_t count, double width_ns, double *parts_out)
{
    ASSERT(count > 0);
    ASSERT(count <= BLUR_WAYS_MAX);
    ASSERT(width_ns > 0);
    const double level = find_level(lengths_ns, count, width_ns);
    double value_ns = 0;
    double squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        const double part = lengths_ns[i] > level ? (lengths_ns[i] - level) / width_ns : 0;
        parts_out[i] = part;
        value_ns += part * lengths_ns[i];
        squares += part * part;
    }
    return value_ns + width_ns / 2 * (1 - squares);
}
