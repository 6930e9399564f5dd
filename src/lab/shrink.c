#include "lab/shrink.h"

#include <stddef.h>

#include "base/assert.h"

static bool is_over(const struct shrink *shrink)
{
    return shrink->stop || shrink->tries >= shrink->tries_max;
}

/* Replace *smallest by @candidate if that fails too. Takes @candidate, which may be NULL. */
static bool adopt(struct shrink *shrink, struct scenario *candidate, struct scenario **smallest)
{
    if (candidate == NULL || is_over(shrink)) {
        scenario_destroy(candidate);
        return false;
    }
    shrink->tries++;
    if (!shrink->fails(shrink->context, candidate)) {
        scenario_destroy(candidate);
        return false;
    }
    scenario_destroy(*smallest);
    *smallest = candidate;
    if (shrink->on_smaller != NULL) {
        shrink->on_smaller(shrink->context, candidate, shrink->tries);
    }
    return true;
}

/* A stream is halved from its end, which leaves its beginning as it was; then made a list. */
static void shrink_stream(struct shrink *shrink, struct scenario **smallest)
{
    while ((*smallest)->jobs > 1 &&
           adopt(shrink, scenario_cut_to_jobs(*smallest, (*smallest)->jobs / 2), smallest)) {
    }
    (void)adopt(shrink, scenario_cut_to_list(*smallest), smallest);
}

/* One pass over the pieces of @part, @chunk at a time. True if it became smaller. */
static bool shrink_chunks(
    struct shrink *shrink, enum scenario_part part, uint32_t chunk, struct scenario **smallest)
{
    bool is_smaller = false;
    uint32_t first = 0;
    while (first < scenario_cut_count(*smallest, part) && !is_over(shrink)) {
        const uint32_t before = scenario_cut_count(*smallest, part);
        const uint32_t left = before - first;
        const struct scenario_cut cut = {part, first, chunk < left ? chunk : left};
        if (adopt(shrink, scenario_cut_apply(*smallest, &cut), smallest)) {
            is_smaller = true;
        }
        if (scenario_cut_count(*smallest, part) ==
            before) { /* Else others have moved up to @first. */
            first += chunk;
        }
    }
    return is_smaller;
}

static bool shrink_part(struct shrink *shrink, enum scenario_part part, struct scenario **smallest)
{
    bool is_smaller = false;
    /* Neighbours meet over one task; of a chain that goes, the ends would not. */
    uint32_t chunk = part == CUT_TASKS_BETWEEN ? 1 : scenario_cut_count(*smallest, part);
    while (chunk > 0 && !is_over(shrink)) {
        is_smaller |= shrink_chunks(shrink, part, chunk, smallest);
        chunk /= 2;
    }
    return is_smaller;
}

struct scenario *shrink_run(struct shrink *shrink, const struct scenario *scenario)
{
    ASSERT(shrink->fails != NULL);
    struct scenario *smallest = scenario_cut_to_jobs(scenario, scenario->jobs);
    shrink->tries = 0;
    shrink_stream(shrink, &smallest);
    bool is_smaller = true;
    while (is_smaller && !is_over(shrink)) {
        is_smaller = false;
        for (uint32_t part = 0; part < CUT_PARTS; part++) {
            is_smaller |= shrink_part(shrink, (enum scenario_part)part, &smallest);
        }
    }
    return smallest;
}
