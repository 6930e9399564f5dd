#include "cuda/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/numbers.h"
#include "base/units.h"

enum {
    PAGE_BYTES = 4096,
    PAUSE_NS = 100 * NS_PER_US, /* Before the next copy, beside runs. */
};

uint64_t cuda_weights_round(const struct cuda_device *device, uint64_t bytes)
{
    return (bytes + device->grain_bytes - 1) / device->grain_bytes * device->grain_bytes;
}

static size_t pages_of(const struct cuda_weights *weights)
{
    return (weights->bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

enum weft_status cuda_weights_open(
    const struct cuda_device *device, uint64_t bytes, struct cuda_weights *weights_out,
    struct weft_error *error)
{
    *weights_out = (struct cuda_weights){
        .device = device,
        .bytes = bytes,
        .range_bytes = cuda_weights_round(device, bytes),
    };
    return cuda_check(
        device->driver,
        device->driver->range_reserve(
            &weights_out->address, weights_out->range_bytes, /* alignment */ 0, /* wanted */ 0,
            /* flags */ 0),
        "reserve addresses for weights", error);
}

void cuda_weights_close(struct cuda_weights *weights)
{
    const struct cuda_driver *driver = weights->device->driver;
    struct cuda_block block = cuda_weights_unmap(weights);
    cuda_block_release(weights->device, &block);
    if (weights->file != NULL && !weights->is_file_lent) {
        (void)driver->host_unregister(weights->file);
        (void)munmap(weights->file, pages_of(weights));
    }
    weights->file = NULL;
    (void)driver->range_free(weights->address, weights->range_bytes);
}

/* Unmap the first @bytes at the address. */
static void unmap(struct cuda_weights *weights, uint64_t bytes)
{
    if (bytes > 0) {
        (void)weights->device->driver->block_unmap(weights->address, bytes);
    }
}

/* One piece behind the other at the address, to be read. */
static int map_block(struct cuda_weights *weights)
{
    const struct cuda_driver *driver = weights->device->driver;
    const struct cuda_access access = {
        .where = {.type = CUDA_ON_DEVICE, .number = weights->device->number},
        .flags = CUDA_READ,
    };
    uint64_t at = 0;
    int result = CUDA_SUCCESS;
    for (uint32_t i = 0; i < weights->block.count && result == CUDA_SUCCESS; i++) {
        const struct cuda_piece *piece = &weights->block.pieces[i];
        const uint64_t bytes = cuda_piece_bytes(weights->device, piece->size);
        result = driver->block_map(
            weights->address + at, bytes, /* offset */ 0, piece->handle, /* flags */ 0);
        at += result == CUDA_SUCCESS ? bytes : 0;
    }
    if (result == CUDA_SUCCESS) {
        result = driver->block_access(weights->address, weights->range_bytes, &access, 1);
    }
    weights->is_mapped = result == CUDA_SUCCESS;
    if (result != CUDA_SUCCESS) {
        unmap(weights, at);
    }
    return result;
}

enum weft_status cuda_weights_map(
    struct cuda_weights *weights, const struct cuda_block *block, struct weft_error *error)
{
    ASSERT(weights->block.count == 0 && block->bytes == weights->range_bytes);
    weights->block = *block;
    return cuda_check(weights->device->driver, map_block(weights), "map weights", error);
}

struct cuda_block cuda_weights_unmap(struct cuda_weights *weights)
{
    const struct cuda_block block = weights->block;
    if (weights->is_mapped) {
        unmap(weights, weights->range_bytes);
        weights->is_mapped = false;
    }
    weights->block = (struct cuda_block){.count = 0};
    return block;
}

static enum weft_status register_file(
    struct cuda_weights *weights, const char *path, struct weft_error *error)
{
    struct stat about;
    void *memory = MAP_FAILED;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && fstat(file, &about) == 0) {
        if ((uint64_t)about.st_size != weights->bytes) {
            (void)close(file);
            return error_set(
                error, WEFT_IO, "%s has %lld bytes, not the %llu that its manifest says", path,
                (long long)about.st_size, (unsigned long long)weights->bytes);
        }
        memory = mmap(NULL, pages_of(weights), PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    }
    if (memory == MAP_FAILED) {
        const int why = errno;
        if (file >= 0) {
            (void)close(file);
        }
        return error_set(error, WEFT_IO, "%s: %s", path, strerror(why));
    }
    (void)close(file);
    const int result = weights->device->driver->host_register(
        memory, pages_of(weights), CUDA_HOST_PORTABLE | CUDA_HOST_READ_ONLY);
    if (result != CUDA_SUCCESS) {
        (void)munmap(memory, pages_of(weights));
        return cuda_check(weights->device->driver, result, path, error);
    }
    weights->file = memory;
    return WEFT_OK;
}

void cuda_weights_borrow_file(struct cuda_weights *weights, const struct cuda_weights *from)
{
    if (weights->file == NULL && from->file != NULL && from->bytes == weights->bytes) {
        weights->file = from->file;
        weights->is_file_lent = true;
    }
}

static bool is_cancelled(const struct cuda_beside *beside)
{
    return beside != NULL && beside->is_cancelled(beside->context);
}

static bool is_busy(const struct cuda_beside *beside)
{
    return beside != NULL && beside->is_busy(beside->context);
}

/* Copies under way, the oldest first. Events are made when they are first needed. */
struct flight {
    struct CUstream_st *stream;
    struct CUevent_st *events[CUDA_CHUNKS_IN_FLIGHT];
    bool has_event[CUDA_CHUNKS_IN_FLIGHT]; /* It can be waited for. */
    uint64_t bytes[CUDA_CHUNKS_IN_FLIGHT];
    uint32_t first;
    uint32_t count;
    uint64_t all_bytes;
    uint64_t bytes_max; /* For now. */
};

/*
 * Wait until @bytes more may be under way; but not for copies that had none behind them. Beside
 * runs the bus is theirs for a while then.
 */
static int make_way(const struct cuda_driver *driver, struct flight *flight, uint64_t bytes)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int result = CUDA_SUCCESS;
    bool has_waited = false;
    while (result == CUDA_SUCCESS && flight->count > 0 && flight->has_event[flight->first] &&
           flight->all_bytes + bytes > flight->bytes_max) {
        result = driver->event_wait(flight->events[flight->first]);
        flight->all_bytes -= flight->bytes[flight->first];
        flight->first = (flight->first + 1) % CUDA_CHUNKS_IN_FLIGHT;
        flight->count--;
        has_waited = true;
    }
    if (has_waited && flight->bytes_max < CUDA_FLIGHT_BYTES) {
        (void)nanosleep(&pause, NULL);
    }
    return result;
}

/* Copy @bytes, of @left that are to be copied. What none behind it will wait for needs no event. */
static int send(
    const struct cuda_driver *driver, struct flight *flight, uint64_t to, const uint8_t *from,
    uint64_t bytes, uint64_t left)
{
    const uint32_t at = (flight->first + flight->count) % CUDA_CHUNKS_IN_FLIGHT;
    ASSERT(flight->count < CUDA_CHUNKS_IN_FLIGHT);
    int result = driver->copy_in(to, from, bytes, flight->stream);
    flight->bytes[at] = bytes;
    flight->has_event[at] = left > flight->bytes_max;
    flight->all_bytes += bytes;
    flight->count++;
    if (result != CUDA_SUCCESS || !flight->has_event[at]) {
        return result;
    }
    if (flight->events[at] == NULL) {
        result = driver->event_create(&flight->events[at], CUDA_EVENT_UNTIMED);
    }
    return result == CUDA_SUCCESS ? driver->event_record(flight->events[at], flight->stream)
                                  : result;
}

/* Tell that @left are left, the last chunk included, if that is so little. Whether it is. */
static bool tell_last(const struct cuda_beside *beside, uint64_t left)
{
    const bool is_last = left <= CUDA_FLIGHT_BYTES;
    if (is_last && beside != NULL) {
        beside->on_last(beside->context);
    }
    return is_last;
}

/* Copy the file into the pieces; they are mapped once as much is under way as may be. */
static int copy_pieces(
    struct cuda_weights *weights, struct flight *flight, const struct cuda_beside *beside)
{
    const struct cuda_driver *driver = weights->device->driver;
    int result = CUDA_SUCCESS;
    uint64_t at = 0;
    bool is_last = false;
    for (uint32_t i = 0; at < weights->bytes && result == CUDA_SUCCESS; i++) {
        const struct cuda_piece *piece = &weights->block.pieces[i];
        const uint64_t end =
            min_u64(at + cuda_piece_bytes(weights->device, piece->size), weights->bytes);
        const uint64_t start = at;
        for (; at < end && result == CUDA_SUCCESS;) {
            const uint64_t bytes = min_u64(end - at, CUDA_CHUNK_BYTES);
            flight->bytes_max = is_busy(beside) ? CUDA_CHUNK_BYTES : CUDA_FLIGHT_BYTES;
            if (!weights->is_mapped && flight->all_bytes + bytes > flight->bytes_max) {
                result = map_block(weights);
            }
            if (result == CUDA_SUCCESS) {
                result = make_way(driver, flight, bytes);
            }
            if (is_cancelled(beside)) {
                return result;
            }
            if (result == CUDA_SUCCESS) {
                result = send(
                    driver, flight, piece->address + (at - start),
                    (const uint8_t *)weights->file + at, bytes, weights->bytes - at);
            }
            is_last = is_last || tell_last(beside, weights->bytes - at);
            at += bytes;
        }
    }
    return result == CUDA_SUCCESS && !weights->is_mapped ? map_block(weights) : result;
}

enum weft_status cuda_weights_fill(
    struct cuda_weights *weights, const struct cuda_block *block, const char *path,
    struct CUstream_st *stream, const struct cuda_beside *beside, struct weft_error *error)
{
    const struct cuda_driver *driver = weights->device->driver;
    struct flight flight = {.stream = stream};
    ASSERT(weights->block.count == 0 && block->bytes == weights->range_bytes);
    weights->block = *block;
    if (weights->file == NULL) {
        const enum weft_status status = register_file(weights, path, error);
        if (status != WEFT_OK) {
            return status;
        }
    }
    int result = copy_pieces(weights, &flight, beside);
    const int last = driver->stream_wait(stream);
    result = result == CUDA_SUCCESS ? last : result;
    for (uint32_t i = 0; i < CUDA_CHUNKS_IN_FLIGHT; i++) {
        if (flight.events[i] != NULL) {
            (void)driver->event_destroy(flight.events[i]);
        }
    }
    if (result == CUDA_SUCCESS && is_cancelled(beside)) {
        return error_set(error, WEFT_CANCELLED, "the load was cancelled");
    }
    return cuda_check(driver, result, "copy weights", error);
}
