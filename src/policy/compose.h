/*
 * compose.h - several policies as one scheduler: who answers which question.
 *
 * A composition is chosen once, from a text such as "heft" or
 * "place=jit,order=fifo,cache=lru". Every question goes through here: this is where the
 * defaults are, where answers are checked, and where decisions are counted and, if the
 * host lends a stopwatch, timed. Nothing else calls through a policy's pointers.
 */
#ifndef POLICY_COMPOSE_H
#define POLICY_COMPOSE_H

#include <weft/status.h>

#include "base/histogram.h"
#include "base/numbers.h"
#include "policy/compose_ask.h"
#include "policy/policy.h"
#include "policy/weighed.h"

/* The groups of questions that one policy answers together. */
enum policy_role {
    ROLE_ADMIT,
    ROLE_PLACE,
    ROLE_ORDER,
    ROLE_DISPATCH,
    ROLE_STEAL,
    ROLE_CACHE,
    ROLE_TICK,
    POLICY_ROLES
};

enum { POLICY_TEXT_BYTES_MAX = 256 };

struct policy_choice {
    const struct policy *policy; /* NULL: the defaults. */
    double options[POLICY_OPTIONS_MAX];
    const void *plan; /* Of policy_set_plan(). */
};

/* What was chosen; read-only once parsed and planned, shared by all nodes of a host. */
struct policy_set {
    char text[POLICY_TEXT_BYTES_MAX]; /* As it was written. */
    uint32_t named;                   /* Bits of the roles that were written one by one. */
    struct policy_choice roles[POLICY_ROLES];
};

/* What a host learns about decisions. Shared by its nodes; a single thread. */
struct policy_meter {
    uint64_t decisions;
    uint64_t (*stopwatch_ns)(void); /* Borrowed; NULL: decisions are only counted. */
    struct histogram *times;        /* Of one decision in 16, if there is a stopwatch. */
    uint64_t rows;                  /* Load rows of other nodes that placements went by. */
    int64_t row_age_ns;             /* The ages of those rows, summed up. */
    struct weighed *weighed;        /* By the last decision. Borrowed; NULL: not wanted. */
};

/* The state of a composition at one node. */
struct policy_seat {
    bool binds;        /* There are home queues: see policy_waits(). */
    bool yields;       /* Homes give way to what is more urgent elsewhere. */
    bool learns;       /* Workers learn how slow they are. */
    bool pools;        /* Idle workers take what waits at others of this node. */
    bool steals;       /* Idle workers of this node look for work elsewhere. */
    bool places_tasks; /* place_task has something to say; the node saves the question otherwise. */
    bool orders;       /* Likewise for order. */
    bool dispatches;   /* Likewise for dispatch. */
    bool gives_up;     /* Likewise for hope. */
    bool announces;    /* Workers are told of tasks ahead of their inputs. */
    bool rests;        /* The last tick has said so, and dispatch was not asked since. */
    const struct policy_set *set;
    struct policy_meter *meter;
    struct policy_input inputs[POLICY_ROLES];
    struct rng rng;
};

/* As written in documents: "admit", "place", … */
const char *policy_role_name(enum policy_role role);

/* Whether @policy answers at least one question of @role. */
bool policy_fills(const struct policy *policy, enum policy_role role);

/*
 * Read "NAME[:option[=value]…]" or "role=NAME[:…],role=NAME…". A name alone takes every
 * role that policy fills; an option alone is set to 1.
 *
 * Errors: WEFT_NOT_FOUND for an unknown policy, role or option; WEFT_INVALID for a text
 * that does not parse. @error names the part.
 */
enum weft_status policy_set_parse(
    const char *text, struct policy_set *set_out, struct weft_error *error);

/* The same for one policy that is in no registry: what tests and embedders use. */
void policy_set_single(const struct policy *policy, struct policy_set *set_out);

/*
 * Let every policy of @set compute its plan, in @arena, which outlives all nodes. A host
 * does it once, on its own copy of a set. @input gives all but the options.
 */
void policy_set_plan(struct policy_set *set, struct arena *arena, const struct plan_input *input);

/* How many bytes of state a node needs for @set. */
size_t policy_set_state_bytes(const struct policy_set *set);

/* @state has policy_set_state_bytes(), zeroed. @input gives view, profile and catalogue. */
void policy_seat_init(
    struct policy_seat *seat, const struct policy_set *set, const struct policy_input *input,
    void *state, struct rng rng, struct policy_meter *meter);

/* @key of a task of a job with @priority: see PRIORITY_LEVEL_NS. */
static inline int64_t policy_advance(int64_t key, uint32_t priority)
{
    const uint32_t level = min_u32(priority, PRIORITY_MAX);
    const int64_t ahead_ns = (int64_t)level * PRIORITY_LEVEL_NS;
    return key < INT64_MIN + ahead_ns ? INT64_MIN : key - ahead_ns;
}

/* @key of a task that is put off, for @hope: see PUT_OFF_NS. */
static inline int64_t policy_put_off(int64_t key, enum hope hope)
{
    const int64_t later_ns = hope == HOPE_DOUBTFUL ? DOUBTFUL_NS : PUT_OFF_NS;
    return key > INT64_MAX - later_ns ? INT64_MAX : key + later_ns;
}

/* Whether tasks of queue @number wait in its home queue. */
bool policy_waits(const struct policy_seat *seat, uint32_t number);

/* The key of a task that is ready, without a policy. */
static inline int64_t policy_order_by_time(const struct policy_seat *seat, uint32_t priority)
{
    return policy_advance(seat->inputs[ROLE_ORDER].view->now_ns, priority);
}

/* What dispatch says without a policy: the head alone, on the whole device. */
static inline void policy_dispatch_head(uint32_t head_items, struct dispatch_answer *answer_out)
{
    answer_out->count = 1;
    answer_out->wake_at_ns = 0;
    answer_out->unplanned = false;
    answer_out->configs[0] = (struct config){.batch = head_items};
}

/* How many bytes the question of a search has. */
size_t policy_set_question_bytes(const struct policy_set *set);

/*
 * Search, on any thread: @input is that of policy_set_plan(). The caller releases the result
 * with free(), once no node needs it: see struct policy. NULL: nothing was found.
 */
void *policy_set_solve(
    const struct policy_set *set, const struct plan_input *input, uint64_t problem,
    const void *question);

#endif /* POLICY_COMPOSE_H */
