#include "lab/saturation.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"

enum { NUMBER_BYTES = 32 };

double saturation_round(double rate)
{
    char text[NUMBER_BYTES];
    (void)snprintf(text, sizeof(text), "%.5g", rate);
    return strtod(text, NULL);
}

void saturation_init(struct saturation *search, double rate_first, double precision)
{
    ASSERT(rate_first > 0);
    ASSERT(precision >= SATURATION_PRECISION_MIN);
    *search = (struct saturation){
        .verdict = SATURATION_OPEN,
        .precision = precision,
        .rate_next = rate_first,
    };
}

static bool is_narrow(const struct saturation *search)
{
    return search->rate_high - search->rate_low <= search->precision * search->rate_low;
}

/* Until there are both ends, every try was a step in the same direction. */
static void choose_next(struct saturation *search)
{
    if (search->rate_high <= 0) {
        const bool is_last = search->try_count > SATURATION_DOUBLINGS_MAX;
        search->verdict = is_last ? SATURATION_ALWAYS : SATURATION_OPEN;
        search->rate_next = saturation_round(2 * search->rate_low);
    } else if (search->rate_low <= 0) {
        const bool is_last = search->try_count > SATURATION_HALVINGS_MAX;
        search->verdict = is_last ? SATURATION_NEVER : SATURATION_OPEN;
        search->rate_next = saturation_round(search->rate_high / 2);
    } else if (is_narrow(search)) {
        search->verdict = SATURATION_FOUND;
    } else {
        search->rate_next = saturation_round((search->rate_low + search->rate_high) / 2);
    }
}

void saturation_tell(struct saturation *search, bool is_stable)
{
    ASSERT(search->verdict == SATURATION_OPEN);
    if (is_stable) {
        search->rate_low = search->rate_next;
    } else {
        search->rate_high = search->rate_next;
    }
    search->try_count++;
    choose_next(search);
    ASSERT(search->verdict != SATURATION_OPEN || search->try_count < SATURATION_TRIES_MAX);
}

uint32_t saturation_tries_left(const struct saturation *search)
{
    if (search->verdict != SATURATION_OPEN) {
        return 0;
    }
    const bool has_bracket = search->rate_low > 0 && search->rate_high > 0;
    double width = has_bracket ? search->rate_high / search->rate_low - 1 : 1;
    uint32_t count = has_bracket ? 0 : 2;
    while (width > search->precision) {
        width /= 2;
        count++;
    }
    return count == 0 ? 1 : count;
}

bool saturation_is_majority(uint32_t stable_count, uint32_t count)
{
    return stable_count > 0 && 4 * stable_count >= 3 * count;
}
