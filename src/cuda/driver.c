#include "cuda/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"

#define VISIBLE "CUDA_VISIBLE_DEVICES"

/* For kernels, if nothing is said; and how many there can be. */
enum { QUEUES = 8 };
#define QUEUES_MOST "32"

/*
 * Reads host memory from a kernel: a copy would wait behind weights that are under way on the copy
 * engine. Arguments: where to, a table, how many pieces of 16 bytes a row has, and how many blocks
 * of threads read a row. The table has the address of the row for each block: many reads of one
 * address of the host would be answered one after another.
 */
static const char gather_text[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry weft_gather(\n"
    "    .param .u64 to, .param .u64 table, .param .u32 each, .param .u32 blocks)\n"
    "{\n"
    "    .reg .b64 %a<9>;\n"
    "    .reg .b32 %v<16>;\n"
    "    .reg .pred %over;\n"
    "    ld.param.u64 %a1, [to];\n"
    "    ld.param.u64 %a2, [table];\n"
    "    ld.param.u32 %v0, [each];\n"
    "    ld.param.u32 %v1, [blocks];\n"
    "    mov.u32 %v2, %ctaid.x;\n"
    "    mov.u32 %v3, %ntid.x;\n"
    "    mov.u32 %v4, %tid.x;\n"
    "    div.u32 %v5, %v2, %v1;\n"
    "    mul.lo.u32 %v6, %v5, %v1;\n"
    "    sub.u32 %v7, %v2, %v6;\n"
    "    mad.lo.u32 %v8, %v7, %v3, %v4;\n"
    "    setp.ge.u32 %over, %v8, %v0;\n"
    "    @%over ret;\n"
    "    mul.wide.u32 %a3, %v2, 8;\n"
    "    add.u64 %a4, %a2, %a3;\n"
    "    ld.global.u64 %a5, [%a4];\n"
    "    mul.wide.u32 %a6, %v8, 16;\n"
    "    add.u64 %a5, %a5, %a6;\n"
    "    mad.lo.u32 %v9, %v5, %v0, %v8;\n"
    "    mul.wide.u32 %a7, %v9, 16;\n"
    "    add.u64 %a8, %a1, %a7;\n"
    "    ld.global.v4.u32 {%v10, %v11, %v12, %v13}, [%a5];\n"
    "    st.global.v4.u32 [%a8], {%v10, %v11, %v12, %v13};\n"
    "    ret;\n"
    "}\n";

enum weft_status cuda_driver_open(
    const char *path, struct cuda_driver *driver_out, struct weft_error *error)
{
    *driver_out = (struct cuda_driver){
        .library = dlopen(path == NULL ? "libcuda.so.1" : path, RTLD_NOW | RTLD_GLOBAL)};
    if (driver_out->library == NULL) {
        return error_set(error, WEFT_NOT_FOUND, "there is no NVIDIA driver: %s", dlerror());
    }
    void *symbol;
#define X(name, text, parameters)                                                                  \
    symbol = dlsym(driver_out->library, text);                                                     \
    if (symbol == NULL) {                                                                          \
        return error_set(error, WEFT_REFUSED, "the NVIDIA driver is too old: no %s", text);        \
    }                                                                                              \
    memcpy(&driver_out->name, &symbol, sizeof(symbol));
    CUDA_DRIVER_MAP(X)
#undef X
    return WEFT_OK;
}

/* Each piece of memory that another process may take over is an open file. */
static void allow_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* Or else as many as before. */
    }
}

enum weft_status cuda_choose(uint32_t gpu, uint32_t streams, struct weft_error *error)
{
    char chosen[64];
    const char *at = getenv(VISIBLE);
    if (at == NULL) {
        (void)snprintf(chosen, sizeof(chosen), "%u", gpu);
    } else {
        for (uint32_t i = 0; i < gpu && *at != '\0'; i++) {
            at += strcspn(at, ",");
            at += *at == ',' ? 1 : 0;
        }
        if (*at == '\0') {
            return error_set(
                error, WEFT_NOT_FOUND, "there is no GPU %u: " VISIBLE " is '%s'", gpu,
                getenv(VISIBLE));
        }
        (void)snprintf(chosen, sizeof(chosen), "%.*s", (int)strcspn(at, ","), at);
    }
    allow_files();
    (void)setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", /* overwrite */ 0);
    if (streams > QUEUES) {
        (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", QUEUES_MOST, /* overwrite */ 0);
    }
    (void)setenv(VISIBLE, chosen, /* overwrite */ 1); /* Without memory for it, nothing works. */
    return WEFT_OK;
}

bool cuda_is_fatal(int result)
{
    return result == CUDA_ECC_UNCORRECTABLE || result == CUDA_ILLEGAL_ADDRESS ||
           result == CUDA_LAUNCH_TIMEOUT || result == CUDA_ASSERTED || result == CUDA_UNKNOWN ||
           (result >= CUDA_FIRST_FAULT && result <= CUDA_LAUNCH_FAILED);
}

enum weft_status cuda_check(
    const struct cuda_driver *driver, int result, const char *what, struct weft_error *error)
{
    const char *name = NULL;
    if (result == CUDA_SUCCESS) {
        return WEFT_OK;
    }
    if (driver->error_name(result, &name) != CUDA_SUCCESS || name == NULL) {
        name = "an unknown error";
    }
    const enum weft_status status = result == CUDA_OUT_OF_MEMORY ? WEFT_NO_MEMORY
                                    : cuda_is_fatal(result)      ? WEFT_LOST
                                                                 : WEFT_FAILED;
    return error_set(error, status, "%s: %s (%d)", what, name, result);
}

/* What engines need, beyond what every device can do. */
static enum weft_status check_abilities(const struct cuda_device *device, struct weft_error *error)
{
    const struct cuda_driver *driver = device->driver;
    int version = 0;
    int greater = 0;
    int has_ranges = 0;
    int has_files = 0;
    int mode = 0;
    int result = driver->version(&version);
    if (result == CUDA_SUCCESS) {
        result = driver->device_attribute(&greater, CUDA_ATTRIBUTE_GREATER, device->number);
    }
    if (result == CUDA_SUCCESS) {
        result = driver->device_attribute(&has_ranges, CUDA_ATTRIBUTE_VMM, device->number);
    }
    if (result == CUDA_SUCCESS) {
        result = driver->device_attribute(&has_files, CUDA_ATTRIBUTE_FILES, device->number);
    }
    if (result == CUDA_SUCCESS) {
        result = driver->device_attribute(&mode, CUDA_ATTRIBUTE_MODE, device->number);
    }
    if (result != CUDA_SUCCESS) {
        return cuda_check(driver, result, "ask what the GPU can do", error);
    }
    if (mode == CUDA_MODE_PROHIBITED) {
        return error_set(
            error, WEFT_REFUSED, "its compute mode is 'prohibited': no process may use it");
    }
    if (version < CUDA_VERSION_LEAST) {
        return error_set(
            error, WEFT_REFUSED, "the driver has CUDA %d.%d; shares of a GPU need %d.%d",
            version / 1000, version % 1000 / 10, CUDA_VERSION_LEAST / 1000,
            CUDA_VERSION_LEAST % 1000 / 10);
    }
    if (greater < 7) {
        return error_set(
            error, WEFT_REFUSED, "%s has compute capability %d; 7.0 is needed", device->name,
            greater);
    }
    if (has_ranges == 0 || has_files == 0) {
        return error_set(
            error, WEFT_REFUSED, "%s cannot %s", device->name,
            has_ranges == 0 ? "map memory behind addresses" : "pass memory to another process");
    }
    return WEFT_OK;
}

static int describe(struct cuda_device *device)
{
    const struct cuda_driver *driver = device->driver;
    const struct cuda_memory_kind kind = {
        .type = CUDA_MEMORY_PINNED,
        .handles = CUDA_HANDLE_FILE,
        .where = {.type = CUDA_ON_DEVICE, .number = device->number},
    };
    int processors = 0;
    size_t bytes = 0;
    int result = driver->device_attribute(&processors, CUDA_ATTRIBUTE_PROCESSORS, device->number);
    if (result == CUDA_SUCCESS) {
        result = driver->device_memory(&bytes, device->number);
    }
    if (result == CUDA_SUCCESS) {
        result = driver->block_grain(&device->grain_bytes, &kind, /* option: least */ 0);
    }
    device->processors = (uint32_t)processors;
    device->memory_bytes = bytes;
    return result;
}

enum weft_status cuda_device_open(
    const struct cuda_driver *driver, struct cuda_device *device_out, struct weft_error *error)
{
    struct cuda_device *device = device_out;
    int count = 0;
    *device = (struct cuda_device){.driver = driver};
    int result = driver->init(/* flags */ 0);
    if (result == CUDA_SUCCESS) {
        result = driver->device_count(&count);
    }
    if (result == CUDA_SUCCESS && count == 0) {
        return error_set(error, WEFT_NOT_FOUND, "there is no such GPU");
    }
    if (result == CUDA_SUCCESS) {
        result = driver->device_get(&device->number, /* index */ 0);
    }
    if (result == CUDA_SUCCESS) {
        result = driver->device_name(device->name, sizeof(device->name), device->number);
    }
    if (result != CUDA_SUCCESS) {
        return cuda_check(driver, result, "open the GPU", error);
    }
    const enum weft_status status = check_abilities(device, error);
    if (status != WEFT_OK) {
        return status;
    }
    result = driver->context_retain(&device->context, device->number);
    if (result != CUDA_SUCCESS) {
        return cuda_check(driver, result, "open the GPU", error);
    }
    result = driver->context_set(device->context);
    if (result == CUDA_SUCCESS) {
        result = describe(device);
    }
    if (result == CUDA_SUCCESS) {
        result = driver->module_load(&device->module, gather_text);
    }
    if (result == CUDA_SUCCESS) {
        result = driver->module_function(&device->gather, device->module, "weft_gather");
    }
    if (result != CUDA_SUCCESS) {
        cuda_device_close(device);
    }
    return cuda_check(driver, result, "open the GPU", error);
}

void cuda_device_close(struct cuda_device *device)
{
    if (device->module != NULL) {
        (void)device->driver->module_unload(device->module);
    }
    (void)device->driver->context_set(NULL);
    (void)device->driver->context_release(device->number);
    device->context = NULL;
}

enum weft_status cuda_device_enter(const struct cuda_device *device, struct weft_error *error)
{
    return cuda_check(
        device->driver, device->driver->context_set(device->context), "enter the GPU", error);
}
