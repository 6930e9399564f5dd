/*
 * ort_abi.h - the part of ONNX Runtime's binary interface that Weft calls. Data.
 *
 * The library is loaded at run time and exports one function, OrtGetApiBase(). That gives a
 * table of function pointers whose places never change: a later version only adds to the end.
 * So a place and a signature are all that is needed to call, and no header. Version 16 of the
 * table has 266 places; every place below is one of them, on every library since 1.16.
 *
 * A test compares places and signatures with the header of a release.
 */
#ifndef ONNX_ORT_ABI_H
#define ONNX_ORT_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { ORT_ABI_VERSION = 16, ORT_ABI_PLACES = 266 };

/* Values of its enumerations. */
enum {
    ORT_LOG_FATAL = 4,
    ORT_OPTIMISE_NOTHING = 0,
    ORT_OPTIMISE_ALL = 99,
    ORT_ALLOCATOR_DEVICE = 0,
    ORT_MEMORY_DEFAULT = 0,
};

/* type of Weft, its number there, and its name there */
#define ORT_ABI_DTYPE_MAP(X)                                                                       \
    X(WEFT_FP32, 1, FLOAT)                                                                         \
    X(WEFT_UINT8, 2, UINT8)                                                                        \
    X(WEFT_INT8, 3, INT8)                                                                          \
    X(WEFT_UINT16, 4, UINT16)                                                                      \
    X(WEFT_INT16, 5, INT16)                                                                        \
    X(WEFT_INT32, 6, INT32)                                                                        \
    X(WEFT_INT64, 7, INT64)                                                                        \
    X(WEFT_BOOL, 9, BOOL)                                                                          \
    X(WEFT_FP16, 10, FLOAT16)                                                                      \
    X(WEFT_FP64, 11, DOUBLE)                                                                       \
    X(WEFT_UINT32, 12, UINT32)                                                                     \
    X(WEFT_UINT64, 13, UINT64)                                                                     \
    X(WEFT_BYTES, 8, STRING)                                                                       \
    X(WEFT_BF16, 16, BFLOAT16)

struct OrtEnv;
struct OrtStatus;
struct OrtSession;
struct OrtSessionOptions;
struct OrtRunOptions;
struct OrtValue;
struct OrtMemoryInfo;
struct OrtTypeInfo;
struct OrtTensorTypeAndShapeInfo;
struct OrtThreadingOptions;
struct OrtMapTypeInfo;
struct OrtSequenceTypeInfo;

/* Memory for tensors and weights, from the one that fills this in. */
struct OrtAllocator {
    uint32_t version;
    void *(*Alloc)(struct OrtAllocator *allocator, size_t bytes);
    void (*Free)(struct OrtAllocator *allocator, void *block);
    const struct OrtMemoryInfo *(*Info)(const struct OrtAllocator *allocator);
};

struct ort_abi_base {
    const void *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
};

/* place, result, name, parameters */
/* clang-format off */
#define ORT_ABI_MAP(X)                                                                             \
    X(2, const char *, GetErrorMessage, (const struct OrtStatus *))                                \
    X(7, struct OrtStatus *, CreateSession,                                                        \
        (const struct OrtEnv *, const char *, const struct OrtSessionOptions *,                    \
        struct OrtSession **))                                                                     \
    X(8, struct OrtStatus *, CreateSessionFromArray,                                               \
        (const struct OrtEnv *, const void *, size_t, const struct OrtSessionOptions *,            \
        struct OrtSession **))                                                                     \
    X(9, struct OrtStatus *, Run,                                                                  \
        (struct OrtSession *, const struct OrtRunOptions *, const char *const *,                   \
        const struct OrtValue *const *, size_t, const char *const *, size_t, struct OrtValue **))  \
    X(10, struct OrtStatus *, CreateSessionOptions, (struct OrtSessionOptions **))                 \
    X(11, struct OrtStatus *, SetOptimizedModelFilePath,                                           \
        (struct OrtSessionOptions *, const char *))                                                \
    X(17, struct OrtStatus *, DisableMemPattern, (struct OrtSessionOptions *))                     \
    X(23, struct OrtStatus *, SetSessionGraphOptimizationLevel,                                    \
        (struct OrtSessionOptions *, uint32_t))                                                    \
    X(30, struct OrtStatus *, SessionGetInputCount, (const struct OrtSession *, size_t *))         \
    X(31, struct OrtStatus *, SessionGetOutputCount, (const struct OrtSession *, size_t *))        \
    X(33, struct OrtStatus *, SessionGetInputTypeInfo,                                             \
        (const struct OrtSession *, size_t, struct OrtTypeInfo **))                                \
    X(34, struct OrtStatus *, SessionGetOutputTypeInfo,                                            \
        (const struct OrtSession *, size_t, struct OrtTypeInfo **))                                \
    X(36, struct OrtStatus *, SessionGetInputName,                                                 \
        (const struct OrtSession *, size_t, struct OrtAllocator *, char **))                       \
    X(37, struct OrtStatus *, SessionGetOutputName,                                                \
        (const struct OrtSession *, size_t, struct OrtAllocator *, char **))                       \
    X(39, struct OrtStatus *, CreateRunOptions, (struct OrtRunOptions **))                         \
    X(46, struct OrtStatus *, RunOptionsSetTerminate, (struct OrtRunOptions *))                    \
    X(47, struct OrtStatus *, RunOptionsUnsetTerminate, (struct OrtRunOptions *))                  \
    X(49, struct OrtStatus *, CreateTensorWithDataAsOrtValue,                                      \
        (const struct OrtMemoryInfo *, void *, size_t, const int64_t *, size_t, uint32_t,          \
        struct OrtValue **))                                                                       \
    X(48, struct OrtStatus *, CreateTensorAsOrtValue,                                              \
        (struct OrtAllocator *, const int64_t *, size_t, uint32_t, struct OrtValue **))            \
    X(51, struct OrtStatus *, GetTensorMutableData, (struct OrtValue *, void **))                  \
    X(55, struct OrtStatus *, CastTypeInfoToTensorInfo,                                            \
        (const struct OrtTypeInfo *, const struct OrtTensorTypeAndShapeInfo **))                   \
    X(60, struct OrtStatus *, GetTensorElementType,                                                \
        (const struct OrtTensorTypeAndShapeInfo *, uint32_t *))                                    \
    X(61, struct OrtStatus *, GetDimensionsCount,                                                  \
        (const struct OrtTensorTypeAndShapeInfo *, size_t *))                                      \
    X(62, struct OrtStatus *, GetDimensions,                                                       \
        (const struct OrtTensorTypeAndShapeInfo *, int64_t *, size_t))                             \
    X(63, struct OrtStatus *, GetSymbolicDimensions,                                               \
        (const struct OrtTensorTypeAndShapeInfo *, const char **, size_t))                         \
    X(65, struct OrtStatus *, GetTensorTypeAndShape,                                               \
        (const struct OrtValue *, struct OrtTensorTypeAndShapeInfo **))                            \
    X(69, struct OrtStatus *, CreateCpuMemoryInfo, (int, int, struct OrtMemoryInfo **))            \
    X(76, struct OrtStatus *, AllocatorFree, (struct OrtAllocator *, void *))                      \
    X(78, struct OrtStatus *, GetAllocatorWithDefaultOptions, (struct OrtAllocator **))            \
    X(80, struct OrtStatus *, GetValue,                                                            \
        (const struct OrtValue *, int, struct OrtAllocator *, struct OrtValue **))                 \
    X(81, struct OrtStatus *, GetValueCount, (const struct OrtValue *, size_t *))                  \
    X(92, void, ReleaseEnv, (struct OrtEnv *))                                                     \
    X(93, void, ReleaseStatus, (struct OrtStatus *))                                               \
    X(94, void, ReleaseMemoryInfo, (struct OrtMemoryInfo *))                                       \
    X(95, void, ReleaseSession, (struct OrtSession *))                                             \
    X(96, void, ReleaseValue, (struct OrtValue *))                                                 \
    X(97, void, ReleaseRunOptions, (struct OrtRunOptions *))                                       \
    X(98, void, ReleaseTypeInfo, (struct OrtTypeInfo *))                                           \
    X(99, void, ReleaseTensorTypeAndShapeInfo, (struct OrtTensorTypeAndShapeInfo *))               \
    X(100, void, ReleaseSessionOptions, (struct OrtSessionOptions *))                              \
    X(103, struct OrtStatus *, CastTypeInfoToMapTypeInfo,                                          \
        (const struct OrtTypeInfo *, const struct OrtMapTypeInfo **))                              \
    X(104, struct OrtStatus *, CastTypeInfoToSequenceTypeInfo,                                     \
        (const struct OrtTypeInfo *, const struct OrtSequenceTypeInfo **))                         \
    X(105, struct OrtStatus *, GetMapKeyType, (const struct OrtMapTypeInfo *, uint32_t *))         \
    X(106, struct OrtStatus *, GetMapValueType,                                                    \
        (const struct OrtMapTypeInfo *, struct OrtTypeInfo **))                                    \
    X(107, struct OrtStatus *, GetSequenceElementType,                                             \
        (const struct OrtSequenceTypeInfo *, struct OrtTypeInfo **))                               \
    X(119, struct OrtStatus *, CreateEnvWithGlobalThreadPools,                                     \
        (uint32_t, const char *, const struct OrtThreadingOptions *, struct OrtEnv **))            \
    X(120, struct OrtStatus *, DisablePerSessionThreads, (struct OrtSessionOptions *))             \
    X(121, struct OrtStatus *, CreateThreadingOptions, (struct OrtThreadingOptions **))            \
    X(122, void, ReleaseThreadingOptions, (struct OrtThreadingOptions *))                          \
    X(127, struct OrtStatus *, GetStringTensorElementLength,                                       \
        (const struct OrtValue *, size_t, size_t *))                                               \
    X(128, struct OrtStatus *, GetStringTensorElement,                                             \
        (const struct OrtValue *, size_t, size_t, void *))                                         \
    X(130, struct OrtStatus *, AddSessionConfigEntry,                                              \
        (struct OrtSessionOptions *, const char *, const char *))                                  \
    X(147, struct OrtStatus *, SetGlobalIntraOpNumThreads, (struct OrtThreadingOptions *, int))    \
    X(148, struct OrtStatus *, SetGlobalInterOpNumThreads, (struct OrtThreadingOptions *, int))    \
    X(149, struct OrtStatus *, SetGlobalSpinControl, (struct OrtThreadingOptions *, int))          \
    X(176, struct OrtStatus *, RegisterAllocator, (struct OrtEnv *, struct OrtAllocator *))        \
    X(252, struct OrtStatus *, GetResizedStringTensorElementBuffer,                                \
        (struct OrtValue *, size_t, size_t, char **))
/* clang-format on */

/* All of them, to be called as api->Run(...). NOLINTBEGIN(bugprone-macro-parentheses) */
struct ort_abi {
#define X(place, result, name, parameters) result(*name) parameters;
    ORT_ABI_MAP(X)
#undef X
};
/* NOLINTEND(bugprone-macro-parentheses) */

#define X(place, result, name, parameters)                                                         \
    _Static_assert((place) < ORT_ABI_PLACES, #name " lies outside of the version asked for");
ORT_ABI_MAP(X)
#undef X

#endif /* ONNX_ORT_ABI_H */
