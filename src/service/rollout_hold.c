/* rollout_hold.c - what is held of editions: for the engine, for nodes, and for clients. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/numbers.h"
#include "engine/artifact.h"
#include "runtime/editions.h"
#include "runtime/runtime.h"
#include "service/rollout_inside.h"

const struct edition *rollout_find(const struct rollout *rollout, uint32_t number)
{
    for (uint32_t i = 0; i < rollout->count; i++) {
        if (rollout->held[i].number == number) {
            return &rollout->held[i];
        }
    }
    return NULL;
}

bool rollout_knows(const struct rollout *rollout, const struct edition *edition, uint32_t model)
{
    bool is_known = false;
    for (uint32_t i = 0; i < rollout->count; i++) {
        const struct edition_model *held = &rollout->held[i].models[model];
        is_known = is_known || (held->version == edition->models[model].version &&
                                held->hash == edition->models[model].hash);
    }
    return is_known;
}

/* What is held, with @edition, by number. Returns how many they are. */
static uint32_t insert(
    const struct rollout *rollout, const struct edition *edition,
    struct edition held_out[static EDITIONS_MAX + 1])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rollout->count; i++) {
        if (count == i && edition != NULL && rollout->held[i].number > edition->number) {
            held_out[count++] = *edition;
        }
        held_out[count++] = rollout->held[i];
    }
    if (count == rollout->count && edition != NULL) {
        held_out[count++] = *edition;
    }
    return count;
}

/* What the @count editions of @held mean by @model, for the engine. False: too many versions. */
static bool list_versions(
    const struct rollout *rollout, const struct edition *held, uint32_t count, uint32_t model,
    struct artifact_versions *out)
{
    *out = (struct artifact_versions){.count = 0};
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t version = held[i].models[model].version;
        if (out->count > 0 && out->items[out->count - 1].version == version) {
            continue;
        }
        if (out->count == ARTIFACT_VERSIONS_MAX) {
            return false;
        }
        const bool is_compared = rollout->trial.compared[model].version == version;
        out->since_ns[out->count] = is_compared ? rollout->trial.compared[model].at_ns : 0;
        out->items[out->count++] =
            (struct artifact_version){.edition = held[i].number, .version = version};
    }
    return true;
}

bool rollout_versions(
    const struct rollout *rollout, const struct edition *edition, uint32_t model,
    struct artifact_versions *out)
{
    struct edition held[EDITIONS_MAX + 1];
    return list_versions(rollout, held, insert(rollout, edition, held), model, out);
}

/* Whether some version of @before is not in @now. */
static bool has_lost(const struct artifact_versions *before, const struct artifact_versions *now)
{
    bool has_lost = false;
    for (uint32_t i = 0; i < before->count; i++) {
        bool is_there = false;
        for (uint32_t k = 0; k < now->count; k++) {
            is_there = is_there || now->items[k].version == before->items[i].version;
        }
        has_lost = has_lost || !is_there;
    }
    return has_lost;
}

/* Whether some held edition has @model loaded. */
static bool is_wanted(const struct rollout *rollout, uint32_t model)
{
    bool is_wanted = false;
    for (uint32_t i = 0; i < rollout->count; i++) {
        is_wanted = is_wanted || !model_set_has(&rollout->held[i].unloaded, model);
    }
    return is_wanted;
}

void rollout_apply(struct rollout *rollout, const struct model_set *changed)
{
    const struct repository *repository = rollout_repository(rollout);
    struct runtime *runtime = rollout->index->runtime;
    uint32_t numbers[EDITIONS_MAX];
    for (uint32_t i = 0; i < rollout->count; i++) {
        numbers[i] = rollout->held[i].number;
    }
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        struct artifact_versions versions = {.count = 0};
        struct artifact_versions *known = &rollout->artifacts->items[i].versions;
        const bool is_faulty = rollout->index->measured->looks[i].fault[0] != '\0';
        bool is_new = changed != NULL && model_set_has(changed, i);
        if (repository->files[i].kind == REPOSITORY_BUILTIN || is_faulty) {
            continue;
        }
        if (edition_has_versions(repository, i)) {
            const bool fits = rollout_versions(rollout, /* edition */ NULL, i, &versions);
            const bool is_less = has_lost(known, &versions);
            ASSERT(fits); /* It was tried before. */
            is_new = (is_new || artifact_must_reload(known, &versions)) && known->count > 0;
            if (is_new && repository->files[i].kind == REPOSITORY_FUNCTION) {
                rollout->artifacts->items[i].renewals++;
                is_new = false; /* No node loads it. */
            }
            *known = versions;
            if (is_less) {
                rollout_let_go(rollout, i);
            }
        }
        const bool was_wanted = !model_set_has(&rollout->withdrawn, i);
        if (is_wanted(rollout, i) && (is_new || !was_wanted)) {
            model_set_remove(&rollout->withdrawn, i);
            runtime_set_available(runtime, i, /* is_available */ true);
        } else if (!is_wanted(rollout, i) && was_wanted) {
            model_set_add(&rollout->withdrawn, i);
            runtime_set_available(runtime, i, /* is_available */ false);
        }
    }
    runtime_set_editions(runtime, rollout->said.serves, numbers, rollout->count);
}

void rollout_show(struct rollout *rollout, const struct edition *edition)
{
    struct local_index *index = rollout->index;
    const struct repository *repository = rollout_repository(rollout);
    index->unloaded = edition->unloaded;
    for (uint32_t i = 0; i < repository->written; i++) {
        index->closed[i] = edition->closed[i];
    }
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        index->versions[i] = edition->models[i].version;
    }
}

bool rollout_hold(struct rollout *rollout, const struct edition *edition)
{
    struct edition held[EDITIONS_MAX + 1];
    struct model_set changed = {{0}};
    const struct edition *before = rollout->count == 0 ? NULL : &rollout->held[rollout->count - 1];
    const uint32_t count = insert(rollout, edition, held);
    bool fits = count <= EDITIONS_MAX;
    for (uint32_t i = 0; fits && i < rollout_repository(rollout)->catalogue->model_count; i++) {
        struct artifact_versions versions;
        fits = list_versions(rollout, held, count, i, &versions);
        if (before != NULL && before->models[i].version == edition->models[i].version &&
            before->models[i].hash != edition->models[i].hash) {
            model_set_add(&changed, i); /* It was replaced in place. */
        }
    }
    if (!fits) {
        (void)snprintf(
            rollout->note, sizeof(rollout->note),
            "jobs still run with too many earlier versions; try again later");
        return false;
    }
    memcpy(rollout->held, held, count * sizeof(held[0]));
    rollout->count = count;
    rollout->said.held = max_u32(rollout->said.held, edition->number);
    rollout->note[0] = '\0';
    rollout_apply(rollout, &changed);
    return true;
}

void rollout_drop(struct rollout *rollout, uint32_t oldest)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rollout->count; i++) {
        if (rollout->held[i].number >= oldest || rollout->held[i].number == rollout->said.serves) {
            rollout->held[kept++] = rollout->held[i];
        }
    }
    if (kept < rollout->count) {
        rollout->count = kept;
        rollout_apply(rollout, /* changed */ NULL);
    }
}
