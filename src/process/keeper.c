/* keeper.c - a worker on a GPU has a process beside its engine: it keeps the weights. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "cuda/keeper.h"
#include "model/fleet.h"
#include "process/inside.h"

#define SOON_NS INT64_C(1000000000) /* One that ends sooner is not replaced before its time. */

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

/* End the keeper of @worker; *ended_out says how it ended. */
static void leave(struct process_worker *worker, struct fork_ended *ended_out)
{
    struct process_keeper *keeper = &worker->keeper;
    (void)uv_poll_stop(keeper->poll);
    uv_close((uv_handle_t *)keeper->poll, on_closed);
    keeper->poll = NULL;
    keeper->channel.socket = -1; /* Closed with the child. */
    channel_deinit(&keeper->channel);
    fork_server_end(worker->engine->server, &keeper->child, ended_out);
}

/* It never says anything: it is gone. */
static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct process_worker *worker = poll->data;
    struct engine_process *engine = worker->engine;
    struct fork_ended ended;
    char message[160];
    int file;
    const bool was_soon = process_now_ns(engine) - worker->keeper.started_ns < SOON_NS;
    (void)status;
    (void)events;
    leave(worker, &ended);
    (void)snprintf(
        message, sizeof(message), "the keeper of worker %u %s", worker->number, ended.text);
    if (engine->on_ended != NULL) {
        engine->on_ended(engine->context, worker->number, message);
    }
    if (worker->is_up && !was_soon && (file = process_keeper_attach(worker)) >= 0) {
        const struct process_order order = {.worker = worker->number};
        uint32_t place;
        packet_start(&engine->packet, ORDER_KEEPER);
        packet_put(&engine->packet, &order, sizeof(order));
        (void)packet_put_file(&engine->packet, file, /* is_owned */ true, &place); /* The first. */
        process_worker_send(worker);
    }
}

static bool start(struct process_worker *worker)
{
    struct engine_process *engine = worker->engine;
    struct process_keeper *keeper = &worker->keeper;
    const struct process_argument argument = {.kind = PROCESS_KEEPER, .worker = worker->number};
    struct weft_error error;
    char label[32];
    const struct fork_order order = {
        .argument = &argument, .bytes = sizeof(argument), .label = label};
    (void)snprintf(label, sizeof(label), "keeper %u", worker->number);
    if (fork_server_fork(engine->server, &order, &keeper->child, &error) != WEFT_OK) {
        return false; /* Without one, weights are copied again after a crash. */
    }
    channel_init(&keeper->channel, keeper->child.socket);
    keeper->poll = memory_zeroed(1, sizeof(*keeper->poll));
    const int code = uv_poll_init(engine->loop, keeper->poll, keeper->child.socket);
    ASSERT(code == 0); /* It is a socket of our own. */
    keeper->poll->data = worker;
    uv_unref((uv_handle_t *)keeper->poll);
    (void)uv_poll_start(keeper->poll, UV_READABLE | UV_DISCONNECT, on_ready);
    keeper->started_ns = process_now_ns(engine);
    return true;
}

int process_keeper_attach(struct process_worker *worker)
{
    struct engine_process *engine = worker->engine;
    int ends[2];
    if (!engine->keeps_weights || engine->fleet->workers[worker->number].sharing != SHARES_SM ||
        (worker->keeper.poll == NULL && !start(worker)) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return -1;
    }
    const bool is_there = cuda_keeper_attach(&worker->keeper.channel, &engine->packet, ends[0]);
    (void)close(ends[0]);
    if (!is_there) { /* The loop will say how it ended. */
        (void)close(ends[1]);
        return -1;
    }
    return ends[1];
}

void process_keeper_close(struct process_worker *worker)
{
    struct fork_ended ended;
    if (worker->keeper.poll != NULL) {
        leave(worker, &ended);
    }
}
