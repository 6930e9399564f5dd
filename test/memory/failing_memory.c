/*
 * failing_memory.c - malloc and its relatives, which fail when a script says so.
 *
 * Loaded before a program with LD_PRELOAD. FAILING_MEMORY names a file of eight 64-bit numbers
 * that the script and the program map: when calls are counted, which of them fail, and what has
 * come of it. Nothing fails without it.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum mode {
    MODE_ONE,   /* The call with the number first. */
    MODE_ALL,   /* That one and all after it. */
    MODE_LIMIT, /* Every call for which more than limit bytes would be in use. */
};

/* As the script sees it. */
struct control {
    _Atomic(uint64_t) is_armed; /* Calls are counted, and may fail. */
    _Atomic(uint64_t) mode;
    _Atomic(uint64_t) first; /* From 1; 0: none fails. */
    _Atomic(int64_t) limit;
    _Atomic(uint64_t) calls;
    _Atomic(uint64_t) failed;
    _Atomic(int64_t) used; /* Bytes, of all time. */
    _Atomic(uint64_t) unused;
};

/* The C library's own, which have no other way in before it is set up. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

static _Atomic(struct control *) controlled;
static atomic_bool is_looked_for;
static _Atomic(int64_t) used_before; /* Until there is a log to tell. */

static struct control *find_control(void)
{
    struct control *control = atomic_load(&controlled);
    if (control != NULL || atomic_exchange(&is_looked_for, true)) {
        return control;
    }
    const char *path = getenv("FAILING_MEMORY");
    const int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) {
        return NULL;
    }
    void *mapped = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    (void)close(file);
    if (mapped == MAP_FAILED) {
        return NULL;
    }
    atomic_store(&controlled, mapped);
    return mapped;
}

/* Whether a call for @bytes fails. */
static bool fails(size_t bytes)
{
    struct control *control = find_control();
    if (control == NULL || atomic_load(&control->is_armed) == 0) {
        return false;
    }
    const uint64_t number = atomic_fetch_add(&control->calls, 1) + 1;
    const uint64_t first = atomic_load(&control->first);
    const uint64_t mode = atomic_load(&control->mode);
    bool is_failing = first > 0 && (mode == MODE_ALL ? number >= first : number == first);
    if (mode == MODE_LIMIT) {
        const int64_t used = atomic_load(&used_before);
        is_failing = (int64_t)bytes > atomic_load(&control->limit) - used;
    }
    if (is_failing) {
        (void)atomic_fetch_add(&control->failed, 1);
        errno = ENOMEM;
    }
    return is_failing;
}

static void *note(void *memory)
{
    if (memory != NULL) {
        const int64_t used = atomic_fetch_add(&used_before, (int64_t)malloc_usable_size(memory));
        struct control *control = atomic_load(&controlled);
        if (control != NULL) {
            atomic_store(&control->used, used);
        }
    }
    return memory;
}

static void forget(void *memory)
{
    if (memory != NULL) {
        (void)atomic_fetch_sub(&used_before, (int64_t)malloc_usable_size(memory));
    }
}

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    return fails(bytes) ? NULL : note(__libc_malloc(bytes));
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t bytes)
{
    return fails(count * bytes) ? NULL : note(__libc_calloc(count, bytes));
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t bytes)
{
    if (bytes > 0 && fails(bytes)) {
        return NULL;
    }
    const int64_t before = memory == NULL ? 0 : (int64_t)malloc_usable_size(memory);
    void *more = __libc_realloc(memory, bytes);
    if (more != NULL || bytes == 0) {
        (void)atomic_fetch_sub(&used_before, before);
    }
    return note(more);
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(bytes) ? NULL : note(__libc_memalign(alignment, bytes));
}

__attribute__((visibility("default"))) int posix_memalign(
    void **memory_out, size_t alignment, size_t bytes)
{
    void *memory = fails(bytes) ? NULL : note(__libc_memalign(alignment, bytes));
    if (memory == NULL) {
        return ENOMEM;
    }
    *memory_out = memory;
    return 0;
}

__attribute__((visibility("default"))) void free(void *memory)
{
    const int kept = errno;
    forget(memory);
    __libc_free(memory);
    errno = kept;
}
