/*
 * bench_http.c - what the protocol and the scheduler add to a round trip.
 *
 * One client on a connection that is kept, over loopback, against three servers in this
 * process, in turn and several times over; the best of each counts:
 *
 *   echo     libuv reads the same bytes, knows where a request ends, and writes a reply
 *   empty    `GET /v2/health/live`: our HTTP, and nothing behind it
 *   infer    a workflow of one task, run in no time by an emulated worker
 *   chain    the same with nine tasks: the eight hops more
 *
 * Then how fast tensors are read from JSON. usage: bench_http [ROUNDS]
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <uv.h>

#include "base/assert.h"
#include "base/histogram.h"
#include "engine/engine.h"
#include "model/catalogue.h"
#include "policy/compose.h"
#include "protocol/json_data.h"
#include "protocol/oip_request.h"
#include "runtime/runtime.h"
#include "server/server.h"

enum { ROUNDS_DEFAULT = 20000, REPEATS = 5, CHAIN = 9, REPLY_BYTES = 4096 };

static const char infer_body[] =
    "{\"inputs\":[{\"name\":\"x\",\"shape\":[4],\"datatype\":\"FP32\",\"data\":[1,2,3,4]}]}";

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Of this thread alone: what others do meanwhile does not count. */
static int64_t cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t least(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

/* One client on a thread of its own. */
struct client {
    uint16_t port;
    const char *text;
    uint32_t rounds;
    struct histogram latency_ns;
    int64_t span_ns;
    void (*done)(void *context);
    void *context;
};

static int dial(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    const int one = 1;
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    const int failed = connect(descriptor, (const struct sockaddr *)&address, sizeof(address));
    ASSERT(failed == 0);
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return descriptor;
}

/* Whether @reply is complete: its head, and as many bytes as that says. */
static bool is_complete(const char *reply, size_t length)
{
    struct http_head head;
    struct http_fault fault;
    size_t scanned = 0;
    if (http_reply_read(reply, length, &scanned, &head, &fault) != HTTP_DONE) {
        return false;
    }
    ASSERT(head.status == 200);
    return length == head.bytes + head.length;
}

static void *talk(void *argument)
{
    struct client *client = argument;
    char reply[REPLY_BYTES];
    const int descriptor = dial(client->port);
    const size_t length = strlen(client->text);
    const int64_t began_ns = now_ns();
    histogram_init(&client->latency_ns);
    for (uint32_t i = 0; i < client->rounds; i++) {
        const int64_t start_ns = now_ns();
        const ssize_t sent = send(descriptor, client->text, length, 0);
        ASSERT(sent == (ssize_t)length);
        size_t got = 0;
        do {
            const ssize_t count = recv(descriptor, reply + got, sizeof(reply) - got, 0);
            ASSERT(count > 0);
            got += (size_t)count;
        } while (!is_complete(reply, got));
        histogram_add(&client->latency_ns, now_ns() - start_ns);
    }
    client->span_ns = now_ns() - began_ns;
    (void)close(descriptor);
    client->done(client->context);
    return NULL;
}

/* The reference: no parser and no server, only the loop. */
struct bare {
    uv_loop_t loop;
    uv_tcp_t listener;
    uv_tcp_t connection;
    uv_async_t end;
    uint16_t port;
    size_t request_bytes;
    size_t got;
    char in[REPLY_BYTES];
};

static void bare_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct bare *bare = handle->data;
    (void)suggested;
    *buffer = uv_buf_init(bare->in, sizeof(bare->in));
}

static void bare_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    static char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    struct bare *bare = stream->data;
    (void)buffer;
    if (got < 0) {
        uv_close((uv_handle_t *)stream, NULL);
        return;
    }
    bare->got += (size_t)got;
    if (bare->got >= bare->request_bytes) {
        bare->got = 0;
        uv_buf_t out = uv_buf_init(reply, sizeof(reply) - 1);
        const int wrote = uv_try_write(stream, &out, 1);
        ASSERT(wrote == (int)sizeof(reply) - 1);
    }
}

static void bare_connected(uv_stream_t *listener, int status)
{
    struct bare *bare = listener->data;
    ASSERT(status == 0);
    (void)uv_tcp_init(&bare->loop, &bare->connection);
    bare->connection.data = bare;
    (void)uv_accept(listener, (uv_stream_t *)&bare->connection);
    (void)uv_tcp_nodelay(&bare->connection, 1);
    (void)uv_read_start((uv_stream_t *)&bare->connection, bare_alloc, bare_read);
}

static void bare_end(uv_async_t *end)
{
    struct bare *bare = end->data;
    uv_close((uv_handle_t *)&bare->listener, NULL);
    uv_close((uv_handle_t *)&bare->end, NULL);
}

static void bare_done(void *context)
{
    (void)uv_async_send(&((struct bare *)context)->end);
}

static void bare_start(struct bare *bare, size_t request_bytes)
{
    struct sockaddr_in address;
    int length = sizeof(address);
    *bare = (struct bare){.request_bytes = request_bytes};
    (void)uv_loop_init(&bare->loop);
    (void)uv_ip4_addr("127.0.0.1", 0, &address);
    (void)uv_tcp_init(&bare->loop, &bare->listener);
    bare->listener.data = bare;
    (void)uv_tcp_bind(&bare->listener, (const struct sockaddr *)&address, 0);
    const int failed = uv_listen((uv_stream_t *)&bare->listener, 1, bare_connected);
    ASSERT(failed == 0);
    (void)uv_tcp_getsockname(&bare->listener, (struct sockaddr *)&address, &length);
    bare->port = ntohs(address.sin_port);
    (void)uv_async_init(&bare->loop, &bare->end, bare_end);
    bare->end.data = bare;
}

/* A server before emulated workers that take no time. */
struct world {
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct profile *profile;
    struct policy_set policies;
    struct runtime *runtime;
    struct server *server;
    uint16_t port;
};

static void add_chain(struct world *world, const char *name, uint32_t tasks)
{
    struct workflow *workflow = workflow_create(name);
    for (uint32_t i = 0; i < tasks; i++) {
        struct workflow_task task = {.run = 0};
        uint32_t index;
        (void)snprintf(task.name, sizeof(task.name), "t%u", i);
        ASSERT(workflow_add_task(workflow, &task, &index) == WEFT_OK);
        if (i > 0) {
            const struct workflow_edge edge = {.from = i - 1, .to = i, .bytes = 16};
            ASSERT(workflow_add_edge(workflow, &edge) == WEFT_OK);
        }
    }
    ASSERT(workflow_seal(workflow, NULL) == WEFT_OK);
    ASSERT(catalogue_add_workflow(world->catalogue, workflow) == WEFT_OK);
}

static void on_record(void *context, const struct record *record)
{
    server_record(((struct world *)context)->server, record);
}

static void world_done(void *context)
{
    runtime_stop(((struct world *)context)->runtime);
}

static void world_start(struct world *world)
{
    struct fleet_worker device = {.memory_bytes = 1000, .bus_bytes_per_s = 1000000, .gpu_units = 1};
    const struct profile_point point = {.items = 1, .run_ns = 0};
    world->fleet = fleet_create();
    device.device = fleet_device(world->fleet, "d");
    ASSERT(fleet_add_machine(world->fleet, &device, /* workers */ 1, /* cpu_units */ 8));
    world->catalogue = catalogue_create();
    ASSERT(catalogue_model(world->catalogue, "f") == 0);
    add_chain(world, "one", 1);
    add_chain(world, "chain", CHAIN);
    world->profile = profile_create(1);
    ASSERT(profile_add_point(world->profile, 0, device.device, &point) == WEFT_OK);
    ASSERT(policy_set_parse("jit", &world->policies, NULL) == WEFT_OK);
    const struct runtime_options options = {
        .fleet = world->fleet,
        .catalogue = world->catalogue,
        .profile = world->profile,
        .policies = &world->policies,
        .clock = CLOCK_KIND_REAL,
        .row_load_ns = INT64_C(10000000),
        .row_cache_ns = INT64_C(50000000),
        .stays = true,
        .on_record = on_record,
        .context = world,
    };
    ASSERT(runtime_create(&options, &world->runtime, NULL) == WEFT_OK);
    const struct server_options server = {
        .runtime = world->runtime,
        .fleet = world->fleet,
        .catalogue = world->catalogue,
        .http = "127.0.0.1:0",
    };
    ASSERT(server_start(&server, &world->server, NULL) == WEFT_OK);
    world->port = (uint16_t)strtoul(strrchr(server_http_address(world->server), ':') + 1, NULL, 10);
}

static void world_stop(struct world *world)
{
    server_stop(world->server);
    runtime_destroy(world->runtime);
    fleet_destroy(world->fleet);
    catalogue_destroy(world->catalogue);
    profile_destroy(world->profile);
}

/* The median round trip in us, and in *rate_out how many there were in a second. */
static double measure_bare(const char *text, uint32_t rounds, double *rate_out)
{
    static struct bare bare;
    static struct client client;
    pthread_t thread;
    bare_start(&bare, strlen(text));
    client = (struct client){
        .port = bare.port, .text = text, .rounds = rounds, .done = bare_done, .context = &bare};
    ASSERT(pthread_create(&thread, NULL, talk, &client) == 0);
    (void)uv_run(&bare.loop, UV_RUN_DEFAULT);
    (void)pthread_join(thread, NULL);
    (void)uv_loop_close(&bare.loop);
    *rate_out = (double)rounds * 1e9 / (double)client.span_ns;
    return (double)histogram_quantile(&client.latency_ns, 0.5) / 1e3;
}

static double measure(struct world *world, const char *text, uint32_t rounds, double *rate_out)
{
    static struct client client;
    pthread_t thread;
    client = (struct client){
        .port = world->port, .text = text, .rounds = rounds, .done = world_done, .context = world};
    ASSERT(pthread_create(&thread, NULL, talk, &client) == 0);
    runtime_run(world->runtime);
    (void)pthread_join(thread, NULL);
    *rate_out = (double)rounds * 1e9 / (double)client.span_ns;
    return (double)histogram_quantile(&client.latency_ns, 0.5) / 1e3;
}

static void post(char *text, size_t room, const char *workflow)
{
    (void)snprintf(
        text, room,
        "POST /v2/models/%s/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %zu\r\n\r\n%s",
        workflow, strlen(infer_body), infer_body);
}

static void bench_trips(uint32_t rounds)
{
    enum { TRIP_ECHO, TRIP_EMPTY, TRIP_INFER, TRIP_CHAIN, TRIPS };
    static const char live[] = "GET /v2/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    static const char *const names[TRIPS] = {
        "bare libuv echo", "GET health/live", "infer, 1 task", "infer, 9 tasks"};
    struct world world = {.fleet = NULL};
    char one[512];
    char chain[512];
    double best[TRIPS];
    double rates[TRIPS];
    post(one, sizeof(one), "one");
    post(chain, sizeof(chain), "chain");
    const char *const texts[TRIPS] = {one, live, one, chain};
    world_start(&world);
    for (uint32_t repeat = 0; repeat < REPEATS; repeat++) {
        for (uint32_t kind = 0; kind < TRIPS; kind++) {
            double rate;
            const double us = kind == TRIP_ECHO ? measure_bare(texts[kind], rounds, &rate)
                                                : measure(&world, texts[kind], rounds, &rate);
            if (repeat == 0 || us < best[kind]) {
                best[kind] = us;
                rates[kind] = rate;
            }
        }
    }
    world_stop(&world);
    (void)printf("round trip, p50 of the best of %d runs of %u:\n", REPEATS, rounds);
    for (uint32_t kind = 0; kind < TRIPS; kind++) {
        (void)printf(
            "  %-18s %8.1f us  %8.0f/s  %5.2f x\n", names[kind], best[kind], rates[kind],
            best[kind] / best[TRIP_ECHO]);
    }
    (void)printf(
        "  infer, 1 task, adds %.1f us to the echo; every further hop %.2f us\n",
        best[TRIP_INFER] - best[TRIP_ECHO], (best[TRIP_CHAIN] - best[TRIP_INFER]) / (CHAIN - 1));
}

/* A request with a tensor of @count numbers, of about eight characters each. */
static void bench_json(uint32_t count, bool is_float)
{
    char *text = malloc((size_t)count * 12 + 256);
    struct workflow *workflow = workflow_create("w");
    const struct workflow_task task = {.name = "t"};
    uint32_t index;
    ASSERT(workflow_add_task(workflow, &task, &index) == WEFT_OK);
    ASSERT(workflow_seal(workflow, NULL) == WEFT_OK);
    size_t length = (size_t)snprintf(
        text, 256, "{\"inputs\":[{\"name\":\"x\",\"shape\":[%u],\"datatype\":\"%s\",\"data\":[",
        count, is_float ? "FP32" : "INT32");
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t digits = (i * 2654435761U) % 1000000;
        length += (size_t)snprintf(
            text + length, 16, is_float ? "%s0.%06u" : "%s%u", i == 0 ? "" : ",", digits);
    }
    length += (size_t)snprintf(text + length, 8, "]}]}");
    const struct oip_bounds bounds = {.binary_bytes_max = 0}; /* There is only JSON. */
    int64_t best_ns = INT64_MAX;
    int64_t copy_ns = INT64_MAX;
    char *copy = malloc(length);
    for (uint32_t repeat = 0; repeat < REPEATS; repeat++) {
        struct oip_request request;
        int64_t start_ns = cpu_ns();
        ASSERT(oip_request_read(text, length, workflow, &bounds, &request, NULL) == WEFT_OK);
        best_ns = least(best_ns, cpu_ns() - start_ns);
        oip_request_deinit(&request);
        start_ns = cpu_ns();
        (void)memcpy(copy, text, length);
        copy_ns = least(copy_ns, cpu_ns() - start_ns);
    }
    (void)printf(
        "  %u %s, %.1f MB of JSON: %.1f ms, %.0f MB/s, %.0f x memcpy\n", count,
        is_float ? "FP32" : "INT32", (double)length / 1e6, (double)best_ns / 1e6,
        (double)length * 1e3 / (double)best_ns, (double)best_ns / (double)copy_ns);
    free(copy);
    free(text);
    workflow_destroy(workflow);
}

int main(int argc, char **argv)
{
    const uint32_t rounds =
        argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : (uint32_t)ROUNDS_DEFAULT;
    bench_trips(rounds);
    (void)printf("reading tensors:\n");
    bench_json(1000000, /* is_float */ true);
    bench_json(1000000, /* is_float */ false);
    return 0;
}
