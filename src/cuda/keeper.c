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

/* The sizes of pieces, as many as there are files. */
struct keeper_sizes {
    uint8_t sizes[KEEPER_PIECES_MAX];
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

/* Send @word, and what @packet, which was started for it, has of files. */
static bool say(struct channel *channel, struct packet *packet, const struct keeper_word *word)
{
    packet_put(packet, word, sizeof(*word));
    return channel_send_wait(channel, packet);
}

/* The same without files. */
static bool say_only(
    struct channel *channel, struct packet *packet, enum keeper_kind kind,
    const struct keeper_word *word)
{
    packet_start(packet, kind);
    return say(channel, packet, word);
}

/* Put a piece of @size, whose descriptor is @file, into @packet. */
static void put_piece(struct packet *packet, struct keeper_sizes *sizes, int file, uint8_t size)
{
    uint32_t place = 0;
    (void)packet_put_file(packet, file, /* is_owned */ false, &place); /* There is room. */
    sizes->sizes[place] = size;
}

static bool hear(
    const struct received *received, struct keeper_word *word_out, struct keeper_sizes *sizes_out)
{
    struct packet_reader reader;
    reader_init(&reader, received);
    if (received->kind == KEEP_GIVE || received->kind == KEEP_TAKEN) {
        reader_take(&reader, sizes_out, sizeof(*sizes_out));
    }
    reader_take(&reader, word_out, sizeof(*word_out));
    for (uint32_t i = 0; i < received->file_count && !reader.is_bad; i++) {
        reader.is_bad = received->kind != KEEP_ATTACH && sizes_out->sizes[i] >= CUDA_PIECE_SIZES;
    }
    return !reader.is_bad;
}

/* Wait for an answer, which comes in one piece. */
static bool has_answered(const struct cuda_keeper *keeper)
{
    struct pollfd ready = {.fd = keeper->channel.socket, .events = POLLIN};
    return poll(&ready, 1, ANSWER_MS_MAX) == 1;
}

enum weft_status cuda_keeper_take(
    struct cuda_keeper *keeper, struct keeper_name name, uint64_t bytes,
    struct cuda_block *block_out, struct weft_error *error)
{
    struct keeper_word word = {.name = name, .bytes = bytes};
    struct keeper_sizes sizes = {{0}};
    struct received *received;
    *block_out = (struct cuda_block){.bytes = bytes};
    if (!keeper->is_there || !say_only(&keeper->channel, &keeper->packet, KEEP_TAKE, &word) ||
        !has_answered(keeper) ||
        channel_receive(&keeper->channel, /* waits */ true, &received) != CHANNEL_RECEIVED ||
        received->kind != KEEP_TAKEN || !hear(received, &word, &sizes)) {
        cuda_keeper_close(keeper);
        return error_set(error, WEFT_LOST, "the process that keeps weights is gone");
    }
    if (received->file_count == 0) {
        return error_set(error, WEFT_NOT_FOUND, "these weights are not kept");
    }
    block_out->count = received->file_count;
    block_out->pieces = memory_zeroed(received->file_count, sizeof(*block_out->pieces));
    for (uint32_t i = 0; i < received->file_count; i++) {
        block_out->pieces[i] =
            (struct cuda_piece){.file = received->files[i], .size = sizes.sizes[i]};
        received->files[i] = -1;
    }
    return WEFT_OK;
}

void cuda_keeper_give(
    struct cuda_keeper *keeper, struct keeper_name name, const struct cuda_block *block)
{
    const struct keeper_word word = {.name = name, .bytes = block->bytes};
    struct keeper_sizes sizes = {{0}};
    if (!keeper->is_there || block->count > KEEPER_PIECES_MAX) {
        return;
    }
    packet_start(&keeper->packet, KEEP_GIVE);
    for (uint32_t i = 0; i < block->count; i++) {
        put_piece(&keeper->packet, &sizes, block->pieces[i].file, block->pieces[i].size);
    }
    packet_put(&keeper->packet, &sizes, sizeof(sizes));
    keeper->is_there = say(&keeper->channel, &keeper->packet, &word);
}

void cuda_keeper_drop(struct cuda_keeper *keeper, struct keeper_name name)
{
    const struct keeper_word word = {.name = name};
    if (keeper->is_there) {
        keeper->is_there = say_only(&keeper->channel, &keeper->packet, KEEP_DROP, &word);
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
        keeper->is_there = say_only(&keeper->channel, &keeper->packet, KEEP_RETAIN, &word);
    }
}

bool cuda_keeper_attach(struct channel *channel, struct packet *packet, int socket)
{
    const struct keeper_word word = {.bytes = 0};
    uint32_t place;
    packet_start(packet, KEEP_ATTACH);
    (void)packet_put_file(packet, socket, /* is_owned */ false, &place); /* The only one. */
    return say(channel, packet, &word);
}

/* ── The keeper itself ──────────────────────────────────────────────────────────────────── */

struct kept {
    struct kept *next;
    struct keeper_name name;
    struct cuda_block block; /* With its files: what was imported cannot be exported once more. */
};

struct keeping {
    struct cuda_driver driver;
    struct cuda_device device; /* Of which only the driver is known. */
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
    cuda_block_release(&keeping->device, &kept->block);
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
    struct keeper_sizes sizes = {{0}};
    packet_start(&keeping->packet, KEEP_TAKEN);
    for (uint32_t i = 0; kept != NULL && kept->block.bytes == word->bytes && i < kept->block.count;
         i++) {
        const struct cuda_piece *piece = &kept->block.pieces[i];
        put_piece(&keeping->packet, &sizes, piece->file, piece->size);
    }
    packet_put(&keeping->packet, &sizes, sizeof(sizes));
    (void)say(&keeping->client, &keeping->packet, word); /* Or it is gone. */
}

/* What cannot be imported is copied again some day. */
static void give(
    struct keeping *keeping, const struct keeper_word *word, const struct keeper_sizes *sizes,
    struct received *received)
{
    struct kept **link = find(keeping, word->name);
    if (received->file_count == 0) {
        return;
    }
    if (*link != NULL) {
        release(keeping, link);
    }
    struct kept *kept = memory_zeroed(1, sizeof(*kept));
    kept->next = keeping->first;
    kept->name = word->name;
    kept->block.bytes = word->bytes;
    kept->block.count = received->file_count;
    kept->block.pieces = memory_zeroed(received->file_count, sizeof(*kept->block.pieces));
    keeping->first = kept;
    for (uint32_t i = 0; i < received->file_count; i++) {
        kept->block.pieces[i] =
            (struct cuda_piece){.file = received->files[i], .size = sizes->sizes[i]};
        received->files[i] = -1;
    }
    if (cuda_block_import(&keeping->device, &kept->block) != CUDA_SUCCESS) {
        release(keeping, &keeping->first);
    }
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
    struct keeper_sizes sizes = {{0}};
    if (!hear(received, &word, &sizes)) {
        lose_client(keeping);
        return;
    }
    struct kept **link = find(keeping, word.name);
    switch ((enum keeper_kind)received->kind) {
    case KEEP_TAKE:
        take(keeping, &word);
        return;
    case KEEP_GIVE:
        give(keeping, &word, &sizes, received);
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
    keeping->device.driver = &keeping->driver;
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
