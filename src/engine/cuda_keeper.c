#include "engine/cuda_keeper.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

enum { ANSWER_MS_MAX = 2000 }; /* A keeper that takes longer is as good as gone. */

enum keeper_kind { KEEP_ATTACH, KEEP_TAKE, KEEP_FILLED, KEEP_DROP, KEEP_ADOPT, KEEP_TAKEN };

/* What every packet to and from a keeper holds. */
struct keeper_word {
    uint64_t bytes;
    uint32_t model;
    int32_t status;     /* TAKEN. */
    uint32_t is_filled; /* The same. */
    char message[240];  /* The same. */
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
    word_out->message[sizeof(word_out->message) - 1] = '\0';
    return !reader.is_bad;
}

static void tell(struct cuda_keeper *keeper, enum keeper_kind kind, uint32_t model)
{
    const struct keeper_word word = {.model = model};
    if (keeper->is_there) {
        keeper->is_there = say(&keeper->channel, &keeper->packet, kind, &word, /* file */ -1);
    }
}

/* Wait for an answer, which comes in one piece. */
static bool has_answered(const struct cuda_keeper *keeper)
{
    struct pollfd ready = {.fd = keeper->channel.socket, .events = POLLIN};
    return poll(&ready, 1, ANSWER_MS_MAX) == 1;
}

enum weft_status cuda_keeper_take(
    struct cuda_keeper *keeper, uint32_t model, uint64_t bytes, int *file_out, bool *is_filled_out,
    struct weft_error *error)
{
    struct keeper_word word = {.model = model, .bytes = bytes};
    struct received *received;
    if (!keeper->is_there ||
        !say(&keeper->channel, &keeper->packet, KEEP_TAKE, &word, /* file */ -1) ||
        !has_answered(keeper) ||
        channel_receive(&keeper->channel, /* waits */ true, &received) != CHANNEL_RECEIVED ||
        received->kind != KEEP_TAKEN || !hear(received, &word)) {
        cuda_keeper_close(keeper);
        return error_set(error, WEFT_LOST, "the process that keeps weights is gone");
    }
    if (word.status != WEFT_OK || received->file_count != 1) {
        return error_set(error, WEFT_NO_MEMORY, "%s", word.message);
    }
    *file_out = received->files[0];
    received->files[0] = -1;
    *is_filled_out = word.is_filled != 0;
    return WEFT_OK;
}

void cuda_keeper_filled(struct cuda_keeper *keeper, uint32_t model)
{
    tell(keeper, KEEP_FILLED, model);
}

void cuda_keeper_drop(struct cuda_keeper *keeper, uint32_t model)
{
    tell(keeper, KEEP_DROP, model);
}

void cuda_keeper_adopt(struct cuda_keeper *keeper, uint32_t model, uint64_t bytes, int file)
{
    const struct keeper_word word = {.model = model, .bytes = bytes};
    if (keeper->is_there) {
        keeper->is_there = say(&keeper->channel, &keeper->packet, KEEP_ADOPT, &word, file);
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
    uint32_t model;
    uint64_t bytes;
    uint64_t block;
    int file; /* Of the block. What another keeper had cannot be exported once more. */
    bool is_filled;
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

/* The link to what is kept of @model; the last one if there is nothing. */
static struct kept **find(struct keeping *keeping, uint32_t model)
{
    struct kept **link = &keeping->first;
    while (*link != NULL && (*link)->model != model) {
        link = &(*link)->next;
    }
    return link;
}

static struct kept *add(
    struct keeping *keeping, const struct keeper_word *word, uint64_t block, int file)
{
    struct kept *kept = memory_zeroed(1, sizeof(*kept));
    *kept = (struct kept){
        .next = keeping->first,
        .model = word->model,
        .bytes = word->bytes,
        .block = block,
        .file = file,
    };
    keeping->first = kept;
    return kept;
}

/* Memory that was not kept yet. */
static int create(struct keeping *keeping, const struct keeper_word *word, struct kept **kept_out)
{
    const struct cuda_memory_kind kind = {
        .type = CUDA_MEMORY_PINNED,
        .handles = CUDA_HANDLE_FILE,
        .where = {.type = CUDA_ON_DEVICE, .number = 0},
    };
    uint64_t block;
    int file;
    int result = keeping->driver.block_create(&block, word->bytes, &kind, /* flags */ 0);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    result = keeping->driver.block_export(&file, block, CUDA_HANDLE_FILE, /* flags */ 0);
    if (result != CUDA_SUCCESS) {
        (void)keeping->driver.block_release(block);
        return result;
    }
    *kept_out = add(keeping, word, block, file);
    return CUDA_SUCCESS;
}

static void take(struct keeping *keeping, struct keeper_word *word)
{
    struct kept **link = find(keeping, word->model);
    struct weft_error error = {.status = WEFT_OK};
    int result = CUDA_SUCCESS;
    if (*link != NULL && (*link)->bytes != word->bytes) {
        release(keeping, link);
        link = find(keeping, word->model);
    }
    struct kept *kept = *link;
    if (kept == NULL) {
        result = create(keeping, word, &kept);
    }
    word->is_filled = kept != NULL && kept->is_filled ? 1 : 0;
    word->status = cuda_check(&keeping->driver, result, "memory for weights", &error);
    (void)snprintf(
        word->message, sizeof(word->message), "%s", word->status == WEFT_OK ? "" : error.message);
    (void)say(/* Or it is gone. */
              &keeping->client, &keeping->packet, KEEP_TAKEN, word, kept == NULL ? -1 : kept->file);
}

static void adopt(
    struct keeping *keeping, const struct keeper_word *word, struct received *received)
{
    struct kept **link = find(keeping, word->model);
    uint64_t block;
    if (*link != NULL || received->file_count != 1) {
        return;
    }
    void *file = (void *)(intptr_t)received->files[0]; /* NOLINT: as the driver wants it. */
    if (keeping->driver.block_import(&block, file, CUDA_HANDLE_FILE) == CUDA_SUCCESS) {
        add(keeping, word, block, received->files[0])->is_filled = true;
        received->files[0] = -1;
    }
}

/* The engine process is gone: what it had not filled is worth nothing. */
static void lose_client(struct keeping *keeping)
{
    if (!keeping->has_client) {
        return;
    }
    keeping->has_client = false;
    channel_deinit(&keeping->client);
    struct kept **link = &keeping->first;
    while (*link != NULL) {
        if ((*link)->is_filled) {
            link = &(*link)->next;
        } else {
            release(keeping, link);
        }
    }
}

static void serve(struct keeping *keeping, struct received *received)
{
    struct keeper_word word;
    if (!hear(received, &word)) {
        lose_client(keeping);
        return;
    }
    struct kept **link = find(keeping, word.model);
    switch ((enum keeper_kind)received->kind) {
    case KEEP_TAKE:
        take(keeping, &word);
        return;
    case KEEP_FILLED:
        if (*link != NULL) {
            (*link)->is_filled = true;
        }
        return;
    case KEEP_DROP:
        if (*link != NULL) {
            release(keeping, link);
        }
        return;
    case KEEP_ADOPT:
        adopt(keeping, &word, received);
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
        status = cuda_choose(gpu, &error);
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
