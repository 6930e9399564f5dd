/*
 * aoti_package.h - the functions that a package of AOTInductor has, as far as Weft calls them, for
 * the packages of tests.
 *
 * tidy: foreign interface
 */
#ifndef FAKES_AOTI_PACKAGE_H
#define FAKES_AOTI_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

struct AtenTensorOpaque;

/* A constant, and where it is. */
struct pair {
    const char *name;
    struct AtenTensorOpaque *tensor;
};

EXPORT int32_t AOTInductorModelContainerCreateWithDevice(
    void **out, size_t runners, const char *device, const char *folder);
EXPORT int32_t AOTInductorModelContainerDelete(void *handle);
EXPORT int32_t AOTInductorModelContainerGetNumConstants(void *handle, size_t *out);
EXPORT int32_t
AOTInductorModelContainerGetConstantOriginalFQN(void *handle, size_t index, const char **out);
EXPORT int32_t
AOTInductorModelContainerGetConstantName(void *handle, size_t index, const char **out);
EXPORT int32_t AOTInductorModelContainerUpdateUserManagedConstantBufferPairs(
    void *handle, const struct pair *pairs, size_t count, bool use_inactive, bool check_all);
EXPORT int32_t AOTInductorModelContainerRunSingleThreaded(
    void *handle, struct AtenTensorOpaque **inputs, size_t input_count,
    struct AtenTensorOpaque **outputs, size_t output_count, void *stream, void *executor);

#endif /* FAKES_AOTI_PACKAGE_H */
