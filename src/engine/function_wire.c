#include "engine/function_wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"

enum { NS_PER_MS = 1000000, SOCKET_BYTES_MAX = 65536, FILE_BYTES_MAX = 64 << 20 };

static _Thread_local int thread_file = -1; /* Of at most FILE_BYTES_MAX. */

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
        } else if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            const enum function_receipt receipt = wait_for(socket, POLLIN, deadline_ns);
            if (receipt != FUNCTION_RECEIVED) {
                return receipt;
            }
        } else if (received == 0 || errno != EINTR) {
            return FUNCTION_GONE;
        }
    }
    return FUNCTION_RECEIVED;
}

void function_wire_end(void)
{
    if (thread_file >= 0) {
        (void)close(thread_file); /* Nobody reads it any more. */
        thread_file = -1;
    }
}

void function_wire_forked(void)
{
    thread_file = -1;
}

static bool write_file(int file, const struct weft_tensor *tensors, uint32_t count)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *from = tensors[i].data;
        uint64_t left = tensors[i].bytes;
        while (left > 0) {
            const ssize_t written = pwrite(file, from, left, (off_t)at);
            if (written <= 0) {
                return false;
            }
            from += written;
            at += (uint64_t)written;
            left -= (uint64_t)written;
        }
    }
    return true;
}

/* A file in memory with the data of @tensors, @bytes in all; -1 if there is none. */
static int file_of(const struct weft_tensor *tensors, uint32_t count, uint64_t bytes)
{
    int file = thread_file;
    if (file < 0 || bytes > FILE_BYTES_MAX) {
        file = memfd_create("weft", MFD_CLOEXEC);
    }
    if (file >= 0 && bytes <= FILE_BYTES_MAX) {
        thread_file = file;
    }
    if (file >= 0 && !write_file(file, tensors, count)) {
        (void)close(file); /* Nobody has seen what is in it. */
        thread_file = file == thread_file ? -1 : thread_file;
        file = -1;
    }
    return file;
}

/* Send @message, and with it @file if it is none of -1. */
static bool send_head(
    int socket, const struct function_message *message, int file, int64_t deadline_ns)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } room;
    struct iovec part = {.iov_base = (void *)(uintptr_t)message, .iov_len = sizeof(*message)};
    struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};
    memset(&room, 0, sizeof(room));
    if (file < 0) {
        return send_all(socket, message, sizeof(*message), deadline_ns);
    }
    head.msg_control = room.bytes;
    head.msg_controllen = sizeof(room.bytes);
    struct cmsghdr *passed = CMSG_FIRSTHDR(&head);
    passed->cmsg_level = SOL_SOCKET;
    passed->cmsg_type = SCM_RIGHTS;
    passed->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(passed), &file, sizeof(file));
    ssize_t sent;
    do {
        sent = sendmsg(socket, &head, MSG_NOSIGNAL); /* The socket is empty: it has room. */
    } while (sent < 0 && errno == EINTR);
    return sent > 0 && send_all(
                           socket, (const uint8_t *)message + sent,
                           sizeof(*message) - (uint64_t)sent, deadline_ns);
}

bool function_send(
    int socket, const struct function_message *message, const struct weft_tensor *tensors,
    int64_t deadline_ns)
{
    struct function_message head = *message;
    uint64_t bytes = 0;
    int file = -1;
    ASSERT(head.tensor_count <= BUNDLE_TENSORS_MAX);
    for (uint32_t i = 0; i < head.tensor_count; i++) {
        bytes += tensors[i].bytes;
    }
    if (bytes > SOCKET_BYTES_MAX) {
        file = file_of(tensors, head.tensor_count, bytes);
    }
    head.has_file = file >= 0;
    bool is_sent = send_head(socket, &head, file, deadline_ns) &&
                   send_all(socket, tensors, head.tensor_count * sizeof(*tensors), deadline_ns);
    for (uint32_t i = 0; i < head.tensor_count && is_sent && file < 0; i++) {
        is_sent = send_all(socket, tensors[i].data, tensors[i].bytes, deadline_ns);
    }
    if (file >= 0 && file != thread_file) {
        (void)close(file); /* The other side has its own descriptor of it. */
    }
    return is_sent;
}

/* Receive the head of a message, and the file that came with it, or -1. */
static enum function_receipt receive_head(
    int socket, struct function_message *message, int *file_out, int64_t deadline_ns)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } room;
    struct iovec part = {.iov_base = message, .iov_len = sizeof(*message)};
    struct msghdr head = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = room.bytes,
        .msg_controllen = sizeof(room.bytes)};
    *file_out = -1;
    memset(&room, 0, sizeof(room));
    const enum function_receipt receipt = wait_for(socket, POLLIN, deadline_ns);
    if (receipt != FUNCTION_RECEIVED) {
        return receipt;
    }
    const ssize_t received = recvmsg(socket, &head, MSG_CMSG_CLOEXEC);
    if (received <= 0) {
        return FUNCTION_GONE;
    }
    const struct cmsghdr *passed = CMSG_FIRSTHDR(&head);
    if (passed != NULL && passed->cmsg_level == SOL_SOCKET && passed->cmsg_type == SCM_RIGHTS) {
        memcpy(file_out, CMSG_DATA(passed), sizeof(*file_out));
    }
    return receive_all(
        socket, (uint8_t *)message + received, sizeof(*message) - (uint64_t)received, deadline_ns);
}

/* Read @bytes of @file, which move it on. */
static enum function_receipt read_file(int file, void *data, uint64_t bytes, uint64_t *at)
{
    uint8_t *to = data;
    while (bytes > 0) {
        const ssize_t count = pread(file, to, bytes, (off_t)*at);
        if (count <= 0) {
            return FUNCTION_NONSENSE; /* Shorter than it was said to be. */
        }
        to += count;
        *at += (uint64_t)count;
        bytes -= (uint64_t)count;
    }
    return FUNCTION_RECEIVED;
}

/* Make room in @bundle for the tensors that are announced, and read them into it. */
static enum function_receipt receive_tensors(
    int socket, int file, struct bundle *bundle, const struct function_message *message,
    uint64_t bytes_max, int64_t deadline_ns)
{
    struct weft_tensor tensors[BUNDLE_TENSORS_MAX];
    const uint32_t count = message->tensor_count;
    uint64_t at = 0;
    memset(tensors, 0, count * sizeof(tensors[0]));
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
        receipt = file >= 0 ? read_file(file, room, tensors[i].bytes, &at)
                            : receive_all(socket, room, tensors[i].bytes, deadline_ns);
    }
    return receipt;
}

static bool makes_sense(const struct function_message *message, int file)
{
    return message->tensor_count <= BUNDLE_TENSORS_MAX && message->status <= 0 &&
           message->status >= WEFT_LOST && (message->has_file != 0) == (file >= 0);
}

enum function_receipt function_receive(
    int socket, struct function_message *message_out, struct bundle **bundle_out,
    uint64_t bytes_max, int64_t deadline_ns)
{
    int file;
    struct bundle *bundle = NULL;
    enum function_receipt receipt = receive_head(socket, message_out, &file, deadline_ns);
    if (receipt != FUNCTION_RECEIVED) {
        goto out;
    }
    message_out->text[sizeof(message_out->text) - 1] = '\0';
    receipt = FUNCTION_NONSENSE;
    if (!makes_sense(message_out, file)) {
        goto out;
    }
    bundle = bundle_create();
    if (bundle == NULL) {
        goto out;
    }
    bundle->items = message_out->items;
    receipt = receive_tensors(socket, file, bundle, message_out, bytes_max, deadline_ns);
    if (receipt == FUNCTION_RECEIVED) {
        *bundle_out = bundle;
        bundle = NULL;
    }
out:
    bundle_destroy(bundle);
    if (file >= 0) {
        (void)close(file); /* Nothing was written to it. */
    }
    return receipt;
}
