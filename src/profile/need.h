/*
 * need.h - what a task needs of the worker that runs it: whether it can ever run there.
 *
 * A worker can run a task if its kind of device was measured for it, and if its memory, or that
 * of its partition, holds all models of the task and the workspace of its items. Nothing else
 * in the tree decides this: policies, nodes and the check of documents all ask here.
 */
#ifndef PROFILE_NEED_H
#define PROFILE_NEED_H

#include "model/workflow.h"
#include "profile/profile.h"

struct need {
    uint64_t bytes; /* Of memory. */
    uint32_t kinds; /* A bit for each kind of device that can run it. */
};

/* Of what runs anywhere. */
#define NEED_NOTHING ((struct need){.kinds = UINT32_MAX})

/* What must be in memory while @task runs with @items. */
static inline uint64_t need_bytes(
    const struct profile *profile, const struct workflow_task *task, uint32_t items)
{
    uint64_t bytes = profile_workspace_bytes(profile, task->run, items);
    for (uint32_t i = 0; i < task->model_count; i++) {
        bytes += profile->models[task->models[i]].resident_bytes;
    }
    return bytes;
}

static inline struct need need_of(
    const struct profile *profile, const struct workflow_task *task, uint32_t items)
{
    return (struct need){
        .bytes = need_bytes(profile, task, items),
        .kinds = profile_kinds(profile, task->run),
    };
}

static inline bool need_is_met(struct need need, const struct fleet_worker *worker)
{
    return profile_kinds_have(need.kinds, worker->device) && need.bytes <= worker->memory_bytes &&
           !worker->is_absent;
}

/* Some workers, as far as needs go: the largest memory of each kind of device among them. */
struct need_room {
    uint32_t kinds; /* A bit for each kind that is there. */
    uint64_t bytes[DEVICE_KINDS_MAX];
};

/* @room with @worker; all zero is the room of no worker, and only bytes of known kinds are read. */
static inline void need_room_add(struct need_room *room, const struct fleet_worker *worker)
{
    const uint32_t bit = UINT32_C(1) << worker->device;
    if ((room->kinds & bit) == 0 || room->bytes[worker->device] < worker->memory_bytes) {
        room->bytes[worker->device] = worker->memory_bytes;
    }
    room->kinds |= bit;
}

/* Whether one of the workers of kind @device meets @need. */
static inline bool need_room_has(const struct need_room *room, struct need need, uint32_t device)
{
    return profile_kinds_have(need.kinds & room->kinds, device) &&
           need.bytes <= room->bytes[device];
}

/* Whether one of the workers meets @need. */
static inline bool need_room_meets(const struct need_room *room, struct need need)
{
    for (uint32_t left = need.kinds & room->kinds; left != 0; left &= left - 1) {
        if (need_room_has(room, need, (uint32_t)__builtin_ctz(left))) {
            return true;
        }
    }
    return false;
}

/* Whether some worker of @fleet, usable now or not, meets @need. */
static inline bool need_is_met_by_any(struct need need, const struct fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        if (need_is_met(need, &fleet->workers[i])) {
            return true;
        }
    }
    return false;
}

#endif /* PROFILE_NEED_H */
