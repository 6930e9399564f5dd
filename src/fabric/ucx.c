/*
 * ucx.c - every message carries its data ("eager"). With a rendezvous UCX would write to memory of
 * a receiver that may have given it up meanwhile, and there is no way to call that off.
 */
#include "fabric/ucx.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include <openssl/crypto.h>
#include <uv.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "fabric/trust.h"
#include "fabric/ucx_library.h"
#include "wire/bytes.h"

enum {
    MESSAGE_ID = 0, /* The only one: with gaps, older versions read past their table. */
    HEADER_BYTES = UCX_TOKEN_BYTES + 8,
    SLOT_BYTES = 128 * 1024,
    SLOTS = 2,
    HELD_BYTES_MAX = 512 * 1024, /* In all inlets, until it is read: so it stays in the cache. */
    TURN_MAX = 64,               /* Calls of progress, before others have their turn. */
    SPARES_MAX = 6,              /* Packets that are kept for the next. */
    SMALL_BYTES = 4096,          /* Of a packet that is not. */
    HANDLES = 3,
};

_Static_assert((int)UCX_TOKEN_BYTES == (int)TRUST_NONCE_BYTES, "a token is a nonce");

/* Data that has come to an inlet. */
struct packet {
    struct packet *next;
    uint8_t *data;
    size_t bytes;
    size_t at;
    bool is_lent; /* By UCX: it is given back. Else it is part of the packet, */
    bool is_wide; /* which has room for SLOT_BYTES. */
};

struct ucx_inlet {
    struct ucx *ucx;
    struct ucx_inlet *next;
    ucx_ready ready;
    void *context;
    uint8_t token[UCX_TOKEN_BYTES];
    uint64_t sequence; /* Of the next message. */
    bool is_broken;    /* One is missing. */
    bool has_news;     /* Of which its owner was not told. */
    struct packet *first;
    struct packet *last;
};

/* A message under way. */
struct slot {
    struct ucx_outlet *outlet;
    bool is_busy;
    uint8_t header[HEADER_BYTES];
    uint8_t data[SLOT_BYTES];
};

struct ucx_outlet {
    struct ucx *ucx;
    ucx_ready ready;
    void *context;
    void *endpoint;
    uint8_t token[UCX_TOKEN_BYTES];
    uint64_t sequence;
    bool is_broken;
    bool is_closed; /* By its owner: it is released when no slot is busy. */
    struct slot slots[SLOTS];
};

struct ucx {
    const struct ucx_library *library;
    void *context;
    void *worker;
    struct ucx_inlet *inlets;
    uint32_t news_count; /* Of inlets that have some. */
    bool is_armed;       /* It says when there is something to do. */
    uint64_t held_bytes;
    struct packet *spares; /* Wide ones: the system takes its time to give and take large memory. */
    uint32_t spare_count;
    uv_poll_t poll;
    uv_prepare_t prepare;
    uv_idle_t idle; /* Runs while there is more to do than a turn allowed. */
    uint32_t handles_open;
};

static struct ucx_inlet *find_inlet(const struct ucx *ucx, const uint8_t *token)
{
    struct ucx_inlet *inlet = ucx->inlets;
    while (inlet != NULL && CRYPTO_memcmp(inlet->token, token, UCX_TOKEN_BYTES) != 0) {
        inlet = inlet->next;
    }
    return inlet;
}

/* A packet with room for @bytes of its own. NULL if there is no memory. */
static struct packet *take_packet(struct ucx *ucx, size_t bytes)
{
    struct packet *packet = ucx->spares;
    const bool is_wide = bytes > SMALL_BYTES && bytes <= SLOT_BYTES;
    if (is_wide && packet != NULL) {
        ucx->spares = packet->next;
        ucx->spare_count--;
    } else {
        packet = memory_reserved(sizeof(*packet) + (is_wide ? SLOT_BYTES : bytes));
    }
    if (packet != NULL) {
        *packet = (struct packet){.is_wide = is_wide};
    }
    return packet;
}

static void give_packet(struct ucx *ucx, struct packet *packet)
{
    if (packet->is_wide && ucx->spare_count < SPARES_MAX) {
        packet->next = ucx->spares;
        ucx->spares = packet;
        ucx->spare_count++;
    } else {
        free(packet);
    }
}

/* Append data to @inlet. Returns what UCX is told: whether it lends that. */
static int hold(struct ucx_inlet *inlet, void *data, size_t bytes, bool is_lent)
{
    struct packet *packet = take_packet(inlet->ucx, is_lent ? 0 : bytes);
    if (packet == NULL) {
        inlet->is_broken = true;
        return UCX_OK;
    }
    packet->data = data;
    packet->bytes = bytes;
    packet->is_lent = is_lent;
    if (!is_lent) {
        packet->data = (uint8_t *)(packet + 1);
        memcpy(packet->data, data, bytes);
    }
    if (inlet->first == NULL) {
        inlet->first = packet;
    } else {
        inlet->last->next = packet;
    }
    inlet->last = packet;
    inlet->ucx->held_bytes += bytes;
    return is_lent ? UCX_IN_PROGRESS : UCX_OK;
}

/* Its owner is told after UCX has returned: it may send, and close the inlet. */
static void note_news(struct ucx_inlet *inlet)
{
    inlet->ucx->news_count += inlet->has_news ? 0 : 1;
    inlet->has_news = true;
}

static void forget_news(struct ucx_inlet *inlet)
{
    inlet->ucx->news_count -= inlet->has_news ? 1 : 0;
    inlet->has_news = false;
}

/* A message has come, from anywhere. */
static int on_message(
    void *argument, const void *header, size_t header_bytes, void *data, size_t bytes,
    const struct ucx_received *received)
{
    struct bytes_reader reader = {.bytes = header, .count = header_bytes};
    const uint8_t *token = bytes_skip(&reader, UCX_TOKEN_BYTES);
    const uint64_t sequence = bytes_take(&reader, 8);
    if (!bytes_is_spent(&reader) || (received->attributes & UCX_RECEIVED_RENDEZVOUS) != 0) {
        return UCX_OK; /* Dropped. */
    }
    struct ucx_inlet *inlet = find_inlet(argument, token);
    if (inlet == NULL || inlet->is_broken) {
        return UCX_OK;
    }
    int said = UCX_OK;
    if (sequence != inlet->sequence) {
        inlet->is_broken = true;
    } else if (bytes > 0) {
        inlet->sequence++;
        said = hold(inlet, data, bytes, (received->attributes & UCX_RECEIVED_DATA) != 0);
    }
    note_news(inlet);
    return said;
}

/* Tell the owners of inlets what has come. Whether there was anything. */
static bool deliver(struct ucx *ucx)
{
    const bool has_news = ucx->news_count > 0;
    while (ucx->news_count > 0) { /* From the first each time: any of them may be gone now. */
        struct ucx_inlet *inlet = ucx->inlets;
        while (!inlet->has_news) {
            inlet = inlet->next;
        }
        forget_news(inlet);
        inlet->ready(inlet->context);
    }
    return has_news;
}

/* Let UCX work, and hand over what came. Whether there may be more to do. */
static bool turn(struct ucx *ucx)
{
    uint32_t count = 0;
    while (count < TURN_MAX && ucx->held_bytes < HELD_BYTES_MAX &&
           ucx->library->worker_progress(ucx->worker) > 0) {
        count++;
    }
    const bool has_more = count == TURN_MAX || ucx->held_bytes >= HELD_BYTES_MAX;
    return deliver(ucx) || has_more; /* Who was told something may have more to do. */
}

static void on_idle(uv_idle_t *idle)
{
    (void)uv_idle_stop(idle); /* Never fails. The work is done before the loop waits. */
}

/* Before the loop waits: UCX wakes it only if it was asked to, with nothing left to do. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct ucx *ucx = prepare->data;
    if (ucx->is_armed) {
        return; /* Nothing has happened since. */
    }
    ucx->is_armed = !turn(ucx) && ucx->library->worker_arm(ucx->worker) != UCX_ERROR_BUSY;
    if (!ucx->is_armed) {
        (void)uv_idle_start(&ucx->idle, on_idle); /* Never fails. */
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct ucx *ucx = poll->data;
    (void)status;
    (void)events;
    ucx->is_armed = false; /* What is left is done before the loop waits again. */
    if (ucx->held_bytes < HELD_BYTES_MAX) {
        (void)ucx->library->worker_progress(ucx->worker);
    }
    (void)deliver(ucx);
}

static enum weft_status open_worker(struct ucx *ucx, struct weft_error *error)
{
    const struct ucx_library *library = ucx->library;
    const struct ucx_params params = {
        .mask = UCX_PARAMS_FEATURES, .features = UCX_FEATURE_AM | UCX_FEATURE_WAKEUP};
    const struct ucx_worker_params worker_params = {
        .mask = UCX_WORKER_THREAD_MODE, .thread_mode = UCX_THREAD_SINGLE};
    const struct ucx_handler_params handler = {
        .mask = UCX_HANDLER_ID | UCX_HANDLER_FLAGS | UCX_HANDLER_CALLBACK | UCX_HANDLER_ARGUMENT,
        .id = MESSAGE_ID,
        .flags = UCX_HANDLER_WHOLE,
        .callback = on_message,
        .argument = ucx,
    };
    void *config = NULL;
    if (library->config_read(NULL, NULL, &config) != UCX_OK) {
        return error_set(error, WEFT_IO, "UCX cannot read its settings");
    }
    const int status =
        library->init_version(UCX_API_MAJOR, UCX_API_MINOR, &params, config, &ucx->context);
    library->config_release(config);
    if (status != UCX_OK) {
        return error_set(error, WEFT_IO, "UCX finds no network that it can use (%d)", status);
    }
    if (library->worker_create(ucx->context, &worker_params, &ucx->worker) != UCX_OK) {
        library->cleanup(ucx->context);
        return error_set(error, WEFT_IO, "UCX cannot be started on this machine");
    }
    if (library->worker_set_am_recv_handler(ucx->worker, &handler) != UCX_OK) {
        library->worker_destroy(ucx->worker);
        library->cleanup(ucx->context);
        return error_set(error, WEFT_IO, "UCX has no active messages on this machine");
    }
    return WEFT_OK;
}

static void close_worker(struct ucx *ucx)
{
    while (ucx->spares != NULL) {
        struct packet *spare = ucx->spares;
        ucx->spares = spare->next;
        free(spare);
    }
    ucx->library->worker_destroy(ucx->worker);
    ucx->library->cleanup(ucx->context);
    free(ucx);
}

enum weft_status ucx_create(
    struct uv_loop_s *loop, const char *host, struct ucx **ucx_out, struct weft_error *error)
{
    struct ucx *ucx = memory_zeroed(1, sizeof(*ucx));
    enum weft_status status = ucx_library_open(host, &ucx->library, error);
    if (status == WEFT_OK) {
        status = open_worker(ucx, error);
    }
    if (status != WEFT_OK) {
        free(ucx);
        return status;
    }
    int file;
    if (ucx->library->worker_get_efd(ucx->worker, &file) != UCX_OK ||
        uv_poll_init(loop, &ucx->poll, file) != 0) {
        close_worker(ucx);
        return error_set(error, WEFT_IO, "UCX cannot be waited for on this machine");
    }
    (void)uv_prepare_init(loop, &ucx->prepare); /* Neither ever fails. */
    (void)uv_idle_init(loop, &ucx->idle);
    ucx->poll.data = ucx;
    ucx->prepare.data = ucx;
    ucx->idle.data = ucx;
    ucx->handles_open = HANDLES;
    (void)uv_poll_start(&ucx->poll, UV_READABLE, on_poll);
    (void)uv_prepare_start(&ucx->prepare, on_prepare);
    *ucx_out = ucx;
    return WEFT_OK;
}

static void on_closed(uv_handle_t *handle)
{
    struct ucx *ucx = handle->data;
    ucx->handles_open--;
    if (ucx->handles_open == 0) {
        close_worker(ucx);
    }
}

void ucx_destroy(struct ucx *ucx)
{
    if (ucx == NULL) {
        return;
    }
    ASSERT(ucx->inlets == NULL);
    uv_close((uv_handle_t *)&ucx->poll, on_closed);
    uv_close((uv_handle_t *)&ucx->prepare, on_closed);
    uv_close((uv_handle_t *)&ucx->idle, on_closed);
}

size_t ucx_address(const struct ucx *ucx, uint8_t bytes_out[UCX_ADDRESS_BYTES_MAX])
{
    void *address = NULL;
    size_t bytes = 0;
    if (ucx->library->worker_get_address(ucx->worker, &address, &bytes) != UCX_OK) {
        return 0;
    }
    bytes = bytes <= UCX_ADDRESS_BYTES_MAX ? bytes : 0;
    memcpy(bytes_out, address, bytes);
    ucx->library->worker_release_address(ucx->worker, address);
    return bytes;
}

struct ucx_inlet *ucx_inlet_create(struct ucx *ucx, ucx_ready ready, void *context)
{
    struct ucx_inlet *inlet = memory_reserved_zeroed(1, sizeof(*inlet));
    if (inlet == NULL || !trust_nonce(inlet->token)) {
        free(inlet);
        return NULL;
    }
    inlet->ucx = ucx;
    inlet->ready = ready;
    inlet->context = context;
    inlet->next = ucx->inlets;
    ucx->inlets = inlet;
    return inlet;
}

const uint8_t *ucx_inlet_token(const struct ucx_inlet *inlet)
{
    return inlet->token;
}

/* The first packet of @inlet has been read, or never will be. */
static void drop_first(struct ucx_inlet *inlet)
{
    struct packet *packet = inlet->first;
    inlet->first = packet->next;
    inlet->ucx->held_bytes -= packet->bytes;
    if (packet->is_lent) {
        inlet->ucx->library->am_data_release(inlet->ucx->worker, packet->data);
    }
    give_packet(inlet->ucx, packet);
}

void ucx_inlet_destroy(struct ucx_inlet *inlet)
{
    if (inlet == NULL) {
        return;
    }
    struct ucx_inlet **link = &inlet->ucx->inlets;
    while (*link != inlet) {
        link = &(*link)->next;
    }
    *link = inlet->next;
    forget_news(inlet);
    while (inlet->first != NULL) {
        drop_first(inlet);
    }
    free(inlet);
}

ptrdiff_t ucx_inlet_read(struct ucx_inlet *inlet, void *bytes, size_t room)
{
    struct packet *packet = inlet->first;
    if (packet == NULL) {
        return inlet->is_broken ? -1 : 0;
    }
    const size_t count = min_size(room, packet->bytes - packet->at);
    memcpy(bytes, packet->data + packet->at, count);
    packet->at += count;
    if (packet->at == packet->bytes) {
        drop_first(inlet);
    }
    return (ptrdiff_t)count;
}

static void on_error(void *argument, void *endpoint, int status)
{
    struct ucx_outlet *outlet = argument;
    (void)endpoint;
    (void)status;
    outlet->is_broken = true;
    if (!outlet->is_closed) {
        outlet->ready(outlet->context);
    }
}

struct ucx_outlet *ucx_outlet_create(
    struct ucx *ucx, const uint8_t *address, const uint8_t token[UCX_TOKEN_BYTES], ucx_ready ready,
    void *context)
{
    struct ucx_outlet *outlet = memory_reserved_zeroed(1, sizeof(*outlet));
    if (outlet == NULL) {
        return NULL;
    }
    const struct ucx_endpoint_params params = {
        .mask = UCX_EP_ADDRESS | UCX_EP_ERROR_MODE | UCX_EP_ERROR_HANDLER,
        .address = address,
        .error_mode = UCX_ERROR_MODE_PEER,
        .error_handler = {.callback = on_error, .argument = outlet},
    };
    outlet->ucx = ucx;
    outlet->ready = ready;
    outlet->context = context;
    memcpy(outlet->token, token, UCX_TOKEN_BYTES);
    for (uint32_t i = 0; i < SLOTS; i++) {
        outlet->slots[i].outlet = outlet;
    }
    ucx->is_armed = false;
    if (ucx->library->ep_create(ucx->worker, &params, &outlet->endpoint) != UCX_OK) {
        free(outlet);
        return NULL;
    }
    return outlet;
}

static bool is_idle(const struct ucx_outlet *outlet)
{
    bool is_busy = false;
    for (uint32_t i = 0; i < SLOTS; i++) {
        is_busy = is_busy || outlet->slots[i].is_busy;
    }
    return !is_busy;
}

static void on_sent(void *request, int status, void *user_data)
{
    struct slot *slot = user_data;
    struct ucx_outlet *outlet = slot->outlet;
    outlet->ucx->library->request_free(request);
    slot->is_busy = false;
    outlet->is_broken = outlet->is_broken || status != UCX_OK;
    if (!outlet->is_closed) {
        outlet->ready(outlet->context);
    } else if (is_idle(outlet)) {
        free(outlet);
    }
}

void ucx_outlet_destroy(struct ucx_outlet *outlet)
{
    if (outlet == NULL) {
        return;
    }
    const struct ucx_request_params params = {
        .mask = UCX_REQUEST_FLAGS, .flags = UCX_EP_CLOSE_FORCE};
    const struct ucx_library *library = outlet->ucx->library;
    void *worker = outlet->ucx->worker;
    const bool was_idle = is_idle(outlet);
    outlet->is_closed = true;
    outlet->ucx->is_armed = false;
    void *request = library->ep_close_nbx(outlet->endpoint, &params);
    if (ucx_is_request(request)) {
        library->request_free(request); /* It goes on by itself. */
    }
    for (uint32_t i = 0; i < TURN_MAX && library->worker_progress(worker) > 0; i++) {
    }
    if (was_idle) {
        free(outlet); /* Else the last slot does. */
    }
}

/* Send @slot, which holds @bytes. False if that is not possible. */
static bool send_slot(struct ucx_outlet *outlet, struct slot *slot, size_t bytes)
{
    struct bytes_writer writer = {.bytes = slot->header, .count_max = HEADER_BYTES};
    const struct ucx_request_params params = {
        .mask = UCX_REQUEST_CALLBACK | UCX_REQUEST_USER_DATA | UCX_REQUEST_FLAGS,
        .flags = UCX_SEND_EAGER,
        .sent = on_sent,
        .user_data = slot,
    };
    bytes_copy(&writer, outlet->token, UCX_TOKEN_BYTES);
    bytes_put(&writer, outlet->sequence, 8);
    outlet->sequence++;
    void *request = outlet->ucx->library->am_send_nbx(
        outlet->endpoint, MESSAGE_ID, slot->header, HEADER_BYTES, slot->data, bytes, &params);
    slot->is_busy = ucx_is_request(request);
    outlet->ucx->is_armed = outlet->ucx->is_armed && !slot->is_busy;
    return request == NULL || slot->is_busy;
}

ptrdiff_t ucx_outlet_write(struct ucx_outlet *outlet, const struct iovec *parts, int part_count)
{
    struct slot *slot = NULL;
    size_t bytes = 0;
    for (uint32_t i = 0; i < SLOTS && slot == NULL; i++) {
        slot = outlet->slots[i].is_busy ? NULL : &outlet->slots[i];
    }
    if (outlet->is_broken || slot == NULL) {
        return outlet->is_broken ? -1 : 0;
    }
    for (int i = 0; i < part_count; i++) {
        const size_t count = min_size(parts[i].iov_len, SLOT_BYTES - bytes);
        if (count > 0) {
            memcpy(slot->data + bytes, parts[i].iov_base, count);
        }
        bytes += count;
    }
    if (bytes > 0 && !send_slot(outlet, slot, bytes)) {
        outlet->is_broken = true;
        return -1;
    }
    return (ptrdiff_t)bytes;
}
