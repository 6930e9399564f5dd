#include "cuda/keeper.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

enum { ANSWER_MS_MAX = 2000 }; /* A keeper that takes longer is as good as gone. */

enum keeper_kind { KEEP_ATTACH, KEEP_TAKE, KEEP_GIVE, KEEP_DROP, KEEP_RETAIN, KEEP_TAKEN };

/* What every packet to and from a keeper holds. */
struct keeper_word {
    uint64_t bytes;
    struct keeper_name name;
    uint32_t count; /* RETAIN: of versions, which follow. */
    uint32_t versions[ARTIFACT_VERSIONS_MAX];
    uint32_t padding;
};

void cuda_keeper_open(struct cuda_keeper *keeper, int socket)
{
    *keeper = (struct cuda_keeper){.is_there = socket >= 0};
    channel_init(&keeper->channel, socket);
}

void cuda_keeper_close(struct cuda_keeper *keeper)
{
    channel_deinit(&keeper->channel);
    packet_deinit(&keeper->packet);
    cuda_keeper_open(keeper, /* socket */ -1);
}

/* Send @word with @file, or none if that is -1. */
static bool say(
    struct channel *channel, struct packet *packet, enum keeper_kind kind,
    const struct keeper_word *word, int file)
{
    uint32_t place;
    packet_start(packet, kind);
    packet_put(packet, word, sizeof(*word));
    if (file >= 0) {
        (void)packet_put_file(packet, file, /* is_owned */ false, &place); /* The only one. */
    }
    return channel_send_wait(channel, packet);
}

static bool hear(const struct received *received, struct keeper_word *word_out)
{
    struct packet_reader reader;
    reader_init(&reader, received);
    reader_take(&reader, word_out, sizeof(*word_out));
    return !reader.is_bad;
}

/* Wait for an answer, which comes in one piece. */
static bool has_answered(const struct cuda_keeper *keeper)
{
    struct pollfd ready = {.fd = keeper->channel.socket, .events = POLLIN};
    return poll(&ready, 1, ANSWER_MS_MAX) == 1;
}

enum weft_status cuda_keeper_take(
    struct cuda_keeper *keeper, struct keeper_name name, uint64_t bytes, int *file_out,
    struct weft_error *error)
{
    const struct keeper_word word = {.name = name, .bytes = bytes};
    struct received *received;
    if (!keeper->is_there ||
        !say(&keeper->channel, &keeper->packet, KEEP_TAKE, &word, /* file */ -1) ||
        !has_answered(keeper) ||
        channel_receive(&keeper->channel, /* waits */ true, &received) != CHANNEL_RECEIVED ||
        received->kind != KEEP_TAKEN) {
        cuda_keeper_close(keeper);
        return error_set(error, WEFT_LOST, "the process that keeps weights is gone");
    }
    if (received->file_count != 1) {
        return error_set(error, WEFT_NOT_FOUND, "these weights are not kept");
    }
    *file_out = received->files[0];
    received->files[0] = -1;
    return WEFT_OK;
}

void cuda_keeper_give(struct cuda_keeper *keeper, struct keeper_name name, uint64_t bytes, int file)
{
    const struct keeper_word word = {.name = name, .bytes = bytes};
    if (keeper->is_there) {
        keeper->is_there = say(&keeper->channel, &keeper->packet, KEEP_GIVE, &word, file);
    }
}

void cuda_keeper_drop(struct cuda_keeper *keeper, struct keeper_name name)
{
    const struct keeper_word word = {.name = name};
    if (keeper->is_there) {
        keeper->is_there = say(&keeper->channel, &keeper->packet, KEEP_DROP, &word, /* file */ -1);
    }
}

void cuda_keeper_retain(
    struct cuda_keeper *keeper, uint32_t model, const struct artifact_versions *versions)
{
    struct keeper_word word = {.name = {.model = model}, .count = versions->count};
    for (uint32_t i = 0; i < versions->count; i++) {
        word.versions[i] = versions->items[i].version;
    }
    if (keeper->is_there) {
        keeper->is_there =
            say(&keeper->channel, &keeper->packet, KEEP_RETAIN, &word, /* file */ -1);
    }
}

bool cuda_keeper_attach(struct channel *channel, struct packet *packet, int socket)
{
    const struct keeper_word word = {.bytes = 0};
    return say(channel, packet, KEEP_ATTACH, &word, socket);
}

/* ── The keeper itself ──────────────────────────────────────────────────────────────────── */

struct kept {
    struct kept *next;
    struct keeper_name name;
    uint64_t bytes;
    uint64_t block;
    int file; /* Of the block: what was imported cannot be exported once more. */
};

struct keeping {
    struct cuda_driver driver;
    struct channel control;
    struct channel client;
    bool has_client;
    struct packet packet;
    struct kept *first;
};

static void release(struct keeping *keeping, struct kept **link)
{
    struct kept *kept = *link;
    *link = kept->next;
    (void)keeping->driver.block_release(kept->block);
    (void)close(kept->file);
    free(kept);
}

/* The link to what is kept as @name; the last one if there is nothing. */
static struct kept **find(struct keeping *keeping, struct keeper_name name)
{
    struct kept **link = &keeping->first;
    while (*link != NULL &&
           ((*link)->name.model != name.model || (*link)->name.version != name.version)) {
        link = &(*link)->next;
    }
    return link;
}

/* Of a model only the versions of @word are left. */
static void retain(struct keeping *keeping, const struct keeper_word *word)
{
    struct kept **link = &keeping->first;
    while (*link != NULL) {
        bool is_listed = (*link)->name.model != word->name.model;
        for (uint32_t i = 0; i < word->count && i < ARTIFACT_VERSIONS_MAX; i++) {
            is_listed = is_listed || (*link)->name.version == word->versions[i];
        }
        if (is_listed) {
            link = &(*link)->next;
        } else {
            release(keeping, link);
        }
    }
}

static void take(struct keeping *keeping, const struct keeper_word *word)
{
    const struct kept *kept = *find(keeping, word->name);
    const int file = kept != NULL && kept->bytes == word->bytes ? kept->file : -1;
    (void)say(&keeping->client, &keeping->packet, KEEP_TAKEN, word, file); /* Or it is gone. */
}

/* What cannot be imported is copied again some day. */
static void give(struct keeping *keeping, const struct keeper_word *word, struct received *received)
{
    struct kept **link = find(keeping, word->name);
    uint64_t block;
    if (received->file_count != 1) {
        return;
    }
    if (*link != NULL) {
        release(keeping, link);
    }
    void *file = (void *)(intptr_t)received->files[0]; /* NOLINT: as the driver wants it. */
    if (keeping->driver.block_import(&block, file, CUDA_HANDLE_FILE) != CUDA_SUCCESS) {
        return;
    }
    struct kept *kept = memory_zeroed(1, sizeof(*kept));
    *kept = (struct kept){
        .next = keeping->first,
        .name = word->name,
        .bytes = word->bytes,
        .block = block,
        .file = received->files[0],
    };
    keeping->first = kept;
    received->files[0] = -1;
}

static void lose_client(struct keeping *keeping)
{
    if (keeping->has_client) {
        keeping->has_client = false;
        channel_deinit(&keeping->client);
    }
}

static void serve(struct keeping *keeping, struct received *received)
{
    struct keeper_word word;
    if (!hear(received, &word)) {
        lose_client(keeping);
        return;
    }
    struct kept **link = find(keeping, word.name);
    switch ((enum keeper_kind)received->kind) {
    case KEEP_TAKE:
        take(keeping, &word);
        return;
    case KEEP_GIVE:
        give(keeping, &word, received);
        return;
    case KEEP_DROP:
        if (*link != NULL) {
            release(keeping, link);
        }
        return;
    case KEEP_RETAIN:
        retain(keeping, &word);
        return;
    case KEEP_ATTACH:
    case KEEP_TAKEN:
        break;
    }
    lose_client(keeping);
}

/* Serve what has come of the engine process. */
static void read_client(struct keeping *keeping)
{
    while (keeping->has_client) {
        struct received *received;
        const enum channel_receipt receipt =
            channel_receive(&keeping->client, /* waits */ false, &received);
        if (receipt == CHANNEL_EMPTY) {
            return;
        }
        if (receipt != CHANNEL_RECEIVED) {
            lose_client(keeping);
            return;
        }
        serve(keeping, received);
    }
}

/* The next engine process comes; without the first process there is nothing left to do. */
static void read_control(struct keeping *keeping)
{
    struct received *received;
    if (channel_receive(&keeping->control, /* waits */ true, &received) != CHANNEL_RECEIVED ||
        received->kind != KEEP_ATTACH || received->file_count != 1) {
        _exit(EXIT_SUCCESS);
    }
    read_client(keeping); /* What the last one said before it went. */
    lose_client(keeping);
    channel_init(&keeping->client, received->files[0]);
    received->files[0] = -1;
    keeping->has_client = true;
}

_Noreturn void cuda_keeper_main(const char *path, uint32_t gpu, int socket)
{
    struct keeping *keeping = memory_zeroed(1, sizeof(*keeping));
    struct weft_error error;
    channel_init(&keeping->control, socket);
    enum weft_status status = cuda_driver_open(path, &keeping->driver, &error);
    if (status == WEFT_OK) {
        status = cuda_choose(gpu, /* streams */ 0, &error);
    }
    if (status == WEFT_OK) {
        const int result = keeping->driver.init(/* flags */ 0);
        status = cuda_check(&keeping->driver, result, "open the GPU", &error);
    }
    if (status != WEFT_OK) {
        (void)fprintf(stderr, "weft: keeper of GPU %u: %s\n", gpu, error.message);
        _exit(EXIT_FAILURE);
    }
    for (;;) {
        struct pollfd ready[2] = {
            {.fd = socket, .events = POLLIN},
            {.fd = keeping->has_client ? keeping->client.socket : -1, .events = POLLIN},
        };
        if (poll(ready, 2, /* without end */ -1) < 0) {
            continue; /* A signal. */
        }
        if (ready[1].revents != 0) {
            read_client(keeping);
        }
        if (ready[0].revents != 0) {
            read_control(keeping);
        }
    }
}
