/*
 * fuzz_connection.c - a whole connection: bytes in pieces, requests sent ahead, hang-ups.
 *
 * The server is the real one, on a real socket; behind it is a handler that answers in every
 * way a handler may: at once, in the middle of a body, at its end, later, with much. What the
 * client has sent is read a second time, in one piece, by the functions that read heads and
 * chunks: the requests that the handler gets are those, in their order, and each is answered
 * in its turn. In the end nothing is open.
 *
 * An input is a byte of settings, then pieces: a byte below PIECE_MAX is a length, and so many
 * bytes follow, which are sent; the others are what a client or a handler may do meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uv.h>

#include "base/assert.h"
#include "fuzz/fuzz.h"
#include "server/http.h"

enum {
    PIECE_MAX = 248,
    DO_ANSWER = 248, /* The handler answers what it has kept. */
    DO_RUN,          /* The loop runs. */
    DO_REPEAT,       /* The last piece is sent again, a few times. */
    DO_HALF,         /* The client closes its half. */
    DO_RESET,        /* The client is gone at once. */
    DO_SWEEP,
    SENT_BYTES_MAX = 1 << 18,
    RECEIVED_BYTES_MAX = 20000000,
    BODY_BYTES_MAX = 70000,
    MUCH_BYTES = 8000000, /* More than the kernel takes at once. */
    MUCH_MAX = 2,         /* So often in one input. */
    REPEATS = 20,
    WATCHDOG_MS = 20000,
    TICK_MS = 10,
};

/* What a handler does with a request, by the first letter of its target. */
enum kind {
    KIND_AT_ONCE, /* "/a": before its body. */
    KIND_MIDDLE,  /* "/m": in the middle of its body. */
    KIND_END,     /* "/e": when all is there. */
    KIND_LATER,   /* "/l": some time after that. */
    KIND_MUCH,    /* "/b": then, with many bytes. */
    KIND_OTHER,   /* Like the first, with an error. */
};

/* The one request that a connection has at a time. */
struct request {
    struct http_exchange *exchange; /* NULL: there is none. */
    enum kind kind;
    bool is_head;
    bool is_complete;
    uint64_t announced; /* UINT64_MAX: in chunks. */
    uint64_t took;
};

struct world {
    uv_loop_t loop;
    uv_timer_t watchdog;
    uint64_t finishing_ms; /* Since when. */
    struct http_server *server;
    struct sockaddr_in address;
    int descriptor;
    bool has_left;
    bool has_gone; /* A request whose client was gone. */
    size_t room_max;
    struct request request;
    uint32_t begun;    /* Requests that the handler was given, */
    uint32_t answered; /* and those that it has answered. */
    uint32_t releases; /* Of responses, that are still to come. */
    uint32_t much_count;
    uint64_t progress;
    size_t sent;
    char sent_bytes[SENT_BYTES_MAX];
    size_t reference_at; /* Up to here it has been read a second time; then comes a body: */
    uint64_t body_bytes;
    bool is_chunked;
    size_t received;
    char received_bytes[RECEIVED_BYTES_MAX];
};

static struct world *world;
static char much[MUCH_BYTES];

static void on_released(void *context)
{
    (void)context;
    ASSERT(world->releases > 0);
    world->releases--;
}

static void answer(void)
{
    struct request *request = &world->request;
    struct http_exchange *exchange = request->exchange;
    char extra[64];
    const int length = snprintf(
        extra, sizeof(extra), "X-Number: %u\r\n%s", world->answered,
        request->is_head ? "X-Head: 1\r\n" : "");
    ASSERT(length > 0);
    request->exchange = NULL;
    world->answered++;
    world->progress++;
    if (request->kind == KIND_OTHER) {
        http_respond_error(exchange, 404, "not found", extra);
        return;
    }
    const bool is_much = request->kind == KIND_MUCH && world->much_count < MUCH_MAX;
    const struct http_part part = {much, is_much ? sizeof(much) : 10};
    const struct http_response response = {
        .status = 200,
        .type = "text/plain",
        .extra = extra,
        .part_count = 1,
        .parts = &part,
        .release = on_released,
    };
    world->much_count += is_much ? 1 : 0;
    world->releases++;
    http_respond(exchange, &response);
}

static enum kind kind_of(const struct http_head *head)
{
    static const char letters[] = "amelb";
    const char letter = head->target.length < 2 ? '?' : head->target.bytes[1];
    const char *found = letter == '\0' ? NULL : strchr(letters, letter);
    return found == NULL ? KIND_OTHER : (enum kind)(found - letters);
}

/* Behind the body of the last request. HTTP_DONE if it has been sent as a whole. */
static enum http_got skip_body(size_t *at)
{
    struct http_chunks chunks = {0};
    enum http_got got = world->is_chunked ? HTTP_MORE : HTTP_DONE;
    *at = world->reference_at + (size_t)world->body_bytes;
    while (got == HTTP_MORE && *at < world->sent) {
        struct http_span data;
        struct http_fault fault;
        size_t used = 0;
        const struct http_span rest = {world->sent_bytes + *at, world->sent - *at};
        got = http_chunks_read(&chunks, rest, &used, &data, &fault);
        *at += used;
    }
    return got == HTTP_DONE && *at > world->sent ? HTTP_MORE : got;
}

/* The next request of what was sent, read in one piece, and where it begins. */
static enum http_got read_next(struct http_head *own, size_t *at)
{
    struct http_fault fault;
    size_t scanned = 0;
    const enum http_got got = skip_body(at);
    if (got != HTTP_DONE) {
        return got;
    }
    return http_head_read(world->sent_bytes + *at, world->sent - *at, &scanned, own, &fault);
}

/* The server has come to the same request. */
static void check_reference(const struct http_head *head)
{
    struct http_head own;
    size_t at = 0;
    ASSERT(read_next(&own, &at) == HTTP_DONE);
    ASSERT(own.bytes == head->bytes);
    ASSERT(own.method == head->method);
    ASSERT(own.length == head->length);
    ASSERT(own.is_chunked == head->is_chunked);
    ASSERT(own.target.length == head->target.length);
    ASSERT(memcmp(own.target.bytes, head->target.bytes, own.target.length) == 0);
    world->reference_at = at + own.bytes;
    world->body_bytes = own.is_chunked ? 0 : own.length;
    world->is_chunked = own.is_chunked;
}

/* The server has refused something with @status, which it must have met. */
static void check_refusal(uint32_t status)
{
    struct http_head own;
    size_t at = 0;
    const enum http_got got = read_next(&own, &at);
    const bool is_too_large = got == HTTP_DONE && own.length > BODY_BYTES_MAX;
    const bool is_long = status == 413 || status == 414 || status == 431; /* Not only heads. */
    ASSERT(got == HTTP_BAD || is_too_large || is_long);
}

/* What was sent holds no request that was neither begun nor refused. */
static void check_nothing_is_left(void)
{
    struct http_head own;
    size_t at = 0;
    ASSERT(read_next(&own, &at) == HTTP_MORE);
}

static uint8_t *on_room(void *context, size_t *room_out)
{
    static uint8_t room[4096];
    const struct request *request = context;
    ASSERT(request->exchange != NULL);
    ASSERT(!request->is_complete);
    *room_out = world->room_max;
    return room;
}

static void on_took(void *context, size_t count)
{
    struct request *request = context;
    ASSERT(request->exchange != NULL);
    ASSERT(count > 0);
    ASSERT(count <= world->room_max);
    request->took += count;
    world->progress++;
    ASSERT(request->took <= request->announced);
    ASSERT(request->took <= BODY_BYTES_MAX);
    if (request->kind == KIND_MIDDLE && request->took > 10) {
        answer();
    }
}

static void on_end(void *context)
{
    struct request *request = context;
    ASSERT(request->exchange != NULL);
    ASSERT(!request->is_complete);
    ASSERT(request->announced == UINT64_MAX || request->took == request->announced);
    request->is_complete = true;
    world->progress++;
    if (request->kind != KIND_LATER) {
        answer();
    }
}

static void on_gone(void *context)
{
    struct request *request = context;
    ASSERT(request->exchange != NULL);
    request->exchange = NULL;
    world->has_gone = true;
    world->progress++;
}

static void on_begin(void *context, struct http_exchange *exchange, const struct http_head *head)
{
    static const struct http_receiver receiver = {on_room, on_took, on_end, on_gone};
    (void)context;
    ASSERT(world->request.exchange == NULL);
    check_reference(head);
    world->begun++;
    world->progress++;
    world->request = (struct request){
        .exchange = exchange,
        .kind = kind_of(head),
        .is_head = head->method == HTTP_HEAD,
        .announced = http_exchange_body_bytes(exchange),
    };
    http_exchange_set(exchange, &receiver, &world->request);
    if (world->request.kind == KIND_AT_ONCE || world->request.kind == KIND_OTHER) {
        answer();
    }
}

/*
 * Comes often: the kernel may bring the rest of an answer after the client has looked for it, and
 * the server, which waits until some of it is taken, would wake nothing.
 */
static void on_watchdog(uv_timer_t *timer)
{
    const bool is_in_time = uv_now(timer->loop) - world->finishing_ms < WATCHDOG_MS;
    ASSERT(is_in_time); /* Or the connection does not end. */
}

static void open_world(void)
{
    const struct http_options options = {
        .address = "127.0.0.1:0",
        .begin = on_begin,
        .limits = {.body_bytes_max = BODY_BYTES_MAX, .address_connections_max = 100},
    };
    struct http_options used = options;
    world = calloc(1, sizeof(*world));
    ASSERT(world != NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* As a loop of the runtime does. */
    ASSERT(uv_loop_init(&world->loop) == 0);
    ASSERT(uv_timer_init(&world->loop, &world->watchdog) == 0);
    uv_unref((uv_handle_t *)&world->watchdog);
    used.loop = &world->loop;
    ASSERT(http_server_start(&used, &world->server, NULL) == WEFT_OK);
    const char *port = strrchr(http_server_address(world->server), ':') + 1;
    world->address = (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
}

/* Every thousandth from another address: the kernel keeps the ports of the past for a while. */
static void dial(void)
{
    static uint32_t dialled;
    const struct sockaddr_in own = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK + dialled++ / 1000 % 65536 * 4),
    };
    const int small = 16384; /* So that the server has to wait in the middle of an answer. */
    world->descriptor = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT(world->descriptor >= 0);
    ASSERT(setsockopt(world->descriptor, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)) == 0);
    ASSERT(bind(world->descriptor, (const struct sockaddr *)&own, sizeof(own)) == 0);
    const int failed = connect(
        world->descriptor, (const struct sockaddr *)&world->address, sizeof(world->address));
    ASSERT(failed == 0);
    ASSERT(fcntl(world->descriptor, F_SETFL, O_NONBLOCK) == 0);
}

/* Gone at once: without waiting, and without a name that lingers in the kernel. */
static void leave(void)
{
    const struct linger at_once = {.l_onoff = 1};
    if (!world->has_left) {
        (void)setsockopt(world->descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        (void)close(world->descriptor);
        world->has_left = true;
    }
}

static void receive(void)
{
    ssize_t got = world->has_left ? 0 : 1;
    while (got > 0) {
        ASSERT(world->received < RECEIVED_BYTES_MAX); /* MUCH_MAX times much, and little else. */
        got = recv(
            world->descriptor, world->received_bytes + world->received,
            RECEIVED_BYTES_MAX - world->received, 0);
        world->received += got > 0 ? (size_t)got : 0;
        world->progress += got > 0 ? 1 : 0;
    }
}

/* Let the loop run until nothing happens any more. */
static void drive(void)
{
    for (uint32_t quiet = 0; quiet < 2; quiet++) {
        const uint64_t before = world->progress + http_server_counts(world->server).bytes_in;
        (void)uv_run(&world->loop, UV_RUN_NOWAIT);
        receive();
        if (world->progress + http_server_counts(world->server).bytes_in != before) {
            quiet = 0;
        }
    }
}

static void say(const uint8_t *bytes, size_t count)
{
    if (world->has_left || world->sent + count > SENT_BYTES_MAX) {
        return;
    }
    /* Known before it is sent: the handler may be asked as soon as it is. */
    (void)memcpy(world->sent_bytes + world->sent, bytes, count);
    const ssize_t sent = send(world->descriptor, bytes, count, MSG_NOSIGNAL);
    world->sent += sent > 0 ? (size_t)sent : 0;
    if (sent != (ssize_t)count) { /* The server does not listen now, or has hung up. */
        leave();
    }
}

static void act(uint8_t what, const uint8_t *last, size_t last_bytes)
{
    switch (what) {
    case DO_ANSWER:
        if (world->request.exchange != NULL && world->request.is_complete) {
            answer();
        }
        break;
    case DO_REPEAT:
        for (uint32_t i = 0; i < REPEATS; i++) {
            say(last, last_bytes);
        }
        break;
    case DO_HALF:
        (void)shutdown(world->has_left ? -1 : world->descriptor, SHUT_WR);
        break;
    case DO_RESET:
        leave();
        break;
    case DO_SWEEP:
        http_server_sweep(world->server);
        break;
    default:
        break;
    }
    drive();
}

/* No more is sent: all that was asked is answered, and the connection ends. */
static void finish(void)
{
    uv_update_time(&world->loop);
    world->finishing_ms = uv_now(&world->loop);
    ASSERT(uv_timer_start(&world->watchdog, on_watchdog, TICK_MS, TICK_MS) == 0);
    drive();
    while (world->request.exchange != NULL && world->request.is_complete) {
        answer();
        drive();
    }
    if (!world->has_left) {
        (void)shutdown(world->descriptor, SHUT_WR);
    }
    while (http_server_counts(world->server).open > 0) {
        (void)uv_run(&world->loop, UV_RUN_ONCE);
        receive();
        if (world->request.exchange != NULL && world->request.is_complete) {
            answer();
        }
    }
    drive(); /* Handles are closed. */
    (void)uv_timer_stop(&world->watchdog);
    ASSERT(world->request.exchange == NULL);
    ASSERT(world->releases == 0);
    ASSERT(world->answered <= world->begun);
}

/*
 * Answers are whole, and in the order of their requests; one that was not asked for is a
 * refusal, and the last. Where the connection was kept to the end, nothing was passed over.
 */
static void check_answers(void)
{
    size_t at = 0;
    uint32_t number = 0;
    bool is_kept = true;
    while (at < world->received) {
        struct http_head head;
        struct http_fault fault;
        size_t scanned = 0;
        const enum http_got got = http_reply_read(
            world->received_bytes + at, world->received - at, &scanned, &head, &fault);
        ASSERT(got != HTTP_BAD);
        if (got == HTTP_MORE) {
            return; /* The client left, or the server hung up on it. */
        }
        at += head.bytes;
        if (head.status == 100) {
            continue;
        }
        ASSERT(is_kept);
        is_kept = head.keep_alive;
        const struct http_span *given = http_head_find(&head, "x-number");
        uint64_t told = 0;
        if (given == NULL) {
            ASSERT(!is_kept);
            check_refusal(head.status);
        } else {
            ASSERT(http_span_number(*given, &told));
            ASSERT(told == number);
            number++;
        }
        at += http_head_find(&head, "x-head") == NULL ? (size_t)head.length : 0;
    }
    ASSERT(number <= world->answered);
    if (is_kept && !world->has_left && !world->has_gone) {
        ASSERT(number == world->begun);
        check_nothing_is_left();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *last = data;
    size_t last_bytes = 0;
    if (size < 2) {
        return 0;
    }
    if (world == NULL) {
        open_world();
    }
    world->room_max = (size_t)1 << (data[0] % 13);
    world->has_left = false;
    world->has_gone = false;
    world->begun = world->answered = world->much_count = 0;
    world->sent = world->received = world->reference_at = 0;
    world->body_bytes = 0;
    world->is_chunked = false;
    dial();
    for (size_t at = 1; at < size;) {
        const uint8_t what = data[at++];
        if (what >= PIECE_MAX) {
            act(what, last, last_bytes);
            continue;
        }
        last = data + at;
        last_bytes = size - at < what ? size - at : what;
        at += last_bytes;
        say(last, last_bytes);
        if ((data[0] & 16) != 0) {
            drive(); /* Else it comes together with the next. */
        }
    }
    finish();
    check_answers();
    leave();
    return 0;
}
