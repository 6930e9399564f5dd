/* metrics_device.c - what workers do, what they hold, and the processes that work for them. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "base/units.h"
#include "engine/engine.h"
#include "node/node.h"
#include "runtime/runtime.h"
#include "server/metrics.h"
#include "server/server.h"

static bool write_head(struct buffer *buffer, const char *name, const char *kind, const char *help)
{
    return buffer_add(buffer, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static bool write_worker(struct buffer *buffer, const char *name, uint32_t worker, double value)
{
    return buffer_add(buffer, "%s{worker=\"%" PRIu32 "\"} %.15g\n", name, worker, value);
}

static double busy_s(const struct metrics *metrics, const struct runtime *runtime, uint32_t worker)
{
    (void)runtime;
    return metrics_busy_ns(metrics, worker) / 1e9;
}

/* Of memory that workers share, each says an equal part. Of one whose node is lost nothing is left.
 */
static double used_bytes(
    const struct metrics *metrics, const struct runtime *runtime, uint32_t worker)
{
    const uint32_t number = metrics_fleet(metrics)->workers[worker].node;
    const struct node *node = runtime_node(runtime, number);
    return node == NULL ? 0
                        : (double)node_worker_counts(node, worker).memory_used_bytes /
                              fleet_sharers(metrics_fleet(metrics), worker);
}

static double most_bytes(
    const struct metrics *metrics, const struct runtime *runtime, uint32_t worker)
{
    (void)runtime;
    return (double)metrics_fleet(metrics)->workers[worker].memory_bytes /
           fleet_sharers(metrics_fleet(metrics), worker);
}

static const struct {
    const char *name;
    const char *kind;
    const char *help;
    double (*value)(const struct metrics *metrics, const struct runtime *runtime, uint32_t worker);
} families[] = {
    {"weft_worker_busy_seconds_total", "counter",
     "time of batches that ended, by the share of the worker that they held", busy_s},
    {"weft_worker_memory_used_bytes", "gauge", "models, loads and workspaces, as planned",
     used_bytes},
    {"weft_worker_memory_limit_bytes", "gauge", "what they may take", most_bytes},
};

static bool write_processes(struct buffer *buffer, const struct engine_counts *counts)
{
    static const char starts[] = "weft_process_starts_total";
    static const char crashes[] = "weft_process_crashes_total";
    static const char row[] = "%s{kind=\"%s\"} %" PRIu64 "\n";
    return write_head(buffer, starts, "counter", "processes started to run functions or models") &&
           buffer_add(buffer, row, starts, "function", counts->function_starts) &&
           buffer_add(buffer, row, starts, "engine", counts->engine_starts) &&
           write_head(buffer, crashes, "counter", "of these, ended before their work") &&
           buffer_add(buffer, row, crashes, "function", counts->function_crashes) &&
           buffer_add(buffer, row, crashes, "engine", counts->engine_crashes);
}

bool metrics_write_devices(
    const struct metrics *metrics, const struct runtime *runtime, struct buffer *buffer)
{
    const struct fleet *fleet = metrics_fleet(metrics);
    struct engine_counts counts = {.function_starts = 0};
    bool is_good = true;
    for (size_t k = 0; k < ARRAY_COUNT(families) && is_good; k++) {
        is_good = write_head(buffer, families[k].name, families[k].kind, families[k].help);
        for (uint32_t i = 0; i < fleet->worker_count && is_good; i++) {
            if (runtime_has_worker(runtime, i)) {
                const double value = families[k].value(metrics, runtime, i);
                is_good = write_worker(buffer, families[k].name, i, value);
            }
        }
    }
    runtime_engine_counts(runtime, &counts);
    return is_good && write_processes(buffer, &counts);
}

static const struct {
    const char *name;
    const char *help;
    size_t at; /* Of a double in struct server_gpu. */
} gpu_families[] = {
    {"weft_gpu_memory_used_bytes", "memory of the GPU in use, by all processes",
     offsetof(struct server_gpu, memory_used_bytes)},
    {"weft_gpu_utilisation", "the part of the last period in which a kernel ran",
     offsetof(struct server_gpu, utilisation)},
    {"weft_gpu_sm_clock_hertz", "clock of the processors", offsetof(struct server_gpu, clock_hz)},
    {"weft_gpu_power_watts", "power drawn", offsetof(struct server_gpu, power_w)},
    {"weft_gpu_temperature_celsius", "temperature of the chip",
     offsetof(struct server_gpu, celsius)},
};

bool metrics_write_gpus(struct buffer *buffer, const struct server_gpu *gpus, uint32_t count)
{
    bool is_good = true;
    for (size_t k = 0; count > 0 && k < ARRAY_COUNT(gpu_families); k++) {
        is_good =
            is_good && write_head(buffer, gpu_families[k].name, "gauge", gpu_families[k].help);
        for (uint32_t i = 0; i < count && is_good; i++) {
            const double *value =
                (const double *)(const void *)((const char *)&gpus[i] + gpu_families[k].at);
            is_good =
                isnan(*value) || write_worker(buffer, gpu_families[k].name, gpus[i].worker, *value);
        }
    }
    return is_good;
}
