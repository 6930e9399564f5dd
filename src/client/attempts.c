#include "client/attempts.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"
#include "engine/monotonic.h"

/* What the threads of one question share. */
struct asking {
    struct attempts attempts;
    pthread_mutex_t lock; /* Of the rest. */
    pthread_cond_t changed;
    uint32_t references;
    uint32_t begun;
    uint32_t open;     /* Begun, and not heard of. */
    bool waits_newest; /* The last that was begun is one of these. */
    bool is_over;      /* One has the last word. */
    enum weft_status status;
    struct http_reply reply;
    struct weft_error error;
};

struct attempt {
    struct asking *asking;
    uint32_t number;
};

/* With the lock, which is given back. */
static void leave(struct asking *asking)
{
    asking->references--;
    const bool is_last = asking->references == 0;
    (void)pthread_mutex_unlock(&asking->lock);
    if (is_last) {
        if (asking->attempts.release != NULL) {
            asking->attempts.release(asking->attempts.context);
        }
        (void)pthread_cond_destroy(&asking->changed);
        (void)pthread_mutex_destroy(&asking->lock);
        free(asking);
    }
}

static bool asks_next(enum weft_status status)
{
    return status == WEFT_IO || status == WEFT_BUSY || status == WEFT_NOT_FOUND;
}

static void *attempt(void *argument)
{
    const struct attempt given = *(struct attempt *)argument;
    struct asking *asking = given.asking;
    struct weft_error error = {.status = WEFT_OK};
    struct http_reply reply = {.body = NULL};
    free(argument);
    const enum weft_status status =
        asking->attempts.ask(asking->attempts.context, given.number, &reply, &error);
    (void)pthread_mutex_lock(&asking->lock);
    asking->open--;
    asking->waits_newest = asking->waits_newest && given.number + 1 != asking->begun;
    if (asking->is_over) { /* Another was faster. */
        free(reply.body);
    } else {
        asking->is_over = !asks_next(status);
        asking->status = status;
        asking->reply = reply;
        asking->error = error;
    }
    (void)pthread_cond_signal(&asking->changed);
    leave(asking);
    return NULL;
}

/* Ask the next server. False if there is no thread for it. */
static bool begin(struct asking *asking)
{
    pthread_t thread;
    struct attempt *given = memory_zeroed(1, sizeof(*given));
    *given = (struct attempt){.asking = asking, .number = asking->begun};
    if (pthread_create(&thread, NULL, attempt, given) != 0) {
        free(given);
        return false;
    }
    (void)pthread_detach(thread); /* It is joinable. */
    asking->begun++;
    asking->open++;
    asking->waits_newest = true;
    asking->references++;
    return true;
}

static struct timespec after_ms(uint32_t ms)
{
    const int64_t at_ns = monotonic_ns() + ms * NS_PER_MS;
    return (struct timespec){.tv_sec = at_ns / NS_PER_S, .tv_nsec = (long)(at_ns % NS_PER_S)};
}

/* Until one has the last word, or the newest has failed or was silent for its time. */
static void wait_for_newest(struct asking *asking)
{
    const struct timespec end = after_ms(asking->attempts.silence_ms);
    int code = 0;
    while (!asking->is_over && asking->waits_newest && code != ETIMEDOUT) {
        code = pthread_cond_timedwait(&asking->changed, &asking->lock, &end);
    }
}

/* Until one has the last word, or all have failed. */
static void wait_for_all(struct asking *asking)
{
    while (!asking->is_over && asking->open > 0) {
        (void)pthread_cond_wait(&asking->changed, &asking->lock);
    }
}

enum weft_status attempts_run(
    const struct attempts *attempts, struct http_reply *reply_out, struct weft_error *error)
{
    ASSERT(attempts->count > 0);
    pthread_condattr_t steady;
    struct asking *asking = memory_zeroed(1, sizeof(*asking));
    asking->attempts = *attempts;
    asking->references = 1;
    (void)pthread_mutex_init(&asking->lock, NULL);
    (void)pthread_condattr_init(&steady);
    (void)pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&asking->changed, &steady);
    (void)pthread_condattr_destroy(&steady);
    (void)pthread_mutex_lock(&asking->lock);
    asking->status = error_set(&asking->error, WEFT_IO, "there is no thread to ask from");
    bool goes_on = true;
    while (goes_on && !asking->is_over && asking->begun < attempts->count) {
        goes_on = begin(asking);
        wait_for_newest(asking);
    }
    wait_for_all(asking);
    const enum weft_status status = asking->status;
    asking->is_over = true;
    *reply_out = asking->reply;
    if (status != WEFT_OK && error != NULL) {
        *error = asking->error;
    }
    leave(asking);
    return status;
}
