/*
 * hang.c - a package as AOTInductor makes them, for a real device: y = 2 * x, for rows of floats.
 * An element that is 777 is waited for until it is something else: without end.
 *
 * tidy: foreign interface
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/driver.h"
#include "fakes/aoti_package.h"

enum { TYPE_FLOAT = 6, ON_CUDA = 1, EXTENT = 4, ROWS_MAX = 64 };

struct container {
    struct cuda_driver driver;
    struct CUmod_st *module;
    struct CUfunc_st *kernel;
    uint64_t made;
};

extern int32_t aoti_torch_create_tensor_from_blob(
    void *data, int64_t rank, const int64_t *shape, const int64_t *strides, int64_t offset,
    int32_t type, int32_t device_type, int32_t device, struct AtenTensorOpaque **out);
extern int32_t aoti_torch_get_data_ptr(struct AtenTensorOpaque *tensor, void **out);
extern int32_t aoti_torch_get_numel(struct AtenTensorOpaque *tensor, int64_t *out);
extern int32_t aoti_torch_delete_tensor_object(struct AtenTensorOpaque *tensor);

static const char text[] = /* A thread for each element. */
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry twice(.param .u64 from, .param .u64 to)\n"
    "{\n"
    "    .reg .b64 %a<6>;\n"
    "    .reg .b32 %v<2>;\n"
    "    .reg .f32 %f<3>;\n"
    "    .reg .pred %waits;\n"
    "    ld.param.u64 %a1, [from];\n"
    "    ld.param.u64 %a2, [to];\n"
    "    mov.u32 %v1, %tid.x;\n"
    "    mul.wide.u32 %a3, %v1, 4;\n"
    "    add.u64 %a4, %a1, %a3;\n"
    "    add.u64 %a5, %a2, %a3;\n"
    "again:\n"
    "    ld.volatile.global.f32 %f1, [%a4];\n"
    "    setp.eq.f32 %waits, %f1, 0f44424000;\n"
    "    @%waits bra again;\n"
    "    add.f32 %f2, %f1, %f1;\n"
    "    st.global.f32 [%a5], %f2;\n"
    "    ret;\n"
    "}\n";

static bool look_up(void *library, const char *symbol, void *function_out)
{
    void *found = dlsym(library, symbol);
    memcpy(function_out, &found, sizeof(found));
    return found != NULL;
}

int32_t AOTInductorModelContainerCreateWithDevice(
    void **out, size_t runners, const char *device, const char *folder)
{
    struct container *container = calloc(1, sizeof(*container));
    (void)runners;
    (void)device;
    (void)folder;
    if (container == NULL) {
        return 1;
    }
    struct cuda_driver *driver = &container->driver;
    driver->library = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver->library == NULL ||
        !look_up(driver->library, "cuModuleLoadData", &driver->module_load) ||
        !look_up(driver->library, "cuModuleGetFunction", &driver->module_function) ||
        !look_up(driver->library, "cuLaunchKernel", &driver->kernel_launch) ||
        !look_up(driver->library, "cuMemAlloc_v2", &driver->memory_take) ||
        driver->module_load(&container->module, text) != 0 ||
        driver->module_function(&container->kernel, container->module, "twice") != 0 ||
        driver->memory_take(&container->made, ROWS_MAX * EXTENT * sizeof(float)) != 0) {
        free(container);
        return 1;
    }
    *out = container;
    return 0;
}

int32_t AOTInductorModelContainerDelete(void *handle)
{
    free(handle); /* What is on the device goes with the process. */
    return 0;
}

int32_t AOTInductorModelContainerGetNumConstants(void *handle, size_t *out)
{
    (void)handle;
    *out = 0;
    return 0;
}

int32_t AOTInductorModelContainerGetConstantOriginalFQN(
    void *handle, size_t index, const char **out)
{
    (void)handle;
    (void)index;
    (void)out;
    return 1;
}

int32_t AOTInductorModelContainerGetConstantName(void *handle, size_t index, const char **out)
{
    (void)handle;
    (void)index;
    (void)out;
    return 1;
}

int32_t AOTInductorModelContainerUpdateUserManagedConstantBufferPairs(
    void *handle, const struct pair *pairs, size_t count, bool use_inactive, bool check_all)
{
    (void)handle;
    (void)pairs;
    (void)use_inactive;
    (void)check_all;
    return count == 0 ? 0 : 1;
}

int32_t AOTInductorModelContainerRunSingleThreaded(
    void *handle, struct AtenTensorOpaque **inputs, size_t input_count,
    struct AtenTensorOpaque **outputs, size_t output_count, void *stream, void *executor)
{
    const struct container *container = handle;
    int64_t count = 0;
    void *x = NULL;
    (void)executor;
    if (input_count != 1 || output_count != 1 || aoti_torch_get_data_ptr(inputs[0], &x) != 0 ||
        aoti_torch_get_numel(inputs[0], &count) != 0 || count > ROWS_MAX * EXTENT) {
        return 1;
    }
    (void)aoti_torch_delete_tensor_object(inputs[0]); /* They are the run's. */
    const int64_t shape[] = {count / EXTENT, EXTENT};
    const int64_t strides[] = {EXTENT, 1};
    uint64_t from = (uint64_t)(uintptr_t)x;
    uint64_t to = container->made;
    void *arguments[] = {&from, &to};
    const int result = container->driver.kernel_launch(
        container->kernel, 1, 1, 1, (unsigned)count, 1, 1, /* shared */ 0, stream, arguments, NULL);
    return result != 0 ? 1
                       : aoti_torch_create_tensor_from_blob(
                             (void *)(uintptr_t)to, 2, shape, strides, /* offset */ 0, TYPE_FLOAT,
                             ON_CUDA, /* device */ 0, outputs);
}
