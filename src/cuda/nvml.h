/*
 * nvml.h - what the driver says about a GPU: memory, utilisation, clock, power, temperature.
 *
 * NVIDIA's management library is opened at run time and declared here. It needs no context on the
 * device, and a process that has opened it can still be forked. A question may take milliseconds:
 * not on the thread of a loop.
 */
#ifndef CUDA_NVML_H
#define CUDA_NVML_H

#include <stdint.h>

#include <weft/status.h>

struct nvmlDevice_st;

/* The library's own records. */
struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_utilisation {
    unsigned gpu, memory; /* Per cent of the time since the last sample. */
};

/* name here, symbol, parameters; every one returns 0 if all is well */
#define NVML_MAP(X)                                                                                \
    X(init, "nvmlInit_v2", (void))                                                                 \
    X(shutdown, "nvmlShutdown", (void))                                                            \
    X(by_index, "nvmlDeviceGetHandleByIndex_v2", (unsigned index, struct nvmlDevice_st **out))     \
    X(by_uuid, "nvmlDeviceGetHandleByUUID", (const char *uuid, struct nvmlDevice_st **out))        \
    X(memory, "nvmlDeviceGetMemoryInfo",                                                           \
      (struct nvmlDevice_st * device, struct nvml_memory * out))                                   \
    X(utilisation, "nvmlDeviceGetUtilizationRates",                                                \
      (struct nvmlDevice_st * device, struct nvml_utilisation * out))                              \
    X(clock, "nvmlDeviceGetClockInfo",                                                             \
      (struct nvmlDevice_st * device, int type, unsigned *mhz_out))                                \
    X(power, "nvmlDeviceGetPowerUsage", (struct nvmlDevice_st * device, unsigned *mw_out))         \
    X(temperature, "nvmlDeviceGetTemperature",                                                     \
      (struct nvmlDevice_st * device, int sensor, unsigned *out))

struct nvml {
    void *library;
#define X(name, symbol, parameters) int(*name) parameters; /* NOLINT(*-macro-parentheses) */
    NVML_MAP(X)
#undef X
};

/* What is known of a GPU. What the library does not say is NAN. */
struct nvml_figures {
    double memory_used_bytes;
    double utilisation; /* 0 to 1. */
    double clock_hz;    /* Of its processors. */
    double power_w;
    double celsius;
};

/*
 * Open the library @path; NULL: the system's. On success nvml_close() releases it.
 *
 * Errors: WEFT_NOT_FOUND if there is none, or it does not work here.
 */
enum weft_status nvml_open(const char *path, struct nvml *nvml_out, struct weft_error *error);
void nvml_close(struct nvml *nvml);

/* Ask about GPU number @gpu of this machine, as cuda_choose() counts them. */
struct nvml_figures nvml_read(const struct nvml *nvml, uint32_t gpu);

#endif /* CUDA_NVML_H */
