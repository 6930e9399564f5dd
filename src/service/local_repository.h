/*
 * local_repository.h - a repository on the processors and GPUs of this machine: profile, engine,
 * and what is learnt while it is served.
 */
#ifndef SERVICE_LOCAL_REPOSITORY_H
#define SERVICE_LOCAL_REPOSITORY_H

#include "engine/artifact.h"
#include "profile/refine.h"
#include "service/local_index.h"
#include "service/measure_repository.h"
#include "service/nursery.h"
#include "service/samples.h"
#include "service/service.h"

struct local_repository {
    struct nursery *nursery; /* Borrowed. NULL: everything is done in this process. */
    struct measured measured;
    struct artifacts artifacts;
    struct refine *refine;
    uint32_t kinds_met; /* Of devices, those of other machines too. */
    struct local_index index;
    struct rollout *rollout;
    struct server_repository shown; /* The index, for clients. */
    struct runtime *runtime;
    struct log *log;         /* Borrowed. NULL: nothing is logged. */
    struct samples *samples; /* Real requests of the repository. NULL: there are none. */
    int64_t told_ns;         /* When other nodes were last told what was learnt. */
    uint64_t saved;          /* So much was learnt when the profile was last saved. */
};

/*
 * Look at the models of @repository, which is borrowed like @nursery, and measure what has no
 * profile; of models that its samples run, only loads. What cannot be measured, or kept for the
 * next time, is said in @log, which is borrowed and may be NULL. On success
 * local_repository_close() releases it.
 *
 * Errors: those of samples_load() and measure_repository().
 */
enum weft_status local_repository_open(
    struct local_repository *local, struct repository *repository, struct nursery *nursery,
    bool is_silent, struct log *log, struct weft_error *error);

/* Save what was learnt, and release everything. */
void local_repository_close(struct local_repository *local);

/* The part that it plays in a service. */
struct service_parts local_repository_parts(struct local_repository *local);

#endif /* SERVICE_LOCAL_REPOSITORY_H */
