/*
 * directory_file.c - members as small files in a folder, which needs no daemon.
 *
 *     NAME.7.member    the seventh process of that name: what it says, and a number that grows
 *     NAME.7.gone      it is not a member any more, whatever it thinks
 *     NAME.7.drain     it was asked to leave
 *
 * No file is locked, since a process may stand still while it has the lock. Who creates the next
 * number of a name holds it; the file is linked into place whole, which one process alone can do.
 * A process whose number has not grown for a lease is gone: the first that notices says so by a
 * file, which all others obey, the process itself included. Clocks are not compared.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"
#include "directory/back_ends.h"
#include "engine/monotonic.h"
#include "fabric/trust.h"

#define LEASE_NS (DIRECTORY_LEASE_MS * NS_PER_MS)

enum {
    LOOK_MS = 250, /* Between two looks at the folder. */
    FILE_NAME_BYTES = 2 * NAME_BYTES_MAX,
    HOLDERS_MAX = 2 * DIRECTORY_MEMBERS_MAX, /* Each node may have been a guest before. */
    SUFFIXES = 3,
};

enum suffix { SUFFIX_MEMBER, SUFFIX_GONE, SUFFIX_DRAIN };

static const char *const suffixes[SUFFIXES] = {
    [SUFFIX_MEMBER] = "member", [SUFFIX_GONE] = "gone", [SUFFIX_DRAIN] = "drain"};

/* A name, and its newest holder as far as it was seen. */
struct holder {
    struct member member; /* Its incarnation is that of the newest file of any kind. */
    uint64_t beat;
    int64_t since_ns; /* When that number was first seen. */
    bool is_there;    /* It has a file that makes sense. */
    bool is_gone;
};

struct directory_file {
    struct directory base;
    int folder;
    uint64_t nonce; /* No other process has it: for the name of the file that it writes to. */
    char path[PATH_MAX];
    uint64_t beat;
    int64_t looked_ns;
    uint32_t count;
    struct holder holders[HOLDERS_MAX];
};

static struct directory_file *file_from(struct directory *directory)
{
    return (struct directory_file *)directory; /* base is the first member. */
}

static enum weft_status fail(
    const struct directory_file *directory, const char *what, struct weft_error *error)
{
    return error_set(error, WEFT_IO, "%.150s: %s: %s", directory->path, what, strerror(errno));
}

static void name_file(const struct member *member, enum suffix suffix, char out[FILE_NAME_BYTES])
{
    (void)snprintf(
        out, FILE_NAME_BYTES, "%s.%" PRIu64 ".%s", member->name, member->incarnation,
        suffixes[suffix]);
}

/* Take "NAME.7.member" apart. */
static bool parse_name(const char *file, struct member *member_out, enum suffix *suffix_out)
{
    char text[FILE_NAME_BYTES];
    if (file[0] == '.' || snprintf(text, sizeof(text), "%s", file) >= (int)sizeof(text)) {
        return false;
    }
    char *suffix = strrchr(text, '.');
    if (suffix == NULL) {
        return false;
    }
    *suffix++ = '\0';
    char *number = strrchr(text, '.');
    if (number == NULL || number == text || number - text >= NAME_BYTES_MAX) {
        return false;
    }
    *number++ = '\0';
    char *end = NULL;
    *member_out = (struct member){.incarnation = strtoull(number, &end, 10)};
    memcpy(member_out->name, text, strlen(text));
    for (uint32_t i = 0; i < SUFFIXES; i++) {
        if (strcmp(suffix, suffixes[i]) == 0) {
            *suffix_out = (enum suffix)i;
            return end != number && *end == '\0' && member_out->incarnation > 0;
        }
    }
    return false;
}

static struct holder *holder_of(struct directory_file *directory, const char *name)
{
    for (uint32_t i = 0; i < directory->count; i++) {
        if (strcmp(directory->holders[i].member.name, name) == 0) {
            return &directory->holders[i];
        }
    }
    if (directory->count == HOLDERS_MAX) {
        return NULL;
    }
    struct holder *holder = &directory->holders[directory->count++];
    *holder = (struct holder){.is_there = false};
    (void)snprintf(holder->member.name, sizeof(holder->member.name), "%s", name);
    return holder;
}

static bool has_file(
    const struct directory_file *directory, const struct member *member, enum suffix suffix)
{
    char name[FILE_NAME_BYTES];
    name_file(member, suffix, name);
    return faccessat(directory->folder, name, F_OK, 0) == 0;
}

/* Make an empty file, unless it is there. */
static bool mark(
    const struct directory_file *directory, const struct member *member, enum suffix suffix)
{
    char name[FILE_NAME_BYTES];
    name_file(member, suffix, name);
    const int file = openat(directory->folder, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    return file >= 0 && close(file) == 0;
}

/* Read what the holder says. False if the file is gone by now, or makes no sense. */
static bool read_holder(const struct directory_file *directory, struct holder *holder)
{
    char name[FILE_NAME_BYTES];
    char text[MEMBER_TEXT_BYTES];
    struct member said;
    uint64_t beat;
    name_file(&holder->member, SUFFIX_MEMBER, name);
    const int file = openat(directory->folder, name, O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = file < 0 ? -1 : read(file, text, sizeof(text));
    if (file >= 0) {
        (void)close(file); /* It was only read. */
    }
    if (bytes <= 0 || !member_decode(text, (size_t)bytes, holder->member.name, &said, &beat)) {
        return false;
    }
    said.incarnation = holder->member.incarnation;
    if (!holder->is_there || beat != holder->beat) {
        holder->since_ns = directory->looked_ns;
    }
    holder->member = said;
    holder->beat = beat;
    return true;
}

/* Open the folder that is there now: it may have been mounted again. */
static enum weft_status open_folder(struct directory_file *directory, struct weft_error *error)
{
    const int folder = open(directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return fail(directory, "cannot be read", error);
    }
    if (directory->folder >= 0) {
        (void)close(directory->folder); /* Nothing was written there. */
    }
    directory->folder = folder;
    return WEFT_OK;
}

/* For readdir(). NULL if the system has no more descriptors. */
static DIR *open_entries(const struct directory_file *directory)
{
    const int copy = openat(directory->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    if (copy >= 0 && entries == NULL) {
        (void)close(copy);
    }
    return entries;
}

/* Note what names there are, and the newest number of each. */
static enum weft_status scan(struct directory_file *directory, struct weft_error *error)
{
    const enum weft_status status = open_folder(directory, error);
    DIR *folder = status == WEFT_OK ? open_entries(directory) : NULL;
    if (folder == NULL) {
        return status == WEFT_OK ? fail(directory, "cannot be read", error) : status;
    }
    for (const struct dirent *at = readdir(folder); at != NULL; at = readdir(folder)) {
        struct member member;
        enum suffix suffix;
        struct holder *holder =
            parse_name(at->d_name, &member, &suffix) ? holder_of(directory, member.name) : NULL;
        if (holder != NULL && member.incarnation > holder->member.incarnation) {
            *holder = (struct holder){.member = member};
        }
    }
    (void)closedir(folder); /* It was only read. */
    return WEFT_OK;
}

/* Look at the folder, and say who is gone. */
static enum weft_status look(struct directory_file *directory, struct weft_error *error)
{
    const int64_t now_ns = monotonic_ns();
    const bool stood_still = now_ns - directory->looked_ns > LEASE_NS / 2;
    directory->looked_ns = now_ns;
    const enum weft_status status = scan(directory, error);
    for (uint32_t i = 0; status == WEFT_OK && i < directory->count; i++) {
        struct holder *holder = &directory->holders[i];
        const bool was_there = holder->is_there;
        holder->is_there = read_holder(directory, holder);
        if (stood_still && was_there) {
            holder->since_ns = now_ns; /* It may have said something meanwhile. */
        }
        if (holder->is_there && now_ns - holder->since_ns > LEASE_NS) {
            (void)mark(directory, &holder->member, SUFFIX_GONE); /* Or the next look does. */
        }
        holder->is_gone = !holder->is_there || has_file(directory, &holder->member, SUFFIX_GONE);
        holder->member.drains = has_file(directory, &holder->member, SUFFIX_DRAIN);
    }
    return status;
}

/* Write what @self says to a file of this process alone. */
static enum weft_status write_beside(
    struct directory_file *directory, const struct member *self, char name_out[FILE_NAME_BYTES],
    struct weft_error *error)
{
    char text[MEMBER_TEXT_BYTES];
    directory->beat++;
    const size_t bytes = member_encode(self, directory->beat, text);
    ASSERT(bytes > 0);
    (void)snprintf(name_out, FILE_NAME_BYTES, ".%s.%016" PRIx64, self->name, directory->nonce);
    const int file =
        openat(directory->folder, name_out, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    if (file < 0) {
        return fail(directory, "cannot be written to", error);
    }
    const bool is_written = write(file, text, bytes) == (ssize_t)bytes;
    if (close(file) != 0 || !is_written) {
        return fail(directory, "cannot be written to", error);
    }
    return WEFT_OK;
}

/* Whether @file is one that a process of that name wrote to, as write_beside() does. */
static bool is_beside(const char *file, const char *name)
{
    const size_t length = strlen(name);
    return file[0] == '.' && strncmp(file + 1, name, length) == 0 && file[length + 1] == '.' &&
           strchr(file + length + 2, '.') == NULL;
}

/* Remove the files of all earlier holders of the name. */
static void clean(const struct directory_file *directory, const struct member *self)
{
    DIR *folder = open_entries(directory);
    for (const struct dirent *at = folder == NULL ? NULL : readdir(folder); at != NULL;
         at = readdir(folder)) {
        struct member member;
        enum suffix suffix;
        if (is_beside(at->d_name, self->name) ||
            (parse_name(at->d_name, &member, &suffix) && strcmp(member.name, self->name) == 0 &&
             member.incarnation < self->incarnation)) {
            (void)unlinkat(directory->folder, at->d_name, 0); /* It is of no importance. */
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
}

/* Be the next holder. WEFT_BUSY: another was faster. */
static enum weft_status take(
    struct directory_file *directory, struct member *self, struct weft_error *error)
{
    char beside[FILE_NAME_BYTES];
    char name[FILE_NAME_BYTES];
    const struct holder *holder = holder_of(directory, self->name);
    if (holder == NULL) {
        return error_set(
            error, WEFT_LIMIT, "%.150s: has more than %d names", directory->path, HOLDERS_MAX);
    }
    struct member next = *self;
    const uint64_t last = holder->member.incarnation;
    next.incarnation = (last > self->incarnation ? last : self->incarnation) + 1;
    name_file(&next, SUFFIX_MEMBER, name);
    enum weft_status status = write_beside(directory, &next, beside, error);
    if (status != WEFT_OK) {
        return status;
    }
    if (linkat(directory->folder, beside, directory->folder, name, 0) != 0) {
        status = errno == EEXIST || errno == ENOENT
                     ? WEFT_BUSY
                     : fail(directory, "cannot be written to", error);
    } else {
        *self = next;
        clean(directory, self);
    }
    (void)unlinkat(directory->folder, beside, 0); /* It has served its purpose. */
    return status;
}

static enum weft_status file_join(
    struct directory *base, struct member *self, struct weft_error *error)
{
    struct directory_file *directory = file_from(base);
    const int64_t end_ns = monotonic_ns() + LEASE_NS + LEASE_NS / 2;
    enum weft_status status = WEFT_BUSY;
    while (status == WEFT_BUSY && monotonic_ns() < end_ns) {
        status = look(directory, error);
        const struct holder *holder = status == WEFT_OK ? holder_of(directory, self->name) : NULL;
        if (holder != NULL && holder->is_there && !holder->is_gone) {
            status = WEFT_BUSY;
            directory_pause(LOOK_MS);
        } else if (status == WEFT_OK) {
            status = take(directory, self, error);
        }
    }
    return status != WEFT_BUSY
               ? status
               : error_set(
                     error, WEFT_EXISTS, "%.150s: the name '%s' is held by another process",
                     directory->path, self->name);
}

static enum weft_status file_keep(
    struct directory *base, const struct member *self, struct weft_error *error)
{
    struct directory_file *directory = file_from(base);
    char beside[FILE_NAME_BYTES];
    char name[FILE_NAME_BYTES];
    enum weft_status status = open_folder(directory, error);
    if (status != WEFT_OK) {
        return status;
    }
    if (!has_file(directory, self, SUFFIX_MEMBER) || has_file(directory, self, SUFFIX_GONE)) {
        return error_set(
            error, WEFT_LOST, "%.150s: the name '%s' is not held any more", directory->path,
            self->name);
    }
    name_file(self, SUFFIX_MEMBER, name);
    status = write_beside(directory, self, beside, error);
    if (status == WEFT_OK && renameat(directory->folder, beside, directory->folder, name) != 0) {
        status = fail(directory, "cannot be written to", error);
    }
    return status;
}

static enum weft_status file_list(
    struct directory *base, uint32_t wait_ms, struct member_list *list_out,
    struct weft_error *error)
{
    struct directory_file *directory = file_from(base);
    directory_pause(wait_ms < LOOK_MS ? wait_ms : LOOK_MS);
    const enum weft_status status = look(directory, error);
    if (status != WEFT_OK) {
        return status;
    }
    list_out->count = 0;
    for (uint32_t i = 0; i < directory->count; i++) {
        const struct holder *holder = &directory->holders[i];
        if (holder->is_there && !holder->is_gone) {
            member_insert(list_out, &holder->member);
        }
    }
    return WEFT_OK;
}

static enum weft_status file_ask_to_drain(
    struct directory *base, const struct member *member, struct weft_error *error)
{
    struct directory_file *directory = file_from(base);
    return mark(directory, member, SUFFIX_DRAIN) ? WEFT_OK
                                                 : fail(directory, "cannot be written to", error);
}

static void file_leave(struct directory *base, const struct member *self)
{
    (void)mark(file_from(base), self, SUFFIX_GONE); /* Or its lease ends. */
}

static void file_destroy(struct directory *base)
{
    struct directory_file *directory = file_from(base);
    (void)close(directory->folder); /* Nothing is written there. */
    free(directory);
}

static const struct directory_ops file_ops = {
    .name = "file",
    .join = file_join,
    .keep = file_keep,
    .list = file_list,
    .ask_to_drain = file_ask_to_drain,
    .leave = file_leave,
    .destroy = file_destroy,
};

enum weft_status directory_file_open(
    const char *folder, struct directory **directory_out, struct weft_error *error)
{
    struct directory_file *directory = memory_zeroed(1, sizeof(*directory));
    directory->base.ops = &file_ops;
    directory->folder = -1;
    uint8_t nonce[TRUST_NONCE_BYTES] = {0};
    (void)trust_nonce(nonce); /* Without it, two that join at once may both have to try again. */
    memcpy(&directory->nonce, nonce, sizeof(directory->nonce));
    enum weft_status status = WEFT_OK;
    if (snprintf(directory->path, sizeof(directory->path), "%s", folder) >=
        (int)sizeof(directory->path)) {
        errno = ENAMETOOLONG;
        status = fail(directory, "cannot be used", error);
    } else if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        status = fail(directory, "cannot be made", error);
    }
    if (status == WEFT_OK) {
        status = open_folder(directory, error);
    }
    if (status != WEFT_OK) {
        free(directory);
        return status;
    }
    *directory_out = &directory->base;
    return WEFT_OK;
}
