#include "engine/function_pool.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/function_server.h"
#include "engine/function_wire.h"

/* A process that waits for calls. */
struct idle {
    struct idle *next;
    struct function_runner runner;
    char path[FUNCTION_PATH_BYTES];
};

struct function_pool {
    struct function_server server;
    int64_t run_ns_max;
    pthread_mutex_t lock; /* Of the list. */
    struct idle *idle;
    atomic_ullong starts;
    atomic_ullong crashes;
};

/* A call under way. */
struct exchange {
    struct function_pool *pool;
    const struct function_host *host;
    const char *name;
    struct function_slot *slot;
    struct function_task *task;
    struct function_runner runner;
    int64_t deadline_ns;
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
        (void)shutdown(slot->socket, SHUT_RDWR); /* Whoever waits there sees its end. */
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
    int64_t run_ns_max, struct function_pool **pool_out, struct weft_error *error)
{
    struct function_pool *pool = memory_zeroed(1, sizeof(*pool));
    const enum weft_status status = function_server_start(&pool->server, error);
    if (status != WEFT_OK) {
        free(pool);
        return status;
    }
    (void)pthread_mutex_init(&pool->lock, NULL);
    pool->run_ns_max = run_ns_max;
    *pool_out = pool;
    return WEFT_OK;
}

void function_pool_destroy(struct function_pool *pool)
{
    char how[64];
    if (pool == NULL) {
        return;
    }
    while (pool->idle != NULL) {
        struct idle *idle = pool->idle;
        pool->idle = idle->next;
        function_server_end(&pool->server, &idle->runner, how, sizeof(how));
        free(idle);
    }
    function_server_stop(&pool->server);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void function_pool_count(
    const struct function_pool *pool, uint64_t *starts_out, uint64_t *crashes_out)
{
    *starts_out = atomic_load(&pool->starts);
    *crashes_out = atomic_load(&pool->crashes);
}

/* A waiting process for @path, or a new one. */
static enum weft_status take_runner(
    struct function_pool *pool, const char *path, struct function_runner *runner_out,
    struct weft_error *error)
{
    (void)pthread_mutex_lock(&pool->lock);
    struct idle **link = &pool->idle;
    while (*link != NULL && strcmp((*link)->path, path) != 0) {
        link = &(*link)->next;
    }
    struct idle *found = *link;
    if (found != NULL) {
        *link = found->next;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    if (found == NULL) {
        (void)atomic_fetch_add(&pool->starts, 1);
        return function_server_fork(&pool->server, path, runner_out, error);
    }
    *runner_out = found->runner;
    free(found);
    return WEFT_OK;
}

static void give_runner(
    struct function_pool *pool, const char *path, const struct function_runner *runner)
{
    struct idle *idle = memory_zeroed(1, sizeof(*idle));
    idle->runner = *runner;
    (void)snprintf(idle->path, sizeof(idle->path), "%s", path);
    (void)pthread_mutex_lock(&pool->lock);
    idle->next = pool->idle;
    pool->idle = idle;
    (void)pthread_mutex_unlock(&pool->lock);
}

/* The function wants a model: run it here, and send what it makes. */
static bool serve_model(
    const struct exchange *exchange, const struct function_message *wanted,
    const struct bundle *inputs)
{
    const struct function_host *host = exchange->host;
    struct bundle *output = NULL;
    struct weft_error error = {.status = WEFT_OK};
    enum weft_status status;
    if (host->run == NULL) {
        status = error_set(&error, WEFT_NOT_FOUND, "no models can be run here");
    } else {
        status =
            host->run(host->context, wanted->text, inputs->tensors, inputs->count, &output, &error);
    }
    struct function_message message = {.kind = FUNCTION_RAN, .status = status};
    if (output != NULL) {
        message.tensor_count = output->count;
        message.items = output->items;
    } else {
        memcpy(message.text, error.message, sizeof(message.text));
    }
    const bool is_sent = function_send(
        exchange->runner.socket, &message, output == NULL ? NULL : output->tensors,
        exchange->deadline_ns);
    bundle_destroy(output);
    return is_sent;
}

/* Send the call and serve the function until it returns. */
static enum function_receipt converse(struct exchange *exchange)
{
    struct function_task *task = exchange->task;
    const uint64_t bytes_max = exchange->host->output_bytes_max == 0
                                   ? FUNCTION_OUTPUT_BYTES_MAX
                                   : exchange->host->output_bytes_max;
    struct function_message message = {
        .kind = FUNCTION_CALL,
        .items = task->items,
        .tensor_count = task->input_count,
        .bytes_max = bytes_max,
    };
    (void)snprintf(message.text, sizeof(message.text), "%s", exchange->name);
    if (!function_send(exchange->runner.socket, &message, task->inputs, exchange->deadline_ns)) {
        return FUNCTION_GONE;
    }
    for (;;) {
        struct bundle *bundle = NULL;
        const enum function_receipt receipt = function_receive(
            exchange->runner.socket, &message, &bundle, bytes_max, exchange->deadline_ns);
        if (receipt != FUNCTION_RECEIVED) {
            return receipt;
        }
        if (message.kind == FUNCTION_RUN) {
            const bool is_served = serve_model(exchange, &message, bundle);
            bundle_destroy(bundle);
            if (!is_served) {
                return FUNCTION_GONE;
            }
            continue;
        }
        if (message.kind == FUNCTION_RETURN && message.status == WEFT_OK) {
            task->output = bundle;
            return FUNCTION_RECEIVED;
        }
        bundle_destroy(bundle);
        if (message.kind != FUNCTION_RETURN) {
            return FUNCTION_NONSENSE;
        }
        (void)error_set(&task->error, (enum weft_status)message.status, "%s", message.text);
        return FUNCTION_RECEIVED;
    }
}

static int64_t monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* It is always there. */
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* The process is of no use any more: end it, and say why the task failed. */
static void abandon(struct exchange *exchange, enum function_receipt receipt, bool was_cancelled)
{
    struct weft_error *error = &exchange->task->error;
    char how[64];
    function_server_end(&exchange->pool->server, &exchange->runner, how, sizeof(how));
    (void)atomic_fetch_add(&exchange->pool->crashes, was_cancelled ? 0 : 1);
    if (was_cancelled) {
        (void)error_set(error, WEFT_CANCELLED, "function '%s' was cancelled", exchange->name);
    } else if (receipt == FUNCTION_LATE) {
        (void)error_set(
            error, WEFT_FAILED, "function '%s' took longer than %lld ms", exchange->name,
            (long long)(exchange->pool->run_ns_max / 1000000));
    } else if (receipt == FUNCTION_NONSENSE) {
        (void)error_set(error, WEFT_FAILED, "function '%s' answered nonsense", exchange->name);
    } else {
        (void)error_set(error, WEFT_FAILED, "function '%s' %s", exchange->name, how);
    }
}

void function_pool_run(
    struct function_pool *pool, const char *path, const char *name,
    const struct function_host *host, struct function_slot *slot, struct function_task *task)
{
    struct exchange exchange = {
        .pool = pool, .host = host, .name = name, .slot = slot, .task = task};
    task->output = NULL;
    task->error.status = WEFT_OK;
    if (take_runner(pool, path, &exchange.runner, &task->error) != WEFT_OK) {
        return;
    }
    if (!occupy(slot, exchange.runner.socket)) {
        abandon(&exchange, FUNCTION_GONE, /* was_cancelled */ true);
        return;
    }
    exchange.deadline_ns = pool->run_ns_max == 0 ? 0 : monotonic_ns() + pool->run_ns_max;
    const enum function_receipt receipt = converse(&exchange);
    const bool was_cancelled = !occupy(slot, -1);
    if (receipt == FUNCTION_RECEIVED && !was_cancelled) {
        give_runner(pool, path, &exchange.runner);
        return;
    }
    bundle_destroy(task->output);
    task->output = NULL;
    abandon(&exchange, receipt, was_cancelled);
}
