#include "process/child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "cuda/find.h"
#include "cuda/keeper.h"
#include "engine/channel.h"
#include "engine/lender.h"
#include "engine/near.h"
#include "engine/segment.h"
#include "engine/tray.h"
#include "model/catalogue.h"
#include "model/fleet.h"
#include "onnx/ort_memory.h"
#include "process/ahead.h"
#include "process/process.h"
#include "process/wire.h"

/* A model, as this side knows it. */
struct held_model {
    uint64_t number;  /* Of the last load. */
    bool is_loading;  /* The engine has not ended it. */
    bool is_resident; /* In the engine. */
    bool is_silent;   /* Its unload was not ordered. */
};

/* A batch that runs, with its inputs. */
struct held_batch {
    struct held_batch *next;
    struct process_batch_in in;
};

/* In the number of a batch: by so many tasks it follows the one that the other side launched. */
#define AHEAD_ONE (UINT64_C(1) << 56)

struct cancelled {
    struct cancelled *next;
    uint64_t number;
};

struct child {
    pthread_mutex_t lock; /* Of everything here and of the engine, but for reading the channels. */
    struct channel channel;  /* Read by the main thread. */
    struct channel launches; /* Read by the thread that holds `reading`. */
    pthread_mutex_t reading;
    struct lender *lender; /* The other side. */
    int keeper;            /* Its socket, for an engine on a GPU; -1: there is none. */
    struct packet packet;
    struct engine *engine;
    const struct process_child_options *options;
    uint32_t worker;           /* The first that it serves. */
    uint32_t worker_count;     /* More than one only on a GPU. */
    struct held_model *models; /* Of the first worker, of the second ... */
    struct held_batch *batches;
    int64_t *run_ns; /* By model, on average: ahead.h. */
    int64_t short_ns;
    uint64_t last_launch;    /* The number of the newest batch that came. */
    struct cancelled *ahead; /* Batches that were cancelled before they came. */
    uint64_t revision;       /* The number of the last one. */
};

/* Without the other side there is nothing left to do, whatever the threads are at. */
static void send_or_end(struct child *child)
{
    if (!channel_send_wait(&child->channel, &child->packet)) {
        _exit(EXIT_SUCCESS);
    }
}

static struct held_model *model_of(struct child *child, uint32_t worker, uint32_t model)
{
    ASSERT(worker - child->worker < child->worker_count);
    return &child->models[(worker - child->worker) * child->options->artifacts->count + model];
}

/* Where the batch with @number is among those that are held, or could be. */
static struct held_batch **find_batch(struct child *child, uint64_t number)
{
    struct held_batch **link = &child->batches;
    while (*link != NULL && (*link)->in.batch.batch != number) {
        link = &(*link)->next;
    }
    return link;
}

/* The batch with @number is no longer held. */
static void drop_batch(struct child *child, uint64_t number)
{
    struct held_batch **link = find_batch(child, number);
    struct held_batch *batch = *link;
    if (batch != NULL) {
        *link = batch->next;
        process_batch_free(&batch->in);
        free(batch);
    }
}

/* The model or function that @batch runs. */
static uint32_t run_of(const struct child *child, const struct engine_batch *batch)
{
    return child->options->catalogue->workflows[batch->workflow]->tasks[batch->task].run;
}

/* Whether all that @kind needs is here, and short to run. */
static bool is_ready(struct child *child, uint32_t worker, const struct workflow_task *kind)
{
    bool is_ready = child->options->artifacts->items[kind->run].kind == ARTIFACT_ONNX &&
                    process_is_short(child->run_ns[kind->run], child->short_ns);
    for (uint32_t i = 0; i < kind->model_count; i++) {
        is_ready = is_ready && model_of(child, worker, kind->models[i])->is_resident;
    }
    return is_ready;
}

/*
 * Launch what comes after @ran, whose end is @done: ahead.h. Its inputs are shared with the
 * outputs. False if nothing is.
 */
static bool go_ahead(
    struct child *child, const struct held_batch *ran, const struct engine_done *done)
{
    const struct engine_batch *before = &ran->in.batch;
    const struct workflow *workflow = child->options->catalogue->workflows[before->workflow];
    const uint32_t next = process_task_ahead(workflow, before->task);
    if (ran->in.ahead == 0 || next == TASK_NONE || !process_is_small(done) ||
        !is_ready(child, before->worker, &workflow->tasks[next])) {
        return false;
    }
    struct held_batch *batch = memory_zeroed(1, sizeof(*batch));
    process_batch_after(&ran->in, next, done, &batch->in);
    batch->in.batch.batch += AHEAD_ONE;
    batch->next = child->batches;
    child->batches = batch;
    if (engine_launch(child->engine, &batch->in.batch) != WEFT_OK) {
        drop_batch(child, batch->in.batch.batch);
        return false;
    }
    return true;
}

/* Send the report of a batch that has ended; or, if another one follows it, with the report of
 * that. That may take a while, but nothing that follows can begin before. */
static void send_ran(struct child *child, const struct engine_done *done)
{
    const struct held_batch *ran = *find_batch(child, done->batch);
    if (ran != NULL) {
        const uint32_t run = run_of(child, &ran->in.batch);
        process_learn_run(&child->run_ns[run], done->run_ns, child->short_ns);
    }
    if (ran == NULL || child->packet.is_short || child->packet.file_count > 0 ||
        !go_ahead(child, ran, done) || !packet_hold(&child->packet)) {
        send_or_end(child);
    }
}

/* Whether the other side waits for the unload that has ended. */
static bool must_report_unload(struct child *child, const struct engine_done *done)
{
    struct held_model *model = model_of(child, done->worker, done->model);
    const bool is_ordered = !model->is_silent;
    model->is_silent = false;
    return is_ordered && process_reports_unloads(&child->options->fleet->workers[done->worker]);
}

/* The engine has ended something. On any thread, under the lock. */
static void on_done(void *context, const struct engine_done *done)
{
    struct child *child = context;
    struct process_report report = {
        .number = done->batch,
        .bytes = done->bytes,
        .own_bytes = done->own_bytes,
        .run_ns = done->run_ns,
        .is_disturbed = done->is_disturbed ? 1 : 0,
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
        struct held_model *model = model_of(child, done->worker, done->model);
        model->is_loading = false;
        model->is_resident = done->status == WEFT_OK;
        report.number = model->number;
    }
    if (done->kind == ENGINE_REVISED) {
        report.number = child->revision;
    }
    if (done->kind == ENGINE_UNLOADED && !must_report_unload(child, done)) {
        return;
    }
    report.number %= AHEAD_ONE;
    process_put_done(&child->packet, &report, done);
    if (done->batch >= AHEAD_ONE) {
        child->packet.kind = REPORT_AHEAD;
    }
    if (done->kind == ENGINE_RAN) {
        send_ran(child, done);
    } else {
        send_or_end(child);
    }
    for (uint32_t i = 0; i < done->output_count; i++) {
        bundle_destroy(done->outputs[i].contents); /* Not before: the packet borrows its files. */
    }
    if (done->kind == ENGINE_RAN) {
        drop_batch(child, done->batch);
    }
}

/* Send a report of @kind about batch @number, or about none, with nothing else in it. */
static void send_short(struct child *child, enum process_report_kind kind, uint64_t number)
{
    const struct process_report report = {.number = number, .worker = child->worker};
    packet_start(&child->packet, kind);
    packet_put(&child->packet, &report, sizeof(report));
    send_or_end(child);
}

static void on_stopped(void *context, uint64_t batch)
{
    send_short(context, REPORT_STOPPED, batch);
}

static bool is_on_gpu(const struct process_child_options *options, uint32_t worker)
{
    return options->cuda != NULL && options->fleet->workers[worker].sharing == SHARES_SM;
}

static void load(
    struct child *child, const struct process_order *order, struct packet_reader *reader)
{
    struct held_model *model = model_of(child, order->worker, order->model);
    struct artifact *artifact = &child->options->artifacts->items[order->model];
    artifact->bytes = order->bytes;
    reader_take(reader, &artifact->versions, sizeof(artifact->versions));
    ASSERT(!reader->is_bad);
    model->number = order->number;
    model->is_loading = true;
    if (order->was_resident != 0 && is_on_gpu(child->options, child->worker)) {
        engine_cuda_set_tried(child->engine, order->worker, order->model);
    }
    engine_load(child->engine, order->worker, order->model);
}

/* The load may have ended before the order came: then what it brought leaves again. */
static void cancel_load(struct child *child, const struct process_order *order)
{
    struct held_model *model = model_of(child, order->worker, order->model);
    if (model->number != order->number) {
        return;
    }
    if (model->is_loading) {
        model->is_loading = false;
        engine_cancel_load(child->engine, order->worker, order->model);
    } else if (model->is_resident) {
        model->is_resident = false;
        model->is_silent = true;
        engine_unload(child->engine, order->worker, order->model);
    }
}

static void unload(struct child *child, const struct process_order *order)
{
    struct held_model *model = model_of(child, order->worker, order->model);
    ASSERT(model->is_resident);
    model->is_resident = false;
    engine_unload(child->engine, order->worker, order->model);
}

static void revise(
    struct child *child, const struct process_order *order, struct packet_reader *reader)
{
    struct artifact_versions versions;
    reader_take(reader, &versions, sizeof(versions));
    ASSERT(!reader->is_bad);
    child->revision = order->number;
    const bool is_taken = engine_revise(child->engine, order->model, &versions);
    ASSERT(is_taken); /* Only GPUs are asked. */
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
    artifact_set_file(
        &child->options->artifacts->items[run_of(child, &batch->in.batch)], &batch->in.file);
    batch->next = child->batches;
    child->batches = batch;
    if (engine_launch(child->engine, &batch->in.batch) != WEFT_OK) {
        const struct engine_done done = {
            .kind = ENGINE_RAN,
            .worker = batch->in.batch.worker,
            .batch = batch->in.batch.batch,
            .status = WEFT_NO_MEMORY,
        };
        on_done(child, &done);
    }
}

/* Where this thread is to wait for batches, as the last one said: near.h. */
static _Thread_local uint32_t near_wanted;

/* Where the last one was sent from. A thread that asks for the next one again and again on that
 * processor would keep the sender from sending it. */
static _Thread_local uint32_t sender;

static enum engine_fetched fetch_one(void *context, enum engine_fetch how)
{
    struct child *child = context;
    const bool waits =
        how == FETCH_WAIT || (how == FETCH_SOON && sender != 0 && sender == near_here());
    struct received *received;
    (void)near_stay(near_wanted); /* Now, while nothing waits for it. If it cannot: as it is. */
    near_hurry(near_where() != 0);
    (void)pthread_mutex_lock(&child->reading);
    const enum channel_receipt receipt = channel_receive(&child->launches, waits, &received);
    const bool is_soon = receipt == CHANNEL_RECEIVED && received->kind == ORDER_SOON;
    if (receipt == CHANNEL_EMPTY || is_soon) {
        (void)pthread_mutex_unlock(&child->reading);
        return is_soon ? FETCHED_SOON : FETCHED_NOTHING;
    }
    struct held_batch *batch = memory_zeroed(1, sizeof(*batch));
    if (receipt != CHANNEL_RECEIVED || !process_take_batch(received, child->lender, &batch->in)) {
        _exit(EXIT_SUCCESS); /* The other side is gone. */
    }
    (void)pthread_mutex_unlock(&child->reading);
    near_wanted = batch->in.near;
    sender = batch->in.from;
    if (near_wanted == 0) {
        (void)near_stay(0); /* Not after the run, which may be long. */
        near_hurry(false);
    }
    (void)pthread_mutex_lock(&child->lock);
    launch(child, batch);
    (void)pthread_mutex_unlock(&child->lock);
    return FETCHED_BATCH;
}

/* A thread has nothing to run: wait for a batch, and launch it. */
static bool fetch(void *context)
{
    return fetch_one(context, FETCH_WAIT) != FETCHED_END;
}

/* The batch may have ended before the order came: its report is on the way then. Or the order has
 * overtaken it. */
static void cancel(struct child *child, uint64_t number)
{
    if (*find_batch(child, number) != NULL) {
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
        load(child, &order, &reader);
        return;
    case ORDER_CANCEL_LOAD:
        cancel_load(child, &order);
        return;
    case ORDER_UNLOAD:
        unload(child, &order);
        return;
    case ORDER_RESHAPE:
        engine_reshape(child->engine, order.worker, order.gpu);
        return;
    case ORDER_REVISE:
        revise(child, &order, &reader);
        return;
    case ORDER_CANCEL:
        cancel(child, order.number);
        return;
    case ORDER_KEEPER:
        ASSERT(received->file_count == 1 && is_on_gpu(child->options, child->worker));
        engine_cuda_set_keeper(child->engine, received->files[0]);
        received->files[0] = -1; /* The engine's. */
        return;
    case ORDER_LAUNCH: /* Those come over the other channel, */
    case ORDER_SOON:   /* and so does this. */
    case ORDER_HELLO:
        break;
    }
    ASSERT(false);
}

/*
 * Nothing runs on the device any more: the next process starts afresh. It need not wait until the
 * driver has cleared away what this one had, which takes a tenth of a second.
 */
_Noreturn static void give_up(struct child *child, enum process_report_kind kind, uint64_t number)
{
    (void)pthread_mutex_lock(&child->lock); /* No thread waits for the device under it. */
    packet_clear(&child->packet);
    send_short(child, kind, number);
    _exit(PROCESS_EXIT_LOST);
}

static void on_lost(void *context, const char *message)
{
    struct child *child = context;
    (void)fprintf(stderr, "weft: worker %u: %s\n", child->worker, message);
    give_up(child, REPORT_LOST, /* number */ 0);
}

static void on_hung(void *context, uint64_t number)
{
    give_up(context, REPORT_HUNG, number);
}

static void on_soon(void *context)
{
    send_short(context, REPORT_SOON, /* number */ 0);
}

static enum weft_status make_cuda(struct child *child, struct weft_error *error)
{
    struct engine_cuda_options cuda = *child->options->cuda;
    (void)prctl(PR_SET_NAME, "weft-gpu");
    cuda.catalogue = child->options->catalogue;
    cuda.artifacts = child->options->artifacts;
    cuda.gpu = cuda_gpu_of(child->options->fleet, child->worker, child->options->gpu_count);
    cuda.worker = child->worker;
    cuda.worker_count = child->worker_count;
    for (uint32_t i = 0; i < child->worker_count; i++) {
        cuda.memory_bytes += child->options->fleet->workers[child->worker + i].memory_bytes;
    }
    cuda.keeper = child->keeper;
    cuda.lender = child->lender;
    cuda.lock = &child->lock;
    cuda.fetch = fetch_one;
    cuda.soon = on_soon;
    cuda.lost = on_lost;
    cuda.hung = on_hung;
    cuda.host = (struct engine_host){.context = child, .done = on_done, .stopped = on_stopped};
    return engine_cuda_create(&cuda, &child->engine, error);
}

static enum weft_status make_local(struct child *child, struct weft_error *error)
{
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
    return engine_local_create(&local, &child->engine, error);
}

/* The engine of this process. False, and said on stderr, if there is none. */
static bool make_engine(struct child *child)
{
    struct weft_error error;
    /* Its threads run already, and may have a batch: a function needs no load. */
    (void)pthread_mutex_lock(&child->lock);
    const enum weft_status status = is_on_gpu(child->options, child->worker)
                                        ? make_cuda(child, &error)
                                        : make_local(child, &error);
    (void)pthread_mutex_unlock(&child->lock);
    if (status != WEFT_OK) {
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
        received->kind != ORDER_HELLO || received->file_count < 1 || received->file_count > 2) {
        return false;
    }
    channel_init(&child->launches, received->files[0]);
    received->files[0] = -1; /* The channel's. */
    const int second = received->file_count == 2 ? received->files[1] : -1;
    child->keeper = is_on_gpu(child->options, child->worker) ? second : -1;
    received->files[1] = -1; /* The engine's, or the tray's. */
    packet_start(&child->packet, REPORT_HELLO);
    packet_put(&child->packet, &report, sizeof(report));
    const bool is_good =
        packet_put_file(&child->packet, segment_ledger_file(), /* is_owned */ false, &place) &&
        channel_send_wait(&child->channel, &child->packet);
    if (child->keeper < 0 && second >= 0) {
        child->channel.tray_out = tray_attach(second);
    }
    return is_good;
}

/* Serve worker @worker over @socket until it is closed. */
static void be_engine(const struct process_child_options *options, int socket, uint32_t worker)
{
    struct child *child = memory_zeroed(1, sizeof(*child));
    pthread_mutexattr_t recursive;
    struct received *received;
    child->options = options;
    child->worker = worker;
    child->worker_count =
        is_on_gpu(options, worker) ? fleet_partitions(&options->fleet->workers[worker]) : 1;
    child->models = memory_zeroed(
        (size_t)child->worker_count * options->artifacts->count + 1, sizeof(*child->models));
    child->short_ns = options->short_ns == 0 ? PROCESS_SHORT_NS : options->short_ns;
    child->run_ns = memory_zeroed(options->artifacts->count + 1, sizeof(*child->run_ns));
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
    while (channel_await(&child->channel, &received) == CHANNEL_RECEIVED) {
        (void)pthread_mutex_lock(&child->lock);
        obey(child, received);
        (void)pthread_mutex_unlock(&child->lock);
    }
    _exit(EXIT_SUCCESS); /* The threads go with the process. */
}

void process_child_be(
    const struct process_child_options *options, const struct process_argument *argument)
{
    if (argument->kind == PROCESS_KEEPER) {
        (void)prctl(PR_SET_NAME, "weft-keeper");
        cuda_keeper_main(
            options->cuda->driver,
            cuda_gpu_of(options->fleet, argument->worker, options->gpu_count), FORK_FILE_FIRST);
    }
    be_engine(options, FORK_FILE_FIRST, argument->worker);
}
