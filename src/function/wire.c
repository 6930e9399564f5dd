#include "function/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/units.h"

enum { SOCKET_BYTES_MAX = 65536, FILE_KEPT_BYTES = 64 << 20 };

/* Milliseconds until @deadline_ns, rounded up; -1 for none. */
static int left_ms(int64_t deadline_ns)
{
    struct timespec now;
    if (deadline_ns == 0) {
        return -1;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* It is always there. */
    const int64_t left_ns = deadline_ns - (now.tv_sec * NS_PER_S + now.tv_nsec);
    const int64_t ms = left_ns <= 0 ? 0 : (left_ns + NS_PER_MS - 1) / NS_PER_MS;
    return ms > 3600000 ? 3600000 : (int)ms;
}

/* Wait until @socket is ready for @events. */
static enum function_receipt wait_for(int socket, short events, int64_t deadline_ns)
{
    for (;;) {
        struct pollfd ready = {.fd = socket, .events = events};
        const int ms = left_ms(deadline_ns);
        if (ms == 0) {
            return FUNCTION_LATE; /* Also of one that comes drop by drop. */
        }
        const int count = poll(&ready, 1, ms);
        if (count > 0) {
            return FUNCTION_RECEIVED;
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

/* A file in memory of @bytes that can never shrink, nor grow if @is_fixed; -1: none. */
static int memory_file(uint64_t bytes, bool is_fixed)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_SEAL | (is_fixed ? F_SEAL_GROW : 0);
    const int file = memfd_create("weft-function", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file >= 0 && (ftruncate(file, (off_t)bytes) != 0 || fcntl(file, F_ADD_SEALS, seals) != 0)) {
        (void)close(file); /* No other process has seen it. */
        return -1;
    }
    return file;
}

/* Another descriptor of @file, for reading alone where the system can give one. */
static int read_only(int file)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    const int opened = open(path, O_RDONLY | O_CLOEXEC);
    return opened >= 0 ? opened : fcntl(file, F_DUPFD_CLOEXEC, 0);
}

static void close_file(int *file)
{
    if (*file >= 0) {
        (void)close(*file); /* Nothing is lost: it was never to be kept. */
        *file = -1;
    }
}

void function_channel_close(struct function_channel *channel)
{
    close_file(&channel->socket);
    close_file(&channel->to_there);
    close_file(&channel->from_there);
    function_shelf_close(&channel->shelf);
}

bool function_channels_open(struct function_channels *channels_out, uint64_t bytes_max)
{
    struct function_channel here = {
        .socket = -1, .to_there = -1, .from_there = -1, .shelf = {.file = -1}};
    struct function_channel there = here;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    here.socket = ends[0];
    there.socket = ends[1];
    here.to_there = memory_file(/* bytes */ 0, /* is_fixed */ false);
    here.from_there = memory_file(bytes_max, /* is_fixed */ true);
    if (here.to_there >= 0 && here.from_there >= 0) {
        there.from_there = read_only(here.to_there);
        there.to_there = fcntl(here.from_there, F_DUPFD_CLOEXEC, 0);
    }
    function_shelf_open(&here.shelf, &there.shelf);
    *channels_out = (struct function_channels){.here = here, .there = there};
    if (there.from_there < 0 || there.to_there < 0) {
        function_channel_close(&channels_out->here);
        function_channel_close(&channels_out->there);
        return false;
    }
    return true;
}

static void trim_file(int file)
{
    struct stat about;
    if (file >= 0 && fstat(file, &about) == 0 && about.st_blocks > FILE_KEPT_BYTES / 512) {
        /* Without this the pages stay until the next large message: no harm is done. */
        (void)fallocate(
            file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, FILE_KEPT_BYTES,
            about.st_size > FILE_KEPT_BYTES ? about.st_size - FILE_KEPT_BYTES : 1);
    }
}

void function_channel_trim(const struct function_channel *channel)
{
    trim_file(channel->to_there);
    trim_file(channel->from_there);
}

static struct function_room map_file(int file, uint64_t bytes, int protection)
{
    void *data =
        bytes == 0 ? MAP_FAILED : mmap(NULL, bytes, protection, MAP_SHARED, file, /* offset */ 0);
    return data == MAP_FAILED ? (struct function_room){.bytes = 0}
                              : (struct function_room){.data = data, .bytes = bytes};
}

void function_channel_map(struct function_channel *channel)
{
    const uint64_t most = FILE_KEPT_BYTES;
    struct stat about;
    const uint64_t bytes = fstat(channel->to_there, &about) == 0 ? (uint64_t)about.st_size : 0;
    channel->made =
        map_file(channel->to_there, bytes < most ? bytes : most, PROT_READ | PROT_WRITE);
    channel->given = map_file(channel->from_there, most, PROT_READ); /* It may grow to that. */
    function_shelf_map(&channel->shelf);
}

uint64_t function_file_bytes(uint64_t at, const struct weft_tensor *tensors, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        at = function_align(at) + tensors[i].bytes;
    }
    return at;
}

/* Whether @tensor lies at @at of @room, where it would be copied to. */
static bool is_there(
    const struct function_room *room, const struct weft_tensor *tensor, uint64_t at)
{
    return room->data != NULL && at < room->bytes && tensor->data == room->data + at;
}

static bool write_file(
    const struct function_channel *channel, const struct weft_tensor *tensors,
    const struct function_tensor *told, uint32_t count, uint64_t at)
{
    for (uint32_t i = 0; i < count; i++) {
        if (told[i].place != 0) {
            continue;
        }
        const uint8_t *from = tensors[i].data;
        at = function_align(at);
        const bool is_written = is_there(&channel->made, &tensors[i], at);
        uint64_t left = is_written ? 0 : tensors[i].bytes;
        at += is_written ? tensors[i].bytes : 0;
        while (left > 0) {
            const ssize_t written = pwrite(channel->to_there, from, left, (off_t)at);
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

bool function_send(
    const struct function_channel *channel, const struct function_message *message,
    const struct weft_tensor *tensors, int64_t deadline_ns)
{
    struct {
        struct function_message message;
        struct function_tensor tensors[BUNDLE_TENSORS_MAX];
    } head;
    const uint32_t count = message->tensor_count;
    uint64_t bytes = 0;
    ASSERT(count <= BUNDLE_TENSORS_MAX);
    head.message = *message;
    for (uint32_t i = 0; i < count; i++) {
        head.tensors[i] = (struct function_tensor){
            .tensor = tensor_wire_of(&tensors[i]),
            .place = function_shelf_place(&channel->shelf, &tensors[i]),
        };
        bytes += head.tensors[i].place == 0 ? tensors[i].bytes : 0;
    }
    head.message.has_file = bytes > SOCKET_BYTES_MAX && channel->to_there >= 0 &&
                            write_file(channel, tensors, head.tensors, count, message->file_at);
    const uint64_t head_bytes = sizeof(head.message) + count * sizeof(head.tensors[0]);
    bool is_sent = send_all(channel->socket, &head, head_bytes, deadline_ns);
    for (uint32_t i = 0; i < count && is_sent && head.message.has_file == 0; i++) {
        const uint64_t left = head.tensors[i].place == 0 ? tensors[i].bytes : 0;
        is_sent = send_all(channel->socket, tensors[i].data, left, deadline_ns);
    }
    return is_sent;
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

/* Let @bundle have @tensor as it lies at @place of the shelf; a copy, if that is not mapped here.
 */
static enum function_receipt take_from_shelf(
    const struct function_shelf *shelf, struct bundle *bundle, const struct weft_tensor *tensor,
    uint64_t place)
{
    struct weft_tensor there = *tensor;
    if (shelf->file >= 0 && shelf->room.bytes == 0) {
        uint64_t at = place - 1;
        void *room = bundle_add(bundle, tensor);
        return room == NULL ? FUNCTION_NONSENSE : read_file(shelf->file, room, tensor->bytes, &at);
    }
    there.data = function_shelf_at(shelf, place, tensor->bytes);
    return there.data != NULL && bundle_add_borrowed(bundle, &there) ? FUNCTION_RECEIVED
                                                                     : FUNCTION_NONSENSE;
}

/* Let @bundle have @tensor where it lies at @at of @room. False if it is not there as a whole. */
static bool take_in_place(
    const struct function_room *room, struct bundle *bundle, const struct weft_tensor *tensor,
    uint64_t at)
{
    struct weft_tensor mapped = *tensor;
    if (room->data == NULL || at > room->bytes || tensor->bytes > room->bytes - at) {
        return false;
    }
    mapped.data = room->data + at;
    return bundle_add_borrowed(bundle, &mapped);
}

/* Make room in @bundle for the tensors that are announced, and read them into it. */
static enum function_receipt receive_tensors(
    const struct function_channel *channel, struct bundle *bundle,
    const struct function_message *message, uint64_t bytes_max, int64_t deadline_ns)
{
    struct function_tensor wires[BUNDLE_TENSORS_MAX];
    const uint32_t count = message->tensor_count;
    uint64_t at = message->file_at;
    memset(wires, 0, count * sizeof(wires[0]));
    enum function_receipt receipt =
        receive_all(channel->socket, wires, count * sizeof(wires[0]), deadline_ns);
    for (uint32_t i = 0; i < count && receipt == FUNCTION_RECEIVED; i++) {
        const struct weft_tensor tensor = tensor_wire_read(&wires[i].tensor);
        if (bundle_check_tensor(&tensor, bytes_max - bundle->bytes, NULL) != WEFT_OK) {
            return FUNCTION_NONSENSE;
        }
        if (wires[i].place != 0) {
            receipt = take_from_shelf(&channel->shelf, bundle, &tensor, wires[i].place);
            continue;
        }
        at = function_align(at);
        if (message->has_file != 0 && message->kind == FUNCTION_CALL &&
            take_in_place(&channel->given, bundle, &tensor, at)) {
            at += tensor.bytes;
            continue;
        }
        void *room = bundle_add(bundle, &tensor);
        if (room == NULL) {
            return FUNCTION_NONSENSE;
        }
        receipt = message->has_file != 0
                      ? read_file(channel->from_there, room, tensor.bytes, &at)
                      : receive_all(channel->socket, room, tensor.bytes, deadline_ns);
    }
    return receipt;
}

static bool makes_sense(
    const struct function_channel *channel, const struct function_message *message)
{
    return message->tensor_count <= BUNDLE_TENSORS_MAX && message->status <= 0 &&
           message->status >= WEFT_CRASHED && (message->has_file == 0 || channel->from_there >= 0);
}

enum function_receipt function_receive(
    const struct function_channel *channel, struct function_message *message_out,
    struct bundle **bundle_out, uint64_t bytes_max, int64_t deadline_ns)
{
    /* Without room for descriptors: the kernel closes those that come with it. */
    enum function_receipt receipt =
        receive_all(channel->socket, message_out, sizeof(*message_out), deadline_ns);
    if (receipt != FUNCTION_RECEIVED) {
        return receipt;
    }
    message_out->text[sizeof(message_out->text) - 1] = '\0';
    if (!makes_sense(channel, message_out)) {
        return FUNCTION_NONSENSE;
    }
    struct bundle *bundle = bundle_create();
    if (bundle == NULL) {
        return FUNCTION_NONSENSE;
    }
    bundle->items = message_out->items;
    receipt = receive_tensors(channel, bundle, message_out, bytes_max, deadline_ns);
    if (receipt == FUNCTION_RECEIVED) {
        *bundle_out = bundle;
        bundle = NULL;
    }
    bundle_destroy(bundle);
    return receipt;
}
