#include "engine/function_wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/assert.h"

enum { NS_PER_MS = 1000000 };

/* Milliseconds until @deadline_ns, rounded up; -1 for none. */
static int left_ms(int64_t deadline_ns)
{
    struct timespec now;
    if (deadline_ns == 0) {
        return -1;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* It is always there. */
    const int64_t left_ns = deadline_ns - (now.tv_sec * INT64_C(1000000000) + now.tv_nsec);
    const int64_t ms = left_ns <= 0 ? 0 : (left_ns + NS_PER_MS - 1) / NS_PER_MS;
    return ms > 3600000 ? 3600000 : (int)ms;
}

/* Wait until @socket is ready for @events. */
static enum function_receipt wait_for(int socket, short events, int64_t deadline_ns)
{
    for (;;) {
        struct pollfd ready = {.fd = socket, .events = events};
        const int ms = left_ms(deadline_ns);
        const int count = poll(&ready, 1, ms);
        if (count > 0) {
            return FUNCTION_RECEIVED;
        }
        if (count == 0 && left_ms(deadline_ns) == 0) {
            return FUNCTION_LATE;
        }
        if (count < 0 && errno != EINTR) {
            return FUNCTION_GONE;
        }
    }
}

static bool send_all(int socket, const void *data, uint64_t bytes, int64_t deadline_ns)
{
    const uint8_t *at = data;
    while (bytes > 0) {
        const ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            at += sent;
            bytes -= (uint64_t)sent;
        } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (wait_for(socket, POLLOUT, deadline_ns) != FUNCTION_RECEIVED) {
                return false;
            }
        } else if (sent < 0 && errno != EINTR) {
            return false;
        }
    }
    return true;
}

static enum function_receipt receive_all(
    int socket, void *data, uint64_t bytes, int64_t deadline_ns)
{
    uint8_t *at = data;
    while (bytes > 0) {
        const ssize_t received = recv(socket, at, bytes, MSG_DONTWAIT);
        if (received > 0) {
            at += received;
            bytes -= (uint64_t)received;
        } else if (received == 0) {
            return FUNCTION_GONE;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            const enum function_receipt receipt = wait_for(socket, POLLIN, deadline_ns);
            if (receipt != FUNCTION_RECEIVED) {
                return receipt;
            }
        } else if (errno != EINTR) {
            return FUNCTION_GONE;
        }
    }
    return FUNCTION_RECEIVED;
}

bool function_send(
    int socket, const struct function_message *message, const struct weft_tensor *tensors,
    int64_t deadline_ns)
{
    ASSERT(message->tensor_count <= BUNDLE_TENSORS_MAX);
    bool is_sent = send_all(socket, message, sizeof(*message), deadline_ns) &&
                   send_all(socket, tensors, message->tensor_count * sizeof(*tensors), deadline_ns);
    for (uint32_t i = 0; i < message->tensor_count && is_sent; i++) {
        is_sent = send_all(socket, tensors[i].data, tensors[i].bytes, deadline_ns);
    }
    return is_sent;
}

/* Make room in @bundle for the tensors that are announced, and read them into it. */
static enum function_receipt receive_tensors(
    int socket, struct bundle *bundle, uint32_t count, uint64_t bytes_max, int64_t deadline_ns)
{
    struct weft_tensor tensors[BUNDLE_TENSORS_MAX];
    enum function_receipt receipt =
        receive_all(socket, tensors, count * sizeof(tensors[0]), deadline_ns);
    for (uint32_t i = 0; i < count && receipt == FUNCTION_RECEIVED; i++) {
        if (function_check_tensor(&tensors[i], bytes_max - bundle->bytes, NULL) != WEFT_OK) {
            return FUNCTION_NONSENSE;
        }
        void *room = bundle_add(bundle, &tensors[i]);
        if (room == NULL) {
            return FUNCTION_NONSENSE;
        }
        receipt = receive_all(socket, room, tensors[i].bytes, deadline_ns);
    }
    return receipt;
}

enum function_receipt function_receive(
    int socket, struct function_message *message_out, struct bundle **bundle_out,
    uint64_t bytes_max, int64_t deadline_ns)
{
    enum function_receipt receipt =
        receive_all(socket, message_out, sizeof(*message_out), deadline_ns);
    if (receipt != FUNCTION_RECEIVED) {
        return receipt;
    }
    message_out->text[sizeof(message_out->text) - 1] = '\0';
    if (message_out->tensor_count > BUNDLE_TENSORS_MAX || message_out->status > 0 ||
        message_out->status < WEFT_LOST) {
        return FUNCTION_NONSENSE;
    }
    struct bundle *bundle = bundle_create();
    if (bundle == NULL) {
        return FUNCTION_NONSENSE;
    }
    bundle->items = message_out->items;
    receipt = receive_tensors(socket, bundle, message_out->tensor_count, bytes_max, deadline_ns);
    if (receipt != FUNCTION_RECEIVED) {
        bundle_destroy(bundle);
        return receipt;
    }
    *bundle_out = bundle;
    return FUNCTION_RECEIVED;
}
