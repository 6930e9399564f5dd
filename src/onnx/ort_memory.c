/* ort_memory.c - a list of free blocks for each size; four sizes from one power of two to the
 * next, so that at most a quarter of a block lies idle. Sizes count the header, so that large
 * blocks fill huge pages: activations are many megabytes, and looking their pages up takes a few
 * percent of a run. */
#include "onnx/ort_memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/memory.h"
#include "engine/monotonic.h"

#define TRIM_NS NS_PER_S

enum {
    HEADER_BYTES = 64, /* Keeps the block on a cache line, as vector code wants it. */
    KEPT_BYTES_MIN = 4096,
    STEPS = 4,
    SIZES = 64 * STEPS,
    IN_IMAGE = SIZES + 1,
    HUGE_BYTES = 2 << 20,
    SMALL_BYTES = 1024, /* Up to here the C library has a cache for each thread. */
};

struct block {
    uint64_t bytes; /* After the header. */
    uint32_t size;  /* Which list it belongs to, or SIZES: none, or IN_IMAGE. */
    uint32_t epoch; /* When it was put there: trims count epochs. */
    struct block *next;
    void *start; /* What is to be freed. */
};

_Static_assert(sizeof(struct block) <= HEADER_BYTES, "a header has room for its block");

struct ort_memory {
    struct OrtAllocator base;
    const struct OrtMemoryInfo *info;
    pthread_mutex_t lock; /* Of what follows. */
    struct block *free[SIZES];
    uint64_t kept_bytes;
    uint32_t epoch;
};

static struct ort_memory memory = {.lock = PTHREAD_MUTEX_INITIALIZER};
static atomic_uint_fast64_t limit_bytes; /* 0: none. */
static atomic_uint_fast64_t used_bytes;  /* In blocks that are in use, while there is a limit. */
static void (*throw_bad_alloc)(void);    /* Set before the library is used. */
static _Thread_local struct ort_meter *thread_meter;

/* The smallest size that holds @bytes and a header; @bytes becomes what it holds. */
static uint32_t size_of(uint64_t *bytes)
{
    const uint64_t whole = *bytes + HEADER_BYTES;
    const uint32_t power = 63 - (uint32_t)__builtin_clzll(whole);
    const uint64_t step_bytes = (UINT64_C(1) << power) / STEPS;
    const uint64_t steps = (whole + step_bytes - 1) / step_bytes; /* STEPS to 2 * STEPS. */
    *bytes = steps * step_bytes - HEADER_BYTES;
    return power * STEPS + (uint32_t)(steps - STEPS);
}

/* A fresh block of @bytes, which are few; NULL if there is no memory. */
static struct block *make_small(uint64_t bytes)
{
    void *start;
    struct block *block = memory_aligned((size_t)bytes + HEADER_BYTES, HEADER_BYTES, &start);
    if (block != NULL) {
        *block = (struct block){.bytes = bytes, .size = SIZES, .start = start};
    }
    return block;
}

/* A fresh block of @size that holds @bytes, or more; NULL if there is no memory. */
static struct block *make_block(uint64_t bytes, uint32_t size)
{
    const uint64_t whole = (bytes + HEADER_BYTES - 1) / HEADER_BYTES * HEADER_BYTES + HEADER_BYTES;
    const uint64_t pages = (whole + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    const bool is_huge = size < SIZES && pages - whole <= pages / STEPS;
    if (bytes <= SMALL_BYTES - 2 * HEADER_BYTES) {
        return make_small(bytes);
    }
    struct block *block =
        is_huge ? aligned_alloc(HUGE_BYTES, pages) : aligned_alloc(HEADER_BYTES, whole);
    if (block != NULL && is_huge) { /* Where the system has none, small pages do. */
        (void)madvise(block, pages, MADV_HUGEPAGE);
    }
    if (block != NULL) {
        *block = (struct block){
            .bytes = is_huge ? pages - HEADER_BYTES : bytes, .size = size, .start = block};
    }
    return block;
}

/* A kept block of @size or a little more: of less than twice as many bytes. */
static struct block *take_kept(uint32_t size)
{
    const uint32_t end = size + STEPS < SIZES ? size + STEPS : SIZES;
    (void)pthread_mutex_lock(&memory.lock);
    while (size < end && memory.free[size] == NULL) {
        size++;
    }
    struct block *block = size < end ? memory.free[size] : NULL;
    if (block != NULL) {
        memory.free[size] = block->next;
        memory.kept_bytes -= block->bytes;
    }
    (void)pthread_mutex_unlock(&memory.lock);
    return block;
}

static bool keep(struct block *block)
{
    bool is_kept = false;
    (void)pthread_mutex_lock(&memory.lock);
    if (memory.kept_bytes + block->bytes <= ORT_MEMORY_KEPT_MAX) {
        block->epoch = memory.epoch;
        block->next = memory.free[block->size];
        memory.free[block->size] = block;
        memory.kept_bytes += block->bytes;
        is_kept = true;
    }
    (void)pthread_mutex_unlock(&memory.lock);
    return is_kept;
}

static void count(int64_t bytes)
{
    struct ort_meter *meter = thread_meter;
    if (meter != NULL) {
        meter->now_bytes += bytes;
        if (meter->now_bytes > meter->peak_bytes) {
            meter->peak_bytes = meter->now_bytes;
        }
    }
}

void ort_memory_set_limit(uint64_t bytes)
{
    atomic_store(&limit_bytes, bytes);
}

uint64_t ort_memory_limit(void)
{
    return atomic_load(&limit_bytes);
}

void ort_memory_set_throw(void (*given)(void))
{
    throw_bad_alloc = given;
}

/* There is no block of @bytes. Kernels of the library do not look for NULL: they expect what
 * their own allocator does, which is to throw. Nothing here holds a lock or memory by now. */
static void *deny(uint64_t bytes)
{
    if (thread_meter != NULL) {
        thread_meter->denied = bytes;
    }
    if (throw_bad_alloc != NULL) {
        throw_bad_alloc();
    }
    return NULL;
}

/* Whether so much more may be in use: it is counted then. */
static bool may_use(uint64_t bytes)
{
    const uint64_t limit = atomic_load_explicit(&limit_bytes, memory_order_relaxed);
    const uint64_t before = atomic_fetch_add_explicit(&used_bytes, bytes, memory_order_relaxed);
    if (limit == 0 || (bytes <= limit && before <= limit - bytes)) {
        return true;
    }
    (void)atomic_fetch_sub_explicit(&used_bytes, bytes, memory_order_relaxed);
    return false;
}

/* The next @wanted bytes of @image; NULL if there is none, or no room. */
static void *take_from_image(struct ort_image *image, uint64_t wanted)
{
    const uint64_t bytes = (wanted + HEADER_BYTES - 1) / HEADER_BYTES * HEADER_BYTES;
    if (image == NULL || bytes > image->room || image->used + HEADER_BYTES > image->room - bytes) {
        return NULL;
    }
    struct block *block = (struct block *)(void *)(image->start + image->used);
    *block = (struct block){.bytes = bytes, .size = IN_IMAGE};
    image->used += HEADER_BYTES + bytes;
    return (uint8_t *)block + HEADER_BYTES;
}

static void *take(struct OrtAllocator *allocator, size_t wanted)
{
    (void)allocator;
    uint64_t bytes = wanted;
    uint32_t size = SIZES;
    struct block *block = NULL;
    const bool is_load = thread_meter != NULL && thread_meter->is_load;
    if (wanted == 0) {
        return NULL; /* The library takes it for "nothing". */
    }
    if (wanted > SIZE_MAX / 4) {
        return deny(wanted);
    }
    if (wanted >= KEPT_BYTES_MIN && is_load) {
        void *data = take_from_image(thread_meter->image, wanted);
        if (data != NULL) {
            return data;
        }
    }
    if (wanted >= KEPT_BYTES_MIN && !is_load) {
        size = size_of(&bytes);
        block = take_kept(size);
    }
    if (!may_use(block == NULL ? bytes : block->bytes)) {
        if (block != NULL && !keep(block)) {
            free(block->start);
        }
        return deny(bytes);
    }
    if (block == NULL) {
        block = make_block(bytes, size);
        if (block == NULL) {
            (void)atomic_fetch_sub_explicit(&used_bytes, bytes, memory_order_relaxed);
            return deny(bytes);
        }
        (void)atomic_fetch_add_explicit(&used_bytes, block->bytes - bytes, memory_order_relaxed);
    }
    count((int64_t)block->bytes);
    return (uint8_t *)block + HEADER_BYTES;
}

static void give(struct OrtAllocator *allocator, void *data)
{
    (void)allocator;
    if (data == NULL) {
        return;
    }
    void *start = (uint8_t *)data - HEADER_BYTES;
    struct block *block = start;
    if (block->size == IN_IMAGE) {
        return;
    }
    count(-(int64_t)block->bytes);
    (void)atomic_fetch_sub_explicit(&used_bytes, block->bytes, memory_order_relaxed);
    if (block->size == SIZES || !keep(block)) {
        free(block->start);
    }
}

static const struct OrtMemoryInfo *info_of(const struct OrtAllocator *allocator)
{
    (void)allocator;
    return memory.info;
}

struct OrtAllocator *ort_memory_allocator(const struct OrtMemoryInfo *info)
{
    memory.info = info;
    memory.base = (struct OrtAllocator){
        .version = ORT_ABI_VERSION, .Alloc = take, .Free = give, .Info = info_of};
    return &memory.base;
}

void ort_meter_start(struct ort_meter *meter)
{
    ASSERT(thread_meter == NULL);
    *meter = (struct ort_meter){.is_load = false};
    thread_meter = meter;
}

void ort_meter_start_load(struct ort_meter *meter, struct ort_image *image)
{
    ASSERT(thread_meter == NULL);
    *meter = (struct ort_meter){.is_load = true, .image = image};
    thread_meter = meter;
}

void ort_meter_stop(void)
{
    ASSERT(thread_meter != NULL);
    thread_meter = NULL;
}

/* Take the blocks off list @size that were idle for a whole epoch. Under the lock. */
static struct block *take_stale(uint32_t size)
{
    struct block *stale = NULL;
    struct block **link = &memory.free[size];
    while (*link != NULL) {
        struct block *block = *link;
        if (block->epoch == memory.epoch) {
            link = &block->next;
            continue;
        }
        *link = block->next;
        memory.kept_bytes -= block->bytes;
        block->next = stale;
        stale = block;
    }
    return stale;
}

/* When the C library last gave back what it keeps. */
static _Atomic int64_t trimmed_ns;

void ort_memory_trim(void)
{
    struct block *stale[SIZES];
    (void)pthread_mutex_lock(&memory.lock);
    for (uint32_t i = 0; i < SIZES; i++) {
        stale[i] = take_stale(i);
    }
    memory.epoch++;
    (void)pthread_mutex_unlock(&memory.lock);
    for (uint32_t i = 0; i < SIZES; i++) {
        while (stale[i] != NULL) {
            struct block *next = stale[i]->next;
            free(stale[i]->start);
            stale[i] = next;
        }
    }
    const int64_t now_ns = monotonic_ns();
    const int64_t before_ns = atomic_load(&trimmed_ns);
    if (before_ns == 0 || now_ns - before_ns >= TRIM_NS) { /* Where models come and go all the */
        atomic_store(&trimmed_ns, now_ns);                 /* time, it is soon wanted again. */
        (void)malloc_trim(0); /* It says whether it found any: that does not matter. */
    }
}

uint64_t ort_memory_kept_bytes(void)
{
    (void)pthread_mutex_lock(&memory.lock);
    const uint64_t kept_bytes = memory.kept_bytes;
    (void)pthread_mutex_unlock(&memory.lock);
    return kept_bytes;
}
