/* process.c - the engine of processes: operations of the host, and reports of the processes. */
#include "process/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "engine/monotonic.h"
#include "engine/segment.h"
#include "model/catalogue.h"
#include "process/revise.h"
#include "process/telling.h"

enum { WATCH_MS = 100 };

static struct engine_process *process_from(struct engine *engine)
{
    return (struct engine_process *)engine; /* base is the first member. */
}

int64_t process_now_ns(const struct engine_process *engine)
{
    (void)engine;
    return (int64_t)uv_hrtime();
}

static void on_keep(uv_async_t *keep)
{
    process_tell_all(keep->data);
    (void)process_near_look(keep->data);
}

static void on_wait(uv_prepare_t *wait)
{
    process_near_wait(wait->data);
}

static struct process_batch *find_batch(struct process_worker *worker, uint64_t number)
{
    struct process_batch *batch = worker->batches;
    while (batch != NULL && (batch->number != number || batch->state == BATCH_WAITING)) {
        batch = batch->next;
    }
    return batch;
}

/* Send an order about what is at @place. */
static void order(
    struct process_worker *worker, enum process_order_kind kind, uint32_t place, uint64_t number)
{
    struct engine_process *engine = worker->engine;
    const struct process_order order = {
        .number = number,
        .worker = process_worker_at(worker, place),
        .model = process_model_at(worker, place),
    };
    packet_start(&engine->packet, kind);
    packet_put(&engine->packet, &order, sizeof(order));
    process_worker_send(worker);
}

/* Tell the host that what was at @place has left. */
static void tell_unloaded(struct process_worker *worker, uint32_t place)
{
    const struct engine_done done = {
        .kind = ENGINE_UNLOADED,
        .worker = process_worker_at(worker, place),
        .model = process_model_at(worker, place),
    };
    if (!process_reports_unloads(&worker->engine->fleet->workers[worker->number])) {
        segments_trim(); /* Of the inputs that it was given. GPUs have registered them. */
    }
    worker->models[place].state = MODEL_ABSENT;
    process_tell(worker->engine, &worker->models[place].told, &done, NULL);
}

/*
 * Let the model at @place leave: the process if it is there, or without one. The host is told in
 * either case. On processors it is told at once: what it orders next comes after the unload, and
 * mostly that is a load, which would otherwise wait for a report as well.
 */
static void unload(struct process_worker *worker, uint32_t place)
{
    const bool is_there = worker->models[place].state == MODEL_RESIDENT && worker->is_up;
    if (is_there) {
        order(worker, ORDER_UNLOAD, place, /* number */ 0);
    }
    if (is_there && process_reports_unloads(&worker->engine->fleet->workers[worker->number])) {
        worker->models[place].state = MODEL_UNLOADING;
    } else {
        tell_unloaded(worker, place);
    }
}

/* Whether @report is of a model that there is; *place_out is where. */
static bool find_place(
    const struct process_worker *worker, const struct process_report *report, uint32_t *place_out)
{
    if (report->model >= worker->engine->artifacts->count || report->worker < worker->number ||
        report->worker - worker->number >= worker->worker_count) {
        return false;
    }
    *place_out = process_place(worker, report->worker, report->model);
    return true;
}

static bool on_loaded(struct process_worker *worker, const struct process_report *report)
{
    uint32_t place;
    if (!find_place(worker, report, &place)) {
        return false;
    }
    struct process_model *model = &worker->models[place];
    worker->loaded_ns = process_now_ns(worker->engine);
    worker->is_soon = false;
    if (model->load != report->number) {
        return true; /* It was cancelled, and has left again. */
    }
    struct engine_done done = {
        .kind = ENGINE_LOADED,
        .worker = report->worker,
        .model = report->model,
        .status = (enum weft_status)report->status,
        .bytes = report->bytes,
        .own_bytes = report->own_bytes,
    };
    if (model->state == MODEL_LOADING) {
        model->state = report->status == WEFT_OK ? MODEL_RESIDENT : MODEL_ABSENT;
        process_tell(worker->engine, &model->told, &done, report->message);
    } else if (model->state == MODEL_RESTORING) {
        worker->restoring--;
        model->tries = 0;
        model->state = report->status == WEFT_OK ? MODEL_RESIDENT : MODEL_BROKEN;
        (void)snprintf(model->cause, sizeof(model->cause), "%s", report->message);
        if (model->is_unwanted) {
            model->is_unwanted = false;
            unload(worker, place);
        }
    }
    return true;
}

static bool on_unloaded(struct process_worker *worker, const struct process_report *report)
{
    uint32_t place;
    if (!find_place(worker, report, &place) || worker->models[place].state != MODEL_UNLOADING) {
        return false;
    }
    tell_unloaded(worker, place);
    return true;
}

static bool on_ran(struct process_worker *worker, struct process_ran *ran)
{
    struct process_batch *batch = find_batch(worker, ran->report.number);
    if (batch == NULL) {
        process_ran_clear(ran);
        return false;
    }
    process_ahead_ran(worker, batch, ran);
    if (batch->state == BATCH_CANCELLED) {
        process_batch_unlink(worker, batch);
        process_batch_destroy(batch);
    } else {
        process_batch_report(worker, batch, ran);
    }
    process_ran_clear(ran);
    return true;
}

static bool on_stopped(struct process_worker *worker, const struct process_report *report)
{
    struct process_batch *batch = find_batch(worker, report->number);
    if (batch == NULL || batch->state != BATCH_CANCELLED) {
        return false;
    }
    process_batch_unlink(worker, batch);
    process_batch_destroy(batch);
    return true;
}

/*
 * A load is about to end, and mostly a batch waits for it. The loop stays awake until then, and the
 * thread of the process that runs batches is woken: both would take longer than the bus for the
 * rest.
 */
static bool on_soon(struct process_worker *worker)
{
    const struct process_order order = {.worker = worker->number};
    packet_start(&worker->engine->packet, ORDER_SOON);
    packet_put(&worker->engine->packet, &order, sizeof(order));
    process_worker_send_launch(worker);
    worker->is_soon = true;
    process_spin(worker);
    return true;
}

static bool on_hello(struct process_worker *worker, const struct received *received)
{
    if (worker->lender == NULL && received->file_count == 1) {
        worker->lender = lender_create(received->files[0]);
    }
    return worker->lender != NULL;
}

static bool on_report(struct process_worker *worker, struct received *received)
{
    struct engine_process *engine = worker->engine;
    struct process_ran *ran = engine->ran;
    if (!process_take_report(received, worker->lender, ran)) {
        return false;
    }
    if (received->kind != REPORT_RAN && received->kind != REPORT_AHEAD &&
        ran->report.output_count > 0) {
        process_ran_clear(ran);
        return false;
    }
    switch ((enum process_report_kind)received->kind) {
    case REPORT_LOADED:
        return on_loaded(worker, &ran->report);
    case REPORT_UNLOADED:
        return on_unloaded(worker, &ran->report);
    case REPORT_SHAPED:
        return false; /* It was not asked to. */
    case REPORT_RAN:
        return on_ran(worker, ran);
    case REPORT_AHEAD:
        process_ahead_add(worker, ran);
        return true;
    case REPORT_REVISED:
        return process_revised(worker, &ran->report);
    case REPORT_SOON:
        return on_soon(worker);
    case REPORT_STOPPED:
        return on_stopped(worker, &ran->report);
    case REPORT_HELLO:
        return on_hello(worker, received);
    case REPORT_LOST:
    case REPORT_HUNG:
        break; /* It has no reports after this one. */
    }
    return false;
}

/* The process is ending: it has lost its GPU, or gave up a run there, maybe of one task. */
static void on_lost(struct process_worker *worker, const struct received *received)
{
    struct packet_reader reader;
    struct process_report report;
    reader_init(&reader, received);
    reader_take(&reader, &report, sizeof(report));
    const bool is_hung = received->kind == REPORT_HUNG && !reader.is_bad;
    struct process_batch *batch = is_hung ? find_batch(worker, report.number) : NULL;
    if (batch != NULL && batch->state == BATCH_SENT) {
        batch->is_late = batch->batch.task_count == 1;
    }
    worker->engine->counts.crashes++;
    process_worker_lost(worker, is_hung ? "gave up a run that did not end" : "lost its GPU");
}

/* Act on all reports that have come. False if the process is gone. */
static bool read_reports(struct process_worker *worker)
{
    struct received *received;
    enum channel_receipt receipt;
    while ((receipt = channel_receive(&worker->channel, /* waits */ false, &received)) ==
           CHANNEL_RECEIVED) {
        if (received->kind == REPORT_LOST || received->kind == REPORT_HUNG) {
            on_lost(worker, received);
            return true;
        }
        if (!on_report(worker, received)) {
            process_worker_ended(worker, "sent nonsense, and was ended");
            return true;
        }
        process_still_heard(worker, received->kind);
        process_count_functions(worker, &worker->engine->ran->report);
    }
    if (receipt == CHANNEL_EMPTY) {
        process_batches_pump(worker);
    }
    return receipt == CHANNEL_EMPTY;
}

bool process_read(struct process_worker *worker)
{
    struct engine_process *engine = worker->engine;
    engine->is_telling = true; /* Without the loop: */
    const bool is_good = read_reports(worker);
    engine->is_telling = false;
    if (is_good) {
        process_tell_all(engine);
        process_spin_idle(engine);
    } else {
        (void)uv_async_send(engine->keep); /* Once the process is replaced. */
    }
    return is_good;
}

static void process_load(struct engine *base, uint32_t number, uint32_t model)
{
    struct engine_process *engine = process_from(base);
    struct process_worker *worker = process_of(engine, number);
    const uint32_t place = process_place(worker, number, model);
    struct process_model *state = &worker->models[place];
    ASSERT(model < engine->artifacts->count);
    ASSERT(state->state == MODEL_ABSENT);
    process_begin(engine);
    *state = (struct process_model){.state = MODEL_LOADING};
    if (worker->is_up) {
        process_worker_load(worker, place);
    }
}

static void process_cancel_load(struct engine *base, uint32_t number, uint32_t model)
{
    struct engine_process *engine = process_from(base);
    struct process_worker *worker = process_of(engine, number);
    const uint32_t place = process_place(worker, number, model);
    struct process_model *state = &worker->models[place];
    if (state->state != MODEL_LOADING) { /* It has ended, and the host has not been told. */
        process_forget_told(engine, ENGINE_LOADED, number, model);
    }
    if (state->state != MODEL_ABSENT && worker->is_up) {
        order(worker, ORDER_CANCEL_LOAD, place, state->load);
    }
    if (state->state == MODEL_RESTORING) {
        worker->restoring -= worker->is_up ? 1 : 0;
        process_batches_pump(worker);
    }
    state->state = MODEL_ABSENT;
    process_end(engine);
}

static void process_unload(struct engine *base, uint32_t number, uint32_t model)
{
    struct engine_process *engine = process_from(base);
    struct process_worker *worker = process_of(engine, number);
    const uint32_t place = process_place(worker, number, model);
    struct process_model *state = &worker->models[place];
    process_begin(engine);
    ASSERT(state->state != MODEL_ABSENT && state->state != MODEL_LOADING);
    if (state->state == MODEL_RESTORING && worker->is_up) {
        state->is_unwanted = true; /* It cannot leave before it has come. */
        return;
    }
    unload(worker, place);
}

static void process_reshape(struct engine *base, uint32_t number, uint32_t gpu)
{
    struct engine_process *engine = process_from(base);
    const struct engine_done done = {.kind = ENGINE_SHAPED, .worker = number, .gpu = gpu};
    /* Once per size of a share: it is not worth a place of its own. */
    struct process_told *told = memory_zeroed(1, sizeof(*told));
    process_begin(engine);
    process_tell(engine, told, &done, NULL); /* Processors are shared as they are. */
}

static enum weft_status process_launch(struct engine *base, const struct engine_batch *given)
{
    struct engine_process *engine = process_from(base);
    struct process_worker *worker = process_of(engine, given->worker);
    struct process_batch *batch = process_batch_create(given);
    struct process_batch **link = &worker->batches;
    if (batch == NULL) {
        return WEFT_NO_MEMORY;
    }
    process_linger_launch(&engine->linger, process_now_ns(engine));
    process_linger_launch(&engine->gpu_linger, process_now_ns(engine));
    process_begin(engine);
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = batch;
    process_batch_launch(worker, batch);
    return WEFT_OK;
}

static bool process_look(struct engine *base)
{
    return process_near_look(process_from(base));
}

static void process_cancel(struct engine *base, uint64_t number)
{
    struct engine_process *engine = process_from(base);
    for (uint32_t i = engine->hosted.first; i < engine->hosted.end; i++) {
        struct process_worker *worker = &engine->workers[i];
        for (struct process_batch *batch = worker->batches; batch != NULL; batch = batch->next) {
            if (batch->batch.batch != number || batch->state == BATCH_CANCELLED) {
                continue;
            }
            process_end(engine);
            if (batch->state == BATCH_WAITING) {
                process_batch_unlink(worker, batch);
                process_batch_destroy(batch);
                return;
            }
            batch->state = BATCH_CANCELLED;
            batch->since_ns = process_now_ns(engine);
            order(worker, ORDER_CANCEL, /* place */ 0, batch->number);
            return;
        }
    }
    process_forget_told(engine, ENGINE_RAN, /* worker */ 0, number);
    process_end(engine);
}

static void on_watch(uv_timer_t *timer)
{
    struct engine_process *engine = timer->data;
    const int64_t now_ns = process_now_ns(engine);
    process_near_watch(engine);
    for (uint32_t i = engine->hosted.first; i < engine->hosted.end; i++) {
        process_worker_watch(&engine->workers[i], now_ns);
    }
    process_tell_all(engine);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void process_destroy(struct engine *base)
{
    struct engine_process *engine = process_from(base);
    for (uint32_t i = engine->hosted.first; i < engine->hosted.end; i++) {
        process_worker_close(&engine->workers[i]);
    }
    while (engine->told != NULL) {
        struct process_told *told = engine->told;
        engine->told = told->next;
        process_release_told(told);
    }
    uv_close((uv_handle_t *)engine->keep, on_closed);
    uv_close((uv_handle_t *)engine->watch, on_closed);
    uv_close((uv_handle_t *)engine->spin, on_closed);
    uv_close((uv_handle_t *)engine->wait, on_closed);
    process_near_close(engine);
    process_revise_close(engine);
    free(engine->ahead_credits);
    packet_deinit(&engine->packet);
    free(engine->workers);
    free(engine->ran);
    free(engine);
}

static const struct engine_ops process_ops = {
    .name = "process",
    .load = process_load,
    .cancel_load = process_cancel_load,
    .unload = process_unload,
    .reshape = process_reshape,
    .launch = process_launch,
    .cancel = process_cancel,
    .revise = process_revise,
    .look = process_look,
    .count = process_count,
    .destroy = process_destroy,
};

static void init_handles(struct engine_process *engine)
{
    engine->keep = memory_zeroed(1, sizeof(*engine->keep));
    engine->watch = memory_zeroed(1, sizeof(*engine->watch));
    engine->wait = memory_zeroed(1, sizeof(*engine->wait));
    int code = uv_async_init(engine->loop, engine->keep, on_keep);
    ASSERT(code == 0); /* The loop has its descriptor for signals already. */
    code = uv_timer_init(engine->loop, engine->watch);
    ASSERT(code == 0); /* It cannot fail. */
    engine->keep->data = engine;
    engine->watch->data = engine;
    uv_unref((uv_handle_t *)engine->keep);
    (void)uv_timer_start(engine->watch, on_watch, WATCH_MS, WATCH_MS);
    uv_unref((uv_handle_t *)engine->watch);
    (void)uv_prepare_init(engine->loop, engine->wait); /* Neither can fail. */
    engine->wait->data = engine;
    (void)uv_prepare_start(engine->wait, on_wait);
    uv_unref((uv_handle_t *)engine->wait);
}

enum weft_status engine_process_create(
    const struct engine_process_options *options, struct engine **engine_out,
    struct weft_error *error)
{
    ASSERT(options->host.done != NULL);
    ASSERT(options->artifacts->count >= options->catalogue->model_count);
    struct engine_process *engine = memory_zeroed(1, sizeof(*engine));
    engine->base.ops = &process_ops;
    engine->base.host = options->host;
    engine->fleet = options->fleet;
    engine->hosted = engine_workers_of(&options->host, options->fleet);
    engine->catalogue = options->catalogue;
    engine->artifacts = options->artifacts;
    engine->server = options->server;
    engine->loop = options->loop;
    engine->run_ns_max = options->run_ns_max == 0 ? PROCESS_RUN_NS_MAX : options->run_ns_max;
    engine->stop_ns_max = options->stop_ns_max == 0 ? PROCESS_STOP_NS_MAX : options->stop_ns_max;
    engine->load_ns_max =
        options->load_ns_max == 0 ? PROCESS_LOAD_FACTOR * engine->run_ns_max : options->load_ns_max;
    engine->keeps_weights = options->keeps_weights;
    engine->spin_ns = options->spin_ns;
    engine->near.short_ns = options->short_ns == 0 ? PROCESS_SHORT_NS : options->short_ns;
    process_linger_init(&engine->linger, engine->near.short_ns / 2);
    process_linger_init(&engine->gpu_linger, engine->spin_ns / 2);
    process_ready_init(&engine->ready, engine->near.short_ns / 2, process_ns);
    engine->on_ended = options->on_ended;
    engine->context = options->context;
    engine->told_end = &engine->told;
    engine->ran = memory_zeroed(1, sizeof(*engine->ran));
    engine->workers = memory_zeroed(options->fleet->worker_count, sizeof(*engine->workers));
    init_handles(engine);
    process_spin_init(engine);
    process_near_init(engine);
    process_ahead_init(engine);
    process_revise_init(engine);
    for (uint32_t i = engine->hosted.first; i < engine->hosted.end; i++) {
        process_worker_init(engine, i);
    }
    bundle_set_segments_from(PROCESS_SEGMENT_BYTES_MIN);
    for (uint32_t i = engine->hosted.first; i < engine->hosted.end; i++) {
        const enum weft_status status = engine->workers[i].worker_count == 0
                                            ? WEFT_OK
                                            : process_worker_start(&engine->workers[i], error);
        if (status != WEFT_OK) {
            process_destroy(&engine->base);
            return status;
        }
    }
    *engine_out = &engine->base;
    return WEFT_OK;
}

struct engine_process_counts engine_process_counts(const struct engine *base)
{
    ASSERT(base->ops == &process_ops);
    return ((const struct engine_process *)base)->counts;
}
