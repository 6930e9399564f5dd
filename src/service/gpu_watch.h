/*
 * gpu_watch.h - figures of the GPUs that are served with, asked for once per second.
 *
 * A thread of its own asks, because the driver takes milliseconds to answer.
 */
#ifndef SERVICE_GPU_WATCH_H
#define SERVICE_GPU_WATCH_H

#include "model/fleet.h"
#include "server/server.h"

struct gpu_watch;
struct runtime;

/*
 * Watch the GPUs of those nodes of @fleet that @runtime hosts. NULL if they have none, or the
 * driver says nothing about them.
 */
struct gpu_watch *gpu_watch_start(const struct fleet *fleet, const struct runtime *runtime);

/* NULL is allowed. */
void gpu_watch_stop(struct gpu_watch *watch);

/* What was last seen, in @out, which has room for SERVER_GPUS_MAX. Returns how many there are. */
uint32_t gpu_watch_read(struct gpu_watch *watch, struct server_gpu *out);

#endif /* SERVICE_GPU_WATCH_H */
