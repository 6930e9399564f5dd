#include "client/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"
#include "client/asked.h"
#include "client/http_answer.h"
#include "client/timing.h"
#include "protocol/buffer.h"
#include "runtime/clock.h"
#include "runtime/loop.h"

#define ASK_NS    (100 * NS_PER_MS) /* How often is_over() is asked. */
#define BEHIND_NS NS_PER_MS
#define DOWN_NS   (100 * NS_PER_MS) /* An address that failed is left alone. */

enum {
    IN_BYTES = 65536,
    KEY_LINE_BYTES = 128,
    WIRES_FACTOR = 2, /* Connections, with those that are silent, to those that are asked for. */
};

struct load;

enum wire_state { WIRE_CLOSED, WIRE_CONNECTING, WIRE_FREE, WIRE_BUSY, WIRE_CLOSING };

/* One connection. */
struct wire {
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    struct load *load;
    struct wire *next_free;
    enum wire_state state;
    uint32_t place; /* Where it leads to. */
    struct asked asked;
    int64_t asked_ns;         /* When it was put here. */
    bool is_silent;           /* Too long: another connection has it, too. */
    bool is_settled;          /* That has been answered, or given up. */
    char key[KEY_LINE_BYTES]; /* The end of the head of its request. */
    bool is_written;          /* All of the request has left: libuv is done with write. */
    struct http_answer answer;
    struct timing times;
};

struct load {
    const struct load_options *options;
    struct load_report *report;
    struct loop *loop;
    struct clock clock;
    struct place {
        struct sockaddr_storage address;
        int64_t down_until_ns; /* A connection to it failed: others come first. */
    } places[LOAD_URLS_MAX];
    uint32_t turn;            /* The place of the next connection. */
    struct buffer head;       /* Of all requests, but for the key. */
    char key[HTTP_KEY_BYTES]; /* The first part of all keys; "": requests have none. */
    uint64_t number;          /* Of the last request. */
    struct wire **wires;
    uint32_t wire_count;
    struct wire *free;
    uint32_t silent_count;      /* Connections that more than the usual number may be beside. */
    struct asked_queue waiting; /* Those that no connection was free for. */
    struct arrival next;
    bool has_next;
    uint64_t open; /* Requests without an answer, those that wait included. */
    uint64_t answers;
    int64_t asked_ns;
    int last_failure;
    char in[IN_BYTES]; /* What has just come, on whichever connection. */
};

static bool is_counted(const struct load *load, int64_t due_ns)
{
    return due_ns >= load->options->warmup_ns;
}

/* The next place that may be up. False if there is none, and *place_out is any. */
static bool choose_place(struct load *load, uint32_t *place_out)
{
    const uint32_t count = load->options->url_count;
    const int64_t now_ns = clock_read(&load->clock);
    ASSERT(count > 0);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t place = (load->turn + i) % count;
        if (load->places[place].down_until_ns <= now_ns) {
            *place_out = place;
            return true;
        }
    }
    *place_out = load->turn % count;
    return false;
}

static void on_closed(uv_handle_t *handle)
{
    struct wire *wire = handle->data;
    wire->state = WIRE_CLOSED;
}

static void close_wire(struct wire *wire)
{
    struct load *load = wire->load;
    if (wire->state == WIRE_FREE) {
        struct wire **link = &load->free;
        while (*link != wire) {
            link = &(*link)->next_free;
        }
        *link = wire->next_free;
    }
    wire->state = WIRE_CLOSING;
    uv_close((uv_handle_t *)&wire->tcp, on_closed);
}

static bool is_asking(const struct wire *wire)
{
    return wire->state == WIRE_BUSY || wire->state == WIRE_CONNECTING;
}

/* Another connection that has the request of @wire, and is waited for. NULL: none. */
static struct wire *find_twin(const struct wire *wire)
{
    const struct load *load = wire->load;
    for (uint32_t i = 0; i < load->wire_count && load->silent_count > 0; i++) {
        struct wire *other = load->wires[i];
        if (other != wire && is_asking(other) && !other->is_settled &&
            other->asked.number == wire->asked.number) {
            return other;
        }
    }
    return NULL;
}

/* The request of @wire has come to its end there: it does not matter any more elsewhere. */
static void settle(const struct wire *wire)
{
    for (struct wire *twin = find_twin(wire); twin != NULL; twin = find_twin(wire)) {
        twin->is_settled = true;
    }
    if (wire->is_silent || wire->asked.attempt > 1) {
        asked_forget(&wire->load->waiting, wire->asked.number);
    }
}

/* @wire is not waited for any more. */
static void rest(struct wire *wire)
{
    wire->load->silent_count -= wire->is_silent ? 1 : 0;
    wire->is_silent = false;
    wire->is_settled = false;
}

static void drop(struct wire *wire)
{
    struct load *load = wire->load;
    if (wire->state == WIRE_CLOSED || wire->state == WIRE_CLOSING) {
        return;
    }
    if (is_asking(wire) && !wire->is_settled && find_twin(wire) == NULL &&
        !(wire->is_silent && asked_holds(&load->waiting, wire->asked.number))) {
        load->open--;
        load->report->broken += is_counted(load, wire->asked.due_ns) ? 1 : 0;
    }
    rest(wire);
    close_wire(wire);
}

static void broke(struct wire *wire, int code)
{
    struct load *load = wire->load;
    uint32_t other;
    load->last_failure = code;
    load->places[wire->place].down_until_ns = clock_read(&load->clock) + DOWN_NS;
    if (is_asking(wire) && !wire->is_silent && !wire->is_settled && choose_place(load, &other)) {
        load->report->retried += is_counted(load, wire->asked.due_ns) ? 1 : 0;
        wire->asked.attempt++; /* Another may answer it. */
        asked_push(&load->waiting, wire->asked);
        close_wire(wire);
    } else {
        drop(wire);
    }
}

static void on_written(uv_write_t *write, int status)
{
    struct wire *wire = write->data;
    wire->is_written = true;
    if (status < 0 && status != UV_ECANCELED) {
        broke(wire, status);
    }
}

/* The end of the head of the request on @wire. How long it is. */
static size_t write_key(struct wire *wire)
{
    const struct load *load = wire->load;
    if (load->key[0] == '\0') {
        return (size_t)snprintf(wire->key, sizeof(wire->key), "\r\n");
    }
    return (size_t)snprintf(
        wire->key, sizeof(wire->key),
        "Idempotency-Key: %s-%" PRIu64 "\r\nweft-attempt: %" PRIu32 "\r\n\r\n", load->key,
        wire->asked.number, wire->asked.attempt);
}

static void send_on(struct wire *wire)
{
    struct load *load = wire->load;
    const uv_buf_t parts[] = {
        {.base = load->head.bytes, .len = load->head.length},
        {.base = wire->key, .len = write_key(wire)},
        {.base = load->options->body, .len = load->options->body_bytes},
    };
    wire->state = WIRE_BUSY;
    wire->asked_ns = clock_read(&load->clock);
    wire->is_written = false;
    http_answer_init(&wire->answer, /* keeps_body */ false, UINT64_MAX);
    if (clock_read(&load->clock) - wire->asked.due_ns > BEHIND_NS) {
        load->report->behind += is_counted(load, wire->asked.due_ns) ? 1 : 0;
    }
    wire->write.data = wire;
    const int code = uv_write(&wire->write, (uv_stream_t *)&wire->tcp, parts, 3, on_written);
    if (code != 0) {
        broke(wire, code);
    }
}

static void count_good(struct load *load, const struct wire *wire, int64_t latency_ns)
{
    struct load_report *report = load->report;
    const int64_t network_ns = latency_ns - wire->times.total_ns;
    report->good++;
    report->in_slo += load->options->slo_ns > 0 && latency_ns <= load->options->slo_ns ? 1 : 0;
    histogram_add(&report->latency_ns, latency_ns);
    histogram_add(&report->queue_ns, wire->times.queue_ns);
    histogram_add(&report->run_ns, wire->times.run_ns);
    histogram_add(&report->other_ns, wire->times.other_ns);
    histogram_add(&report->network_ns, network_ns > 0 ? network_ns : 0);
}

static void count(struct load *load, const struct wire *wire)
{
    struct load_report *report = load->report;
    const int64_t now_ns = clock_read(&load->clock);
    const int64_t latency_ns = now_ns > wire->asked.due_ns ? now_ns - wire->asked.due_ns : 0;
    load->answers++;
    if (!is_counted(load, wire->asked.due_ns)) {
        return;
    }
    report->span_ns = now_ns - load->options->warmup_ns;
    const uint32_t status = wire->answer.head.status;
    if (status == 200) {
        count_good(load, wire, latency_ns);
    } else if (status == 503) {
        report->refused++;
        histogram_add(&report->refused_ns, latency_ns);
    } else if (status == 504) {
        report->late++;
    } else {
        report->failed++;
    }
}

/*
 * The answer is complete: the connection takes the next request, unless one of the two sides is
 * not done with it. A server may answer before it has read all of the request.
 */
static void answered(struct wire *wire, bool is_at_end)
{
    struct load *load = wire->load;
    const bool is_kept = !is_at_end && wire->is_written && wire->answer.head.keep_alive;
    if (!wire->is_settled) {
        timing_read(&wire->answer.head, &wire->times);
        count(load, wire);
        load->open--;
        settle(wire);
    }
    rest(wire);
    wire->state = WIRE_FREE;
    wire->next_free = load->free;
    load->free = wire;
    if (!is_kept) {
        drop(wire);
    } else if (load->waiting.count > 0) {
        load->free = wire->next_free;
        wire->asked = asked_pop(&load->waiting);
        send_on(wire);
    }
}

/* Take what has come, 0 bytes at the end of the connection. False if it is not an answer. */
static bool take(struct wire *wire, size_t count)
{
    const struct http_span come = {wire->load->in, count};
    struct http_fault fault;
    size_t used = 0;
    const enum http_got got = count == 0 ? http_answer_end(&wire->answer, &fault)
                                         : http_answer_take(&wire->answer, come, &used, &fault);
    if (got == HTTP_BAD || (got == HTTP_DONE && used < count)) {
        return false;
    }
    if (got == HTTP_DONE) {
        answered(wire, count == 0);
    }
    return true;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    const struct wire *wire = handle->data;
    (void)suggested;
    *buffer = uv_buf_init(wire->load->in, IN_BYTES); /* It is read before anything else comes. */
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    struct wire *wire = stream->data;
    (void)buffer;
    if (got == 0) {
        return; /* Nothing has come after all. */
    }
    if (got < 0 && got != UV_EOF) {
        broke(wire, (int)got);
    } else if (wire->state != WIRE_BUSY || !take(wire, got < 0 ? 0 : (size_t)got)) {
        broke(wire, got < 0 ? (int)got : UV_EPROTO);
    }
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct wire *wire = connect->data;
    if (status != 0) {
        if (status != UV_ECANCELED) {
            broke(wire, status);
        }
        return;
    }
    const int code = uv_read_start((uv_stream_t *)&wire->tcp, on_alloc, on_read);
    if (code != 0) {
        broke(wire, code);
        return;
    }
    (void)uv_tcp_nodelay(&wire->tcp, 1); /* Only speed. */
    send_on(wire);
}

/* Another connection, for @asked. */
static void open_wire(struct load *load, struct wire *wire, struct asked asked)
{
    int code = uv_tcp_init(loop_uv(load->loop), &wire->tcp);
    ASSERT(code == 0);
    wire->tcp.data = wire;
    wire->connect.data = wire;
    wire->load = load;
    wire->asked = asked;
    wire->asked_ns = clock_read(&load->clock);
    wire->state = WIRE_CONNECTING;
    (void)choose_place(load, &wire->place); /* If all are down, any is tried. */
    load->turn = wire->place + 1;
    code = uv_tcp_connect(
        &wire->connect, &wire->tcp, (const struct sockaddr *)&load->places[wire->place].address,
        on_connected);
    if (code != 0) {
        broke(wire, code);
    }
}

static struct wire *closed_wire(struct load *load)
{
    for (uint32_t i = 0; i < load->wire_count; i++) {
        if (load->wires[i]->state == WIRE_CLOSED) {
            return load->wires[i];
        }
    }
    const uint32_t most = load->options->connections + load->silent_count;
    if (load->wire_count >= most || load->wire_count == WIRES_FACTOR * load->options->connections) {
        return NULL;
    }
    struct wire *wire = memory_zeroed(1, sizeof(*wire));
    load->wires[load->wire_count++] = wire;
    return wire;
}

/* A connection that is free, to an address that is not down if there is one. NULL: none is free. */
static struct wire *take_free(struct load *load)
{
    const int64_t now_ns = clock_read(&load->clock);
    struct wire **link = &load->free;
    while (*link != NULL && load->places[(*link)->place].down_until_ns > now_ns) {
        link = &(*link)->next_free;
    }
    link = *link == NULL ? &load->free : link;
    struct wire *wire = *link;
    if (wire != NULL) {
        *link = wire->next_free;
    }
    return wire;
}

static void start(struct load *load, int64_t due_ns)
{
    struct wire *wire = take_free(load);
    const struct asked asked = {.due_ns = due_ns, .number = ++load->number, .attempt = 1};
    load->report->due += is_counted(load, due_ns) ? 1 : 0;
    load->open++;
    if (wire != NULL) {
        wire->asked = asked;
        send_on(wire);
        return;
    }
    wire = closed_wire(load);
    if (wire != NULL) {
        open_wire(load, wire, asked);
    } else {
        asked_push(&load->waiting, asked);
    }
}

/*
 * Ask another address where one says nothing. The connection is kept: a server whose client leaves
 * may drop the request, and what was asked first may still be answered first.
 */
static void ask_others(struct load *load, int64_t now_ns)
{
    const int64_t silence_ns = load->options->silence_ns;
    for (uint32_t i = 0; i < load->wire_count && silence_ns > 0; i++) {
        struct wire *wire = load->wires[i];
        uint32_t other;
        if (!is_asking(wire) || wire->is_silent || wire->is_settled ||
            now_ns - wire->asked_ns < silence_ns) {
            continue;
        }
        load->places[wire->place].down_until_ns = now_ns + silence_ns;
        if (!choose_place(load, &other)) {
            wire->asked_ns = now_ns; /* All are silent: it is looked at again later. */
            continue;
        }
        load->report->silent += is_counted(load, wire->asked.due_ns) ? 1 : 0;
        wire->is_silent = true;
        load->silent_count++;
        struct asked again = wire->asked;
        again.attempt++;
        asked_push(&load->waiting, again);
    }
}

/* Those that wait after a connection was lost, or was silent, get another one. */
static void serve_waiting(struct load *load)
{
    while (load->waiting.count > 0) {
        struct wire *wire = closed_wire(load);
        if (wire == NULL) {
            return;
        }
        open_wire(load, wire, asked_pop(&load->waiting));
    }
}

static void draw(struct load *load)
{
    load->has_next = arrival_stream_next(load->options->arrivals, &load->next) &&
                     load->next.at_ns <= load->options->until_ns;
}

static bool is_over(struct load *load, int64_t now_ns)
{
    const struct load_options *options = load->options;
    if (!load->has_next && (load->open == 0 || now_ns > options->until_ns + options->patience_ns)) {
        return true;
    }
    if (options->is_over == NULL || now_ns - load->asked_ns < ASK_NS) {
        return false;
    }
    load->asked_ns = now_ns;
    return options->is_over(options->context, load->report);
}

static void run(struct load *load)
{
    int64_t now_ns = clock_read(&load->clock);
    draw(load);
    while (!is_over(load, now_ns)) {
        while (load->has_next && load->next.at_ns <= now_ns) {
            start(load, load->next.at_ns);
            draw(load);
        }
        ask_others(load, now_ns);
        serve_waiting(load);
        const int64_t ask_ns = load->asked_ns + ASK_NS;
        const int64_t next_ns =
            load->has_next && load->next.at_ns < ask_ns ? load->next.at_ns : ask_ns;
        loop_wait(load->loop, &load->clock, next_ns > now_ns ? next_ns : now_ns + 1000);
        now_ns = clock_read(&load->clock);
    }
}

static enum weft_status find_place(
    struct load *load, const struct http_url *url, struct place *place_out,
    struct weft_error *error)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    uv_getaddrinfo_t request;
    const int code =
        uv_getaddrinfo(loop_uv(load->loop), &request, NULL, url->host, url->port, &hints);
    if (code != 0) {
        return error_set(error, WEFT_IO, "%s:%s: %s", url->host, url->port, uv_strerror(code));
    }
    (void)memcpy(&place_out->address, request.addrinfo->ai_addr, request.addrinfo->ai_addrlen);
    uv_freeaddrinfo(request.addrinfo);
    return WEFT_OK;
}

static enum weft_status find_places(struct load *load, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < load->options->url_count && status == WEFT_OK; i++) {
        status = find_place(load, &load->options->urls[i], &load->places[i], error);
    }
    return status;
}

static enum weft_status write_head(struct load *load, struct weft_error *error)
{
    const struct load_options *options = load->options;
    if (!buffer_add(
            &load->head, "POST %s HTTP/1.1\r\nHost: %s:%s\r\nContent-Length: %zu\r\n%s",
            options->path, options->urls->host, options->urls->port, options->body_bytes,
            options->headers)) {
        return error_set(error, WEFT_NO_MEMORY, "no memory for a request");
    }
    if (options->has_keys) {
        http_key_draw(load->key);
    }
    return WEFT_OK;
}

static void close_all(struct load *load)
{
    load->report->open = load->open;
    for (uint32_t i = 0; i < load->wire_count; i++) {
        struct wire *wire = load->wires[i];
        const uint64_t broken = load->report->broken;
        drop(wire);
        load->report->broken = broken; /* We hung up. */
    }
}

enum weft_status load_run(
    const struct load_options *options, struct load_report *report, struct weft_error *error)
{
    ASSERT(options->url_count > 0 && options->url_count <= LOAD_URLS_MAX);
    ASSERT(options->path[0] == '/');
    ASSERT(options->arrivals != NULL);
    ASSERT(options->connections > 0);
    ASSERT(options->body != NULL || options->body_bytes == 0);
    struct load load = {.options = options, .report = report};
    *report = (struct load_report){.due = 0};
    enum weft_status status = loop_create(&load.loop, error);
    if (status != WEFT_OK) {
        return status;
    }
    load.wires = memory_zeroed(WIRES_FACTOR * (size_t)options->connections, sizeof(void *));
    status = find_places(&load, error);
    if (status == WEFT_OK) {
        status = write_head(&load, error);
    }
    if (status == WEFT_OK) {
        clock_init(&load.clock, CLOCK_KIND_REAL);
        run(&load);
        close_all(&load);
        if (load.answers == 0 && load.last_failure != 0) {
            status = error_set(
                error, WEFT_IO, "%s:%s: no answer at all: %s", options->urls->host,
                options->urls->port, uv_strerror(load.last_failure));
        }
    }
    loop_destroy(load.loop);
    for (uint32_t i = 0; i < load.wire_count; i++) {
        free(load.wires[i]);
    }
    free(load.wires);
    asked_deinit(&load.waiting);
    free(load.head.bytes);
    return status;
}
