/*
 * load.h - an open loop of requests over HTTP: they are due when they are due.
 *
 * Latency counts from the time at which a request was due, not from when a connection was
 * free for it: a server that stalls is charged for all requests that would have come
 * meanwhile. Plain HTTP/1.1, connections kept; one thread.
 */
#ifndef CLIENT_LOAD_H
#define CLIENT_LOAD_H

#include "base/histogram.h"
#include "client/http_call.h"
#include "model/arrivals.h"

struct load_report;

enum { LOAD_URLS_MAX = 16 };

struct load_options {
    const struct http_url *urls; /* Borrowed, like all below. Connections take them in turn. */
    uint32_t url_count;          /* LOAD_URLS_MAX at most. */
    const char *path;
    const char *headers; /* Each with its CR LF. */
    char *body;
    size_t body_bytes;
    struct arrival_stream *arrivals; /* When requests are due; nothing else of it is used. */
    int64_t until_ns;                /* No request is due after this. */
    int64_t warmup_ns;               /* Those due before this are not counted. */
    int64_t patience_ns;             /* How long answers are waited for after the last. */
    int64_t silence_ns;   /* Another address is asked as well where one says nothing for so long. 0:
                             none. Requests must have keys. */
    int64_t slo_ns;       /* 0: none. */
    uint32_t connections; /* At most. */
    bool has_keys;        /* A request that is sent again says which it is. */

    /* Called now and then. True: stop, and forget what is open. May be NULL. */
    bool (*is_over)(void *context, const struct load_report *report);
    void *context;
};

/* What was measured of requests that were due after the warm-up. */
struct load_report {
    uint64_t due;
    uint64_t good;    /* 200 */
    uint64_t in_slo;  /* Of these: within the SLO. */
    uint64_t refused; /* 503 */
    uint64_t late;    /* 504 */
    uint64_t failed;  /* Any other answer. */
    uint64_t broken;  /* No answer: the connection failed. */
    uint64_t retried; /* Sent again, to another address, after that. */
    uint64_t silent;  /* Sent to another address as well, after nothing came from one. */
    uint64_t open;    /* Not answered when it ended. */
    uint64_t behind;  /* Sent more than 1 ms after they were due: no connection was free. */
    int64_t span_ns;  /* From the end of the warm-up to the last answer. */
    struct histogram latency_ns; /* Of good answers. */
    struct histogram queue_ns; /* Of good answers, as the server splits their time: weft-timing. */
    struct histogram run_ns;
    struct histogram other_ns;
    struct histogram refused_ns; /* Until a refusal was told. */
    struct histogram network_ns; /* What the server does not see: sockets, HTTP, our own queue. */
};

/*
 * Run until the last request is answered, the patience is over or is_over() says so.
 *
 * Errors: WEFT_IO if the address cannot be found, or nothing ever answered; @error says
 * why.
 */
enum weft_status load_run(
    const struct load_options *options, struct load_report *report, struct weft_error *error);

#endif /* CLIENT_LOAD_H */
