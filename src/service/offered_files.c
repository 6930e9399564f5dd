#include "service/offered_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/units.h"
#include "document/folder.h"
#include "engine/monotonic.h"
#include "fabric/file_proof.h"
#include "runtime/runtime.h"
#include "service/sums.h"

#define NONCE_NS (60 * NS_PER_S) /* So long a nonce is given out; it holds twice as long. */

struct offered_file {
    char sum[SUMS_DIGITS + 1];
    uint64_t bytes;
    char path[OFFERED_PATH_BYTES]; /* Below the folder. */
};

struct offered_files {
    const char *folder;
    const struct trust *trust;
    struct offered_guard guard;
    struct runtime *runtime;
    char nonces[2][FILE_NONCE_BYTES]; /* The one that is given out, and that before. */
    int64_t nonce_ns;                 /* Since when it is. */

    pthread_mutex_t lock; /* Of the rest. */
    uint32_t count;
    struct offered_file *items;
};

/* One call of another node, on its way through another thread. */
struct asked {
    struct offered_files *files;
    char path[SERVER_FILES_PATH_BYTES];
    char nonce[FILE_NONCE_BYTES]; /* That was answered. */
    server_fetched fetched;
    void *asker;
    uint32_t status;
    char *bytes;
    size_t count;
};

/* Where a challenge is got from. */
static bool is_challenge(const char *path)
{
    return strcmp(path, OFFERED_ROUTE OFFERED_CHALLENGE) == 0;
}

/* The nonce that is given out now. NULL: the system has none. */
static const char *current_nonce(struct offered_files *files)
{
    const int64_t now_ns = monotonic_ns();
    char nonce[FILE_NONCE_BYTES];
    if (files->nonces[0][0] != '\0' && now_ns - files->nonce_ns < NONCE_NS) {
        return files->nonces[0];
    }
    if (!file_nonce(nonce)) {
        return NULL;
    }
    memcpy(files->nonces[1], files->nonces[0], FILE_NONCE_BYTES);
    memcpy(files->nonces[0], nonce, FILE_NONCE_BYTES);
    files->nonce_ns = now_ns;
    return files->nonces[0];
}

void offered_statement(const char *name, const char *path, char out[static OFFERED_PATH_BYTES])
{
    (void)snprintf(out, OFFERED_PATH_BYTES, "%s %s", name, path);
}

/* The nonce that @proof, of the node called @name, answers, of those that hold. NULL: none. */
static const char *proven_nonce(
    struct offered_files *files, const char *path, const char *name, const char *proof)
{
    char text[OFFERED_PATH_BYTES];
    offered_statement(name, path, text);
    (void)current_nonce(files); /* What is too old goes. */
    for (uint32_t i = 0; i < 2; i++) {
        if (files->nonces[i][0] != '\0' &&
            file_proof_check(files->trust, OFFERED_ASK, files->nonces[i], text, proof, name)) {
            return files->nonces[i];
        }
    }
    return NULL;
}

/*
 * Whether who gives "NAME PROOF" may have @path: 200, and the nonce that it answers; or else what
 * is to be answered. Only who is proven is told more than that it is not.
 */
static uint32_t admit(
    struct offered_files *files, const char *path, const char *given, const char **nonce_out)
{
    const struct offered_guard *guard = &files->guard;
    char name[NAME_BYTES_MAX];
    const size_t length = strcspn(given, " ");
    if (length == 0 || length >= sizeof(name) || given[length] == '\0') {
        return OFFERED_UNPROVEN;
    }
    (void)snprintf(name, sizeof(name), "%.*s", (int)length, given);
    *nonce_out = proven_nonce(files, path, name, given + length + 1);
    if (*nonce_out == NULL) {
        return OFFERED_UNPROVEN;
    }
    if (!guard->is_member(guard->context, name)) {
        return OFFERED_STRANGER;
    }
    return guard->is_there(guard->context, name) ? 200 : OFFERED_EARLY;
}

/* Samples are of no use to a server that only works for others. */
static bool is_offered(const struct folder_entry *entry, uint32_t depth)
{
    return entry->status == WEFT_OK && (depth > 0 || strcmp(entry->name, "inputs") != 0);
}

static void add_file(struct offered_files *files, const struct folder_entry *entry)
{
    struct offered_file *item = &files->items[files->count];
    const char *path = entry->path + strlen(files->folder);
    path += strspn(path, "/");
    if (strlen(path) < sizeof(item->path) && strchr(path, '\n') == NULL &&
        sums_file(entry->path, item->sum, NULL) == WEFT_OK) {
        item->bytes = entry->bytes;
        (void)snprintf(item->path, sizeof(item->path), "%s", path);
        files->count++;
    }
}

static void add_folder(
    struct offered_files *files, struct arena *arena, const char *path, uint32_t depth)
{
    struct folder folder;
    if (depth == OFFERED_DEPTH_MAX ||
        folder_list(arena, files->folder, path, &folder, NULL) != WEFT_OK) {
        return;
    }
    for (uint32_t i = 0; i < folder.count && files->count < OFFERED_FILES_MAX; i++) {
        const struct folder_entry *entry = &folder.entries[i];
        if (!is_offered(entry, depth)) {
            continue;
        }
        if (entry->is_folder) {
            add_folder(files, arena, entry->path, depth + 1);
        } else {
            add_file(files, entry);
        }
    }
}

/* Look at all files again. */
static void look(struct offered_files *files)
{
    struct arena arena;
    arena_init(&arena);
    files->count = 0;
    add_folder(files, &arena, files->folder, 0);
    arena_deinit(&arena);
}

/* The last line of a list shows that this node has made it. */
static bool add_proof(struct asked *asked)
{
    char proof[FILE_PROOF_BYTES];
    const size_t room = OFFERED_LIST_BYTES_MAX - asked->count;
    asked->bytes[asked->count] = '\0';
    if (!file_proof_make(asked->files->trust, OFFERED_LIST, asked->nonce, asked->bytes, proof)) {
        return false;
    }
    const int length =
        snprintf(asked->bytes + asked->count, room, OFFERED_PROOF_LINE "%s\n", proof);
    asked->count += (size_t)length;
    return length > 0 && (size_t)length < room;
}

static void make_list(struct asked *asked)
{
    struct offered_files *files = asked->files;
    look(files);
    asked->bytes = malloc(OFFERED_LIST_BYTES_MAX);
    for (uint32_t i = 0; asked->bytes != NULL && i < files->count; i++) {
        const struct offered_file *item = &files->items[i];
        const size_t room = OFFERED_LIST_BYTES_MAX - asked->count;
        const int length = snprintf(
            asked->bytes + asked->count, room, "%s %" PRIu64 " %s\n", item->sum, item->bytes,
            item->path);
        if (length < 0 || (size_t)length >= room) {
            break;
        }
        asked->count += (size_t)length;
    }
    asked->status = asked->bytes != NULL && add_proof(asked) ? 200 : 503;
}

static void read_piece(struct asked *asked, const struct offered_file *item, uint64_t offset)
{
    char path[2 * OFFERED_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/%s", asked->files->folder, item->path);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    asked->bytes = malloc(OFFERED_PIECE_BYTES);
    const ssize_t count = file < 0 || asked->bytes == NULL
                              ? -1
                              : pread(file, asked->bytes, OFFERED_PIECE_BYTES, (off_t)offset);
    if (file >= 0) {
        (void)close(file); /* It was only read. */
    }
    asked->count = count < 0 ? 0 : (size_t)count;
    asked->status = count < 0 ? 503 : 200;
}

/* "/SUM/OFFSET" */
static void find_piece(struct asked *asked, const char *wanted)
{
    struct offered_files *files = asked->files;
    char *end = NULL;
    asked->status = 404;
    if (strlen(wanted) < SUMS_DIGITS + 3 || wanted[SUMS_DIGITS + 1] != '/') {
        return;
    }
    const uint64_t offset = strtoull(wanted + SUMS_DIGITS + 2, &end, 10);
    if (*end != '\0' || offset > INT64_MAX) {
        return;
    }
    if (files->count == 0) {
        look(files); /* This process has started since the list was asked for. */
    }
    for (uint32_t i = 0; i < files->count; i++) {
        if (strncmp(files->items[i].sum, wanted + 1, SUMS_DIGITS) == 0) {
            read_piece(asked, &files->items[i], offset);
            return;
        }
    }
}

/* On another thread. */
static void work(void *argument)
{
    struct asked *asked = argument;
    const char *rest = asked->path + strlen(OFFERED_ROUTE);
    (void)pthread_mutex_lock(&asked->files->lock);
    if (rest[0] == '\0') {
        make_list(asked);
    } else {
        find_piece(asked, rest);
    }
    (void)pthread_mutex_unlock(&asked->files->lock);
}

static void on_worked(void *argument)
{
    struct asked *asked = argument;
    asked->fetched(asked->asker, asked->status, asked->bytes, asked->count);
    free(asked);
}

static void fetch(
    void *context, const char *path, const char *proof, server_fetched fetched, void *asker)
{
    struct offered_files *files = context;
    const char *nonce = NULL;
    if (is_challenge(path)) {
        nonce = current_nonce(files);
        char *bytes = nonce == NULL ? NULL : strdup(nonce);
        fetched(asker, bytes == NULL ? 500 : 200, bytes, bytes == NULL ? 0 : strlen(bytes));
        return;
    }
    const uint32_t status = admit(files, path, proof, &nonce);
    if (status != 200) {
        fetched(asker, status, /* bytes */ NULL, /* count */ 0);
        return;
    }
    struct asked *asked = memory_zeroed(1, sizeof(*asked));
    asked->files = files;
    asked->fetched = fetched;
    asked->asker = asker;
    memcpy(asked->nonce, nonce, sizeof(asked->nonce));
    (void)snprintf(asked->path, sizeof(asked->path), "%s", path);
    runtime_work(files->runtime, work, on_worked, asked);
}

struct offered_files *offered_files_create(
    const char *folder, const struct trust *trust, const struct offered_guard *guard)
{
    struct offered_files *files = memory_zeroed(1, sizeof(*files));
    files->folder = folder;
    files->trust = trust;
    files->guard = *guard;
    files->items = memory_zeroed(OFFERED_FILES_MAX, sizeof(*files->items));
    (void)pthread_mutex_init(&files->lock, NULL);
    return files;
}

void offered_files_destroy(struct offered_files *files)
{
    if (files != NULL) {
        (void)pthread_mutex_destroy(&files->lock);
        free(files->items);
        free(files);
    }
}

struct server_files offered_files_parts(struct offered_files *files, struct runtime *runtime)
{
    files->runtime = runtime;
    return (struct server_files){.context = files, .fetch = fetch};
}
