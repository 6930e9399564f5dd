/*
 * attempts.h - one question to several servers that all give the same answer.
 *
 * The next is asked when those before it have failed, and also when they only say nothing for a
 * while: a machine that stands still, or is cut off, keeps its connections. What was asked before
 * goes on, in a thread of its own, and the first answer counts: a server that drops a connection
 * may drop the request with it. So all of them must be asked with one key.
 */
#ifndef CLIENT_ATTEMPTS_H
#define CLIENT_ATTEMPTS_H

#include "client/http_call.h"

struct attempts {
    uint32_t count;      /* Of servers. */
    uint32_t silence_ms; /* So long one is waited for before the next is asked. */

    /*
     * Ask server @number, from 0. Called in a thread of its own, perhaps until the process ends.
     * After WEFT_IO and WEFT_BUSY the next is asked; any other end is the last word.
     */
    enum weft_status (*ask)(
        void *context, uint32_t number, struct http_reply *reply_out, struct weft_error *error);

    /* Called once, when no thread needs @context any more. NULL: nothing is to be done. */
    void (*release)(void *context);
    void *context;
};

/*
 * Ask until a server answers, and give its reply, whose body is the caller's. The context is taken
 * over, whatever this returns.
 *
 * Errors: those of the last that was heard; WEFT_IO if there is no thread.
 */
enum weft_status attempts_run(
    const struct attempts *attempts, struct http_reply *reply_out, struct weft_error *error);

#endif /* CLIENT_ATTEMPTS_H */
