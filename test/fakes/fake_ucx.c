/*
 * fake_ucx.c - a UCX for workers of one process that ends it where the real one might.
 *
 * It is strict where UCX is not, about what was seen to abort, hang or corrupt with it: the word
 * after "UCX:" on the standard error says which rule was broken. What it brings is what the real
 * one brings: messages in order, requests that end later, data that is lent, errors of peers that
 * are gone, and a wake-up for who has armed the worker, and for nobody else.
 *
 * tidy: foreign interface
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fabric/ucx_abi.h"

enum {
    WORKERS_MAX = 4096,
    QUEUED_MAX = 8, /* Messages to one worker: who sends more has to wait. */
    HANDLERS_MAX = 4,
    ERROR_RESET = -25,
    ERROR_CANCELLED = -16,
};

#define API __attribute__((visibility("default")))

struct endpoint;

struct message {
    struct message *next;
    struct endpoint *from; /* NULL: it was closed. */
    struct request *request;
    unsigned id;
    bool is_lent;
    size_t header_bytes;
    size_t bytes;
    uint8_t *data; /* Behind the header. */
    uint8_t header[];
};

struct request {
    struct request *next;
    struct ucx_request_params params;
    int status;
    bool is_freed; /* By its owner, before it has ended. */
    bool has_ended;
};

struct endpoint {
    struct endpoint *next;
    struct worker *worker;
    struct worker *peer;
    struct ucx_error_handler handler;
    bool is_told; /* Of the error. */
};

struct worker {
    uint32_t number;
    bool is_open;
    bool is_working; /* In progress(), which calls others. */
    bool is_armed;
    bool has_address; /* It was given out. */
    int file;
    pthread_t thread;
    struct ucx_handler_params handlers[HANDLERS_MAX];
    uint32_t handler_count;
    uint32_t lent_count;
    struct message *first;
    uint32_t queued;
    struct endpoint *endpoints;
    struct request *ended; /* Of whom nobody was told yet. */
};

static struct worker workers[WORKERS_MAX];
static uint32_t worker_count;
static uint32_t message_count; /* Ever. */
static bool is_set;            /* The environment, before this was opened. */

static void check(bool is_good, const char *rule)
{
    if (!is_good) {
        (void)fprintf(stderr, "UCX: %s\n", rule);
        abort();
    }
}

static bool is_value(const char *name, const char *value)
{
    const char *found = getenv(name);
    return found != NULL && (value == NULL || strcmp(found, value) == 0);
}

__attribute__((constructor)) static void open_library(void)
{
    is_set = is_value("UCX_TCP_CONN_NB", "y") && is_value("UCX_HANDLE_ERRORS", "none") &&
             is_value("UCX_RNDV_THRESH", "inf") && is_value("UCX_NET_DEVICES", NULL);
}

static void check_thread(const struct worker *worker)
{
    check(worker->is_open, "a worker is used that was destroyed");
    check(pthread_equal(worker->thread, pthread_self()) != 0, "one worker is used by two threads");
}

/* Something has happened to @worker. */
static void wake(struct worker *worker)
{
    const uint64_t one = 1;
    if (worker->is_armed) {
        worker->is_armed = false;
        check(write(worker->file, &one, sizeof(one)) == sizeof(one), "no event can be written");
    }
}

API void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release);
void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release)
{
    *major = UCX_API_MAJOR;
    *minor = UCX_API_MINOR;
    *release = 0;
}

API int ucp_config_read(const char *prefix, const char *file, void **config_out);
int ucp_config_read(const char *prefix, const char *file, void **config_out)
{
    (void)prefix;
    (void)file;
    *config_out = malloc(1);
    return UCX_OK;
}

API void ucp_config_release(void *config);
void ucp_config_release(void *config)
{
    free(config);
}

API int ucp_init_version(
    unsigned major, unsigned minor, const struct ucx_params *params, const void *config,
    void **context_out);
int ucp_init_version(
    unsigned major, unsigned minor, const struct ucx_params *params, const void *config,
    void **context_out)
{
    (void)config;
    check(is_set, "settings of transports have to be in the environment before it is opened");
    check(major == UCX_API_MAJOR && minor == UCX_API_MINOR, "another version is meant");
    check((params->features & UCX_FEATURE_AM) != 0, "active messages were not asked for");
    check(
        (params->features & ~(uint64_t)(UCX_FEATURE_AM | UCX_FEATURE_WAKEUP)) == 0,
        "something else than active messages was asked for");
    *context_out = malloc(1);
    return UCX_OK;
}

API void ucp_cleanup(void *context);
void ucp_cleanup(void *context)
{
    free(context);
}

API int ucp_worker_create(void *context, const struct ucx_worker_params *params, void **worker_out);
int ucp_worker_create(void *context, const struct ucx_worker_params *params, void **worker_out)
{
    (void)context;
    check(params->thread_mode == UCX_THREAD_SINGLE, "several threads were asked for");
    check(worker_count < WORKERS_MAX, "too many workers for a test");
    struct worker *worker = &workers[worker_count];
    *worker = (struct worker){
        .number = worker_count,
        .is_open = true,
        .file = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
        .thread = pthread_self(),
    };
    worker_count++;
    *worker_out = worker;
    return UCX_OK;
}

/* @request of @worker has ended. */
static void end_request(struct worker *worker, struct request *request, int status)
{
    if (request == NULL) {
        return;
    }
    request->status = status;
    request->next = worker->ended;
    worker->ended = request;
    wake(worker);
}

static void drop_message(struct worker *worker, int status)
{
    struct message *message = worker->first;
    worker->first = message->next;
    worker->queued--;
    if (message->from != NULL) {
        end_request(message->from->worker, message->request, status);
    }
    free(message->data);
    free(message);
}

/* Nobody waits for what @endpoint has sent any more. */
static void forget(const struct endpoint *endpoint)
{
    for (struct message *one = endpoint->peer->first; one != NULL; one = one->next) {
        if (one->from == endpoint) {
            end_request(endpoint->worker, one->request, ERROR_CANCELLED);
            one->from = NULL;
        }
    }
}

API void ucp_worker_destroy(void *handle);
void ucp_worker_destroy(void *handle)
{
    struct worker *worker = handle;
    check_thread(worker);
    check(!worker->is_working, "a worker is destroyed while it calls its user");
    check(worker->lent_count == 0, "what was lent was not given back");
    while (worker->first != NULL) {
        drop_message(worker, ERROR_RESET);
    }
    while (worker->endpoints != NULL) {
        struct endpoint *endpoint = worker->endpoints;
        worker->endpoints = endpoint->next;
        forget(endpoint);
        free(endpoint);
    }
    while (worker->ended != NULL) {
        struct request *request = worker->ended;
        worker->ended = request->next;
        free(request);
    }
    worker->is_open = false;
    (void)close(worker->file);
    for (uint32_t i = 0; i < worker_count; i++) { /* Those that were connected to it. */
        for (const struct endpoint *one = workers[i].endpoints; one != NULL; one = one->next) {
            if (one->peer == worker) {
                wake(&workers[i]);
            }
        }
    }
}

API int ucp_worker_get_efd(void *handle, int *file_out);
int ucp_worker_get_efd(void *handle, int *file_out)
{
    const struct worker *worker = handle;
    check_thread(worker);
    *file_out = worker->file;
    return UCX_OK;
}

/* An endpoint of @worker whose peer is gone, of which its owner was not told. */
static struct endpoint *find_broken(const struct worker *worker)
{
    struct endpoint *endpoint = worker->endpoints;
    while (endpoint != NULL && (endpoint->is_told || endpoint->peer->is_open)) {
        endpoint = endpoint->next;
    }
    return endpoint;
}

API int ucp_worker_arm(void *handle);
int ucp_worker_arm(void *handle)
{
    struct worker *worker = handle;
    uint64_t events;
    check_thread(worker);
    check(!worker->is_working, "a worker is armed while it calls its user");
    if (worker->first != NULL || worker->ended != NULL || find_broken(worker) != NULL) {
        return UCX_ERROR_BUSY;
    }
    (void)!read(worker->file, &events, sizeof(events)); /* There may be none. */
    worker->is_armed = true;
    return UCX_OK;
}

static void deliver(struct worker *worker)
{
    struct message *message = worker->first;
    uint32_t at = 0;
    while (at < worker->handler_count && worker->handlers[at].id != message->id) {
        at++;
    }
    check(at < worker->handler_count, "a message has come that no handler is for");
    const struct ucx_handler_params *handler = &worker->handlers[at];
    const struct ucx_received received = {.attributes = message->is_lent ? UCX_RECEIVED_DATA : 0};
    const int said = handler->callback(
        handler->argument, message->header, message->header_bytes, message->data, message->bytes,
        &received);
    check(
        said == UCX_OK || (said == UCX_IN_PROGRESS && message->is_lent),
        "data is kept that was not lent");
    if (said == UCX_IN_PROGRESS) {
        message->data = NULL;
        worker->lent_count++;
    }
    drop_message(worker, UCX_OK);
}

static void tell_ended(struct worker *worker)
{
    struct request *request = worker->ended;
    worker->ended = request->next;
    request->has_ended = true;
    const bool was_freed = request->is_freed;
    if (!was_freed && (request->params.mask & UCX_REQUEST_CALLBACK) != 0) {
        request->params.sent(request, request->status, request->params.user_data);
    } else if (was_freed) {
        free(request);
    }
}

API unsigned ucp_worker_progress(void *handle);
unsigned ucp_worker_progress(void *handle)
{
    struct worker *worker = handle;
    struct endpoint *broken = find_broken(worker);
    unsigned count = 1;
    check_thread(worker);
    check(!worker->is_working, "a worker is asked to go on while it calls its user");
    worker->is_working = true;
    if (worker->ended != NULL) {
        tell_ended(worker);
    } else if (broken != NULL) {
        broken->is_told = true;
        broken->handler.callback(broken->handler.argument, broken, ERROR_RESET);
    } else if (worker->first != NULL) {
        deliver(worker);
    } else {
        count = 0;
    }
    worker->is_working = false;
    return count;
}

API int ucp_worker_get_address(void *handle, void **address_out, size_t *bytes_out);
int ucp_worker_get_address(void *handle, void **address_out, size_t *bytes_out)
{
    struct worker *worker = handle;
    check_thread(worker);
    check(worker->handler_count > 0, "an address is given out before there is a handler");
    worker->has_address = true;
    uint32_t *address = malloc(sizeof(*address));
    *address = worker->number;
    *address_out = address;
    *bytes_out = sizeof(*address);
    return UCX_OK;
}

API void ucp_worker_release_address(void *handle, void *address);
void ucp_worker_release_address(void *handle, void *address)
{
    check_thread(handle);
    free(address);
}

API int ucp_worker_set_am_recv_handler(void *handle, const struct ucx_handler_params *params);
int ucp_worker_set_am_recv_handler(void *handle, const struct ucx_handler_params *params)
{
    struct worker *worker = handle;
    check_thread(worker);
    check(!worker->has_address, "a handler is set after the address was given out");
    check(params->id == worker->handler_count, "numbers of handlers have gaps");
    check(worker->handler_count < HANDLERS_MAX, "too many handlers for a test");
    worker->handlers[worker->handler_count++] = *params;
    return UCX_OK;
}

API int ucp_ep_create(void *handle, const struct ucx_endpoint_params *params, void **endpoint_out);
int ucp_ep_create(void *handle, const struct ucx_endpoint_params *params, void **endpoint_out)
{
    struct worker *worker = handle;
    const uint64_t needed = UCX_EP_ADDRESS | UCX_EP_ERROR_MODE | UCX_EP_ERROR_HANDLER;
    uint32_t number;
    check_thread(worker);
    check(
        (params->mask & needed) == needed && params->error_mode == UCX_ERROR_MODE_PEER &&
            params->error_handler.callback != NULL,
        "nobody would hear that a peer is gone");
    memcpy(&number, params->address, sizeof(number));
    check(number < worker_count, "an address makes no sense");
    struct endpoint *endpoint = calloc(1, sizeof(*endpoint));
    *endpoint = (struct endpoint){
        .next = worker->endpoints,
        .worker = worker,
        .peer = &workers[number],
        .handler = params->error_handler,
    };
    worker->endpoints = endpoint;
    *endpoint_out = endpoint;
    return UCX_OK;
}

static void *make_request(const struct ucx_request_params *params)
{
    struct request *request = calloc(1, sizeof(*request));
    request->params = *params;
    return request;
}

API void *ucp_ep_close_nbx(void *handle, const struct ucx_request_params *params);
void *ucp_ep_close_nbx(void *handle, const struct ucx_request_params *params)
{
    struct endpoint *endpoint = handle;
    struct worker *worker = endpoint->worker;
    struct endpoint **link = &worker->endpoints;
    check_thread(worker);
    check(
        (params->mask & UCX_REQUEST_FLAGS) != 0 && (params->flags & UCX_EP_CLOSE_FORCE) != 0,
        "it waits for a peer that may never answer");
    while (*link != NULL && *link != endpoint) {
        link = &(*link)->next;
    }
    check(*link != NULL, "an endpoint is closed twice");
    *link = endpoint->next;
    forget(endpoint);
    free(endpoint);
    void *request = make_request(params);
    end_request(worker, request, UCX_OK);
    return request;
}

API void *ucp_am_send_nbx(
    void *handle, unsigned id, const void *header, size_t header_bytes, const void *data,
    size_t bytes, const struct ucx_request_params *params);
void *ucp_am_send_nbx(
    void *handle, unsigned id, const void *header, size_t header_bytes, const void *data,
    size_t bytes, const struct ucx_request_params *params)
{
    struct endpoint *endpoint = handle;
    struct worker *peer = endpoint->peer;
    struct message **link = &peer->first;
    check_thread(endpoint->worker);
    check((params->flags & UCX_SEND_EAGER) != 0, "a rendezvous cannot be called off");
    if (!peer->is_open) {
        return (void *)(intptr_t)ERROR_RESET;
    }
    struct message *message = malloc(sizeof(*message) + header_bytes);
    message_count++;
    *message = (struct message){
        .from = endpoint,
        .id = id,
        .is_lent = message_count % 2 == 0,
        .header_bytes = header_bytes,
        .bytes = bytes,
        .data = malloc(bytes + 1),
    };
    memcpy(message->header, header, header_bytes);
    memcpy(message->data, data, bytes);
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = message;
    peer->queued++;
    check(peer->queued <= QUEUED_MAX, "more is sent to a peer than it takes, without bound");
    message->request = message_count % 3 == 0 && peer->queued == 1 ? NULL : make_request(params);
    wake(peer);
    return message->request;
}

API void ucp_am_data_release(void *handle, void *data);
void ucp_am_data_release(void *handle, void *data)
{
    struct worker *worker = handle;
    check_thread(worker);
    check(worker->lent_count > 0, "more is given back than was lent");
    worker->lent_count--;
    free(data);
}

API void ucp_request_free(void *handle);
void ucp_request_free(void *handle)
{
    struct request *request = handle;
    check(!request->is_freed, "a request is freed twice");
    request->is_freed = true;
    if (request->has_ended) {
        free(request);
    }
}

/* What may never be called: over TCP the first aborts whoever survives a crash, through shared
 * memory it wakes nobody, and a listener aborts on garbage. */
API void *ucp_put_nbx(void);
void *ucp_put_nbx(void)
{
    check(false, "a put");
    return NULL;
}

API int ucp_listener_create(void);
int ucp_listener_create(void)
{
    check(false, "a listener");
    return 0;
}
