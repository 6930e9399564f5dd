/*
 * rollout_trial.c - versions of models on GPUs: tried before their edition is held.
 *
 * On processors the look at a file has shown that it can be loaded, and a load is quick. On a GPU
 * only a run shows that, and the first one takes long. So engines bring new versions beside what
 * runs, one model after the other, and the edition is held when all have run. Versions that no held
 * edition means leave in the same way.
 */
#include "base/assert.h"
#include "document/repository.h"
#include "model/catalogue.h"
#include "runtime/editions.h"
#include "runtime/runtime.h"
#include "service/rollout_inside.h"

/* Whether GPUs run @model, by a version that no held edition has. */
static bool is_new(const struct rollout *rollout, const struct edition *edition, uint32_t model)
{
    bool is_known = !measured_runs_on_gpus(rollout->index->measured, model);
    for (uint32_t i = 0; i < rollout->count; i++) {
        is_known =
            is_known || rollout->held[i].models[model].version == edition->models[model].version;
    }
    return !is_known;
}

bool rollout_must_try(const struct rollout *rollout, const struct edition *edition)
{
    bool must = false;
    for (uint32_t i = 0; i < rollout_repository(rollout)->catalogue->model_count; i++) {
        must = must || is_new(rollout, edition, i);
    }
    return must;
}

/*
 * Whether all versions of @model that would be held with @edition fit the workers that run it on
 * GPUs, by the size of the one that was measured, with room for a run.
 */
static bool have_room(const struct rollout *rollout, const struct edition *edition, uint32_t model)
{
    const struct measured *measured = rollout->index->measured;
    const struct profile *profile = measured->document.profile;
    struct artifact_versions versions;
    uint32_t count = 0;
    if (!rollout_versions(rollout, edition, model, &versions)) {
        return true; /* The hold will say that they are too many. */
    }
    for (uint32_t i = 0; i < versions.count; i++) {
        bool is_again = false;
        for (uint32_t k = 0; k < i; k++) {
            is_again = is_again || versions.items[k].version == versions.items[i].version;
        }
        count += is_again ? 0 : 1;
    }
    const uint64_t bytes = count * profile->models[model].resident_bytes +
                           profile_workspace_bytes(profile, model, /* items */ 1);
    bool fits = true;
    for (uint32_t i = 0; i < measured->fleet->worker_count; i++) {
        const struct fleet_worker *worker = &measured->fleet->workers[i];
        fits = fits && (worker->sharing != SHARES_SM || bytes <= worker->memory_bytes);
    }
    return fits;
}

static void on_revised(void *context, enum weft_status status, const char *message);

/* Let the engine have what is held of @model, and @edition, which may be NULL. */
static bool revise(struct rollout *rollout, const struct edition *edition, uint32_t model)
{
    struct artifact_versions versions;
    const bool fits = rollout_versions(rollout, edition, model, &versions);
    rollout->trial.is_trial = edition != NULL;
    rollout->trial.is_open =
        fits && runtime_revise(rollout->index->runtime, model, &versions, on_revised, rollout);
    return rollout->trial.is_open; /* Too many versions: the hold will say so. */
}

static void end_trial(struct rollout *rollout, enum weft_status status, const char *message)
{
    rollout_tried *tried = rollout->trial.tried;
    rollout->trial.tried = NULL;
    tried(rollout, status, message);
}

/* Go on, if the engine has nothing to do. */
static void advance(struct rollout *rollout)
{
    struct rollout_trial *trial = &rollout->trial;
    const uint32_t count = rollout_repository(rollout)->catalogue->model_count;
    for (; trial->tried != NULL && !trial->is_open && trial->model < count; trial->model++) {
        if (!is_new(rollout, &rollout->wanted, trial->model)) {
            continue;
        }
        if (!have_room(rollout, &rollout->wanted, trial->model)) {
            end_trial(rollout, WEFT_NO_MEMORY, "its memory has no room for the old version and it");
            break;
        }
        if (revise(rollout, &rollout->wanted, trial->model)) {
            return;
        }
    }
    if (trial->tried != NULL && !trial->is_open) {
        end_trial(rollout, WEFT_OK, NULL);
    }
    for (uint32_t i = 0; i < count && !trial->is_open; i++) {
        if (model_set_has(&trial->outdated, i)) {
            model_set_remove(&trial->outdated, i);
            (void)revise(rollout, /* edition */ NULL, i);
        }
    }
}

static void on_revised(void *context, enum weft_status status, const char *message)
{
    struct rollout *rollout = context;
    struct rollout_trial *trial = &rollout->trial;
    trial->is_open = false;
    if (rollout->index->runtime == NULL) {
        return;
    }
    if (trial->is_trial && status != WEFT_OK) {
        model_set_add(&trial->outdated, trial->model);
        end_trial(rollout, status, message);
    } else if (trial->is_trial) {
        trial->model++;
    }
    advance(rollout);
}

static void on_time(void *context)
{
    struct rollout *rollout = context;
    if (rollout->index->runtime != NULL) {
        advance(rollout);
    }
}

bool rollout_try(struct rollout *rollout, rollout_tried *tried)
{
    struct rollout_trial *trial = &rollout->trial;
    ASSERT(trial->tried == NULL);
    if (!rollout_must_try(rollout, &rollout->wanted)) {
        return false;
    }
    trial->tried = tried;
    trial->model = 0;
    runtime_call_at(
        rollout->index->runtime, runtime_now_ns(rollout->index->runtime), /* background */ true,
        on_time, rollout);
    return true;
}

void rollout_let_go(struct rollout *rollout, uint32_t model)
{
    if (measured_runs_on_gpus(rollout->index->measured, model)) {
        model_set_add(&rollout->trial.outdated, model);
        advance(rollout);
    }
}

void rollout_trial_close(struct rollout *rollout)
{
    rollout->trial.is_open = false;
    rollout->trial.tried = NULL;
    rollout->trial.outdated = (struct model_set){{0}};
}
