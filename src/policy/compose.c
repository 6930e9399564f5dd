/*
 * compose.c - compositions and their seats: which policy has which role, its plan and its state.
 *
 * Reading a composition from text is in parse.c, asking it in compose_ask.c.
 */
#include "policy/compose.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"

enum { STATE_ALIGNMENT = 16 };

const char *policy_role_name(enum policy_role role)
{
    static const char *const names[POLICY_ROLES] = {
        [ROLE_ADMIT] = "admit",       [ROLE_PLACE] = "place", [ROLE_ORDER] = "order",
        [ROLE_DISPATCH] = "dispatch", [ROLE_STEAL] = "steal", [ROLE_CACHE] = "cache",
        [ROLE_TICK] = "tick",
    };
    ASSERT(role < POLICY_ROLES);
    return names[role];
}

bool policy_fills(const struct policy *policy, enum policy_role role)
{
    switch (role) {
    case ROLE_ADMIT:
        return policy->admit != NULL;
    case ROLE_PLACE:
        return policy->place_job != NULL || policy->place_task != NULL;
    case ROLE_ORDER:
        return policy->order != NULL;
    case ROLE_DISPATCH:
        return policy->dispatch != NULL;
    case ROLE_STEAL:
        return policy->steal != NULL;
    case ROLE_CACHE:
        return policy->victim != NULL || policy->prefetch != NULL;
    case ROLE_TICK:
        return policy->tick != NULL;
    case POLICY_ROLES:
        break;
    }
    ASSERT(false);
    return false;
}

void policy_set_single(const struct policy *policy, struct policy_set *set_out)
{
    struct policy_choice choice = {.policy = policy};
    for (uint32_t i = 0; policy->options != NULL && policy->options[i].name != NULL; i++) {
        ASSERT(i < POLICY_OPTIONS_MAX);
        choice.options[i] = policy->options[i].value;
    }

    *set_out = (struct policy_set){.named = 0};
    (void)snprintf(set_out->text, sizeof(set_out->text), "%s", policy->name); /* Names are short. */
    for (uint32_t role = 0; role < POLICY_ROLES; role++) {
        if (policy_fills(policy, (enum policy_role)role)) {
            set_out->roles[role] = choice;
        }
    }
}

/* The first role of the policy that has @role: where its state is. */
static uint32_t first_role(const struct policy_set *set, uint32_t role)
{
    uint32_t first = 0;
    while (set->roles[first].policy != set->roles[role].policy) {
        first++;
    }
    return first;
}

/* What the policy of @role needs, counted once however many roles it has. */
static size_t role_state_bytes(const struct policy_set *set, uint32_t role)
{
    const struct policy *policy = set->roles[role].policy;
    if (policy == NULL || first_role(set, role) != role) {
        return 0;
    }
    return (policy->state_bytes + STATE_ALIGNMENT - 1) / STATE_ALIGNMENT * STATE_ALIGNMENT;
}

size_t policy_set_state_bytes(const struct policy_set *set)
{
    size_t bytes = 0;
    for (uint32_t role = 0; role < POLICY_ROLES; role++) {
        bytes += role_state_bytes(set, role);
    }
    return bytes;
}

static bool has_equal_options(const struct policy_choice *a, const struct policy_choice *b)
{
    bool is_equal = true;
    for (uint32_t i = 0; i < POLICY_OPTIONS_MAX; i++) {
        is_equal = is_equal && a->options[i] == b->options[i];
    }
    return is_equal;
}

/* The first role before @role with the same policy and options: it has the same plan. */
static uint32_t first_alike(const struct policy_set *set, uint32_t role)
{
    const struct policy_choice *own = &set->roles[role];
    uint32_t first = 0;
    while (set->roles[first].policy != own->policy || !has_equal_options(&set->roles[first], own)) {
        first++;
    }
    return first;
}

void policy_set_plan(struct policy_set *set, struct arena *arena, const struct plan_input *input)
{
    for (uint32_t role = 0; role < POLICY_ROLES; role++) {
        struct policy_choice *choice = &set->roles[role];
        if (choice->policy == NULL || choice->policy->plan == NULL) {
            continue;
        }
        const uint32_t first = first_alike(set, role);
        if (first != role) {
            choice->plan = set->roles[first].plan;
            continue;
        }
        struct plan_input own = *input;
        own.options = choice->options;
        choice->plan = choice->policy->plan(arena, &own);
    }
}

static bool waits(const struct policy_set *set, uint32_t number)
{
    const struct policy_choice *choice = &set->roles[ROLE_DISPATCH];
    return choice->policy->waits != NULL && choice->policy->waits(choice->plan, number);
}

/* Whether there are home queues: for all tasks, or for some of one policy that also places. */
static bool binds(const struct policy_set *set, const struct catalogue *catalogue)
{
    const struct policy *policy = set->roles[ROLE_DISPATCH].policy;
    const struct policy *placer = set->roles[ROLE_PLACE].policy;
    if (policy == NULL || !policy->binds || (placer != NULL && placer != policy)) {
        return false;
    }
    for (uint32_t i = 0; placer != NULL && i < catalogue->queue_count; i++) {
        if (waits(set, i)) {
            return true;
        }
    }
    return placer == NULL;
}

bool policy_waits(const struct policy_seat *seat, uint32_t number)
{
    return seat->binds && (seat->set->roles[ROLE_PLACE].policy == NULL || waits(seat->set, number));
}

static bool steals(const struct policy_set *set)
{
    const struct policy *policy = set->roles[ROLE_STEAL].policy;
    return policy != NULL && policy->steal != NULL;
}

static bool places_tasks(const struct policy_set *set)
{
    const struct policy *policy = set->roles[ROLE_PLACE].policy;
    return policy != NULL && policy->place_task != NULL;
}

static bool orders_by_deadline(const struct policy_set *set)
{
    const struct policy *policy = set->roles[ROLE_ORDER].policy;
    return policy != NULL && policy->by_deadline;
}

static bool announces(const struct policy_set *set)
{
    const struct policy *policy = set->roles[ROLE_PLACE].policy;
    return policy != NULL && policy->announces;
}

static bool learns(const struct policy_set *set)
{
    const struct policy *policy = set->roles[ROLE_PLACE].policy;
    return policy != NULL && policy->learns != NULL &&
           policy->learns(set->roles[ROLE_PLACE].options);
}

static bool pools(const struct policy_set *set)
{
    const struct policy *policy = set->roles[ROLE_PLACE].policy;
    return policy != NULL && policy->pools != NULL && policy->pools(set->roles[ROLE_PLACE].options);
}

static bool yields(const struct policy_set *set)
{
    const struct policy *policy = set->roles[ROLE_DISPATCH].policy;
    return policy != NULL && policy->yields;
}

static bool gives_up(const struct policy_set *set)
{
    const struct policy *policy = set->roles[ROLE_ADMIT].policy;
    return policy != NULL && policy->hope != NULL;
}

void policy_seat_init(
    struct policy_seat *seat, const struct policy_set *set, const struct policy_input *input,
    void *state, struct rng rng, struct policy_meter *meter)
{
    ASSERT(meter != NULL);
    ASSERT(meter->stopwatch_ns == NULL || meter->times != NULL);
    ASSERT(state != NULL || policy_set_state_bytes(set) == 0);

    *seat = (struct policy_seat){
        .binds = binds(set, input->catalogue),
        .yields = yields(set),
        .steals = steals(set),
        .learns = learns(set),
        .pools = pools(set),
        .places_tasks = places_tasks(set),
        .orders = set->roles[ROLE_ORDER].policy != NULL,
        .dispatches = set->roles[ROLE_DISPATCH].policy != NULL,
        .gives_up = gives_up(set),
        .announces = announces(set),
        .set = set,
        .meter = meter,
        .rng = rng,
    };
    const struct policy *placer = set->roles[ROLE_PLACE].policy;
    uint8_t *next = state;
    for (uint32_t role = 0; role < POLICY_ROLES; role++) {
        struct policy_input *own = &seat->inputs[role];
        *own = *input;
        own->options = set->roles[role].options;
        own->plan = set->roles[role].plan;
        own->rng = &seat->rng;
        own->by_deadline = orders_by_deadline(set);
        own->binds = seat->binds;
        own->orders = set->roles[role].policy == set->roles[ROLE_ORDER].policy;
        own->plans = placer != NULL && placer->place_job != NULL;
        own->weighed = meter->weighed;
        own->state = NULL;
        const struct policy *policy = set->roles[role].policy;
        if (policy == NULL) {
            continue;
        }
        const uint32_t first = first_role(set, role);
        if (first != role) {
            own->state = seat->inputs[first].state;
            continue;
        }
        if (policy->state_bytes > 0) {
            own->state = next;
            next += role_state_bytes(set, role);
        }
        if (policy->init != NULL) {
            policy->init(own);
        }
    }
}

size_t policy_set_question_bytes(const struct policy_set *set)
{
    const struct policy *policy = set->roles[ROLE_TICK].policy;
    return policy == NULL ? 0 : policy->question_bytes;
}

void *policy_set_solve(
    const struct policy_set *set, const struct plan_input *input, uint64_t problem,
    const void *question)
{
    const struct policy_choice *choice = &set->roles[ROLE_TICK];
    if (choice->policy == NULL || choice->policy->solve == NULL) {
        return NULL;
    }
    struct plan_input own = *input;
    own.options = choice->options;
    return choice->policy->solve(&own, choice->plan, problem, question);
}
