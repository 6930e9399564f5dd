/*
 * linger.c - whether the loop stays awake for the next batch.
 *
 * A client that asks again as soon as it is answered is back before a processor has fallen asleep
 * and woken up. Waking it costs the client and the loop more time than the loop takes to look
 * for the request meanwhile. So it does, if batches have come that soon; and no longer if they
 * do not, which is also what it sees where something else wants the processors.
 */
#include "process/short.h"

enum {
    ASLEEP_FACTOR = 2, /* With a loop that has to wake up it takes so much longer. */
    SOON_MAX = 128,    /* So many that come soon are enough, even if it was in vain before. */
    SOON_KEPT = 1024,  /* More are forgotten: others may ask now, who take their time. */
    LATE_ONE = 8,      /* One that comes late counts as much as so many that come soon, */
    LATE_MAX = 32,     /* and here the loop sleeps again. */
};

void process_linger_init(struct process_linger *linger, int64_t most_ns)
{
    *linger = (struct process_linger){.most_ns = most_ns, .soon_min = PROCESS_SIGNS_MIN};
}

void process_linger_idle(struct process_linger *linger, int64_t now_ns)
{
    linger->idle_ns = now_ns;
}

/* The loop stayed awake too often in vain. */
static void give_up(struct process_linger *linger)
{
    linger->soon_min = process_signs_needed(linger->soon_min, linger->soon, SOON_MAX);
    linger->soon = 0;
    linger->late = 0;
}

bool process_linger_is_steady(const struct process_linger *linger)
{
    return linger->soon >= linger->soon_min;
}

void process_linger_launch(struct process_linger *linger, int64_t now_ns)
{
    if (linger->idle_ns == 0) {
        return; /* It is not the first since then. */
    }
    const bool was_awake = process_linger_is_steady(linger) && !linger->sleeps;
    const int64_t most_ns = (was_awake ? 1 : ASLEEP_FACTOR) * linger->most_ns;
    const bool is_soon = now_ns - linger->idle_ns <= most_ns;
    linger->idle_ns = 0;
    if (is_soon) {
        linger->soon += linger->soon < SOON_KEPT ? 1 : 0;
        linger->late -= linger->late > 0 ? 1 : 0;
    } else if (!was_awake) {
        linger->soon -= linger->soon < LATE_ONE ? linger->soon : LATE_ONE;
    } else {
        linger->late += LATE_ONE;
        if (linger->late > LATE_MAX) {
            give_up(linger);
        }
    }
}

bool process_linger_lasts(const struct process_linger *linger, int64_t now_ns)
{
    return linger->idle_ns != 0 && !linger->sleeps && process_linger_is_steady(linger) &&
           now_ns - linger->idle_ns <= linger->most_ns;
}
