/*
 * revise.c - other versions of a model, on all GPUs: struct engine_ops.
 *
 * A process that ends meanwhile may have done so over a new version, or over anything else. Its
 * successor is asked once more, after what it has to load; if that one ends as well, the version is
 * to blame.
 */
#include "process/revise.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/catalogue.h"
#include "model/fleet.h"
#include "process/telling.h"

/* What the process of a worker does about it. */
struct revising {
    bool is_open; /* It has not reported. */
    uint32_t tries;
    int64_t since_ns; /* When the process was asked. */
};

struct process_revision {
    uint64_t number;
    uint32_t model;
    uint32_t waiting; /* Processes that have not reported. */
    struct artifact_versions versions;
    struct weft_error error; /* The first one. */
    struct process_told told;
    struct revising workers[]; /* By number. */
};

void process_revise_init(struct engine_process *engine)
{
    const size_t bytes = engine->fleet->worker_count * sizeof(struct revising);
    engine->revision = memory_zeroed(1, sizeof(*engine->revision) + bytes);
}

void process_revise_close(struct engine_process *engine)
{
    free(engine->revision);
}

static void ask(struct process_worker *worker)
{
    struct engine_process *engine = worker->engine;
    struct process_revision *revision = engine->revision;
    const struct process_order order = {
        .number = revision->number, .worker = worker->number, .model = revision->model};
    revision->workers[worker->number].since_ns = process_now_ns(engine);
    packet_start(&engine->packet, ORDER_REVISE);
    packet_put(&engine->packet, &order, sizeof(order));
    packet_put(&engine->packet, &revision->versions, sizeof(revision->versions));
    process_worker_send(worker);
}

/* Nothing more comes of @worker. */
static void finish(struct process_worker *worker, enum weft_status status, const char *message)
{
    struct engine_process *engine = worker->engine;
    struct process_revision *revision = engine->revision;
    revision->workers[worker->number].is_open = false;
    if (status != WEFT_OK && revision->error.status == WEFT_OK) {
        (void)error_set(&revision->error, status, "%.200s", message);
    }
    if (--revision->waiting == 0) {
        const struct engine_done done = {
            .kind = ENGINE_REVISED,
            .worker = engine->hosted.first,
            .model = revision->model,
            .status = revision->error.status,
        };
        const bool is_good = done.status == WEFT_OK;
        process_tell(engine, &revision->told, &done, is_good ? NULL : revision->error.message);
    }
}

bool process_revise(struct engine *base, uint32_t model, const struct artifact_versions *versions)
{
    struct engine_process *engine = (struct engine_process *)base; /* base is the first member. */
    struct process_revision *revision = engine->revision;
    ASSERT(revision->waiting == 0 && versions->count > 0);
    revision->number = ++engine->last_number;
    revision->model = model;
    revision->versions = *versions;
    revision->error = (struct weft_error){.status = WEFT_OK};
    for (uint32_t i = engine->hosted.first; i < engine->hosted.end; i++) {
        struct process_worker *worker = &engine->workers[i];
        if (worker->worker_count == 0 || engine->fleet->workers[i].sharing != SHARES_SM) {
            continue;
        }
        revision->waiting++;
        revision->workers[i] = (struct revising){.is_open = true};
        if (worker->is_up) {
            ask(worker);
        }
    }
    if (revision->waiting > 0) {
        process_begin(engine);
    }
    return revision->waiting > 0;
}

bool process_revised(struct process_worker *worker, const struct process_report *report)
{
    const struct process_revision *revision = worker->engine->revision;
    if (!revision->workers[worker->number].is_open || report->number != revision->number) {
        return false;
    }
    finish(worker, (enum weft_status)report->status, report->message);
    return true;
}

void process_revise_again(struct process_worker *worker)
{
    if (worker->engine->revision->workers[worker->number].is_open) {
        ask(worker);
    }
}

void process_revise_orphaned(struct process_worker *worker, const char *how)
{
    struct revising *revising = &worker->engine->revision->workers[worker->number];
    char message[240];
    if (revising->is_open && ++revising->tries >= PROCESS_RESTORES_MAX) {
        (void)snprintf(message, sizeof(message), "while it was tried, %.200s", how);
        finish(worker, WEFT_FAILED, message);
    }
}

bool process_revise_is_late(
    struct process_worker *worker, int64_t now_ns, char *why_out, size_t room)
{
    const struct engine_process *engine = worker->engine;
    struct revising *revising = &engine->revision->workers[worker->number];
    if (!revising->is_open || now_ns - revising->since_ns <= engine->load_ns_max) {
        return false;
    }
    (void)snprintf(
        why_out, room, "took more than %.3g s to try a version of '%s'",
        (double)engine->load_ns_max / 1e9, engine->catalogue->models[engine->revision->model]);
    revising->tries = PROCESS_RESTORES_MAX; /* It is not tried again. */
    return true;
}
