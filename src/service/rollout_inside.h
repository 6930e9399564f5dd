/*
 * rollout_inside.h - what a rollout is made of. For its files alone.
 */
#ifndef SERVICE_ROLLOUT_INSIDE_H
#define SERVICE_ROLLOUT_INSIDE_H

#include "engine/artifact.h"
#include "service/local_index.h"
#include "service/rollout.h"
#include "view/editions.h"

struct preparation;
struct waiter;

/* What came of trying an edition on GPUs; @message says why it failed. */
typedef void rollout_tried(struct rollout *rollout, enum weft_status status, const char *message);

/* Versions on GPUs: rollout_trial.c. */
struct rollout_trial {
    bool is_open;              /* The engine is at some model. */
    bool is_trial;             /* That is new; or else it lets go of something. */
    uint32_t model;            /* Of `wanted`: those before it have been tried. */
    rollout_tried *tried;      /* NULL: nothing is to be tried. */
    struct model_set outdated; /* Models that may have versions there that are not held. */
    struct {
        uint32_t version; /* The one whose files were compared with their sums last. */
        int64_t at_ns;    /* When, by the system's clock. */
    } compared[MODELS_MAX];
};

struct rollout {
    struct local_index *index;
    struct artifacts *artifacts;
    struct membership *membership; /* NULL: there is no cluster. */
    const char *own;               /* The name of this node in it. */
    const struct fetch_options *fetch;
    uint32_t node;
    struct edition held[EDITIONS_MAX]; /* The oldest first. */
    uint32_t count;
    struct edition next; /* The newest, while it is not held. */
    struct edition last; /* The newest that was held when this was last a member. */
    bool has_last;       /* It was one. */
    struct edition_said said;
    struct member_editions told; /* The same, as it was last told to others. */
    char note[MEMBER_NOTE_BYTES];
    struct model_set withdrawn;      /* From the nodes. */
    uint32_t hashes[MODELS_MAX];     /* Of files as found at the start; 0: not read, or not yet. */
    struct preparation *preparation; /* Under way for `wanted`; NULL: none. */
    struct rollout_trial trial;      /* Of versions on GPUs. */
    struct edition wanted;
    int64_t retry_ns;
    bool is_due;                /* A look. */
    bool has_offered;           /* It has offered newer versions that were there at the start. */
    bool is_hashing;            /* It is about to: they are being read. */
    struct member_list *list;   /* As last heard. */
    struct edition_said *other; /* What those others say. */
    uint32_t other_count;       /* How many they are. */
    struct waiter *waiters;
};

static inline const struct repository *rollout_repository(const struct rollout *rollout)
{
    return rollout->index->measured->repository;
}

/* rollout_answer.c */

/* Call @changed once the newest edition is served, or cannot be. */
void rollout_wait(struct rollout *rollout, server_changed changed, void *asker);

/* Tell clients what became of their changes. @is_end: there will be no more. */
void rollout_answer(struct rollout *rollout, bool is_end);

/* rollout_trial.c */

/* Whether @edition has versions that GPUs of this machine run, and that are not held. */
bool rollout_must_try(const struct rollout *rollout, const struct edition *edition);

/*
 * Let GPUs try what is new of rollout->wanted, beside what runs there. @tried is called in the end,
 * not from inside this. False if there is nothing to try.
 */
bool rollout_try(struct rollout *rollout, rollout_tried *tried);

/* Let go of what of @model, which GPUs run, is held no longer. */
void rollout_let_go(struct rollout *rollout, uint32_t model);

/* The runtime goes. */
void rollout_trial_close(struct rollout *rollout);

/* rollout_hold.c */

/*
 * What @edition, and with it all that are held, mean by @model, for the engine; NULL: only those.
 * False: too many versions.
 */
bool rollout_versions(
    const struct rollout *rollout, const struct edition *edition, uint32_t model,
    struct artifact_versions *out);

/* NULL: edition @number is not held. */
const struct edition *rollout_find(const struct rollout *rollout, uint32_t number);

/* Whether a held edition has the same file of @model as @edition. */
bool rollout_knows(const struct rollout *rollout, const struct edition *edition, uint32_t model);

/* Let engine and nodes have what is held now; models of @changed, which may be NULL, are loaded
 * again in any case. */
void rollout_apply(struct rollout *rollout, const struct model_set *changed);

/* From now on clients are served as @edition, which is held, says. */
void rollout_show(struct rollout *rollout, const struct edition *edition);

/* Hold @edition, whose files are here. False, with a note, if there is no room for another. */
bool rollout_hold(struct rollout *rollout, const struct edition *edition);

/* Drop the editions before @oldest that are not served. */
void rollout_drop(struct rollout *rollout, uint32_t oldest);

#endif /* SERVICE_ROLLOUT_INSIDE_H */
