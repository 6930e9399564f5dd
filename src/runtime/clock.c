#include "runtime/clock.h"

#include <time.h>

#include "base/assert.h"
#include "base/units.h"

static int64_t monotonic_ns(void)
{
    struct timespec now;
    const int failed = clock_gettime(CLOCK_MONOTONIC, &now);
    ASSERT(failed == 0);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void clock_init(struct clock *clock, enum clock_kind kind)
{
    *clock = (struct clock){.kind = kind};
    if (kind == CLOCK_KIND_REAL) {
        clock->origin_ns = monotonic_ns();
    }
}

int64_t clock_read(struct clock *clock)
{
    if (clock->kind == CLOCK_KIND_REAL) {
        clock->now_ns = monotonic_ns() - clock->origin_ns;
    }
    return clock->now_ns;
}

int64_t clock_wall_ns(const struct clock *clock, int64_t at_ns)
{
    struct timespec wall;
    if (clock->kind == CLOCK_KIND_MANUAL) {
        return at_ns;
    }
    const int failed = clock_gettime(CLOCK_REALTIME, &wall);
    ASSERT(failed == 0);
    const int64_t passed_ns = monotonic_ns() - clock->origin_ns - at_ns;
    return (int64_t)wall.tv_sec * NS_PER_S + wall.tv_nsec - passed_ns;
}

void clock_set(struct clock *clock, int64_t now_ns)
{
    ASSERT(clock->kind == CLOCK_KIND_MANUAL);
    ASSERT(now_ns >= clock->now_ns);
    clock->now_ns = now_ns;
}
