/*
 * fake_nvml.c - a management library with two GPUs.
 *
 * Questions before nvmlInit_v2() or after nvmlShutdown() end the process. GPU 1 does not know its
 * power.
 *
 * tidy: foreign interface
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/nvml.h"
#include "fakes/fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

enum { NOT_SUPPORTED = 3, NOT_FOUND = 6 };

static int is_open;
static int devices[FAKE_GPUS];

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out);
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **out);
EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *out);
EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct nvml_utilisation *out);
EXPORT int nvmlDeviceGetClockInfo(void *device, int type, unsigned *out);
EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *out);
EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out);

/* The number of @device. */
static unsigned check(const void *device)
{
    const int *at = device;
    if (!is_open || at < devices || at >= devices + FAKE_GPUS) {
        (void)fputs("fake NVML: not open, or not a device\n", stderr);
        abort();
    }
    return (unsigned)(at - devices);
}

int nvmlInit_v2(void)
{
    is_open = 1;
    return 0;
}

int nvmlShutdown(void)
{
    (void)check(devices);
    is_open = 0;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out)
{
    (void)check(devices);
    *out = index < FAKE_GPUS ? &devices[index] : NULL;
    return index < FAKE_GPUS ? 0 : NOT_FOUND;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **out)
{
    (void)check(devices);
    *out = &devices[1];
    return strcmp(uuid, "GPU-1") == 0 ? 0 : NOT_FOUND;
}

int nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *out)
{
    *out = (struct nvml_memory){.total = 8000, .free = 7000, .used = 1000 + check(device)};
    return 0;
}

int nvmlDeviceGetUtilizationRates(void *device, struct nvml_utilisation *out)
{
    *out = (struct nvml_utilisation){.gpu = 25 + check(device)};
    return 0;
}

int nvmlDeviceGetClockInfo(void *device, int type, unsigned *out)
{
    (void)check(device);
    *out = type == 1 ? 1980 : 0;
    return 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *out)
{
    *out = 123500;
    return check(device) == 0 ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out)
{
    (void)check(device);
    *out = sensor == 0 ? 41 : 0;
    return 0;
}
