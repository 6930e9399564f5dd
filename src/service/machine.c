#include "service/machine.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/numbers.h"
#include "cuda/share.h"

enum { LINE_BYTES = 512 };

#define MEMORY_LIMIT_FILE "/sys/fs/cgroup/memory.max"
#define CPU_LIMIT_FILE    "/sys/fs/cgroup/cpu.max"
#define MPS_FOLDER        "/tmp/nvidia-mps" /* Where its daemon listens, if nothing else is said. */

void machine_slug(const char *text, char out[NAME_BYTES_MAX])
{
    uint32_t length = 0;
    for (const char *c = text; *c != '\0' && length + 1 < NAME_BYTES_MAX; c++) {
        if (isalnum((unsigned char)*c) != 0) {
            out[length] = (char)tolower((unsigned char)*c);
            length++;
        } else if (length > 0 && out[length - 1] != '-') {
            out[length] = '-';
            length++;
        }
    }
    while (length > 0 && out[length - 1] == '-') {
        length--;
    }
    out[length] = '\0';
}

uint64_t machine_read_limit(FILE *file, uint64_t fallback)
{
    uint64_t limit = 0;
    return fscanf(file, "%" SCNu64, &limit) == 1 ? limit : fallback;
}

static uint64_t file_limit(const char *path, uint64_t fallback)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return fallback;
    }
    const uint64_t limit = machine_read_limit(file, fallback);
    (void)fclose(file); /* It was only read. */
    return limit;
}

/* "quota period", of which the quotient is a number of cores; 0 if there is no limit. */
static uint32_t core_limit(void)
{
    FILE *file = fopen(CPU_LIMIT_FILE, "r");
    if (file == NULL) {
        return 0;
    }
    const uint64_t quota = machine_read_limit(file, 0);
    const uint64_t period = machine_read_limit(file, 0);
    (void)fclose(file); /* It was only read. */
    return quota == 0 || period == 0 ? 0 : (uint32_t)((quota + period - 1) / period);
}

static void read_device(char out[NAME_BYTES_MAX])
{
    char line[LINE_BYTES];
    FILE *file = fopen("/proc/cpuinfo", "r");
    out[0] = '\0';
    while (file != NULL && out[0] == '\0' && fgets(line, sizeof(line), file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) == 0 && colon != NULL) {
            machine_slug(colon + 1, out);
        }
    }
    if (file != NULL) {
        (void)fclose(file); /* It was only read. */
    }
    if (out[0] == '\0') {
        (void)snprintf(out, NAME_BYTES_MAX, "cpu");
    }
}

void machine_read(struct machine *machine_out)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    const uint32_t limit = core_limit();
    const uint64_t memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 1U << 30;
    machine_out->cores = cores > 0 ? (uint32_t)cores : 1;
    if (limit > 0 && limit < machine_out->cores) {
        machine_out->cores = limit;
    }
    const uint64_t allowed = file_limit(MEMORY_LIMIT_FILE, memory);
    machine_out->memory_bytes = allowed < memory ? allowed : memory;
    read_device(machine_out->device);
    machine_out->gpu_count = 0;
}

const char *machine_cuda_driver(void)
{
    return getenv("WEFT_CUDA");
}

const char *machine_cuda_torch(void)
{
    return getenv("WEFT_TORCH");
}

/* What @found cannot do, though it can be used; NULL if there is nothing to say. */
static const char *limit_of(const struct cuda_found *found)
{
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    char path[LINE_BYTES];
    (void)snprintf(path, sizeof(path), "%s/control", folder == NULL ? MPS_FOLDER : folder);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (strstr(found->name, " MIG ") != NULL && (visible == NULL || strstr(visible, ",") == NULL)) {
        return "it is an instance of MIG; others are used if CUDA_VISIBLE_DEVICES lists them";
    }
    if (found->units < 2) {
        return "it cannot be shared: batches run one after another";
    }
    if (found->is_exclusive) {
        return "its compute mode is exclusive: an engine that ends has to be gone before the next";
    }
    return access(path, F_OK) == 0 ? "MPS is running; other processes may slow it down" : NULL;
}

void machine_find_gpus(
    struct machine *machine, uint32_t most,
    void (*on_note)(void *context, const char *note, bool is_used), void *context)
{
    struct cuda_found found[CUDA_FOUND_MAX];
    const uint32_t count = cuda_find(machine_cuda_driver(), most, found);
    for (uint32_t i = 0; i < count; i++) {
        struct machine_gpu *gpu = &machine->gpus[machine->gpu_count];
        const bool is_used = found[i].status == WEFT_OK;
        const char *what = is_used ? limit_of(&found[i]) : found[i].cause;
        char note[CUDA_FOUND_NAME_BYTES + sizeof(found[i].cause) + 32];
        if (what != NULL) {
            (void)snprintf(
                note, sizeof(note), "GPU %" PRIu32 "%s%.95s: %.239s", i,
                found[i].name[0] == '\0' ? "" : ", ", found[i].name, what);
            on_note(context, note, is_used);
        }
        if (!is_used) {
            return;
        }
        machine_slug(found[i].name, gpu->device);
        gpu->memory_bytes = found[i].room_bytes;
        gpu->units = found[i].units;
        gpu->has_rest = found[i].has_rest;
        gpu->version = found[i].version;
        machine->gpu_count++;
    }
}

/* Workers on each GPU from @first to before @end, on the machine that was added last. */
static void add_gpus(
    struct fleet *fleet, const struct machine *machine, const struct settings *settings,
    uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        const struct machine_gpu *gpu = &machine->gpus[i];
        const struct cuda_parts parts = cuda_cut(gpu->units, gpu->has_rest, settings->gpus.workers);
        const uint64_t memory_bytes =
            settings->gpus.memory_bytes > 0 ? settings->gpus.memory_bytes : gpu->memory_bytes;
        const struct fleet_worker worker = {
            .device = fleet_device(fleet, gpu->device),
            .memory_bytes = memory_bytes / parts.count,
            .gpu_units = parts.units,
            .partitions = parts.count,
            .sharing = SHARES_SM,
        };
        const bool fits = fleet_add_devices(fleet, &worker, /* count */ 1);
        ASSERT(fits);
    }
}

/* Workers on all GPUs of @machine. */
static uint32_t gpu_workers(const struct machine *machine, const struct settings *settings)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < machine->gpu_count; i++) {
        const struct machine_gpu *gpu = &machine->gpus[i];
        count += cuda_cut(gpu->units, gpu->has_rest, settings->gpus.workers).count;
    }
    return count;
}

bool machine_fits(const struct machine *machine, const struct settings *settings)
{
    const uint64_t least = (uint64_t)gpu_workers(machine, settings) + max_u32(settings->workers, 1);
    return settings->slots == 0 || !settings->is_member ||
           (least <= settings->slots && least <= WORKERS_MAX);
}

struct fleet *machine_fleet(
    const struct machine *machine, const struct settings *settings, const char *device)
{
    ASSERT(machine->cores > 0 && settings->nodes > 0);
    const uint32_t here = settings->is_member ? 1 : settings->nodes;
    uint32_t workers = settings->workers;
    if (workers == 0) {
        workers = machine->cores / here;
        workers = workers == 0 ? 1 : workers > 64 ? 64 : workers;
        if (settings->slots > 0 && settings->is_member) {
            workers = min_u32(workers, settings->slots - gpu_workers(machine, settings));
        }
    }
    const uint64_t share = machine->memory_bytes / 2 / ((uint64_t)workers * here);
    struct fleet *fleet = fleet_create();
    const struct fleet_worker worker = {
        .device = fleet_device(fleet, device),
        .memory_bytes = workers * (settings->memory_bytes > 0 ? settings->memory_bytes : share),
        .gpu_units = 1,
        .splits = true,
        .shares_memory = true,
    };
    for (uint32_t i = 0; i < settings->nodes; i++) {
        const bool fits = fleet_add_machine(fleet, &worker, workers, /* cpu_units */ workers);
        ASSERT(fits);
        if (settings->is_member) { /* Each has what this one has, or until it says otherwise. */
            add_gpus(fleet, machine, settings, 0, machine->gpu_count);
            const bool has_room = settings->slots == 0 || fleet_add_slots(fleet, settings->slots);
            ASSERT(has_room); /* machine_fits() */
        } else {
            add_gpus(
                fleet, machine, settings, i * machine->gpu_count / settings->nodes,
                (i + 1) * machine->gpu_count / settings->nodes);
        }
    }
    return fleet;
}
