/*
 * rollout_inside.h - what a rollout is made of. For its files alone.
 */
#ifndef SERVICE_ROLLOUT_INSIDE_H
#define SERVICE_ROLLOUT_INSIDE_H

#include "service/local_index.h"
#include "service/rollout.h"
#include "view/editions.h"

struct preparation;
struct waiter;

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
    struct edition last; /* The newest that was held when this was last a member, */
    bool has_last;       /* if it ever was. */
    struct edition_said said;
    struct member_editions told; /* The same, as it was last told to others. */
    char note[MEMBER_NOTE_BYTES];
    struct model_set withdrawn;      /* From the nodes. */
    uint32_t hashes[MODELS_MAX];     /* Of files as found at the start; 0: not read, or not yet. */
    struct preparation *preparation; /* Under way for `wanted`; NULL: none. */
    struct edition wanted;
    int64_t retry_ns;
    bool is_due;                /* A look. */
    bool has_offered;           /* Newer versions that were there at the start, */
    bool is_hashing;            /* or it is about to: they are being read. */
    struct member_list *list;   /* As last heard. */
    struct edition_said *other; /* What those others say, */
    uint32_t other_count;       /* so many. */
    struct waiter *waiters;
};

static inline const struct repository *rollout_repository(const struct rollout *rollout)
{
    return rollout->index->measured->repository;
}

/* rollout_hold.c */

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
