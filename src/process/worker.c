/* worker.c - an engine process comes, ends, and is replaced with what it held. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/tray.h"
#include "model/catalogue.h"
#include "model/fleet.h"
#include "process/revise.h"
#include "process/telling.h"

enum {
    RETRY_MS_FIRST = 50, /* Before another process is made, if they end soon; doubles. */
    RETRY_MS_MAX = 5000, /* The most it becomes. */
};

#define SOON_NS  INT64_C(1000000000) /* A process that lives longer has begun well. */
#define DYING_NS INT64_C(500000000)  /* By then a process that was ending has ended. */

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void watch_socket(struct process_worker *worker);

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct process_worker *worker = poll->data;
    bool is_good = status == 0;
    if (is_good && (events & UV_WRITABLE) != 0) {
        is_good = channel_flush(&worker->channel);
    }
    if (is_good && (events & UV_READABLE) != 0) {
        is_good = process_read(worker);
    }
    if (!is_good) {
        process_worker_ended(worker, /* killed_because */ NULL);
    } else if (worker->is_up) {
        watch_socket(worker);
    }
}

static void watch_socket(struct process_worker *worker)
{
    const int events = UV_READABLE | (channel_is_blocked(&worker->channel) ? UV_WRITABLE : 0);
    if (events != worker->watched) { /* Starting again costs two calls of the system. */
        const int code = uv_poll_start(worker->poll, events, on_ready);
        ASSERT(code == 0); /* The descriptor is a socket, and open. */
        worker->watched = events;
    }
}

/* Something could not be sent. If the process is gone, its end of the socket is closed; if there
 * was no memory, half of it may have been sent: then this ends it. The loop will say so. */
static void hang_up(struct process_worker *worker)
{
    (void)shutdown(worker->channel.socket, SHUT_RDWR);
}

void process_worker_send(struct process_worker *worker)
{
    if (!channel_send(&worker->channel, &worker->engine->packet)) {
        hang_up(worker);
    }
    if (channel_is_blocked(&worker->channel)) {
        watch_socket(worker);
    }
}

static void on_launches_ready(uv_poll_t *poll, int status, int events)
{
    struct process_worker *worker = poll->data;
    (void)events;
    /* If the process is gone the other channel says so. */
    if (status != 0 || !channel_flush(&worker->launches) ||
        !channel_is_blocked(&worker->launches)) {
        (void)uv_poll_stop(poll);
    }
}

void process_worker_send_launch(struct process_worker *worker)
{
    if (!channel_send(&worker->launches, &worker->engine->packet)) {
        hang_up(worker);
    }
    if (channel_is_blocked(&worker->launches)) {
        (void)uv_poll_start(worker->poll_launches, UV_WRITABLE, on_launches_ready);
    }
}

void process_worker_load(struct process_worker *worker, uint32_t place)
{
    struct engine_process *engine = worker->engine;
    const uint32_t model = process_model_at(worker, place);
    worker->models[place].load = ++engine->last_number;
    worker->models[place].since_ns = process_now_ns(engine);
    const struct process_order order = {
        .number = worker->models[place].load,
        .worker = process_worker_at(worker, place),
        .model = model,
        .bytes = engine->artifacts->items[model].bytes,
        .was_resident = worker->models[place].state == MODEL_RESTORING,
    };
    packet_start(&engine->packet, ORDER_LOAD);
    packet_put(&engine->packet, &order, sizeof(order));
    packet_put(
        &engine->packet, &engine->artifacts->items[model].versions,
        sizeof(struct artifact_versions));
    process_worker_send(worker);
}

/* Let the new process of @worker load what the old one held. */
static void restore(struct process_worker *worker)
{
    worker->restoring = 0;
    for (uint32_t i = 0; i < process_place_count(worker); i++) {
        struct process_model *model = &worker->models[i];
        if (model->state == MODEL_LOADING) {
            process_worker_load(worker, i);
        } else if (model->state == MODEL_RESIDENT || model->state == MODEL_RESTORING) {
            model->state = MODEL_RESTORING;
            worker->restoring++;
            process_worker_load(worker, i);
        }
    }
}

/* Let @poll watch @socket for @worker. */
static uv_poll_t *init_poll(uv_poll_t *poll, struct process_worker *worker, int socket)
{
    const int code = uv_poll_init(worker->engine->loop, poll, socket);
    ASSERT(code == 0); /* It is a socket of our own. */
    poll->data = worker;
    uv_unref((uv_handle_t *)poll);
    return poll;
}

/* Give the new process its end of @ends, which launches go over, and the way to its keeper or, on
 * processors, a tray. */
static void greet(struct process_worker *worker, const int ends[2])
{
    struct packet *packet = &worker->engine->packet;
    const struct process_order order = {.worker = worker->number};
    int second = process_keeper_attach(worker);
    uint32_t place;
    packet_start(packet, ORDER_HELLO);
    packet_put(packet, &order, sizeof(order));
    (void)packet_put_file(packet, ends[1], /* is_owned */ true, &place); /* It is the first. */
    if (worker->engine->fleet->workers[worker->number].sharing != SHARES_SM) {
        worker->tray = tray_create(&second);
        worker->channel.tray_in = worker->tray;
    }
    if (second >= 0) {
        (void)packet_put_file(packet, second, /* is_owned */ true, &place);
    }
    process_worker_send(worker);
}

struct process_worker *process_of(struct engine_process *engine, uint32_t number)
{
    const bool is_gpu = engine->fleet->workers[number].sharing == SHARES_SM;
    return &engine->workers[is_gpu ? fleet_first_partition(engine->fleet, number) : number];
}

void process_worker_init(struct engine_process *engine, uint32_t number)
{
    struct process_worker *worker = &engine->workers[number];
    const struct fleet_worker *kind = &engine->fleet->workers[number];
    worker->engine = engine;
    worker->number = number;
    worker->channel.socket = -1;
    worker->launches.socket = -1;
    if (process_of(engine, number) != worker) {
        return;
    }
    worker->worker_count = kind->sharing == SHARES_SM ? fleet_partitions(kind) : 1;
    worker->models = memory_zeroed(process_place_count(worker) + 1, sizeof(*worker->models));
    worker->retry = memory_zeroed(1, sizeof(*worker->retry));
    (void)uv_timer_init(engine->loop, worker->retry); /* It cannot fail. */
    worker->retry->data = worker;
    uv_unref((uv_handle_t *)worker->retry);
}

enum weft_status process_worker_start(struct process_worker *worker, struct weft_error *error)
{
    struct engine_process *engine = worker->engine;
    const struct process_argument argument = {.worker = worker->number};
    char label[32];
    const struct fork_order order = {
        .argument = &argument, .bytes = sizeof(argument), .label = label};
    int ends[2];
    (void)snprintf(label, sizeof(label), "worker %u", worker->number);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return error_set(error, WEFT_IO, "no sockets for an engine: %s", strerror(errno));
    }
    uv_poll_t *polls[2] = {
        memory_reserved_zeroed(1, sizeof(*polls[0])), memory_reserved_zeroed(1, sizeof(*polls[1]))};
    const bool has_polls = polls[0] != NULL && polls[1] != NULL;
    const enum weft_status status =
        has_polls ? fork_server_fork(engine->server, &order, &worker->child, error)
                  : error_set(error, WEFT_NO_MEMORY, "no memory for an engine");
    if (!has_polls || status != WEFT_OK) {
        free(polls[0]);
        free(polls[1]);
        (void)close(ends[0]);
        (void)close(ends[1]);
        return status;
    }
    channel_init(&worker->channel, worker->child.socket);
    channel_init(&worker->launches, ends[0]);
    worker->poll = init_poll(polls[0], worker, worker->child.socket);
    worker->poll_launches = init_poll(polls[1], worker, ends[0]);
    worker->watched = 0;
    worker->is_up = true;
    worker->function_starts = 0;
    worker->function_crashes = 0;
    worker->use = (struct process_use){.is_proven = false};
    worker->suspects_ns = 0;
    worker->is_soon = false;
    worker->started_ns = process_now_ns(engine);
    watch_socket(worker);
    greet(worker, ends);
    restore(worker);
    process_revise_again(worker);
    process_batches_pump(worker);
    return WEFT_OK;
}

static void start_again(struct process_worker *worker);

static void on_retry(uv_timer_t *timer)
{
    struct process_worker *worker = timer->data;
    worker->is_retrying = false;
    start_again(worker);
}

static void retry_later(struct process_worker *worker)
{
    const uint32_t shift = worker->failures > 8 ? 8 : worker->failures;
    const uint64_t ms = (uint64_t)RETRY_MS_FIRST << shift;
    worker->is_retrying = true;
    (void)uv_timer_start(worker->retry, on_retry, ms < RETRY_MS_MAX ? ms : RETRY_MS_MAX, 0);
}

static void start_again(struct process_worker *worker)
{
    struct weft_error error;
    if (process_worker_start(worker, &error) == WEFT_OK) {
        worker->engine->counts.restarts++;
        return;
    }
    worker->failures++;
    if (worker->engine->on_ended != NULL) {
        worker->engine->on_ended(worker->engine->context, worker->number, error.message);
    }
    retry_later(worker);
}

/* Close our side of the process of @worker, but for the process itself. */
static void close_sides(struct process_worker *worker)
{
    worker->is_up = false;
    (void)uv_poll_stop(worker->poll);
    (void)uv_poll_stop(worker->poll_launches);
    uv_close((uv_handle_t *)worker->poll, on_closed);
    uv_close((uv_handle_t *)worker->poll_launches, on_closed);
    worker->poll = NULL;
    worker->poll_launches = NULL;
    channel_deinit(&worker->launches);
    lender_release(worker->lender);
    worker->lender = NULL;
    worker->channel.socket = -1; /* Closed with the child. */
    channel_deinit(&worker->channel);
    tray_destroy(worker->tray);
    worker->tray = NULL;
}

/* The same, and learn how it ended. */
static void leave(struct process_worker *worker, struct fork_ended *ended_out)
{
    close_sides(worker);
    fork_server_end(worker->engine->server, &worker->child, ended_out);
}

/* See to it that the process before this one has ended. */
static void bury(struct process_worker *worker)
{
    struct fork_ended ended;
    if (worker->dying.process > 0) {
        fork_server_end(worker->engine->server, &worker->dying, &ended);
        worker->dying.process = 0;
    }
}

/* What the process of @worker was doing with its models ends here. */
static void end_models(struct process_worker *worker, const char *how)
{
    for (uint32_t i = 0; i < process_place_count(worker); i++) {
        struct process_model *model = &worker->models[i];
        struct engine_done done = {
            .worker = process_worker_at(worker, i), .model = process_model_at(worker, i)};
        if (model->state == MODEL_LOADING && ++model->tries < PROCESS_RESTORES_MAX) {
            continue; /* Something else may have ended the process: once more. */
        }
        if (model->state == MODEL_LOADING) {
            done.kind = ENGINE_LOADED;
            done.status = WEFT_FAILED;
            process_tell(worker->engine, &model->told, &done, how);
            model->state = MODEL_ABSENT;
        } else if (
            model->state == MODEL_UNLOADING ||
            (model->state == MODEL_RESTORING && model->is_unwanted)) {
            done.kind = ENGINE_UNLOADED;
            process_tell(worker->engine, &model->told, &done, NULL);
            model->state = MODEL_ABSENT;
            model->is_unwanted = false;
        } else if (model->state == MODEL_RESTORING && ++model->tries >= PROCESS_RESTORES_MAX) {
            model->state = MODEL_BROKEN;
            (void)snprintf(model->cause, sizeof(model->cause), "loading it again, %.200s", how);
        }
    }
}

/* The process of @worker, whose sides are closed, has ended as @how says: make another. */
static void replace(struct process_worker *worker, const char *how)
{
    struct engine_process *engine = worker->engine;
    const bool was_soon = process_now_ns(engine) - worker->started_ns < SOON_NS;
    if (engine->on_ended != NULL) {
        engine->on_ended(engine->context, worker->number, how);
    }
    end_models(worker, how);
    process_batches_orphaned(worker, how);
    process_revise_orphaned(worker, how);
    worker->failures = was_soon ? worker->failures + 1 : 0;
    if (worker->failures > 1) {
        retry_later(worker);
    } else {
        start_again(worker);
    }
}

void process_worker_ended(struct process_worker *worker, const char *killed_because)
{
    struct engine_process *engine = worker->engine;
    struct fork_ended ended;
    char how[240];
    leave(worker, &ended);
    if (ended.how == FORK_END_EXIT && ended.number == PROCESS_EXIT_LOST) {
        (void)snprintf(ended.text, sizeof(ended.text), "lost its GPU");
    }
    (void)snprintf(
        how, sizeof(how), "the engine process of worker %u %s", worker->number,
        killed_because == NULL ? ended.text : killed_because);
    if (killed_because == NULL) {
        engine->counts.crashes++;
    } else {
        engine->counts.kills++;
    }
    replace(worker, how);
}

void process_worker_lost(struct process_worker *worker, const char *what)
{
    char how[240];
    (void)snprintf(how, sizeof(how), "the engine process of worker %u %s", worker->number, what);
    close_sides(worker);
    bury(worker);
    worker->dying = worker->child;
    worker->dying_ns = process_now_ns(worker->engine);
    replace(worker, how);
}

/* End the process of @worker if a load there takes too long. They come one after another. */
static void watch_load(struct process_worker *worker, int64_t now_ns)
{
    const struct engine_process *engine = worker->engine;
    struct process_model *first = NULL;
    char why[NAME_BYTES_MAX + 64];
    for (uint32_t i = 0; i < process_place_count(worker); i++) {
        struct process_model *model = &worker->models[i];
        if ((model->state == MODEL_LOADING || model->state == MODEL_RESTORING) &&
            (first == NULL || model->load < first->load)) {
            first = model;
        }
    }
    if (first == NULL) {
        return;
    }
    const int64_t began_ns = max_i64(first->since_ns, worker->loaded_ns);
    if (now_ns - began_ns > engine->load_ns_max) {
        (void)snprintf(
            why, sizeof(why), "took more than %.3g s to load '%s'",
            (double)engine->load_ns_max / 1e9,
            engine->catalogue
                ->models[process_model_at(worker, (uint32_t)(first - worker->models))]);
        first->tries = PROCESS_RESTORES_MAX; /* It is not tried again. */
        process_worker_ended(worker, why);
    }
}

/* End the process of @worker if a batch there takes too long, or does not stop. */
static void watch_batches(struct process_worker *worker, int64_t now_ns)
{
    const struct engine_process *engine = worker->engine;
    char why[64];
    for (struct process_batch *batch = worker->batches; batch != NULL; batch = batch->next) {
        const bool is_sent = batch->state == BATCH_SENT;
        const int64_t most_ns = is_sent ? engine->run_ns_max : engine->stop_ns_max;
        if (batch->state == BATCH_WAITING || now_ns - batch->since_ns <= most_ns) {
            continue;
        }
        batch->is_late = is_sent;
        (void)snprintf(
            why, sizeof(why),
            is_sent ? "ran a batch for more than %.3g s" : "did not stop in %.3g s",
            (double)most_ns / 1e9);
        process_worker_ended(worker, why);
        return;
    }
}

void process_worker_watch(struct process_worker *worker, int64_t now_ns)
{
    if (now_ns - worker->dying_ns > DYING_NS) {
        bury(worker);
    }
    process_ahead_watch(worker, now_ns);
    if (worker->is_up) {
        watch_batches(worker, now_ns);
    }
    if (worker->is_up && process_is_still(worker)) {
        worker->engine->counts.kills++;
        (void)kill(worker->child.process, SIGKILL); /* It has not been waited for: it is there. */
        process_worker_lost(worker, "stood still");
    }
    if (worker->is_up) {
        watch_load(worker, now_ns);
    }
    char why[NAME_BYTES_MAX + 64];
    if (worker->is_up && process_revise_is_late(worker, now_ns, why, sizeof(why))) {
        process_worker_ended(worker, why);
    }
}

void process_worker_close(struct process_worker *worker)
{
    struct fork_ended ended;
    if (worker->is_up) {
        leave(worker, &ended);
    }
    bury(worker);
    process_keeper_close(worker);
    if (worker->retry != NULL) {
        uv_close((uv_handle_t *)worker->retry, on_closed);
    }
    while (worker->batches != NULL) {
        struct process_batch *batch = worker->batches;
        worker->batches = batch->next;
        process_batch_destroy(batch);
    }
    process_ahead_close(worker);
    free(worker->models);
}
