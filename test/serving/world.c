#include "serving/world.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"

static void on_record(void *context, const struct record *record)
{
    server_record(((struct world *)context)->server, record);
}

static void on_drained(void *context)
{
    struct world *world = context;
    world->has_drained = true;
    runtime_stop(world->cluster.runtime);
}

void world_start(struct world *world, const struct server_options *options)
{
    struct server_options used = options == NULL ? (struct server_options){.http = NULL} : *options;
    *world = (struct world){.cluster = {.on_record = on_record}};
    world->cluster.context = world;
    echo_start(&world->cluster);
    used.runtime = world->cluster.runtime;
    used.fleet = world->cluster.fleet;
    used.catalogue = world->cluster.catalogue;
    used.http = "127.0.0.1:0";
    used.drained = on_drained;
    used.context = world;
    ASSERT(server_start(&used, &world->server, NULL) == WEFT_OK);
    const char *address = server_http_address(world->server);
    world->port = (uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10);
}

void world_start_with_token(struct world *world)
{
    char path[] = "/tmp/weft-token-XXXXXX";
    const struct server_options options = {.access = {.token_file = path}};
    const int descriptor = mkstemp(path);
    ASSERT(descriptor >= 0);
    ASSERT(write(descriptor, "secret\n", 7) == 7);
    (void)close(descriptor);
    world_start(world, &options);
    (void)unlink(path); /* It has been read. */
}

void world_stop(struct world *world)
{
    server_stop(world->server);
    echo_stop(&world->cluster);
}

struct scripted {
    struct world *world;
    void (*script)(struct world *world, void *context);
    void *context;
};

static void *run_script(void *argument)
{
    struct scripted *scripted = argument;
    scripted->script(scripted->world, scripted->context);
    runtime_stop(scripted->world->cluster.runtime);
    return NULL;
}

void world_run(
    struct world *world, void (*script)(struct world *world, void *context), void *context)
{
    struct scripted scripted = {.world = world, .script = script, .context = context};
    pthread_t thread;
    ASSERT(pthread_create(&thread, NULL, run_script, &scripted) == 0);
    runtime_run(world->cluster.runtime);
    (void)pthread_join(thread, NULL);
}

int world_dial_from(const struct world *world, uint8_t last)
{
    const struct sockaddr_in own = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl((INADDR_LOOPBACK & 0xffffff00) | last),
    };
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(world->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    const struct timeval limit = {.tv_sec = WORLD_LIMIT_S};
    const int small = 4096;
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT(descriptor >= 0);
    ASSERT(setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
    ASSERT(setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0);
    if (last != 0) {
        ASSERT(setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)) == 0);
        ASSERT(bind(descriptor, (const struct sockaddr *)&own, sizeof(own)) == 0);
    }
    ASSERT(connect(descriptor, (const struct sockaddr *)&address, sizeof(address)) == 0);
    return descriptor;
}

int world_dial(const struct world *world)
{
    return world_dial_from(world, /* last: any */ 0);
}

bool world_say(int descriptor, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        const ssize_t sent = send(descriptor, at, count, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        at += sent;
        count -= (size_t)sent;
    }
    return true;
}

char *world_hear(int descriptor, size_t *count_out)
{
    char *reply = memory_zeroed(1, WORLD_REPLY_BYTES);
    size_t count = 0;
    ssize_t got = 1;
    while (got > 0) {
        got = recv(descriptor, reply + count, WORLD_REPLY_BYTES - 1 - count, 0);
        count += got > 0 ? (size_t)got : 0;
    }
    if (count_out != NULL) {
        *count_out = count;
    }
    return reply;
}

static void stop_loop(void *context)
{
    runtime_stop(((struct world *)context)->cluster.runtime);
}

bool world_run_until(struct world *world, bool (*is_so)(const struct world *world))
{
    struct runtime *runtime = world->cluster.runtime;
    for (uint32_t i = 0; i < WORLD_LIMIT_S * 50 && !is_so(world); i++) {
        runtime_call_at(
            runtime, runtime_now_ns(runtime) + INT64_C(20000000), /* background */ false, stop_loop,
            world);
        runtime_run(runtime);
    }
    return is_so(world);
}

struct question {
    const char *text;
    size_t length;
    char *reply;
};

static void ask_once(struct world *world, void *context)
{
    struct question *question = context;
    const int descriptor = world_dial(world);
    (void)world_say(descriptor, question->text, question->length); /* A refusal is an answer. */
    question->reply = world_hear(descriptor, NULL);
    (void)close(descriptor);
}

char *world_ask(struct world *world, const char *text, size_t length)
{
    struct question question = {.text = text, .length = length};
    world_run(world, ask_once, &question);
    return question.reply;
}
