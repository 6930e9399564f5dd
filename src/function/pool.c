#include "function/pool.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"
#include "engine/artifact.h"
#include "engine/monotonic.h"
#include "function/runner.h"
#include "function/sandbox.h"
#include "function/usage.h"
#include "function/wire.h"

enum { SEND_TRIES_MAX = 3 };

/* A process that can take calls. */
struct resident {
    struct resident *next; /* Of those that wait. */
    struct function_runner runner;
    struct function_usage usage;
    char path[FUNCTION_PATH_BYTES];
    uint64_t renewals; /* Of the pool, when it was last known to be of use. */
};

/* struct function_counts, from any thread. */
struct counts {
    atomic_uint_fast64_t started;
    atomic_uint_fast64_t crashed;
    atomic_uint_fast64_t late;
    atomic_uint_fast64_t nonsense;
    atomic_uint_fast64_t replaced;
    atomic_uint_fast64_t idle;
};

struct function_pool {
    struct fork_server server;
    struct function_limits limits;
    int64_t cpu_s_max; /* A process that has used so much is replaced. */
    struct counts counts;
    pthread_mutex_t lock; /* Of the rest. */
    struct resident *idle;
    uint64_t renewals;
};

/* A call under way. */
struct exchange {
    struct function_pool *pool;
    const struct function_host *host;
    const char *name;
    struct function_task *task;
    struct resident *resident;
    uint64_t bytes_max;
    int64_t run_ns_max;
    int64_t deadline_ns;
    uint32_t model_runs;
};

void function_slot_init(struct function_slot *slot)
{
    *slot = (struct function_slot){.socket = -1};
    (void)pthread_mutex_init(&slot->lock, NULL);
}

void function_slot_deinit(struct function_slot *slot)
{
    (void)pthread_mutex_destroy(&slot->lock);
}

void function_slot_cancel(struct function_slot *slot)
{
    (void)pthread_mutex_lock(&slot->lock);
    slot->is_cancelled = true;
    if (slot->socket >= 0) {
        (void)shutdown(slot->socket, SHUT_RDWR); /* A thread that waits there sees its end. */
    }
    (void)pthread_mutex_unlock(&slot->lock);
}

void function_slot_reset(struct function_slot *slot)
{
    (void)pthread_mutex_lock(&slot->lock);
    slot->is_cancelled = false;
    (void)pthread_mutex_unlock(&slot->lock);
}

/* False if @slot is cancelled: @socket is not to be used then. */
static bool occupy(struct function_slot *slot, int socket)
{
    (void)pthread_mutex_lock(&slot->lock);
    const bool is_free = !slot->is_cancelled || socket < 0;
    slot->socket = is_free ? socket : -1;
    const bool was_cancelled = slot->is_cancelled;
    (void)pthread_mutex_unlock(&slot->lock);
    return !was_cancelled;
}

enum weft_status function_pool_create(
    const struct function_limits *limits, struct function_pool **pool_out, struct weft_error *error)
{
    struct function_pool *pool = memory_zeroed(1, sizeof(*pool));
    pool->limits = function_limits_filled(limits == NULL ? (struct function_limits){0} : *limits);
    pool->cpu_s_max = function_sandbox_cpu_s(&pool->limits) / 2;
    const enum weft_status status = function_runners_start(&pool->server, &pool->limits, error);
    if (status != WEFT_OK) {
        free(pool);
        return status;
    }
    (void)pthread_mutex_init(&pool->lock, NULL);
    *pool_out = pool;
    return WEFT_OK;
}

static void end_resident(
    struct function_pool *pool, struct resident *resident, struct fork_ended *ended_out)
{
    function_usage_close(&resident->usage);
    function_runner_end(&pool->server, &resident->runner, ended_out);
    free(resident);
}

void function_pool_destroy(struct function_pool *pool)
{
    struct fork_ended ended;
    if (pool == NULL) {
        return;
    }
    while (pool->idle != NULL) {
        struct resident *resident = pool->idle;
        pool->idle = resident->next;
        end_resident(pool, resident, &ended);
    }
    fork_server_stop(&pool->server);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void function_pool_counts(struct function_pool *pool, struct function_counts *counts_out)
{
    *counts_out = (struct function_counts){
        .started = atomic_load(&pool->counts.started),
        .crashed = atomic_load(&pool->counts.crashed),
        .late = atomic_load(&pool->counts.late),
        .nonsense = atomic_load(&pool->counts.nonsense),
        .replaced = atomic_load(&pool->counts.replaced),
        .idle = atomic_load(&pool->counts.idle),
    };
}

/* Take a waiting process for @path out of the list; NULL if there is none. */
static struct resident *take_idle(struct function_pool *pool, const char *path)
{
    (void)pthread_mutex_lock(&pool->lock);
    struct resident **link = &pool->idle;
    while (*link != NULL && strcmp((*link)->path, path) != 0) {
        link = &(*link)->next;
    }
    struct resident *found = *link;
    if (found != NULL) {
        *link = found->next;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return found;
}

static void give_idle(struct function_pool *pool, struct resident *resident)
{
    (void)pthread_mutex_lock(&pool->lock);
    resident->next = pool->idle;
    pool->idle = resident;
    (void)pthread_mutex_unlock(&pool->lock);
}

/* Whether both are versions of one shared object. */
static bool are_versions(const char *one, const char *other)
{
    char first[FUNCTION_PATH_BYTES];
    char second[FUNCTION_PATH_BYTES];
    return artifact_function_path(one, 1, first, sizeof(first)) &&
           artifact_function_path(other, 1, second, sizeof(second)) && strcmp(first, second) == 0;
}

void function_pool_renew(struct function_pool *pool, const char *path)
{
    struct resident *outdated = NULL;
    (void)pthread_mutex_lock(&pool->lock);
    pool->renewals++;
    for (struct resident **link = &pool->idle; *link != NULL;) {
        struct resident *resident = *link;
        if (are_versions(resident->path, path)) {
            *link = resident->next;
            resident->next = outdated;
            outdated = resident;
        } else {
            resident->renewals = pool->renewals;
            link = &resident->next;
        }
    }
    (void)pthread_mutex_unlock(&pool->lock);
    while (outdated != NULL) {
        struct fork_ended ended;
        struct resident *resident = outdated;
        outdated = resident->next;
        (void)atomic_fetch_add(&pool->counts.replaced, 1);
        end_resident(pool, resident, &ended);
    }
}

static uint64_t count_renewals(struct function_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    const uint64_t renewals = pool->renewals;
    (void)pthread_mutex_unlock(&pool->lock);
    return renewals;
}

/* Whether @resident still waits: it has nothing to say, and has not hung up. */
static bool is_waiting(const struct resident *resident)
{
    struct pollfd ready = {.fd = resident->runner.channel.socket, .events = POLLIN};
    return poll(&ready, 1, 0) == 0;
}

/* A new process for @path. */
static enum weft_status start_resident(
    struct function_pool *pool, const char *path, struct resident **resident_out,
    struct weft_error *error)
{
    struct resident *resident = memory_zeroed(1, sizeof(*resident));
    resident->renewals = count_renewals(pool);
    const enum weft_status status =
        function_runner_start(&pool->server, path, &resident->runner, error);
    if (status != WEFT_OK) {
        free(resident);
        return status;
    }
    (void)snprintf(resident->path, sizeof(resident->path), "%s", path);
    function_usage_open(&resident->usage, resident->runner.child.process);
    (void)atomic_fetch_add(&pool->counts.started, 1);
    *resident_out = resident;
    return WEFT_OK;
}

/* A process for @path: one that waits and lives, or a new one. */
static enum weft_status take_resident(
    struct function_pool *pool, const char *path, struct resident **resident_out,
    struct weft_error *error)
{
    struct fork_ended ended;
    struct resident *resident = take_idle(pool, path);
    while (resident != NULL && !is_waiting(resident)) {
        end_resident(pool, resident, &ended); /* It was sent nothing: no call is lost. */
        (void)atomic_fetch_add(&pool->counts.idle, 1);
        resident = take_idle(pool, path);
    }
    if (resident != NULL) {
        *resident_out = resident;
        return WEFT_OK;
    }
    return start_resident(pool, path, resident_out, error);
}

/* After a call: keep the process for the next, unless it has grown too large or too old, or other
 * files have come to stand behind functions meanwhile. */
static void give_resident(struct function_pool *pool, struct resident *resident)
{
    struct fork_ended ended;
    function_channel_trim(&resident->runner.channel);
    if (function_usage_grown(&resident->usage) <= pool->limits.memory_bytes_max / 4 &&
        function_usage_cpu_s(&resident->usage) < pool->cpu_s_max &&
        resident->renewals == count_renewals(pool)) {
        give_idle(pool, resident);
        return;
    }
    (void)atomic_fetch_add(&pool->counts.replaced, 1);
    end_resident(pool, resident, &ended);
}

/* Whether the time of the call is over. */
static bool is_late(const struct exchange *exchange)
{
    return monotonic_ns() >= exchange->deadline_ns;
}

/* The function wants a model: run it here, and send what it makes. Its time is not the
 * function's. */
static bool serve_model(
    struct exchange *exchange, const struct function_message *wanted, const struct bundle *inputs)
{
    const struct function_host *host = exchange->host;
    const int64_t start_ns = monotonic_ns();
    struct bundle *output = NULL;
    struct weft_error error = {.status = WEFT_OK};
    enum weft_status status;
    if (host->run == NULL) {
        status = error_set(&error, WEFT_NOT_FOUND, "models cannot be run here");
    } else if (exchange->model_runs++ == FUNCTION_MODEL_RUNS_MAX) {
        exchange->model_runs = FUNCTION_MODEL_RUNS_MAX;
        status =
            error_set(&error, WEFT_LIMIT, "more than %d runs of models", FUNCTION_MODEL_RUNS_MAX);
    } else {
        status =
            host->run(host->context, wanted->text, inputs->tensors, inputs->count, &output, &error);
    }
    const struct function_task *task = exchange->task;
    struct function_message message = {
        .kind = FUNCTION_RAN,
        .status = status,
        .file_at = function_file_bytes(0, task->inputs, task->input_count), /* It has them there. */
    };
    struct function_channel *channel = &exchange->resident->runner.channel;
    struct weft_tensor made[BUNDLE_TENSORS_MAX];
    if (output != NULL) {
        for (uint32_t i = 0; i < output->count; i++) {
            made[i] = output->tensors[i];
            function_shelf_lay(&channel->shelf, &made[i]);
        }
        message.tensor_count = output->count;
        message.items = output->items;
    } else {
        (void)snprintf(message.text, sizeof(message.text), "%s", error.message);
    }
    exchange->deadline_ns += monotonic_ns() - start_ns;
    const bool is_sent = function_send(channel, &message, made, exchange->deadline_ns);
    bundle_destroy(output);
    return is_sent;
}

/* The function has returned: take over what it made, or why it did not. */
static enum function_receipt take_return(
    struct function_task *task, const struct function_message *message, struct bundle *bundle)
{
    if (message->status == WEFT_OK && bundle_check_texts(bundle, NULL) == WEFT_OK) {
        task->output = bundle;
        return FUNCTION_RECEIVED;
    }
    bundle_destroy(bundle);
    if (message->status == WEFT_OK) {
        return FUNCTION_NONSENSE; /* It checks them itself, if it is in its right mind. */
    }
    (void)error_set(&task->error, (enum weft_status)message->status, "%s", message->text);
    return FUNCTION_RECEIVED;
}

/* Serve the function until it returns. */
static enum function_receipt converse(struct exchange *exchange)
{
    const struct function_channel *channel = &exchange->resident->runner.channel;
    for (;;) {
        struct function_message message;
        struct bundle *bundle = NULL;
        const enum function_receipt receipt = function_receive(
            channel, &message, &bundle, exchange->bytes_max, exchange->deadline_ns);
        if (receipt != FUNCTION_RECEIVED) {
            return receipt;
        }
        if (message.kind == FUNCTION_RETURN) {
            return take_return(exchange->task, &message, bundle);
        }
        const bool is_run = message.kind == FUNCTION_RUN;
        const bool is_served = is_run && serve_model(exchange, &message, bundle);
        bundle_destroy(bundle);
        if (!is_run) {
            return FUNCTION_NONSENSE;
        }
        if (!is_served) {
            return is_late(exchange) ? FUNCTION_LATE : FUNCTION_GONE;
        }
    }
}

static bool send_call(const struct exchange *exchange)
{
    struct function_message message = {
        .kind = FUNCTION_CALL,
        .items = exchange->task->items,
        .tensor_count = exchange->task->input_count,
        .bytes_max = exchange->bytes_max,
    };
    (void)snprintf(message.text, sizeof(message.text), "%s", exchange->name);
    return function_send(
        &exchange->resident->runner.channel, &message, exchange->task->inputs,
        exchange->deadline_ns);
}

/* What the function did to itself it would do again; what was done to it may not come again. */
static bool is_own_fault(const struct fork_ended *ended)
{
    return ended->how == FORK_END_EXIT ||
           (ended->how == FORK_END_SIGNAL && ended->number != SIGKILL);
}

/* The process is of no use any more: end it, and say why the task failed. */
static void abandon(struct exchange *exchange, enum function_receipt receipt, bool was_cancelled)
{
    struct weft_error *error = &exchange->task->error;
    struct counts *counts = &exchange->pool->counts;
    struct fork_ended ended;
    end_resident(exchange->pool, exchange->resident, &ended);
    if (was_cancelled) {
        (void)error_set(error, WEFT_CANCELLED, "function '%s' was cancelled", exchange->name);
        return;
    }
    if (receipt == FUNCTION_LATE) {
        (void)atomic_fetch_add(&counts->late, 1);
        (void)error_set(
            error, WEFT_CRASHED, "function '%s' took longer than %lld ms", exchange->name,
            (long long)(exchange->run_ns_max / NS_PER_MS));
    } else if (receipt == FUNCTION_NONSENSE) {
        (void)atomic_fetch_add(&counts->nonsense, 1);
        (void)error_set(error, WEFT_FAILED, "function '%s' answered nonsense", exchange->name);
    } else {
        (void)atomic_fetch_add(&counts->crashed, 1);
        (void)error_set(
            error, is_own_fault(&ended) ? WEFT_CRASHED : WEFT_FAILED, "function '%s' %s",
            exchange->name, ended.text);
    }
}

static void start_exchange(struct exchange *exchange)
{
    const struct function_limits *limits = &exchange->pool->limits;
    const struct function_host *host = exchange->host;
    const uint64_t bytes_max = host->output_bytes_max;
    exchange->run_ns_max = host->run_ns_max == 0 ? limits->run_ns_max : host->run_ns_max;
    exchange->deadline_ns = monotonic_ns() + exchange->run_ns_max;
    exchange->bytes_max = bytes_max == 0 || bytes_max > limits->output_bytes_max
                              ? limits->output_bytes_max
                              : bytes_max;
}

void function_pool_run(
    struct function_pool *pool, const char *path, const char *name,
    const struct function_host *host, struct function_slot *slot, struct function_task *task)
{
    struct exchange exchange = {.pool = pool, .host = host, .name = name, .task = task};
    struct fork_ended ended;
    bool is_sent = false;
    task->output = NULL;
    task->error.status = WEFT_OK;
    /* One that died while it waited can look alive for a moment: it could not take the whole
     * call, so the call goes to another. Each is ended, so this ends. */
    for (uint32_t tries = 0; !is_sent; tries++) {
        if (take_resident(pool, path, &exchange.resident, &task->error) != WEFT_OK) {
            return;
        }
        if (!occupy(slot, exchange.resident->runner.channel.socket)) {
            abandon(&exchange, FUNCTION_GONE, /* was_cancelled */ true);
            return;
        }
        start_exchange(&exchange);
        function_shelf_clear(&exchange.resident->runner.channel.shelf);
        is_sent = send_call(&exchange);
        if (!is_sent && tries < SEND_TRIES_MAX && !is_late(&exchange) && occupy(slot, -1)) {
            end_resident(pool, exchange.resident, &ended);
            (void)atomic_fetch_add(&pool->counts.idle, 1);
        } else if (!is_sent) {
            break;
        }
    }
    const enum function_receipt receipt = is_sent              ? converse(&exchange)
                                          : is_late(&exchange) ? FUNCTION_LATE
                                                               : FUNCTION_GONE;
    const bool was_cancelled = !occupy(slot, -1);
    if (receipt == FUNCTION_RECEIVED && !was_cancelled) {
        give_resident(pool, exchange.resident);
        return;
    }
    bundle_destroy(task->output);
    task->output = NULL;
    abandon(&exchange, receipt, was_cancelled);
}
