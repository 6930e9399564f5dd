/* fake_cuda.c - a driver without a device: what it knows, and the device itself. */
#include "fakes/fake_cuda.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fakes/fake_cuda_inside.h"

struct fake fake = {.lock = PTHREAD_MUTEX_INITIALIZER};
_Thread_local bool fake_is_current;
_Thread_local struct object *fake_recording;

_Noreturn void wrong(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fputs("fake driver: ", stderr);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    abort();
}

/* Every call that works on a device begins with it; what it returns is to be returned. */
int enter(const char *what)
{
    (void)pthread_mutex_lock(&fake.lock);
    if (fake.process == 0) {
        wrong("%s before cuInit", what);
    }
    if (fake.process != getpid()) {
        wrong("%s in a process that was forked after cuInit", what);
    }
    return fake.sticky;
}

int enter_context(const char *what)
{
    const int result = enter(what);
    if (!fake_is_current) {
        wrong("%s without a current context", what);
    }
    return result;
}

int leave(int result)
{
    (void)pthread_mutex_unlock(&fake.lock);
    return result;
}

struct object *make(enum kind kind)
{
    for (uint32_t i = 0; i < OBJECTS_MAX; i++) {
        if (!fake.objects[i].is_live) {
            free(fake.objects[i].nodes);
            fake.objects[i] = (struct object){.kind = kind, .is_live = true, .file = -1};
            fake.counts.objects++;
            return &fake.objects[i];
        }
    }
    wrong("too many objects");
}

struct object *check(void *handle, enum kind kind, const char *what)
{
    struct object *object = handle;
    if (object < fake.objects || object >= fake.objects + OBJECTS_MAX || !object->is_live ||
        object->kind != kind) {
        wrong("%s of something else, or of what was destroyed", what);
    }
    return object;
}

void destroy(struct object *object)
{
    object->is_live = false;
    fake.counts.objects--;
}

struct range *add_range(enum range_kind kind, uint64_t address, uint64_t bytes)
{
    for (uint32_t i = 0; i < RANGES_MAX; i++) {
        if (fake.ranges[i].kind == RANGE_NONE) {
            fake.ranges[i] = (struct range){.kind = kind, .address = address, .bytes = bytes};
            fake.range_end = i < fake.range_end ? fake.range_end : i + 1;
            return &fake.ranges[i];
        }
    }
    wrong("too many ranges");
}

/* The range of @kind that holds the @bytes at @address. */
struct range *find_range(enum range_kind kind, uint64_t address, uint64_t bytes)
{
    for (uint32_t i = 0; i < fake.range_end; i++) {
        struct range *range = &fake.ranges[i];
        if (range->kind == kind && address >= range->address && bytes <= range->bytes &&
            address - range->address <= range->bytes - bytes) {
            return range;
        }
    }
    return NULL;
}

bool is_pinned(const void *memory, size_t bytes)
{
    const uint64_t address = (uint64_t)(uintptr_t)memory;
    return find_range(RANGE_HOST, address, bytes) != NULL ||
           find_range(RANGE_REGISTERED, address, bytes) != NULL;
}

static bool is_device(uint64_t address, size_t bytes)
{
    const struct range *range = find_range(RANGE_MAPPED, address, bytes);
    return find_range(RANGE_DEVICE, address, bytes) != NULL ||
           (range != NULL && range->access != 0);
}

bool take_fault(enum fake_cuda_fault fault)
{
    if (fake.fault != fault || fake.fault_count == 0) {
        return false;
    }
    fake.fault_count--;
    return true;
}

/* ── What tests and other fakes ask for ─────────────────────────────────────────────────── */

EXPORT void fake_cuda_fail(int fault, uint32_t count);
EXPORT void fake_cuda_count(struct fake_cuda_counts *counts_out);
EXPORT int fake_cuda_enqueue(
    void *stream, void (*function)(void *stream, const void *arguments), const void *arguments,
    size_t bytes);
EXPORT void fake_cuda_hang(void *stream);
EXPORT void fake_cuda_linger(void *stream, uint32_t questions, uint64_t address);

void fake_cuda_fail(int fault, uint32_t count)
{
    (void)pthread_mutex_lock(&fake.lock);
    fake.fault = (enum fake_cuda_fault)fault;
    fake.fault_count = count;
    fake.is_old = fault == FAKE_OLD_DRIVER;
    fake.is_whole = fault == FAKE_NO_SHARES;
    fake.sticky = fault == FAKE_LOST ? CUDA_ILLEGAL_ADDRESS : 0;
    (void)pthread_mutex_unlock(&fake.lock);
}

void fake_cuda_count(struct fake_cuda_counts *counts_out)
{
    (void)pthread_mutex_lock(&fake.lock);
    *counts_out = fake.counts;
    fake.counts.copies_most = 0;
    (void)pthread_mutex_unlock(&fake.lock);
}

int fake_cuda_touch(uint64_t address, size_t bytes)
{
    if (!is_device(address, bytes)) {
        fake.sticky = CUDA_ILLEGAL_ADDRESS;
    }
    return fake.sticky;
}

void fake_cuda_linger(void *handle, uint32_t questions, uint64_t address)
{
    struct object *stream = check(handle, STREAM, "a long run");
    stream->lingers = questions;
    stream->uses = find_range(RANGE_MAPPED, address, 1);
}

void fake_cuda_hang(void *stream)
{
    check(stream, STREAM, "a hang")->is_hung = true;
}

/* Under the lock: do it, or record it. */
int put(
    struct object *stream, void (*run)(void *stream, const void *arguments), const void *arguments,
    size_t bytes)
{
    struct node node = {.run = run};
    if (bytes > sizeof(node.arguments)) {
        wrong("a node with too many arguments");
    }
    if (bytes > 0) {
        memcpy(node.arguments, arguments, bytes);
    }
    if (stream->is_recording) {
        if (fake_recording != stream) {
            wrong("work on a stream that another thread records");
        }
        if (stream->node_count == NODES_MAX) {
            wrong("too many nodes");
        }
        stream->nodes[stream->node_count++] = node;
        return CUDA_SUCCESS;
    }
    if (!stream->is_hung && fake.sticky == 0) {
        run(stream, node.arguments);
    }
    return CUDA_SUCCESS;
}

int fake_cuda_enqueue(
    void *stream, void (*function)(void *stream, const void *arguments), const void *arguments,
    size_t bytes)
{
    const int result = enter_context("a kernel");
    return leave(
        result != 0 ? result : put(check(stream, STREAM, "a kernel"), function, arguments, bytes));
}

/* ── The device ─────────────────────────────────────────────────────────────────────────── */

EXPORT int cuInit(unsigned flags);
EXPORT int cuDriverGetVersion(int *out);
EXPORT int cuDeviceGet(int *out, int index);
EXPORT int cuDeviceGetCount(int *out);
EXPORT int cuDeviceGetName(char *out, int bytes, int device);
EXPORT int cuDeviceGetAttribute(int *out, int attribute, int device);
EXPORT int cuDeviceTotalMem_v2(size_t *out, int device);
EXPORT int cuDevicePrimaryCtxRetain(void **out, int device);
EXPORT int cuDevicePrimaryCtxRelease_v2(int device);
EXPORT int cuCtxSetCurrent(void *context);
EXPORT int cuMemGetInfo_v2(size_t *free_out, size_t *total_out);
EXPORT int cuGetErrorName(int result, const char **out);

/* The number in the environment under @name; 0 if there is none. */
static int number_in(const char *name)
{
    const char *text = getenv(name);
    return text == NULL ? 0 : (int)strtol(text, NULL, 10);
}

int cuInit(unsigned flags)
{
    if (flags != 0) {
        wrong("cuInit with flags");
    }
    (void)pthread_mutex_lock(&fake.lock);
    if (fake.process != 0 && fake.process != getpid()) {
        wrong("cuInit in a process that was forked after it");
    }
    fake.process = getpid();
    return leave(number_in("FAKE_CUDA_INIT"));
}

int cuDriverGetVersion(int *out)
{
    *out = fake.is_old || getenv("FAKE_CUDA_OLD") != NULL ? 11080 : 13000;
    return 0;
}

/* As many as CUDA_VISIBLE_DEVICES has left: all of them, or one. */
static int gpu_count(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible == NULL) {
        return FAKE_GPUS;
    }
    if (strncmp(visible, "MIG-", strlen("MIG-")) == 0) {
        return 1; /* Of several a process has the first. */
    }
    return visible[0] >= '0' && visible[0] < '0' + FAKE_GPUS && visible[1] == '\0' ? 1 : 0;
}

int cuDeviceGetCount(int *out)
{
    const int result = enter("cuDeviceGetCount");
    *out = gpu_count();
    return leave(result);
}

int cuDeviceGet(int *out, int index)
{
    const int result = enter("cuDeviceGet");
    *out = index;
    return leave(index < gpu_count() ? result : 101);
}

int cuDeviceGetName(char *out, int bytes, int device)
{
    const int result = enter("cuDeviceGetName");
    (void)device;
    const char *name = getenv("FAKE_CUDA_NAME");
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible != NULL && strncmp(visible, "MIG-", strlen("MIG-")) == 0) {
        name = strchr(visible, ',') == NULL ? "Fake GPU MIG 1g.18gb" : "one of several instances";
    }
    (void)snprintf(out, (size_t)bytes, "%s", name == NULL ? "Fake GPU" : name);
    return leave(result);
}

int cuDeviceGetAttribute(int *out, int attribute, int device)
{
    const int result = enter("cuDeviceGetAttribute");
    (void)device;
    *out = attribute == CUDA_ATTRIBUTE_MODE         ? number_in("FAKE_CUDA_MODE")
           : attribute == CUDA_ATTRIBUTE_PROCESSORS ? FAKE_PROCESSORS
           : attribute == CUDA_ATTRIBUTE_GREATER    ? 9
                                                    : 1;
    return leave(result);
}

int cuDeviceTotalMem_v2(size_t *out, int device)
{
    (void)device;
    *out = DEVICE_BYTES;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **out, int device)
{
    const int result = enter("cuDevicePrimaryCtxRetain");
    (void)device;
    fake.has_context = true;
    *out = &fake;
    return leave(result);
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    const int result = enter("cuDevicePrimaryCtxRelease");
    (void)device;
    if (!fake.has_context) {
        wrong("a context released that was not retained");
    }
    fake.has_context = false;
    return leave(result);
}

int cuCtxSetCurrent(void *context)
{
    const int result = enter("cuCtxSetCurrent");
    if (context != NULL && !fake.has_context) {
        wrong("a context made current that is not there");
    }
    fake_is_current = context != NULL;
    return leave(result);
}

int cuMemGetInfo_v2(size_t *free_out, size_t *total_out)
{
    const int result = enter_context("cuMemGetInfo");
    *free_out = DEVICE_BYTES - fake.counts.device_bytes;
    *total_out = DEVICE_BYTES;
    return leave(result);
}

int cuGetErrorName(int result, const char **out)
{
    *out = result == CUDA_OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
           : result == CUDA_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                            : "CUDA_ERROR_OTHER";
    return 0;
}
