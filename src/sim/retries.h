/*
 * retries.h - clients that have keys, and ask again when they lose their owner.
 */
#ifndef SIM_RETRIES_H
#define SIM_RETRIES_H

#include "sim/inside.h"

/* A client with a key. */
struct keyed_client {
    struct client client;
    int64_t retry_ns;    /* When it asks again; 0: it is with a node. */
    int64_t deadline_ns; /* That it names. */
    uint32_t items;
    uint32_t deputy; /* Of its owner, as that has said; NODE_NONE: none, or not known. */
    uint32_t deputy_incarnation;
    uint32_t edition; /* That the job names which its deputy knows of. */
    bool has_asked;
    bool is_again;   /* It was answered, and asks once more. */
    uint32_t keeper; /* Then: who keeps an answer; NODE_NONE: there may be none, or out of reach. */
    uint32_t keeper_incarnation;
    struct kept_answer kept; /* At that node. */
    uint32_t made;           /* By what it was made, as editions_made() says. */
};

/* A job that has arrived and not ended, where clients have keys: none may wait for it. */
struct open_job {
    struct job_id job;
    int64_t arrived_ns;
    uint16_t workflow;
    bool is_poison; /* Of the request that crashes nodes. */
};

struct request_key retries_key(const struct sim *sim, uint32_t slot);
void retries_begin(struct sim *sim, uint32_t slot, const struct arrival *arrival);
void retries_accepted(struct sim *sim, uint32_t slot, struct job_id job, uint32_t deputy);
/* Client @slot asks again, @after_ns from now: @node, or with NODE_NONE any. */
void retries_leave(struct sim *sim, uint32_t slot, uint32_t node, int64_t after_ns);
void retries_again(struct sim *sim, uint32_t slot, uint32_t node);
/* Client @slot is answered by @node. Whether it will ask once more, and must not be forgotten. */
bool retries_answered(struct sim *sim, uint32_t slot, const struct effect_answer *answer);
/* A record that may be of the beginning or the end of a job. */
void retries_note(struct sim *sim, const struct record *record);
/* @node is gone, and with it its jobs, whether a client waits for them or not. */
ATTR_COLD void retries_lose(struct sim *sim, uint32_t node);
bool retries_is_away(const struct sim *sim, uint32_t slot);
bool retries_has_asked(const struct sim *sim, uint32_t slot);
bool retries_is_poison(const struct sim *sim, struct job_id job);
/* Whether a node that lives has counted how often the poisonous request was tried. */
ATTR_COLD bool retries_is_counted(const struct sim *sim);
/* No request whose deputy lives is forgotten. */
ATTR_COLD void retries_check(const struct sim *sim);

#endif /* SIM_RETRIES_H */
