#include "service/rollout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/text.h"
#include "base/units.h"
#include "runtime/editions.h"
#include "runtime/runtime.h"
#include "service/preparation.h"
#include "service/rollout_inside.h"

#define LOOK_NS  (100 * NS_PER_MS) /* While not all is as it should be. */
#define RETRY_NS (2 * NS_PER_S)    /* After an edition could not be held. */

#define OWN ((UINT32_C(1) << EDITION_BITS) - 1) /* What was found here, until it is a member. */

struct rollout *rollout_create(struct local_index *index, struct artifacts *artifacts)
{
    struct rollout *rollout = memory_zeroed(1, sizeof(*rollout));
    rollout->index = index;
    rollout->artifacts = artifacts;
    rollout->list = memory_zeroed(1, sizeof(*rollout->list));
    rollout->other = memory_zeroed(DIRECTORY_MEMBERS_MAX, sizeof(*rollout->other));
    return rollout;
}

void rollout_read(
    struct rollout *rollout,
    void (*on_model)(void *context, const char *name, uint32_t index, uint32_t count),
    void *context)
{
    const struct repository *repository = rollout_repository(rollout);
    const uint32_t count = repository->catalogue->model_count;
    for (uint32_t i = 0; i < count; i++) {
        if (edition_has_versions(repository, i)) {
            on_model(context, repository->catalogue->models[i], i, count);
            (void)preparation_hash(
                repository, i, repository->files[i].version, &rollout->hashes[i], NULL);
        }
    }
}

void rollout_destroy(struct rollout *rollout)
{
    if (rollout != NULL) {
        free(rollout->list);
        free(rollout->other);
        free(rollout);
    }
}

/* Let other members hear what has changed. */
static void tell(struct rollout *rollout)
{
    struct member_editions *told = &rollout->told;
    struct member_editions said = {
        .newest = rollout->said.newest,
        .held = rollout->said.held,
        .serves = rollout->said.serves,
        .oldest = rollout->said.oldest,
    };
    if (rollout->membership == NULL) {
        return;
    }
    const struct edition *newest = rollout_find(rollout, said.newest);
    const struct edition *served = rollout_find(rollout, said.serves);
    const struct repository *repository = rollout_repository(rollout);
    ASSERT(served != NULL);
    bool fits = edition_write(
        newest == NULL ? &rollout->next : newest, repository, said.models, sizeof(said.models));
    fits = edition_write(served, repository, said.serving, sizeof(said.serving)) && fits;
    ASSERT(fits); /* At most 14 bytes a model, unless versions are counted in hundred millions. */
    (void)snprintf(said.note, sizeof(said.note), "%s", rollout->note);
    if (memcmp(&said, told, sizeof(said)) != 0) {
        *told = said;
        membership_tell(rollout->membership, told);
    }
}

static void look_later(struct rollout *rollout);

/* Whether all members, this one too, serve the newest edition and know no other. */
static bool is_settled(const struct rollout *rollout)
{
    const struct edition_said *own = &rollout->said;
    bool is_settled = rollout->count == 1 && rollout->preparation == NULL &&
                      own->serves == own->newest && own->oldest == own->newest;
    for (uint32_t i = 0; i < rollout->other_count; i++) {
        is_settled = is_settled && rollout->other[i].serves == own->newest &&
                     rollout->other[i].oldest == own->newest;
    }
    return is_settled;
}

static void look(struct rollout *rollout);

/* Take what @preparation has found out. Whether the edition that it was for is held now. */
static bool take(struct rollout *rollout, const struct preparation *preparation)
{
    struct local_index *index = rollout->index;
    if (preparation->status == WEFT_OK) {
        for (uint32_t i = 0; i < preparation->count; i++) {
            const struct prepared_model *item = &preparation->items[i];
            measured_take(index->measured, item->model, &item->signature);
        }
        return rollout_hold(rollout, &rollout->wanted);
    }
    (void)snprintf(rollout->note, sizeof(rollout->note), "%.255s", preparation->error.message);
    const struct log_field cause = log_text("cause", rollout->note);
    log_say(index->log, LOG_ERROR, "edition not held", 1, &cause);
    return false;
}

/* Without others, what cannot be held is not wanted any more. */
static void withdraw(struct rollout *rollout)
{
    struct local_index *index = rollout->index;
    const struct repository *repository = rollout_repository(rollout);
    const struct edition *newest = &rollout->held[rollout->count - 1];
    rollout_answer(rollout, /* is_end */ false);
    rollout->said.newest = rollout->said.held;
    rollout->note[0] = '\0';
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        if (rollout->wanted.models[i].version != newest->models[i].version) {
            index->marks[i] = local_change_mark(repository, i, newest->models[i].version);
        }
    }
}

/* Everything of `wanted` was looked at and tried, or could not be. */
static void end_preparation(struct rollout *rollout)
{
    struct preparation *preparation = rollout->preparation;
    rollout->preparation = NULL;
    if (!take(rollout, preparation)) {
        rollout->retry_ns = runtime_now_ns(rollout->index->runtime) + RETRY_NS;
        if (rollout->membership == NULL) {
            withdraw(rollout);
        }
    }
    free(preparation);
    look_later(rollout);
}

static void on_tried(struct rollout *rollout, enum weft_status status, const char *message)
{
    struct preparation *preparation = rollout->preparation;
    if (status != WEFT_OK) {
        const uint32_t model = rollout->trial.model;
        preparation->status = error_set(
            &preparation->error, status, "model '%s', version %" PRIu32 " on a GPU: %.160s",
            rollout_repository(rollout)->catalogue->models[model],
            rollout->wanted.models[model].version, message);
    }
    end_preparation(rollout);
}

/* On the runtime's thread again. */
static void on_prepared(void *argument)
{
    struct preparation *preparation = argument;
    struct rollout *rollout = preparation->context;
    if (rollout->index->runtime == NULL) {
        rollout->preparation = NULL;
        free(preparation);
        return;
    }
    for (uint32_t i = 0; i < preparation->count; i++) {
        const struct prepared_model *item = &preparation->items[i];
        rollout->trial.compared[item->model].version = item->version;
        rollout->trial.compared[item->model].at_ns = item->since_ns;
    }
    if (preparation->status != WEFT_OK || !rollout_try(rollout, on_tried)) {
        end_preparation(rollout);
    }
}

/* What is not known yet of @edition. */
static struct preparation *list_unknown(struct rollout *rollout, const struct edition *edition)
{
    const struct repository *repository = rollout_repository(rollout);
    struct preparation *preparation = memory_zeroed(1, sizeof(*preparation));
    preparation->context = rollout;
    preparation->measured = rollout->index->measured;
    preparation->fetch = rollout->fetch;
    preparation->membership = rollout->membership;
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        if (edition_has_versions(repository, i) && !rollout_knows(rollout, edition, i)) {
            preparation->items[preparation->count++] = (struct prepared_model){
                .model = i,
                .version = edition->models[i].version,
                .hash = edition->models[i].hash,
            };
        }
    }
    return preparation;
}

/* Get what @edition needs, and hold it then. One after the other. */
static void prepare(struct rollout *rollout, const struct edition *edition)
{
    struct runtime *runtime = rollout->index->runtime;
    if (rollout->preparation != NULL || runtime_now_ns(runtime) < rollout->retry_ns) {
        return;
    }
    rollout->wanted = *edition;
    rollout->preparation = list_unknown(rollout, edition);
    if (rollout->preparation->count == 0) {
        on_prepared(rollout->preparation);
    } else {
        runtime_work(runtime, preparation_run, on_prepared, rollout->preparation);
    }
}

/* Follow what other members have heard of, and get what they serve. */
static void follow(struct rollout *rollout)
{
    struct edition edition;
    for (uint32_t i = 0; i < rollout->list->count; i++) {
        const struct member_editions *said = &rollout->list->items[i].editions;
        if (said->newest > rollout->said.newest &&
            edition_read(said->models, rollout_repository(rollout), &rollout->next)) {
            rollout->next.number = said->newest;
            rollout->said.newest = said->newest;
            rollout->note[0] = '\0';
            rollout->retry_ns = 0;
        }
    }
    for (uint32_t i = 0; i < rollout->list->count; i++) {
        const struct member_editions *said = &rollout->list->items[i].editions;
        if (rollout_find(rollout, said->serves) == NULL &&
            edition_read(said->serving, rollout_repository(rollout), &edition)) {
            edition.number = said->serves;
            prepare(rollout, &edition);
        }
    }
    if (rollout_find(rollout, rollout->said.newest) == NULL) {
        prepare(rollout, &rollout->next);
    }
}

static void propose(struct rollout *rollout, struct edition *edition)
{
    edition->number = edition_next(rollout->said.newest, rollout->node);
    rollout->next = *edition;
    rollout->said.newest = edition->number;
    rollout->note[0] = '\0';
    rollout->retry_ns = 0;
}

/* What was in the folder at the start has hashes now: offer it. On the runtime's thread again. */
static void on_hashed(void *argument)
{
    struct preparation *preparation = argument;
    struct rollout *rollout = preparation->context;
    const struct edition *newest = rollout_find(rollout, rollout->said.newest);
    rollout->is_hashing = false;
    if (rollout->index->runtime == NULL || rollout->membership == NULL) {
        free(preparation);
        return;
    }
    if (newest == NULL || rollout->said.serves != newest->number) {
        rollout->has_offered = false; /* There was a change meanwhile: after it. */
    } else {
        struct edition next = *newest;
        for (uint32_t i = 0; i < preparation->count; i++) {
            const struct prepared_model *item = &preparation->items[i];
            struct edition_model *model = &next.models[item->model];
            if (item->hash != 0 && item->version > model->version) {
                *model = (struct edition_model){.version = item->version, .hash = item->hash};
            }
        }
        if (!edition_is_same(&next, newest, rollout_repository(rollout))) {
            propose(rollout, &next);
        }
    }
    free(preparation);
    look_later(rollout);
}

/*
 * Versions that were in the folder at the start and are newer than those of the cluster come next,
 * once their files have been read, beside the runtime's thread.
 */
static void offer_own(struct rollout *rollout)
{
    const struct repository *repository = rollout_repository(rollout);
    const struct edition *newest = rollout_find(rollout, rollout->said.newest);
    if (rollout->has_offered || rollout->is_hashing || newest == NULL ||
        rollout->said.serves != newest->number) {
        return;
    }
    struct preparation *own = memory_zeroed(1, sizeof(*own));
    own->measured = rollout->index->measured;
    own->context = rollout;
    rollout->has_offered = true;
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        const uint32_t version = repository->files[i].version;
        if (edition_has_versions(repository, i) && version > newest->models[i].version &&
            rollout->index->measured->looks[i].fault[0] == '\0') {
            own->items[own->count++] = (struct prepared_model){.model = i, .version = version};
        }
    }
    if (own->count == 0) {
        free(own);
        return;
    }
    rollout->is_hashing = true;
    runtime_work(rollout->index->runtime, preparation_hash_all, on_hashed, own);
}

static void look(struct rollout *rollout)
{
    struct runtime *runtime = rollout->index->runtime;
    struct edition_said *said = &rollout->said;
    follow(rollout);
    const uint32_t serves = editions_to_serve(said, rollout->other, rollout->other_count);
    if (serves != said->serves && rollout_find(rollout, serves) != NULL) {
        const struct log_field number = log_number("change", serves >> EDITION_NODE_BITS);
        said->serves = serves;
        rollout_show(rollout, rollout_find(rollout, serves));
        rollout_apply(rollout, /* changed */ NULL);
        log_say(rollout->index->log, LOG_INFO, "models as in the cluster", 1, &number);
    }
    offer_own(rollout);
    said->oldest = min_u32(said->serves, runtime_oldest_edition(runtime));
    rollout_drop(rollout, editions_oldest(said, rollout->other, rollout->other_count));
    tell(rollout);
    rollout_answer(rollout, /* is_end */ false);
    if (!is_settled(rollout) || rollout->waiters != NULL) {
        look_later(rollout);
    }
}

static void on_time(void *context)
{
    struct rollout *rollout = context;
    rollout->is_due = false;
    if (rollout->index->runtime != NULL) {
        look(rollout);
    }
}

static void look_later(struct rollout *rollout)
{
    struct runtime *runtime = rollout->index->runtime;
    if (!rollout->is_due) {
        rollout->is_due = true;
        runtime_call_at(
            runtime, runtime_now_ns(runtime) + LOOK_NS, /* background */ true, on_time, rollout);
    }
}

void rollout_members(struct rollout *rollout, const struct member_list *list)
{
    const char *own = rollout->own;
    rollout->list->count = 0;
    rollout->other_count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct member *member = &list->items[i];
        const struct member_editions *said = &member->editions;
        if (strcmp(member->name, own) == 0 || member_is_guest(member) ||
            !membership_is_alike(rollout->membership, member)) {
            continue;
        }
        rollout->list->items[rollout->list->count++] = *member;
        rollout->other[rollout->other_count++] = (struct edition_said){
            .newest = said->newest,
            .held = said->held,
            .serves = said->serves,
            .oldest = said->oldest,
        };
    }
    if (rollout->index->runtime != NULL) {
        look(rollout);
    }
}

/* What was found at the start, or held before the name was lost, as edition @number. */
static void describe(const struct rollout *rollout, uint32_t number, struct edition *edition_out)
{
    const struct repository *repository = rollout_repository(rollout);
    if (rollout->has_last) { /* All members may have lost their names: none goes back. */
        *edition_out = rollout->last;
        edition_out->number = number;
        return;
    }
    *edition_out = (struct edition){.number = number};
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        struct edition_model *model = &edition_out->models[i];
        if (!edition_has_versions(repository, i)) {
            continue;
        }
        model->version = repository->files[i].version;
        model->hash = rollout->hashes[i];
        if (rollout->membership != NULL && model->hash == 0) { /* What cannot be read keeps it. */
            (void)preparation_hash(repository, i, model->version, &model->hash, NULL);
        }
    }
}

/* Begin with @edition. */
static void start(struct rollout *rollout, const struct edition *edition)
{
    rollout->count = 0;
    rollout->said = (struct edition_said){
        .newest = edition->number,
        .held = edition->number,
        .serves = edition->number,
        .oldest = edition->number,
    };
    rollout->withdrawn = (struct model_set){{0}};
    for (uint32_t i = 0; i < rollout_repository(rollout)->catalogue->model_count; i++) {
        if (rollout->index->measured->looks[i].fault[0] != '\0') {
            model_set_add(&rollout->withdrawn, i); /* The index has seen to it. */
        }
    }
    rollout->has_offered = false;
    rollout->retry_ns = 0;
    rollout->other_count = 0;
    rollout->list->count = 0;
    (void)rollout_hold(rollout, edition); /* There is room. */
    rollout_show(rollout, &rollout->held[0]);
}

void rollout_open(struct rollout *rollout)
{
    struct edition edition;
    describe(rollout, /* number */ 0, &edition);
    start(rollout, &edition);
}

/* Hold @edition now, whatever time that takes. */
static enum weft_status hold_now(
    struct rollout *rollout, const struct edition *edition, struct weft_error *error)
{
    struct preparation *preparation = list_unknown(rollout, edition);
    preparation_run(preparation);
    rollout->wanted = *edition;
    const bool is_held = take(rollout, preparation);
    free(preparation);
    return is_held ? WEFT_OK
                   : error_set(error, WEFT_INVALID, "what the cluster serves: %s", rollout->note);
}

/* Hold what @member serves, unless it is held. */
static enum weft_status adopt(
    struct rollout *rollout, const struct member *member, struct weft_error *error)
{
    struct edition edition;
    if (rollout_find(rollout, member->editions.serves) != NULL) {
        return WEFT_OK;
    }
    if (!edition_read(member->editions.serving, rollout_repository(rollout), &edition)) {
        return error_set(
            error, WEFT_INVALID, "node '%s' serves something else", member_title(member));
    }
    edition.number = member->editions.serves;
    return hold_now(rollout, &edition, error);
}

enum weft_status rollout_join(
    struct rollout *rollout, struct membership *membership, uint32_t node, const char *name,
    const struct fetch_options *fetch, struct weft_error *error)
{
    const struct member_list *list = membership_list(membership);
    enum weft_status status = WEFT_OK;
    struct edition own;
    uint32_t serves = OWN;
    rollout->membership = membership;
    rollout->node = node;
    rollout->own = name;
    rollout->fetch = fetch;
    memset(&rollout->told, 0, sizeof(rollout->told));
    describe(rollout, OWN, &own);
    memset(rollout->hashes, 0, sizeof(rollout->hashes)); /* For one life: files may be replaced. */
    start(rollout, &own); /* Its files are known here: what is the same need not be looked at. */
    for (uint32_t i = 0; i < list->count && status == WEFT_OK; i++) {
        const struct member *member = &list->items[i];
        if (strcmp(member->name, name) != 0 && member->editions.serving[0] != '\0' &&
            membership_is_alike(membership, member)) {
            status = adopt(rollout, member, error);
            serves =
                serves == OWN ? member->editions.serves : max_u32(serves, member->editions.serves);
        }
    }
    if (status == WEFT_OK && serves == OWN) { /* No member serves yet. */
        own.number = node;
        start(rollout, &own);
    } else if (status == WEFT_OK) {
        rollout->said = (struct edition_said){
            .newest = serves, .held = serves, .serves = serves, .oldest = serves};
        rollout->count--; /* What was found here is the last. */
        rollout_show(rollout, rollout_find(rollout, serves));
        rollout_apply(rollout, /* changed */ NULL);
    }
    if (status == WEFT_OK) {
        rollout_members(rollout, list);
    }
    return status;
}

void rollout_close(struct rollout *rollout)
{
    rollout_answer(rollout, /* is_end */ true);
    if (rollout->membership != NULL && rollout->count > 0) {
        rollout->last = rollout->held[rollout->count - 1]; /* Another may serve it already. */
        rollout->has_last = true;
    }
    rollout->membership = NULL;
    rollout->is_due = false;
    if (rollout->trial.tried != NULL) {
        free(rollout->preparation);
        rollout->preparation = NULL;
    }
    rollout_trial_close(rollout);
}

void rollout_begin(const struct rollout *rollout, struct edition *edition_out)
{
    const struct edition *newest = rollout_find(rollout, rollout->said.newest);
    *edition_out = newest == NULL ? rollout->next : *newest;
}

void rollout_change(
    struct rollout *rollout, const struct edition *edition, server_changed changed, void *asker)
{
    struct edition newest;
    struct edition next = *edition;
    const struct model_set none = {{0}};
    rollout_begin(rollout, &newest);
    if (!edition_is_same(&next, &newest, rollout_repository(rollout))) {
        propose(rollout, &next);
        if (rollout->said.newest == 0) {
            changed(asker, WEFT_LIMIT, "there were too many changes; restart the cluster");
            return;
        }
        if (rollout_must_try(rollout, &next)) {
            prepare(rollout, &next);
        } else {
            (void)rollout_hold(rollout, &next);
        }
    } else {
        rollout_apply(rollout, &none); /* What could not be read before may be there now. */
        rollout->note[0] = '\0';       /* And what could not be held is tried again at once. */
        rollout->retry_ns = 0;
    }
    if (changed != NULL) {
        rollout_wait(rollout, changed, asker);
    }
    look(rollout);
}
