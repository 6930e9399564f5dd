/*
 * driver.h - the part of the CUDA driver that engines on GPUs call, opened at run time.
 *
 * The declarations are our own: nothing of CUDA is needed to build. They follow the driver's binary
 * interface of CUDA 12.4 and later, which is when shares of a device (green contexts) came. A
 * pointer into device memory is a number.
 */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgreenCtx_st;
struct CUdevResourceDesc_st;

/* Processors of a device, or some of them. */
struct cuda_resource {
    int type; /* CUDA_RESOURCE_SM. */
    unsigned char internal[92];
    union {
        struct {
            unsigned count, least, aligned;
        } sm;
        unsigned char room[48];
    };
};

struct cuda_location {
    int type; /* CUDA_ON_DEVICE. */
    int number;
};

/* What memory is to be like. */
struct cuda_memory_kind {
    int type;    /* CUDA_MEMORY_PINNED. */
    int handles; /* CUDA_HANDLE_FILE: it can be passed to another process. */
    struct cuda_location where;
    void *reserved;
    unsigned char flags[8];
};

struct cuda_access {
    struct cuda_location where;
    int flags; /* CUDA_READ or CUDA_READ_WRITE. */
};

enum {
    CUDA_RESOURCE_SM = 1,
    CUDA_ON_DEVICE = 1,
    CUDA_MEMORY_PINNED = 1,
    CUDA_HANDLE_NONE = 0,
    CUDA_HANDLE_FILE = 1,
    CUDA_READ = 1,
    CUDA_READ_WRITE = 3,
    CUDA_STREAM_APART = 1,   /* Does not wait for the default stream. */
    CUDA_EVENT_UNTIMED = 2,  /* Cheaper. */
    CUDA_CAPTURE_THREAD = 1, /* Other threads may do what would break a capture. */
    CUDA_GREEN_DEFAULT_STREAM = 1,
    CUDA_HOST_PORTABLE = 1,
    CUDA_HOST_READ_ONLY = 8,
    CUDA_ATTRIBUTE_PROCESSORS = 16,
    CUDA_ATTRIBUTE_MODE = 20, /* Which processes may use it. */
    CUDA_MODE_PROHIBITED = 2,
    CUDA_MODE_EXCLUSIVE = 3,     /* One at a time. */
    CUDA_ATTRIBUTE_GREATER = 75, /* Compute capability, its first number. */
    CUDA_ATTRIBUTE_LESSER = 76,  /* Compute capability, its second number. */
    CUDA_ATTRIBUTE_VMM = 102,    /* Memory can be mapped behind addresses. */
    CUDA_ATTRIBUTE_FILES = 103,  /* Memory can be passed to other processes. */
    CUDA_VERSION_LEAST = 12040,
};

/* Results. */
enum {
    CUDA_SUCCESS = 0,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NO_DEVICE = 100,
    CUDA_ECC_UNCORRECTABLE = 214,
    CUDA_NOT_READY = 600,
    CUDA_ILLEGAL_ADDRESS = 700,
    CUDA_LAUNCH_TIMEOUT = 702,
    CUDA_ASSERTED = 710,
    CUDA_FIRST_FAULT = 714, /* From here to the next: the device stopped a kernel. */
    CUDA_LAUNCH_FAILED = 719,
    CUDA_UNKNOWN = 999,
};

/* name here, symbol, parameters; every one returns a result */
#define CUDA_DRIVER_MAP(X)                                                                         \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(version, "cuDriverGetVersion", (int *out))                                                   \
    X(device_get, "cuDeviceGet", (int *out, int index))                                            \
    X(device_count, "cuDeviceGetCount", (int *out))                                                \
    X(device_name, "cuDeviceGetName", (char *out, int bytes, int device))                          \
    X(device_attribute, "cuDeviceGetAttribute", (int *out, int attribute, int device))             \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t * out, int device))                            \
    X(context_retain, "cuDevicePrimaryCtxRetain", (struct CUctx_st * *out, int device))            \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                               \
    X(context_set, "cuCtxSetCurrent", (struct CUctx_st * context))                                 \
    X(memory_info, "cuMemGetInfo_v2", (size_t * free_out, size_t * total_out))                     \
    X(memory_take, "cuMemAlloc_v2", (uint64_t * out, size_t bytes))                                \
    X(memory_give, "cuMemFree_v2", (uint64_t address))                                             \
    X(host_take, "cuMemHostAlloc", (void **out, size_t bytes, unsigned flags))                     \
    X(host_give, "cuMemFreeHost", (void *memory))                                                  \
    X(host_register, "cuMemHostRegister_v2", (void *memory, size_t bytes, unsigned flags))         \
    X(host_unregister, "cuMemHostUnregister", (void *memory))                                      \
    X(copy_in, "cuMemcpyHtoDAsync_v2",                                                             \
      (uint64_t to, const void *from, size_t bytes, struct CUstream_st *stream))                   \
    X(copy_out, "cuMemcpyDtoHAsync_v2",                                                            \
      (void *to, uint64_t from, size_t bytes, struct CUstream_st *stream))                         \
    X(stream_create, "cuStreamCreate", (struct CUstream_st * *out, unsigned flags))                \
    X(stream_create_first, "cuStreamCreateWithPriority",                                           \
      (struct CUstream_st * *out, unsigned flags, int priority))                                   \
    X(priority_range, "cuCtxGetStreamPriorityRange", (int *least_out, int *greatest_out))          \
    X(stream_destroy, "cuStreamDestroy_v2", (struct CUstream_st * stream))                         \
    X(stream_wait, "cuStreamSynchronize", (struct CUstream_st * stream))                           \
    X(event_create, "cuEventCreate", (struct CUevent_st * *out, unsigned flags))                   \
    X(event_destroy, "cuEventDestroy_v2", (struct CUevent_st * event))                             \
    X(event_record, "cuEventRecord", (struct CUevent_st * event, struct CUstream_st * stream))     \
    X(event_query, "cuEventQuery", (struct CUevent_st * event))                                    \
    X(event_wait, "cuEventSynchronize", (struct CUevent_st * event))                               \
    X(capture_begin, "cuStreamBeginCapture_v2", (struct CUstream_st * stream, int mode))           \
    X(capture_end, "cuStreamEndCapture", (struct CUstream_st * stream, struct CUgraph_st * *out))  \
    X(graph_make, "cuGraphInstantiateWithFlags",                                                   \
      (struct CUgraphExec_st * *out, struct CUgraph_st * graph, unsigned long long flags))         \
    X(graph_launch, "cuGraphLaunch", (struct CUgraphExec_st * graph, struct CUstream_st * stream)) \
    X(graph_exec_destroy, "cuGraphExecDestroy", (struct CUgraphExec_st * graph))                   \
    X(graph_destroy, "cuGraphDestroy", (struct CUgraph_st * graph))                                \
    X(resource_of, "cuDeviceGetDevResource", (int device, struct cuda_resource *out, int type))    \
    X(resource_split, "cuDevSmResourceSplitByCount",                                               \
      (struct cuda_resource * parts, unsigned *count, const struct cuda_resource *whole,           \
       struct cuda_resource *rest, unsigned flags, unsigned size))                                 \
    X(resource_describe, "cuDevResourceGenerateDesc",                                              \
      (struct CUdevResourceDesc_st * *out, struct cuda_resource * parts, unsigned count))          \
    X(green_create, "cuGreenCtxCreate",                                                            \
      (struct CUgreenCtx_st * *out, struct CUdevResourceDesc_st * parts, int device,               \
       unsigned flags))                                                                            \
    X(green_destroy, "cuGreenCtxDestroy", (struct CUgreenCtx_st * green))                          \
    X(green_stream, "cuGreenCtxStreamCreate",                                                      \
      (struct CUstream_st * *out, struct CUgreenCtx_st * green, unsigned flags, int priority))     \
    X(range_reserve, "cuMemAddressReserve",                                                        \
      (uint64_t * out, size_t bytes, size_t alignment, uint64_t wanted, unsigned long long flags)) \
    X(range_free, "cuMemAddressFree", (uint64_t address, size_t bytes))                            \
    X(block_create, "cuMemCreate",                                                                 \
      (uint64_t * out, size_t bytes, const struct cuda_memory_kind *kind,                          \
       unsigned long long flags))                                                                  \
    X(block_release, "cuMemRelease", (uint64_t block))                                             \
    X(block_export, "cuMemExportToShareableHandle",                                                \
      (void *out, uint64_t block, int handles, unsigned long long flags))                          \
    X(block_import, "cuMemImportFromShareableHandle", (uint64_t * out, void *file, int handles))   \
    X(block_map, "cuMemMap",                                                                       \
      (uint64_t address, size_t bytes, size_t offset, uint64_t block, unsigned long long flags))   \
    X(block_unmap, "cuMemUnmap", (uint64_t address, size_t bytes))                                 \
    X(block_access, "cuMemSetAccess",                                                              \
      (uint64_t address, size_t bytes, const struct cuda_access *access, size_t count))            \
    X(block_grain, "cuMemGetAllocationGranularity",                                                \
      (size_t * out, const struct cuda_memory_kind *kind, int option))                             \
    X(module_load, "cuModuleLoadData", (struct CUmod_st * *out, const void *text))                 \
    X(module_unload, "cuModuleUnload", (struct CUmod_st * module))                                 \
    X(module_function, "cuModuleGetFunction",                                                      \
      (struct CUfunc_st * *out, struct CUmod_st * module, const char *name))                       \
    X(kernel_launch, "cuLaunchKernel",                                                             \
      (struct CUfunc_st * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,             \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,                      \
       struct CUstream_st *stream, void **arguments, void **extra))                                \
    X(error_name, "cuGetErrorName", (int result, const char **out))

struct cuda_driver {
    void *library;
#define X(name, symbol, parameters) int(*name) parameters; /* NOLINT(*-macro-parentheses) */
    CUDA_DRIVER_MAP(X)
#undef X
};

/*
 * Open the driver: @path, or the system's if it is NULL. Touches no device, so that the process can
 * still be forked. It stays open as long as the process.
 *
 * Errors: WEFT_NOT_FOUND if there is none; WEFT_REFUSED if it is older than this file.
 */
enum weft_status cuda_driver_open(
    const char *path, struct cuda_driver *driver_out, struct weft_error *error);

/*
 * Let this process see GPU number @gpu of the machine alone, of those that CUDA_VISIBLE_DEVICES
 * leaves of it: it is device 0 from now on, for libtorch as well. Before cuda_device_open(), once.
 * It may also have as many files open as the system lets it.
 * So many @streams may have kernels at a time. Those that share one of the driver's queues wait for
 * one another; but to begin and to end a process with more queues takes 0.3 s longer each.
 *
 * Errors: WEFT_NOT_FOUND if CUDA_VISIBLE_DEVICES lists fewer.
 */
enum weft_status cuda_choose(uint32_t gpu, uint32_t streams, struct weft_error *error);

/* Whether after @result nothing of this process runs on the device any more. */
bool cuda_is_fatal(int result);

/*
 * WEFT_OK for success. Otherwise @error says what @what was answered: WEFT_NO_MEMORY; WEFT_LOST if
 * the result is fatal; WEFT_FAILED for the rest.
 */
enum weft_status cuda_check(
    const struct cuda_driver *driver, int result, const char *what, struct weft_error *error);

/* A device of this process. */
struct cuda_device {
    const struct cuda_driver *driver;
    int number;
    struct CUctx_st *context;
    char name[64];
    uint32_t processors; /* Streaming multiprocessors, SMs. */
    uint64_t memory_bytes;
    size_t grain_bytes; /* Of memory behind addresses. */
    struct CUmod_st *module;
    struct CUfunc_st *gather; /* Copies rows from host memory, 16 bytes a thread. */
};

/*
 * Open the first device that this process sees: its context becomes the current one of this thread.
 * On success cuda_device_close() releases it.
 *
 * Errors: WEFT_NOT_FOUND if there is none; WEFT_REFUSED if it cannot do what engines
 * need, and the message says what; those of cuda_check().
 */
enum weft_status cuda_device_open(
    const struct cuda_driver *driver, struct cuda_device *device_out, struct weft_error *error);
void cuda_device_close(struct cuda_device *device);

/* Let this thread, too, work on @device. */
enum weft_status cuda_device_enter(const struct cuda_device *device, struct weft_error *error);

#endif /* CUDA_DRIVER_H */
