#include "engine/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "engine/tray.h"

enum { READ_BYTES = 65536 };

/* A packet that waits for the socket. */
struct unsent {
    struct unsent *next;
    size_t used;
    size_t sent;
    uint32_t file_count;
    int files[PACKET_FILES_MAX]; /* Its own; not sent while nothing of it was. */
    uint8_t bytes[];
};

void channel_init(struct channel *channel, int socket)
{
    *channel = (struct channel){.socket = socket};
}

static void drop_received(struct channel *channel)
{
    for (uint32_t i = 0; i < channel->received.file_count; i++) {
        if (channel->received.files[i] >= 0) {
            (void)close(channel->received.files[i]);
        }
    }
    channel->received.file_count = 0;
}

static void free_unsent(struct unsent *unsent)
{
    for (uint32_t i = 0; i < unsent->file_count; i++) {
        (void)close(unsent->files[i]);
    }
    free(unsent);
}

void channel_deinit(struct channel *channel)
{
    drop_received(channel);
    for (uint32_t i = 0; i < channel->file_count; i++) {
        (void)close(channel->files[i]);
    }
    while (channel->first != NULL) {
        struct unsent *next = channel->first->next;
        free_unsent(channel->first);
        channel->first = next;
    }
    if (channel->socket >= 0) {
        (void)close(channel->socket);
    }
    free(channel->in);
    *channel = (struct channel){.socket = -1};
}

/* Send what the socket takes of @count bytes with @files. -1 if the other side is gone. */
static ssize_t send_some(
    int socket, const uint8_t *bytes, size_t count, const int *files, uint32_t file_count)
{
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
    union {
        char bytes[CMSG_SPACE(PACKET_FILES_MAX * sizeof(int))];
        struct cmsghdr align;
    } room;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    if (file_count > 0) {
        message.msg_control = room.bytes;
        message.msg_controllen = CMSG_SPACE(file_count * sizeof(int));
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(file_count * sizeof(int));
        memcpy(CMSG_DATA(head), files, file_count * sizeof(int));
    }
    for (;;) {
        /* send() has less to look at. */
        const ssize_t sent =
            file_count > 0 ? sendmsg(socket, &message, flags) : send(socket, bytes, count, flags);
        if (sent >= 0) {
            return sent;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return 0;
        }
        if (errno != EINTR) {
            return -1;
        }
    }
}

/* Keep what @packet has beyond the @sent bytes, with files if nothing was sent. */
static bool keep_unsent(struct channel *channel, const struct packet *packet, size_t sent)
{
    struct unsent *unsent = memory_reserved(sizeof(*unsent) + packet->used);
    if (unsent == NULL) {
        return false;
    }
    unsent->next = NULL;
    unsent->used = packet->used;
    unsent->sent = sent;
    unsent->file_count = 0;
    memcpy(unsent->bytes, packet->bytes, packet->used);
    for (uint32_t i = 0; i < packet->file_count && sent == 0; i++) {
        const int copy = fcntl(packet->files[i].file, F_DUPFD_CLOEXEC, 0);
        if (copy < 0) {
            free_unsent(unsent);
            return false;
        }
        unsent->files[unsent->file_count++] = copy;
    }
    if (channel->first == NULL) {
        channel->first = unsent;
    } else {
        channel->last->next = unsent;
    }
    channel->last = unsent;
    return true;
}

/* Leave @packet, which is complete, in the tray. False if it has to be sent. */
static bool leave_in_tray(const struct channel *channel, const struct packet *packet)
{
    return channel->tray_out != NULL && channel->first == NULL && packet->file_count == 0 &&
           tray_put(channel->tray_out, packet->bytes, packet->used);
}

bool channel_send(struct channel *channel, struct packet *packet)
{
    int files[PACKET_FILES_MAX];
    ssize_t sent = 0;
    bool is_good = packet_end(packet);
    if (is_good && leave_in_tray(channel, packet)) {
        packet_clear(packet);
        return true;
    }
    if (is_good) {
        for (uint32_t i = 0; i < packet->file_count; i++) {
            files[i] = packet->files[i].file;
        }
    }
    if (is_good && channel->first == NULL) {
        sent = send_some(channel->socket, packet->bytes, packet->used, files, packet->file_count);
        is_good = sent >= 0;
    }
    if (is_good && (size_t)sent < packet->used) {
        is_good = keep_unsent(channel, packet, (size_t)sent);
    }
    packet_clear(packet);
    return is_good;
}

bool channel_flush(struct channel *channel)
{
    while (channel->first != NULL) {
        struct unsent *unsent = channel->first;
        const ssize_t sent = send_some(
            channel->socket, unsent->bytes + unsent->sent, unsent->used - unsent->sent,
            unsent->files, unsent->sent == 0 ? unsent->file_count : 0);
        if (sent < 0) {
            return false;
        }
        unsent->sent += (size_t)sent;
        if (unsent->sent < unsent->used) {
            return true;
        }
        channel->first = unsent->next;
        free_unsent(unsent);
    }
    return true;
}

bool channel_is_blocked(const struct channel *channel)
{
    return channel->first != NULL;
}

/* Wait until the socket is ready for @events. False if that cannot be. */
static bool wait_for(int socket, short events)
{
    struct pollfd ready = {.fd = socket, .events = events};
    int count;
    do {
        count = poll(&ready, 1, -1);
    } while (count < 0 && errno == EINTR);
    return count > 0;
}

bool channel_send_wait(struct channel *channel, struct packet *packet)
{
    bool is_good = channel_send(channel, packet);
    while (is_good && channel_is_blocked(channel)) {
        is_good = wait_for(channel->socket, POLLOUT) && channel_flush(channel);
    }
    return is_good;
}

/* Keep the files that came with @message. False if there are more than belong to packets. */
static bool keep_files(struct channel *channel, struct msghdr *message)
{
    bool is_good = (message->msg_flags & MSG_CTRUNC) == 0;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head != NULL;
         head = CMSG_NXTHDR(message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int file;
            memcpy(&file, CMSG_DATA(head) + i * sizeof(file), sizeof(file));
            if (channel->file_count < sizeof(channel->files) / sizeof(channel->files[0])) {
                channel->files[channel->file_count++] = file;
            } else {
                (void)close(file);
                is_good = false;
            }
        }
    }
    return is_good;
}

/* Room for @count bytes more after those that have come. */
static bool make_room(struct channel *channel, size_t count)
{
    if (channel->in_room - channel->in_used >= count) {
        return true;
    }
    size_t room = channel->in_room == 0 ? READ_BYTES : channel->in_room;
    while (room - channel->in_used < count) {
        room *= 2;
    }
    uint8_t *larger = memory_reserved_more(channel->in, room);
    if (larger == NULL) {
        return false;
    }
    channel->in = larger;
    channel->in_room = room;
    return true;
}

/* Read what is there, @wanted bytes more at least making room for. */
static enum channel_receipt read_some(struct channel *channel, size_t wanted, bool waits)
{
    union {
        char bytes[CMSG_SPACE(PACKET_FILES_MAX * sizeof(int))];
        struct cmsghdr align;
    } room;
    if (!make_room(channel, wanted > READ_BYTES / 2 ? wanted : READ_BYTES / 2)) {
        return CHANNEL_NONSENSE;
    }
    struct iovec part = {
        .iov_base = channel->in + channel->in_used,
        .iov_len = channel->in_room - channel->in_used,
    };
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = room.bytes,
        .msg_controllen = sizeof(room.bytes),
    };
    ssize_t bytes;
    do {
        bytes = recvmsg(channel->socket, &message, MSG_CMSG_CLOEXEC | (waits ? 0 : MSG_DONTWAIT));
    } while (bytes < 0 && errno == EINTR);
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return CHANNEL_EMPTY;
    }
    if (bytes <= 0) {
        return CHANNEL_GONE;
    }
    channel->in_used += (size_t)bytes;
    channel->is_drained = (size_t)bytes < part.iov_len;
    return keep_files(channel, &message) ? CHANNEL_RECEIVED : CHANNEL_NONSENSE;
}

/* Read what is in the tray, if anything. A packet of which a part has come goes first. */
static bool read_tray(struct channel *channel)
{
    if (channel->tray_in == NULL || channel->in_used > 0 || !make_room(channel, TRAY_BYTES_MAX)) {
        return false;
    }
    channel->in_used = tray_take(channel->tray_in, channel->in, TRAY_BYTES_MAX);
    if (channel->in_used == 0) {
        return false;
    }
    channel->is_drained = true; /* The socket says itself when it has something. */
    return true;
}

/* Hand out the packet at the beginning of what has come, whose head is @head. */
static void take_packet(struct channel *channel, const struct packet_head *head)
{
    struct received *received = &channel->received;
    received->kind = head->kind;
    received->bytes = channel->in + sizeof(*head);
    received->count = head->bytes;
    received->file_count = head->file_count;
    memcpy(received->files, channel->files, head->file_count * sizeof(int));
    channel->file_count -= head->file_count;
    memmove(channel->files, channel->files + head->file_count, channel->file_count * sizeof(int));
    channel->in_taken = sizeof(*head) + head->bytes;
}

enum channel_receipt channel_receive(
    struct channel *channel, bool waits, struct received **received_out)
{
    drop_received(channel);
    if (channel->in_taken > 0) {
        channel->in_used -= channel->in_taken;
        memmove(channel->in, channel->in + channel->in_taken, channel->in_used);
        channel->in_taken = 0;
    }
    for (;;) {
        struct packet_head head;
        size_t wanted = sizeof(head);
        if (channel->in_used >= sizeof(head)) {
            memcpy(&head, channel->in, sizeof(head));
            if (head.bytes > PACKET_BYTES_MAX || head.file_count > PACKET_FILES_MAX) {
                return CHANNEL_NONSENSE;
            }
            wanted = sizeof(head) + head.bytes;
            if (channel->in_used >= wanted) {
                if (head.file_count > channel->file_count) {
                    return CHANNEL_NONSENSE; /* Files come with the first byte, or not at all. */
                }
                take_packet(channel, &head);
                *received_out = &channel->received;
                return CHANNEL_RECEIVED;
            }
        }
        if (channel->is_drained && !waits) {
            channel->is_drained = false;
            return CHANNEL_EMPTY;
        }
        if (read_tray(channel)) {
            continue;
        }
        const enum channel_receipt receipt = read_some(channel, wanted - channel->in_used, waits);
        if (receipt != CHANNEL_RECEIVED) {
            return receipt;
        }
    }
}

enum channel_receipt channel_await(struct channel *channel, struct received **received_out)
{
    enum channel_receipt receipt;
    do {
        receipt = channel_receive(channel, /* waits */ false, received_out);
    } while (receipt == CHANNEL_EMPTY && wait_for(channel->socket, POLLIN));
    return receipt;
}
