#include "onnx/image.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/monotonic.h"
#include "onnx/cache.h"

enum {
    HUGE_BYTES = 1 << 21, /* A page that takes the place of 512, where the system has any. */
    HUGE_NS_MAX = 6000,   /* Processor time to map one; 512 small ones take 10 to 100 us. */
};

static uint64_t whole_pages(uint64_t bytes)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static void give_back(uint8_t *start, uint64_t bytes)
{
    if (bytes > 0) {
        (void)munmap(start, bytes); /* Fails only for a wrong argument. */
    }
}

/* Zeroes for @room bytes, where huge pages can lie. NULL if there are none. */
static uint8_t *reserve(uint64_t room)
{
    uint8_t *start = mmap(
        NULL, room + HUGE_BYTES, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        return NULL;
    }
    const uint64_t before = HUGE_BYTES - (uintptr_t)start % HUGE_BYTES;
    give_back(start, before);
    give_back(start + before + room, HUGE_BYTES - before);
    (void)madvise(start + before, room, MADV_HUGEPAGE); /* Small ones may be slow, but do. */
    return start + before;
}

/*
 * Let the @room bytes from @start on, which were reserved, be those of @file. What is read from
 * disk for this mapping comes in huge pages, and stays in them for others; read otherwise, it would
 * come in small ones, and every load would have to map hundreds of times as many.
 */
static bool become_file(uint8_t *start, uint64_t room, int protection, int file)
{
    const int flags = MAP_PRIVATE | MAP_FIXED;
    const bool is_mapped = mmap(start, room, protection, flags, file, 0) != MAP_FAILED;
    if (is_mapped) {
        (void)madvise(start, room, MADV_HUGEPAGE); /* As above. */
    }
    return is_mapped;
}

void *onnx_pages_map(int file, uint64_t bytes)
{
    const uint64_t room = whole_pages(bytes);
    uint8_t *start = reserve(room);
    if (start != NULL && !become_file(start, room, PROT_READ, file)) {
        give_back(start, room);
        start = NULL;
    }
    return start;
}

void onnx_image_reserve(struct onnx_image *image, uint64_t bytes)
{
    const uint64_t room = whole_pages(bytes);
    uint8_t *start = reserve(room);
    *image = (struct onnx_image){
        .memory = {.start = start, .room = start == NULL ? 0 : room},
    };
}

void onnx_image_release(struct onnx_image *image)
{
    give_back(image->memory.start, image->memory.room);
    *image = (struct onnx_image){.is_kept = false};
}

/* Whether @file has the contents of @memory. */
static bool is_same(int file, const struct ort_image *memory)
{
    struct stat stat;
    if (fstat(file, &stat) != 0 || (uint64_t)stat.st_size != memory->room) {
        return false;
    }
    uint8_t *known = onnx_pages_map(file, memory->room);
    if (known == NULL) {
        return false;
    }
    const bool is_equal = memcmp(known, memory->start, memory->room) == 0;
    give_back(known, memory->room);
    return is_equal;
}

static bool write_all(int file, const uint8_t *from, uint64_t left)
{
    while (left > 0) {
        const ssize_t written = write(file, from, left);
        if (written <= 0) {
            return false;
        }
        from += written;
        left -= (uint64_t)written;
    }
    return true;
}

/* Write @memory to @path, which appears complete or not at all. The file; -1 without success. */
static int write_file(const struct ort_image *memory, const char *path)
{
    static atomic_uint tries; /* Two threads may write the same file at once. */
    char made[ONNX_CACHE_PATH_BYTES + 64];
    (void)snprintf(
        made, sizeof(made), "%s.%lld-%u", path, (long long)getpid(), atomic_fetch_add(&tries, 1));
    const int file = open(made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) {
        return -1;
    }
    if (!write_all(file, memory->start, memory->room) || rename(made, path) != 0) {
        (void)unlink(made); /* It may not be there. */
        (void)close(file);
        return -1;
    }
    return file;
}

void onnx_pages_drop(void *start, uint64_t bytes)
{
    if (bytes > 0) {
        (void)madvise(start, bytes, MADV_DONTNEED); /* Fails only for a wrong argument. */
    }
}

void onnx_pages_bring(void *start, uint64_t bytes)
{
    if (bytes > 0) {
        (void)madvise(start, bytes, MADV_POPULATE_READ); /* Without it they come one by one. */
    }
}

/* Whether the pages of a file that are mapped from @start on are huge. They are in memory. */
static bool is_huge(uint8_t *start, uint64_t room)
{
    onnx_pages_bring(start, room);
    onnx_pages_drop(start, room);
    const int64_t since_ns = thread_ns();
    onnx_pages_bring(start, room);
    return thread_ns() - since_ns <= (int64_t)(room / HUGE_BYTES) * HUGE_NS_MAX;
}

/*
 * What was written, or read by other programs, lies in memory in small pages, and is mapped so at
 * every load. Let it leave, and come back for this mapping; if another process has mapped it, it
 * stays as it is.
 */
static void fetch_in_huge_pages(uint8_t *start, uint64_t room, int file)
{
    if (room < HUGE_BYTES || is_huge(start, room)) {
        return;
    }
    onnx_pages_drop(start, room);
    (void)fdatasync(file); /* Only what is on disk can leave; it is an attempt, like the next. */
    (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    onnx_pages_bring(start, room);
}

void onnx_image_keep(struct onnx_image *image, const char *path)
{
    struct ort_image *memory = &image->memory;
    const uint64_t used = whole_pages(memory->used);
    give_back(memory->start + used, memory->room - used);
    memory->room = used;
    if (used == 0) {
        *image = (struct onnx_image){.is_kept = true}; /* Of nothing. */
        return;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && !is_same(file, memory)) {
        (void)close(file); /* Nothing was written to it. */
        file = -1;
    }
    if (file < 0) {
        file = write_file(memory, path);
    }
    if (file >= 0) {
        /* Writable: what a kernel may write there is its own, and gone when the pages are. */
        image->is_kept = become_file(memory->start, memory->room, PROT_READ | PROT_WRITE, file);
        if (image->is_kept) {
            fetch_in_huge_pages(memory->start, memory->room, file);
        }
        (void)close(file); /* The mapping stays. */
    }
}
