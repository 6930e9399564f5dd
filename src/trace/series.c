#include "trace/series.h"

#include <stdlib.h>

#include "base/memory.h"

enum { SERIES_FIRST = 256 };

static void grow(struct series *series)
{
    const uint64_t capacity = series->capacity == 0 ? SERIES_FIRST : 2 * series->capacity;
    series->values =
        memory_lines_more(series->values, series->capacity, capacity, sizeof(*series->values));
    series->capacity = capacity;
}

/* Every second one stays. */
static void thin(struct series *series)
{
    series->count /= 2;
    for (uint64_t i = 0; i < series->count; i++) {
        series->values[i] = series->values[2 * i];
    }
    series->skip = 2 * series->skip + 1;
}

void series_push(struct series *series, int64_t value)
{
    if (series->skipped < series->skip && series->count > 0) {
        series->skipped++;
        return;
    }
    series->skipped = 0;
    if (series->count_max > 0 && series->count == series->count_max) {
        thin(series);
    }
    if (series->count == series->capacity) {
        grow(series);
    }
    series->values[series->count] = value;
    series->count++;
}

void series_deinit(struct series *series)
{
    free(series->values);
    *series = (struct series){.count = 0};
}
