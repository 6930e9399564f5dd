#include "cuda/find.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cuda/engine.h"
#include "cuda/share.h"
#include "model/fleet.h"

enum {
    LOOK_MS_MAX = 60000, /* The first on a machine takes seconds. */
    CODE_PART = 32,
};

/* What a process is to look at. */
struct look {
    const char *path;
    uint32_t gpu;
    void (*run)(const struct look *look, struct cuda_found *found);
};

/*
 * How many instances of MIG the operator lists, each of which is used like a GPU; 0: there are
 * others, or none. A process sees one of them, so that the driver would not count them.
 */
static uint32_t count_instances(void)
{
    const char *at = getenv("CUDA_VISIBLE_DEVICES");
    uint32_t count = 0;
    while (at != NULL && strncmp(at, "MIG-", strlen("MIG-")) == 0) {
        count++;
        at += strcspn(at, ",");
        at += *at == ',' ? 1 : 0;
    }
    return count;
}

/* How many there are, in @found->units. Where there is no driver, or no GPU, there are none. */
static void look_at_all(const struct look *look, struct cuda_found *found)
{
    struct cuda_driver driver;
    struct weft_error error = {.status = WEFT_OK};
    int count = 0;
    found->status = cuda_driver_open(look->path, &driver, &error);
    if (found->status == WEFT_OK) {
        int result = driver.init(/* flags */ 0);
        result = result == CUDA_SUCCESS ? driver.device_count(&count) : result;
        found->status = result == CUDA_NO_DEVICE
                            ? WEFT_NOT_FOUND
                            : cuda_check(&driver, result, "the driver does not work", &error);
    }
    (void)snprintf(found->cause, sizeof(found->cause), "%s", error.message);
    if (found->status == WEFT_OK && count > 0) {
        const uint32_t instances = count_instances();
        found->units = instances > 0 ? instances : (uint32_t)count;
    }
}

/* A context, code of models and their plans take some; runs have an arena. */
static uint64_t room_of(const struct cuda_device *device)
{
    size_t free_bytes = 0;
    size_t all_bytes = 0;
    const uint64_t taken =
        engine_cuda_arena_bytes(device->memory_bytes) + device->memory_bytes / CODE_PART;
    (void)device->driver->memory_info(&free_bytes, &all_bytes); /* Or else there is none. */
    return free_bytes > taken ? free_bytes - taken : 0;
}

static void look_at_one(const struct look *look, struct cuda_found *found)
{
    struct cuda_driver driver;
    struct cuda_device device = {.name = ""};
    struct cuda_shares shares;
    struct weft_error error = {.status = WEFT_OK};
    int version = 0;
    int mode = 0;
    found->status = cuda_driver_open(look->path, &driver, &error);
    if (found->status == WEFT_OK) {
        found->status = cuda_choose(look->gpu, /* streams */ 0, &error);
    }
    if (found->status == WEFT_OK) {
        found->status = cuda_device_open(&driver, &device, &error);
        (void)driver.version(&version);
        found->version = (uint32_t)version;
    }
    (void)snprintf(found->name, sizeof(found->name), "%s", device.name);
    if (found->status == WEFT_OK) {
        found->memory_bytes = device.memory_bytes;
        found->room_bytes = room_of(&device);
        found->processors = device.processors;
        (void)driver.device_attribute(&mode, CUDA_ATTRIBUTE_MODE, device.number);
        found->is_exclusive = mode == CUDA_MODE_EXCLUSIVE;
        found->status = cuda_shares_open(&device, &shares, &error);
    }
    if (found->status == WEFT_OK) {
        found->units = shares.unit_count;
        found->has_rest = shares.rest != 0;
    }
    (void)snprintf(found->cause, sizeof(found->cause), "%s", error.message);
}

/* Wait for what the process at the other end of @pipe has seen. */
static bool receive(int pipe, struct cuda_found *found_out)
{
    struct pollfd ready = {.fd = pipe, .events = POLLIN};
    int count;
    do {
        count = poll(&ready, 1, LOOK_MS_MAX);
    } while (count < 0 && errno == EINTR);
    /* It is less than a pipe holds, and written at once. */
    return count == 1 && read(pipe, found_out, sizeof(*found_out)) == sizeof(*found_out);
}

/* Do what @look says in a process of its own. */
static void look_apart(const struct look *look, struct cuda_found *found_out)
{
    int ends[2];
    *found_out = (struct cuda_found){.status = WEFT_IO};
    (void)snprintf(
        found_out->cause, sizeof(found_out->cause), "the process that looked at it did not answer");
    if (pipe(ends) != 0) {
        return;
    }
    const pid_t child = fork();
    if (child == 0) {
        struct cuda_found found = {.status = WEFT_OK};
        (void)close(ends[0]);
        look->run(look, &found);
        (void)!write(ends[1], &found, sizeof(found)); /* Or nothing waits for it any more. */
        _exit(EXIT_SUCCESS);
    }
    (void)close(ends[1]);
    struct cuda_found found;
    if (child > 0 && receive(ends[0], &found)) {
        *found_out = found;
    }
    (void)close(ends[0]);
    if (child > 0) {
        (void)kill(child, SIGKILL); /* It has ended, or hangs. */
        (void)waitpid(child, NULL, 0);
    }
}

uint32_t cuda_find(const char *path, uint32_t most, struct cuda_found *found_out)
{
    struct look look = {.path = path, .run = look_at_all};
    struct cuda_found all;
    if (most == 0) {
        return 0;
    }
    look_apart(&look, &all);
    if (all.status != WEFT_OK && all.status != WEFT_NOT_FOUND) {
        found_out[0] = all;
        return 1;
    }
    const uint32_t there = all.units < CUDA_FOUND_MAX ? all.units : CUDA_FOUND_MAX;
    const uint32_t count = there < most ? there : most;
    look.run = look_at_one;
    for (look.gpu = 0; look.gpu < count; look.gpu++) {
        look_apart(&look, &found_out[look.gpu]);
    }
    return count;
}

uint32_t cuda_gpu_of(const struct fleet *fleet, uint32_t worker, uint32_t gpu_count)
{
    uint32_t gpu = 0;
    for (uint32_t i = 0; i < worker; i++) {
        gpu += fleet->workers[i].sharing == SHARES_SM && fleet->workers[i].partition == 0 ? 1 : 0;
    }
    return gpu_count == 0 ? gpu : gpu % gpu_count;
}
