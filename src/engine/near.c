#include "engine/near.h"

#include <sched.h>
#include <stddef.h>

/* Of one thread. */
struct place {
    uint32_t processor; /* It stays there. 0: it does not. */
    cpu_set_t allowed;  /* Where it could go before. */
};

static _Thread_local struct place place;

uint32_t near_here(void)
{
    const int processor = sched_getcpu();
    return processor < 0 ? 0 : (uint32_t)processor + 1;
}

uint32_t near_where(void)
{
    return place.processor;
}

static cpu_set_t only(uint32_t processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor - 1, &set);
    return set;
}

/* Whether the thread is still where it was put. */
static bool is_untouched(void)
{
    const cpu_set_t put = only(place.processor);
    cpu_set_t now;
    return sched_getaffinity(0, sizeof(now), &now) == 0 && CPU_EQUAL(&put, &now);
}

static void leave(void)
{
    if (place.processor != 0 && is_untouched()) {
        /* It fails if none of them is allowed any more: then the system has chosen others. */
        (void)sched_setaffinity(0, sizeof(place.allowed), &place.allowed);
    }
    place.processor = 0;
}

bool near_stay(uint32_t processor)
{
    if (processor == place.processor) {
        return true;
    }
    if (processor == 0 || processor > CPU_SETSIZE) {
        leave();
        return processor == 0;
    }
    if (place.processor != 0 && !is_untouched()) {
        place.processor = 0;
    }
    if (place.processor == 0 && sched_getaffinity(0, sizeof(place.allowed), &place.allowed) != 0) {
        return false; /* The machine has more processors than a set holds. */
    }
    const cpu_set_t put = only(processor);
    if (!CPU_ISSET(processor - 1, &place.allowed) || sched_setaffinity(0, sizeof(put), &put) != 0) {
        leave();
        return false;
    }
    place.processor = processor;
    return true;
}

void near_forked(void)
{
    leave();
}
