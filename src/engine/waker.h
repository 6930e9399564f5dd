/*
 * waker.h - a thread that has nothing to do but to wake up.
 *
 * A processor that sleeps takes long to wake. What sleeps there and is to be woken soon, such as a
 * client of this machine by its answer, is there sooner if its processor has been woken meanwhile.
 * On some machines that costs hardly more: waking what sleeps on a processor that is awake is
 * quick. On others each costs as much. The system puts a thread that wakes up on a processor that
 * is idle.
 */
#ifndef ENGINE_WAKER_H
#define ENGINE_WAKER_H

#include <stdbool.h>

struct waker;

/* NULL if the calling thread may use one processor only, or there can be no thread. The new one
 * may use those of the calling thread. */
struct waker *waker_create(void);

/* Wake it. Returns at once. */
void waker_wake(struct waker *waker);

/* NULL is nothing. */
void waker_destroy(struct waker *waker);

/* Say whether what is answered next waits on this machine; of any thread. */
void waker_expect(bool is_here);

/* The last word on that. */
bool waker_is_expected(void);

#endif /* ENGINE_WAKER_H */
