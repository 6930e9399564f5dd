/*
 * scripted.h - a server on loopback that says what a test wants, however wrong that is.
 *
 * One thread, one connection at a time or several beside each other; all of them follow the same
 * script.
 */
#ifndef SERVING_SCRIPTED_H
#define SERVING_SCRIPTED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>

#include "client/http_call.h"

enum { SCRIPTED_CONNECTIONS_MAX = 64 };

/* What follows when everything has been said. */
enum script_end {
    SCRIPT_HANG_UP,
    SCRIPT_RESET, /* As a process that died. */
    SCRIPT_STAY,  /* Until the test is over. */
    SCRIPT_AGAIN, /* Wait for the next request. */
};

struct script {
    bool reads_nothing;   /* Otherwise the head of a request is waited for, and its body read. */
    const char *first;    /* Said then. NULL: nothing. */
    const char *then;     /* Said over and over until the client leaves. NULL: nothing. */
    uint32_t pause_ms;    /* Before each of those. */
    enum script_end end;  /* Without then. */
    uint32_t answers_max; /* Of a connection, which then hangs up; 0: any number. */
};

struct scripted {
    struct script script;
    struct http_url url; /* Where it listens. */
    int listener;
    atomic_bool is_over;
    atomic_uint requests; /* Whose heads have come. */
    pthread_t thread;
    uint32_t count;
    pthread_t threads[SCRIPTED_CONNECTIONS_MAX];
};

void scripted_start(struct scripted *scripted, struct script script);

/* Hangs up on all clients. */
void scripted_stop(struct scripted *scripted);

#endif /* SERVING_SCRIPTED_H */
