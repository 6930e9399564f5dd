#include "mixture/ways.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "mixture/blur.h"
#include "mixture/pattern.h"

enum { WAYS_MAX = BLUR_WAYS_MAX };

void ways_deinit(struct ways *ways)
{
    free(ways->ranges);
    free(ways->items);
    free(ways->visits);
}

void ways_clear(struct ways *ways)
{
    ways->pattern_count = 0;
    ways->count = 0;
    ways->visit_count = 0;
}

/* Room for @more elements after @count. */
static void *room(
    void *array, uint32_t count, uint32_t more, uint32_t *capacity, size_t element_bytes)
{
    if (count + more <= *capacity) {
        return array;
    }
    *capacity = 2 * (count + more);
    return memory_zeroed_more(array, count, *capacity, element_bytes);
}

/* How many ways lead to the last step; 0 if they are more than are written out. */
static uint32_t count_ways(const struct patterns *patterns, const struct pattern *pattern)
{
    uint32_t counts[PATTERN_STEPS_MAX];
    ASSERT(pattern->step_count > 0);
    for (uint32_t i = 0; i < pattern->step_count; i++) {
        const struct step *step = &patterns->steps[pattern->step_first + i];
        counts[i] = 0;
        for (uint32_t k = 0; k < step->arc_count && counts[i] <= WAYS_MAX; k++) {
            const uint32_t from = patterns->arcs[step->arc_first + k].from;
            counts[i] += from == STEP_NONE ? 1 : counts[from];
        }
    }
    const uint32_t count = counts[pattern->step_count - 1];
    return count <= WAYS_MAX ? count : 0;
}

/* Write out the way over @arcs, which come from the last one back. */
static void add_way(
    struct ways *ways, const struct patterns *patterns, const uint32_t *arcs, uint32_t arc_count)
{
    struct written_way way = {.visit_first = ways->visit_count};
    for (uint32_t i = arc_count; i-- > 0;) {
        const struct arc *arc = &patterns->arcs[arcs[i]];
        const struct wait_term *visits = patterns->visits + arc->visit_first;
        way.fixed_ns += arc->fixed_ns;
        ways->visits = room(
            ways->visits, ways->visit_count, arc->visit_count, &ways->visit_capacity,
            sizeof(*ways->visits));
        for (uint32_t k = 0; k < arc->visit_count; k++) {
            ways->visits[ways->visit_count++] = visits[k];
        }
    }
    way.visit_count = ways->visit_count - way.visit_first;
    ways->items = room(ways->items, ways->count, 1, &ways->capacity, sizeof(*ways->items));
    ways->items[ways->count++] = way;
}

/* Step number @number of the arcs that were chosen, back from the last step of @pattern. */
static const struct step *step_at(
    const struct patterns *patterns, const struct pattern *pattern, const uint32_t *arcs,
    uint32_t number)
{
    const uint32_t step =
        number == 0 ? pattern->step_count - 1 : patterns->arcs[arcs[number - 1]].from;
    return &patterns->steps[pattern->step_first + step];
}

/* All choices of an arc at each step, as one counts: the one that was chosen last goes on. */
static void add_ways(
    struct ways *ways, const struct patterns *patterns, const struct pattern *pattern)
{
    uint32_t arcs[PATTERN_STEPS_MAX];
    uint32_t count = 1; /* Arcs that are chosen. */
    arcs[0] = step_at(patterns, pattern, arcs, 0)->arc_first;
    while (count > 0) {
        while (patterns->arcs[arcs[count - 1]].from != STEP_NONE) {
            arcs[count] = step_at(patterns, pattern, arcs, count)->arc_first;
            count++;
        }
        add_way(ways, patterns, arcs, count);
        bool has_next = false;
        while (count > 0 && !has_next) {
            const struct step *step = step_at(patterns, pattern, arcs, count - 1);
            has_next = ++arcs[count - 1] < step->arc_first + step->arc_count;
            count -= has_next ? 0 : 1;
        }
    }
}

void ways_follow(struct ways *ways, const struct patterns *patterns)
{
    const uint32_t more = patterns->count - ways->pattern_count;
    if (more == 0) {
        return;
    }
    ways->ranges = room(
        ways->ranges, ways->pattern_count, more, &ways->pattern_capacity, sizeof(*ways->ranges));
    ways->visits = room(
        ways->visits, ways->visit_count, patterns->visit_count, &ways->visit_capacity,
        sizeof(*ways->visits));
    ways->items = room(ways->items, ways->count, more, &ways->capacity, sizeof(*ways->items));
    for (; ways->pattern_count < patterns->count; ways->pattern_count++) {
        const struct pattern *pattern = &patterns->items[ways->pattern_count];
        const struct way_range range = {ways->count, count_ways(patterns, pattern)};
        if (range.count > 0) {
            add_ways(ways, patterns, pattern);
        }
        ways->ranges[ways->pattern_count] = range;
    }
}
