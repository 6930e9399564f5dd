#include "engine/onnx_image.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/onnx_cache.h"

enum {
    COMPARED_BYTES = 1 << 18, /* At a time. */
    HUGE_BYTES = 1 << 21,     /* A page that takes the place of 512, where the system has any. */
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

void onnx_image_reserve(struct onnx_image *image, uint64_t bytes)
{
    *image = (struct onnx_image){.is_kept = false};
    const uint64_t room = whole_pages(bytes);
    uint8_t *start = mmap(
        NULL, room + HUGE_BYTES, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        return;
    }
    const uint64_t before = HUGE_BYTES - (uintptr_t)start % HUGE_BYTES;
    give_back(start, before);
    give_back(start + before + room, HUGE_BYTES - before);
    image->memory = (struct ort_image){.start = start + before, .room = room};
    (void)madvise(image->memory.start, room, MADV_HUGEPAGE); /* Small ones may be slow, but do. */
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
    uint8_t *part = malloc(COMPARED_BYTES); /* Reading is faster than mapping for one look. */
    uint64_t at = 0;
    ssize_t count = 1;
    while (part != NULL && at < memory->room && count > 0) {
        count = pread(file, part, COMPARED_BYTES, (off_t)at);
        if (count > 0 && memcmp(part, memory->start + at, (size_t)count) != 0) {
            break;
        }
        at += count > 0 ? (uint64_t)count : 0;
    }
    free(part);
    return at == memory->room;
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
        image->is_kept = mmap(
                             memory->start, memory->room, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_FIXED, file, 0) != MAP_FAILED;
        (void)close(file); /* The mapping stays. */
    }
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
