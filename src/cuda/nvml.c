#include "cuda/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { CLOCK_PROCESSORS = 1, SENSOR_GPU = 0, UUID_BYTES = 96 };

enum weft_status nvml_open(const char *path, struct nvml *nvml_out, struct weft_error *error)
{
    *nvml_out =
        (struct nvml){.library = dlopen(path == NULL ? "libnvidia-ml.so.1" : path, RTLD_NOW)};
    if (nvml_out->library == NULL) {
        return error_set(error, WEFT_NOT_FOUND, "there is no NVML: %s", dlerror());
    }
    void *symbol;
#define X(name, text, parameters)                                                                  \
    symbol = dlsym(nvml_out->library, text);                                                       \
    if (symbol == NULL) {                                                                          \
        (void)dlclose(nvml_out->library);                                                          \
        return error_set(error, WEFT_NOT_FOUND, "NVML is too old: no %s", text);                   \
    }                                                                                              \
    memcpy(&nvml_out->name, &symbol, sizeof(symbol));
    NVML_MAP(X)
#undef X
    const int result = nvml_out->init();
    if (result != 0) {
        (void)dlclose(nvml_out->library);
        return error_set(error, WEFT_NOT_FOUND, "NVML does not start: error %d", result);
    }
    return WEFT_OK;
}

void nvml_close(struct nvml *nvml)
{
    (void)nvml->shutdown(); /* Whatever it says. */
    (void)dlclose(nvml->library);
}

/* The GPU that CUDA_VISIBLE_DEVICES lists as number @gpu. NULL if it lists fewer. */
static struct nvmlDevice_st *find(const struct nvml *nvml, uint32_t gpu)
{
    struct nvmlDevice_st *device = NULL;
    const char *at = getenv("CUDA_VISIBLE_DEVICES");
    char entry[UUID_BYTES];
    if (at == NULL) {
        return nvml->by_index(gpu, &device) == 0 ? device : NULL;
    }
    for (uint32_t i = 0; i < gpu && *at != '\0'; i++) {
        at += strcspn(at, ",");
        at += *at == ',' ? 1 : 0;
    }
    (void)snprintf(entry, sizeof(entry), "%.*s", (int)strcspn(at, ","), at);
    if (entry[0] < '0' || entry[0] > '9') {
        return nvml->by_uuid(entry, &device) == 0 ? device : NULL;
    }
    return nvml->by_index((unsigned)strtoul(entry, NULL, 10), &device) == 0 ? device : NULL;
}

struct nvml_figures nvml_read(const struct nvml *nvml, uint32_t gpu)
{
    struct nvmlDevice_st *device = find(nvml, gpu);
    struct nvml_memory memory;
    struct nvml_utilisation utilisation;
    unsigned number;
    const double unknown = (double)NAN;
    struct nvml_figures figures = {unknown, unknown, unknown, unknown, unknown};
    if (device == NULL) {
        return figures;
    }
    if (nvml->memory(device, &memory) == 0) {
        figures.memory_used_bytes = (double)memory.used;
    }
    if (nvml->utilisation(device, &utilisation) == 0) {
        figures.utilisation = utilisation.gpu / 100.0;
    }
    if (nvml->clock(device, CLOCK_PROCESSORS, &number) == 0) {
        figures.clock_hz = number * 1e6;
    }
    if (nvml->power(device, &number) == 0) {
        figures.power_w = number / 1e3;
    }
    if (nvml->temperature(device, SENSOR_GPU, &number) == 0) {
        figures.celsius = number;
    }
    return figures;
}
