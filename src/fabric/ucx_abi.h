/*
 * ucx_abi.h - the part of UCX's interface that is used here, as its versions since 1.14 have it.
 *
 * Declared again so that nothing of UCX is needed to build: it is opened at run time. Structs begin
 * with a mask of the members that are given, which is how UCX itself stays compatible; members that
 * are never given are left out where they come last, with room for what UCX may look at.
 */
#ifndef FABRIC_UCX_ABI_H
#define FABRIC_UCX_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
    UCX_API_MAJOR = 1,
    UCX_API_MINOR = 14,

    UCX_OK = 0,
    UCX_IN_PROGRESS = 1,
    UCX_ERROR_BUSY = -15,
    UCX_ERROR_LAST = -100,

    UCX_PARAMS_FEATURES = 1 << 0,
    UCX_FEATURE_WAKEUP = 1 << 4,
    UCX_FEATURE_AM = 1 << 6,

    UCX_WORKER_THREAD_MODE = 1 << 0,
    UCX_THREAD_SINGLE = 0,

    UCX_EP_ADDRESS = 1 << 0,
    UCX_EP_ERROR_MODE = 1 << 1,
    UCX_EP_ERROR_HANDLER = 1 << 2,
    UCX_ERROR_MODE_PEER = 1,
    UCX_EP_CLOSE_FORCE = 1 << 0,

    UCX_HANDLER_ID = 1 << 0,
    UCX_HANDLER_FLAGS = 1 << 1,
    UCX_HANDLER_CALLBACK = 1 << 2,
    UCX_HANDLER_ARGUMENT = 1 << 3,
    UCX_HANDLER_WHOLE = 1 << 0,

    UCX_REQUEST_CALLBACK = 1 << 1,
    UCX_REQUEST_USER_DATA = 1 << 2,
    UCX_REQUEST_FLAGS = 1 << 4,
    UCX_SEND_EAGER = 1 << 1,

    UCX_RECEIVED_DATA = 1 << 16, /* It may be kept, until it is released. */
    UCX_RECEIVED_RENDEZVOUS = 1 << 17,
};

struct ucx_params {
    uint64_t mask;
    uint64_t features;
    uint64_t unused[16];
};

struct ucx_worker_params {
    uint64_t mask;
    int thread_mode;
    uint64_t unused[32];
};

struct ucx_error_handler {
    void (*callback)(void *argument, void *endpoint, int status);
    void *argument;
};

struct ucx_endpoint_params {
    uint64_t mask;
    const void *address;
    int error_mode;
    struct ucx_error_handler error_handler;
    uint64_t unused[16];
};

struct ucx_received {
    uint64_t attributes;
    void *reply_endpoint;
};

struct ucx_handler_params {
    uint64_t mask;
    unsigned id;
    uint32_t flags;
    int (*callback)(
        void *argument, const void *header, size_t header_bytes, void *data, size_t bytes,
        const struct ucx_received *received);
    void *argument;
    uint64_t unused[8];
};

struct ucx_request_params {
    uint32_t mask;
    uint32_t flags;
    void *request;
    void (*sent)(void *request, int status, void *user_data);
    uint64_t datatype;
    void *user_data;
    uint64_t unused[8];
};

/* The functions, by their names without "ucp_". */
struct ucx_library {
    int (*config_read)(const char *prefix, const char *file, void **config_out);
    void (*config_release)(void *config);
    int (*init_version)(
        unsigned major, unsigned minor, const struct ucx_params *params, const void *config,
        void **context_out);
    void (*cleanup)(void *context);
    int (*worker_create)(void *context, const struct ucx_worker_params *params, void **worker_out);
    void (*worker_destroy)(void *worker);
    int (*worker_get_efd)(void *worker, int *file_out);
    int (*worker_arm)(void *worker);
    unsigned (*worker_progress)(void *worker);
    int (*worker_get_address)(void *worker, void **address_out, size_t *bytes_out);
    void (*worker_release_address)(void *worker, void *address);
    int (*worker_set_am_recv_handler)(void *worker, const struct ucx_handler_params *params);
    int (*ep_create)(void *worker, const struct ucx_endpoint_params *params, void **endpoint_out);
    void *(*ep_close_nbx)(void *endpoint, const struct ucx_request_params *params);
    void *(*am_send_nbx)(
        void *endpoint, unsigned id, const void *header, size_t header_bytes, const void *data,
        size_t bytes, const struct ucx_request_params *params);
    void (*am_data_release)(void *worker, void *data);
    void (*request_free)(void *request);
};

/* Whether what a call with "nbx" gave is a request, and the call goes on. */
static inline int ucx_is_request(const void *given)
{
    return (uintptr_t)given - 1 < (uintptr_t)(intptr_t)UCX_ERROR_LAST - 1;
}

#endif /* FABRIC_UCX_ABI_H */
