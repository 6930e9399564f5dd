#include "engine/near.h"

#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of one thread. */
struct place {
    uint32_t processor; /* It stays there. 0: it does not. */
    cpu_set_t allowed;  /* Where it could go before. */
    bool hurries;
    uint64_t turn_ns; /* How long its turns were before. 0: the system decides. */
};

/* What the system calls sched_attr, which not every C library has. */
struct attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t turn_ns; /* SCHED_OTHER: asked for. */
    uint64_t deadline_ns;
    uint64_t period_ns;
};

enum { TURN_NS_MIN = 100000, RESET_ON_FORK = 1 }; /* As Linux has them. */

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

void near_hurry(bool is_wanted)
{
    struct attributes attributes = {.size = 0};
    if (is_wanted == place.hurries) {
        return;
    }
    place.hurries = is_wanted;
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0 ||
        attributes.policy != SCHED_OTHER) {
        return;
    }
    const uint64_t before_ns = attributes.turn_ns;
    attributes.size = sizeof(attributes);
    attributes.flags &= RESET_ON_FORK; /* The rest is not ours to set. */
    attributes.turn_ns = is_wanted ? TURN_NS_MIN : place.turn_ns;
    place.turn_ns = before_ns;
    (void)syscall(SYS_sched_setattr, 0, &attributes, 0); /* It is but a hint. */
}

void near_forked(void)
{
    leave();
    near_hurry(false);
}
