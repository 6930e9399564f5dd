#include "fabric/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/numbers.h"

enum {
    MAGIC = 0x676e6972, /* "ring" */
    VERSION = 2,
    LINE_BYTES = 64, /* What two processes write is in lines of its own. */
    FILES_MAX = 4,   /* Passed at once; all but one are closed. */
    WAKES_BYTES = 256,
};

/* How a side sleeps: LIGHTLY, it is woken for quiet bytes as well. */
enum sleep { AWAKE, ASLEEP, LIGHTLY };

/* One ring, as both sides see it. Positions count all bytes ever. */
struct track {
    _Alignas(LINE_BYTES) _Atomic uint64_t written;
    _Alignas(LINE_BYTES) _Atomic uint64_t taken;
    _Alignas(LINE_BYTES) _Atomic uint32_t reader_sleeps; /* enum sleep */
    _Alignas(LINE_BYTES) _Atomic uint32_t writer_sleeps; /* Likewise. */
};

struct control {
    uint32_t magic;
    uint32_t version;
    struct track forth;
    struct track back;
};

_Static_assert(sizeof(struct control) <= RINGS_CONTROL_BYTES, "the rings follow");
_Static_assert((RINGS_FORTH_BYTES & (RINGS_FORTH_BYTES - 1)) == 0, "positions are masked");
_Static_assert((RINGS_BACK_BYTES & (RINGS_BACK_BYTES - 1)) == 0, "positions are masked");

/* One ring, as this side sees it. */
struct end {
    struct track *track;
    uint8_t *bytes;
    uint64_t room;
    uint64_t at; /* Own position. */
};

struct rings {
    struct control *control;
    int socket;
    struct end in;
    struct end out;
    enum sleep sleep; /* As a reader. */
    const char *cause;
};

/* Map @file, which the caller closes. NULL if that fails. */
static struct rings *map(int file, int socket, bool is_maker)
{
    struct rings *rings = memory_reserved_zeroed(1, sizeof(*rings));
    void *memory =
        mmap(NULL, RINGS_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, /* offset */ 0);
    if (rings == NULL || memory == MAP_FAILED) {
        if (memory != MAP_FAILED) {
            (void)munmap(memory, RINGS_FILE_BYTES);
        }
        free(rings);
        return NULL;
    }
    (void)madvise(memory, RINGS_FILE_BYTES, MADV_DONTFORK); /* Other processes need it not. */
    struct control *control = memory;
    uint8_t *forth_bytes = (uint8_t *)memory + RINGS_CONTROL_BYTES;
    const struct end forth = {
        .track = &control->forth, .bytes = forth_bytes, .room = RINGS_FORTH_BYTES};
    const struct end back = {
        .track = &control->back,
        .bytes = forth_bytes + RINGS_FORTH_BYTES,
        .room = RINGS_BACK_BYTES};
    rings->control = control;
    rings->sleep = LIGHTLY;
    rings->socket = socket;
    rings->in = is_maker ? back : forth;
    rings->out = is_maker ? forth : back;
    return rings;
}

static bool pass(int socket, int file)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &file, sizeof(file));
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

struct rings *rings_create(int socket)
{
    struct rings *rings = NULL;
    const int file = memfd_create("weft-rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) {
        return NULL;
    }
    if (ftruncate(file, RINGS_FILE_BYTES) == 0 &&
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
        rings = map(file, socket, /* is_maker */ true);
    }
    if (rings != NULL) {
        rings->control->magic = MAGIC;
        rings->control->version = VERSION;
        if (!pass(socket, file)) {
            rings_destroy(rings);
            rings = NULL;
        }
    }
    (void)close(file); /* The mapping keeps it. */
    return rings;
}

/*
 * Receive the file that was passed. -1, with *@cause_out, if none was, and with NULL there if
 * nothing has come.
 */
static int receive_file(int socket, const char **cause_out)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(FILES_MAX * sizeof(int))];
    } control = {.bytes = {0}};
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes)};
    int found = -1;
    const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        *cause_out = NULL;
        return -1;
    }
    *cause_out = got <= 0 ? "closed by the peer" : "no shared memory was passed";
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); got > 0 && head != NULL;
         head = CMSG_NXTHDR(&message, head)) {
        const size_t bytes = head->cmsg_len - CMSG_LEN(0);
        for (size_t at = 0; head->cmsg_type == SCM_RIGHTS && at + sizeof(int) <= bytes;
             at += sizeof(int)) {
            int file;
            memcpy(&file, CMSG_DATA(head) + at, sizeof(file));
            if (found < 0) {
                found = file;
            } else {
                (void)close(file); /* More than was asked for. */
            }
        }
    }
    return found;
}

/* Whether reading and writing @file, mapped, can never fail, whatever the other side does. */
static bool is_safe(int file)
{
    const int seals = fcntl(file, F_GET_SEALS);
    struct stat about;
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && (seals & F_SEAL_WRITE) == 0 &&
           fstat(file, &about) == 0 && about.st_size == RINGS_FILE_BYTES;
}

struct rings *rings_accept(int socket, const char **cause_out)
{
    struct rings *rings = NULL;
    const int file = receive_file(socket, cause_out);
    if (file < 0) {
        return NULL;
    }
    *cause_out = "not the shared memory of a node";
    if (is_safe(file)) {
        rings = map(file, socket, /* is_maker */ false);
    }
    (void)close(file);
    if (rings != NULL && (rings->control->magic != MAGIC || rings->control->version != VERSION)) {
        *cause_out = "shared memory of another version";
        rings_destroy(rings);
        rings = NULL;
    }
    return rings;
}

void rings_destroy(struct rings *rings)
{
    if (rings != NULL) {
        (void)munmap(rings->control, RINGS_FILE_BYTES);
        free(rings);
    }
}

/* Wake the other side, if it sleeps; @is_quiet: if it does so lightly. */
static void wake(const struct rings *rings, _Atomic uint32_t *sleeps, bool is_quiet)
{
    const uint32_t sleep = atomic_load(sleeps);
    if (sleep != AWAKE && !(is_quiet && sleep == ASLEEP)) {
        atomic_store(sleeps, AWAKE);
        /* If there is no room, bytes wait there that wake it. */
        (void)send(rings->socket, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

/* Take the wake-ups. False if the other side is gone. */
static bool take_wakes(struct rings *rings)
{
    char bytes[WAKES_BYTES];
    const ssize_t got = recv(rings->socket, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) {
        return true;
    }
    rings->cause = got == 0 ? "closed by the peer" : "broken by the peer";
    return false;
}

/* Bytes between two positions. UINT64_MAX if one of them is impossible. */
static uint64_t distance(struct rings *rings, const struct end *end, uint64_t to, uint64_t from)
{
    if (to - from > end->room) {
        rings->cause = "an impossible position in shared memory";
        return UINT64_MAX;
    }
    return to - from;
}

static ptrdiff_t take(struct rings *rings, uint8_t *bytes, size_t room)
{
    struct end *in = &rings->in;
    const uint64_t there = distance(rings, in, atomic_load(&in->track->written), in->at);
    if (there == UINT64_MAX) {
        return -1;
    }
    const size_t count = min_size((size_t)there, room);
    if (count == 0) {
        return 0;
    }
    const size_t from = (size_t)(in->at & (in->room - 1));
    const size_t first = min_size(count, (size_t)in->room - from);
    memcpy(bytes, in->bytes + from, first);
    memcpy(bytes + first, in->bytes, count - first);
    in->at += count;
    atomic_store(&in->track->taken, in->at);
    if (there - count <= in->room / 2) {
        wake(rings, &in->track->writer_sleeps, /* is_quiet */ false);
    }
    return (ptrdiff_t)count;
}

ptrdiff_t rings_read(struct rings *rings, void *bytes, size_t room)
{
    ptrdiff_t got = take(rings, bytes, room);
    if (got != 0) {
        return got;
    }
    const bool is_there = take_wakes(rings); /* Before it sleeps: the next one is needed. */
    atomic_store(&rings->in.track->reader_sleeps, rings->sleep);
    got = take(rings, bytes, room);
    return got == 0 && !is_there ? -1 : got;
}

/* How much can be written. UINT64_MAX if the other side lies. */
static uint64_t room_left(struct rings *rings)
{
    const struct end *out = &rings->out;
    const uint64_t used = distance(rings, out, out->at, atomic_load(&out->track->taken));
    return used == UINT64_MAX ? UINT64_MAX : out->room - used;
}

static void put(struct end *out, const uint8_t *bytes, size_t count)
{
    const size_t to = (size_t)(out->at & (out->room - 1));
    const size_t first = min_size(count, (size_t)out->room - to);
    memcpy(out->bytes + to, bytes, first);
    memcpy(out->bytes, bytes + first, count - first);
    out->at += count;
}

ptrdiff_t rings_write(struct rings *rings, const struct iovec *parts, int part_count, bool is_quiet)
{
    struct end *out = &rings->out;
    size_t left = 0;
    uint64_t room = room_left(rings);
    if (room == 0) {
        atomic_store(&out->track->writer_sleeps, ASLEEP);
        room = room_left(rings); /* It may have read before it saw that. */
    }
    if (room == 0 || room == UINT64_MAX) {
        if (room == 0) { /* Of what was quiet the other side knows nothing. */
            wake(rings, &out->track->reader_sleeps, /* is_quiet */ false);
        }
        return room == 0 ? 0 : -1;
    }
    const uint64_t before = out->at;
    for (int i = 0; i < part_count; i++) {
        const size_t count = min_size(parts[i].iov_len, (size_t)(room - (out->at - before)));
        if (count > 0) {
            put(out, parts[i].iov_base, count);
        }
        left += parts[i].iov_len - count;
    }
    atomic_store(&out->track->written, out->at);
    wake(rings, &out->track->reader_sleeps, is_quiet && left == 0);
    return (ptrdiff_t)(out->at - before);
}

bool rings_has_bytes(const struct rings *rings)
{
    return atomic_load(&rings->in.track->written) != rings->in.at;
}

bool rings_attend(struct rings *rings, bool attends)
{
    _Atomic uint32_t *sleeps = &rings->in.track->reader_sleeps;
    uint32_t before = attends ? ASLEEP : LIGHTLY;
    rings->sleep = attends ? LIGHTLY : ASLEEP;
    (void)atomic_compare_exchange_strong(sleeps, &before, rings->sleep); /* It may be awake. */
    return rings_has_bytes(rings);
}

const char *rings_cause(const struct rings *rings)
{
    return rings->cause;
}
