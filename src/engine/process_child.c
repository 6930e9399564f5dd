#include "engine/process_child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "engine/channel.h"
#include "engine/lender.h"
#include "engine/ort_memory.h"
#include "engine/process.h"
#include "engine/process_wire.h"
#include "engine/segment.h"
#include "model/catalogue.h"
#include "model/fleet.h"

/* A model, as this side knows it. */
struct held_model {
    uint64_t number;  /* Of the last load. */
    bool is_loading;  /* The engine has not ended it. */
    bool is_resident; /* In the engine. */
    bool is_silent;   /* Its unload was nobody's order. */
};

/* A batch that runs, with its inputs. */
struct held_batch {
    struct held_batch *next;
    struct process_batch_in in;
};

struct cancelled {
    struct cancelled *next;
    uint64_t number;
};

struct child {
    pthread_mutex_t lock;   /* Of everything here, and of the engine; but for the channels' ends */
    struct channel channel; /* that are read: one by the main thread, */
    struct channel launches;
    pthread_mutex_t reading; /* one by whoever holds this. */
    struct lender *lender;   /* The other side. */
    struct packet packet;
    struct engine *engine;
    const struct process_child_options *options;
    uint32_t worker;
    struct held_model *models;
    struct held_batch *batches;
    uint64_t last_launch;    /* The number of the newest batch that came. */
    struct cancelled *ahead; /* Batches that were cancelled before they came. */
};

/* Without the other side there is nothing left to do, whatever the threads are at. */
static void send_or_end(struct child *child)
{
    if (!channel_send_wait(&child->channel, &child->packet)) {
        _exit(EXIT_SUCCESS);
    }
}

/* The batch with @number is no longer held. */
static void drop_batch(struct child *child, uint64_t number)
{
    struct held_batch **link = &child->batches;
    while (*link != NULL && (*link)->in.batch.batch != number) {
        link = &(*link)->next;
    }
    struct held_batch *batch = *link;
    if (batch != NULL) {
        *link = batch->next;
        process_batch_free(&batch->in);
        free(batch);
    }
}

/* The engine has ended something. On any thread, under the lock. */
static void on_done(void *context, const struct engine_done *done)
{
    struct child *child = context;
    struct process_report report = {
        .number = done->batch,
        .bytes = done->bytes,
        .run_ns = done->run_ns,
        .status = done->status,
        .worker = done->worker,
        .model = done->model,
        .gpu = done->gpu,
    };
    struct engine_counts counts;
    engine_get_counts(child->engine, &counts);
    report.function_starts = counts.function_starts;
    report.function_crashes = counts.function_crashes;
    if (done->message != NULL) {
        (void)snprintf(report.message, sizeof(report.message), "%s", done->message);
    }
    if (done->kind == ENGINE_LOADED) {
        struct held_model *model = &child->models[done->model];
        model->is_loading = false;
        model->is_resident = done->status == WEFT_OK;
        report.number = model->number;
    }
    if (done->kind == ENGINE_UNLOADED && child->models[done->model].is_silent) {
        child->models[done->model].is_silent = false;
        return;
    }
    process_put_done(&child->packet, &report, done);
    send_or_end(child);
    for (uint32_t i = 0; i < done->output_count; i++) {
        bundle_destroy(done->outputs[i].contents); /* Not before: the packet borrows its files. */
    }
    if (done->kind == ENGINE_RAN) {
        drop_batch(child, done->batch);
    }
}

static void on_stopped(void *context, uint64_t batch)
{
    struct child *child = context;
    const struct process_report report = {.number = batch, .worker = child->worker};
    packet_start(&child->packet, REPORT_STOPPED);
    packet_put(&child->packet, &report, sizeof(report));
    send_or_end(child);
}

static void load(struct child *child, const struct process_order *order)
{
    struct held_model *model = &child->models[order->model];
    child->options->artifacts->items[order->model].bytes = order->bytes;
    model->number = order->number;
    model->is_loading = true;
    engine_load(child->engine, child->worker, order->model);
}

/* The load may have ended before the order came: then what it brought leaves again. */
static void cancel_load(struct child *child, const struct process_order *order)
{
    struct held_model *model = &child->models[order->model];
    if (model->number != order->number) {
        return;
    }
    if (model->is_loading) {
        model->is_loading = false;
        engine_cancel_load(child->engine, child->worker, order->model);
    } else if (model->is_resident) {
        model->is_resident = false;
        model->is_silent = true;
        engine_unload(child->engine, child->worker, order->model);
    }
}

static void unload(struct child *child, const struct process_order *order)
{
    ASSERT(child->models[order->model].is_resident);
    child->models[order->model].is_resident = false;
    engine_unload(child->engine, child->worker, order->model);
}

/* Whether batch @number was cancelled before it came: that is known no longer then. */
static bool take_cancelled(struct child *child, uint64_t number)
{
    struct cancelled **link = &child->ahead;
    while (*link != NULL && (*link)->number != number) {
        link = &(*link)->next;
    }
    struct cancelled *found = *link;
    if (found == NULL) {
        return false;
    }
    *link = found->next;
    free(found);
    return true;
}

static void launch(struct child *child, struct held_batch *batch)
{
    child->last_launch = batch->in.batch.batch;
    if (take_cancelled(child, batch->in.batch.batch)) {
        on_stopped(child, batch->in.batch.batch);
        process_batch_free(&batch->in);
        free(batch);
        return;
    }
    batch->next = child->batches;
    child->batches = batch;
    engine_launch(child->engine, &batch->in.batch);
}

/* A thread has nothing to run: wait for a batch, and launch it. */
static bool fetch(void *context)
{
    struct child *child = context;
    struct received *received;
    struct held_batch *batch = memory_zeroed(1, sizeof(*batch));
    (void)pthread_mutex_lock(&child->reading);
    const bool is_there =
        channel_receive(&child->launches, /* waits */ true, &received) == CHANNEL_RECEIVED;
    if (!is_there || !process_take_batch(received, child->lender, &batch->in)) {
        _exit(EXIT_SUCCESS); /* The other side is gone. */
    }
    (void)pthread_mutex_unlock(&child->reading);
    batch->in.batch.tasks = batch->in.tasks;
    (void)pthread_mutex_lock(&child->lock);
    launch(child, batch);
    (void)pthread_mutex_unlock(&child->lock);
    return true;
}

/* The batch may have ended before the order came: its report is on the way then. Or the order has
 * overtaken it. */
static void cancel(struct child *child, uint64_t number)
{
    const struct held_batch *batch = child->batches;
    while (batch != NULL && batch->in.batch.batch != number) {
        batch = batch->next;
    }
    if (batch != NULL) {
        engine_cancel(child->engine, number);
        drop_batch(child, number);
    } else if (number > child->last_launch) {
        struct cancelled *cancelled = memory_zeroed(1, sizeof(*cancelled));
        *cancelled = (struct cancelled){.next = child->ahead, .number = number};
        child->ahead = cancelled;
    }
}

static void obey(struct child *child, struct received *received)
{
    struct packet_reader reader;
    struct process_order order;
    reader_init(&reader, received);
    reader_take(&reader, &order, sizeof(order));
    ASSERT(!reader.is_bad);
    switch ((enum process_order_kind)received->kind) {
    case ORDER_LOAD:
        load(child, &order);
        return;
    case ORDER_CANCEL_LOAD:
        cancel_load(child, &order);
        return;
    case ORDER_UNLOAD:
        unload(child, &order);
        return;
    case ORDER_RESHAPE:
        engine_reshape(child->engine, child->worker, order.gpu);
        return;
    case ORDER_CANCEL:
        cancel(child, order.number);
        return;
    case ORDER_LAUNCH: /* Those come over the other channel. */
    case ORDER_HELLO:
        break;
    }
    ASSERT(false);
}

/* The engine of this process. False, and said on stderr, if there is none. */
static bool make_engine(struct child *child)
{
    struct weft_error error;
    struct engine_local_options local = child->options->local;
    local.fleet = child->options->fleet;
    local.catalogue = child->options->catalogue;
    local.artifacts = child->options->artifacts;
    local.loop = NULL;
    local.lock = &child->lock;
    local.worker = child->worker;
    local.fetch = fetch;
    local.host = (struct engine_host){.context = child, .done = on_done, .stopped = on_stopped};
    if (child->options->bounds_memory) {
        ort_memory_set_limit(child->options->fleet->workers[child->worker].memory_bytes);
    }
    if (engine_local_create(&local, &child->engine, &error) != WEFT_OK) {
        (void)fprintf(stderr, "weft: worker %u: %s\n", child->worker, error.message);
        return false;
    }
    return true;
}

/* Exchange greetings: the socket for launches against the ledger. */
static bool greet(struct child *child)
{
    const struct process_report report = {.worker = child->worker};
    struct received *received;
    uint32_t place;
    if (channel_receive(&child->channel, /* waits */ true, &received) != CHANNEL_RECEIVED ||
        received->kind != ORDER_HELLO || received->file_count != 1) {
        return false;
    }
    channel_init(&child->launches, received->files[0]);
    received->files[0] = -1; /* The channel's. */
    packet_start(&child->packet, REPORT_HELLO);
    packet_put(&child->packet, &report, sizeof(report));
    return packet_put_file(&child->packet, segment_ledger_file(), /* is_owned */ false, &place) &&
           channel_send_wait(&child->channel, &child->packet);
}

void process_child_main(const struct process_child_options *options, int socket, uint32_t worker)
{
    struct child *child = memory_zeroed(1, sizeof(*child));
    pthread_mutexattr_t recursive;
    struct received *received;
    child->options = options;
    child->worker = worker;
    child->models = memory_zeroed(options->artifacts->count + 1, sizeof(*child->models));
    (void)pthread_mutexattr_init(&recursive);
    (void)pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    (void)pthread_mutex_init(&child->lock, &recursive);
    (void)pthread_mutex_init(&child->reading, NULL);
    channel_init(&child->channel, socket);
    child->lender = lender_create(/* ledger_file */ -1); /* It learns of ends by reports. */
    bundle_set_segments_from(PROCESS_SEGMENT_BYTES_MIN);
    if (child->lender == NULL || !greet(child) || !make_engine(child)) {
        _exit(EXIT_FAILURE);
    }
    while (channel_receive(&child->channel, /* waits */ true, &received) == CHANNEL_RECEIVED) {
        (void)pthread_mutex_lock(&child->lock);
        obey(child, received);
        (void)pthread_mutex_unlock(&child->lock);
    }
    _exit(EXIT_SUCCESS); /* The threads go with the process. */
}

static void be_engine(const void *context, const void *argument)
{
    const struct process_argument *head = argument;
    process_child_main(context, FORK_FILE_FIRST, head->worker);
}

struct fork_options process_fork_options(const struct process_child_options *options)
{
    return (struct fork_options){
        .run = be_engine,
        .context = options,
        .name = "weft-engine",
        .printed = "engine printed",
        .key = "process",
    };
}
