#include "engine/waker.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

struct waker {
    pthread_t thread;
    sem_t bell;
    atomic_bool has_ended;
};

static atomic_bool is_here_expected;

static void *be_woken(void *context)
{
    struct waker *waker = context;
    while (!atomic_load_explicit(&waker->has_ended, memory_order_acquire)) {
        (void)sem_wait(&waker->bell); /* If a signal ends it, it was woken, too. */
    }
    return NULL;
}

/* Whether the calling thread may go to another processor. */
static bool has_another(void)
{
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && CPU_COUNT(&allowed) > 1;
}

struct waker *waker_create(void)
{
    struct waker *waker = has_another() ? calloc(1, sizeof(*waker)) : NULL;
    sigset_t all;
    sigset_t before;
    if (waker == NULL) {
        return NULL;
    }
    (void)sem_init(&waker->bell, /* pshared */ 0, /* value */ 0);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* Signals are not for it. */
    const bool is_there = pthread_create(&waker->thread, NULL, be_woken, waker) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!is_there) {
        (void)sem_destroy(&waker->bell);
        free(waker);
        return NULL;
    }
    (void)pthread_setname_np(waker->thread, "weft-waker"); /* From the start, for `top`. */
    return waker;
}

void waker_wake(struct waker *waker)
{
    (void)sem_post(&waker->bell); /* It fails only if there are very many before it. */
}

void waker_destroy(struct waker *waker)
{
    if (waker == NULL) {
        return;
    }
    atomic_store_explicit(&waker->has_ended, true, memory_order_release);
    (void)sem_post(&waker->bell);
    (void)pthread_join(waker->thread, NULL);
    (void)sem_destroy(&waker->bell);
    free(waker);
}

void waker_expect(bool is_here)
{
    atomic_store_explicit(&is_here_expected, is_here, memory_order_relaxed);
}

bool waker_is_expected(void)
{
    return atomic_load_explicit(&is_here_expected, memory_order_relaxed);
}
