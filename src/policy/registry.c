/* registry.c - the policies by name. To add one, add a line here and one in registry.h. */
#include "policy/registry.h"

#include <string.h>

#include "policy/policy.h"

const struct policy *const policy_registry[] = {
    &policy_compass,       /* place, cache */
    &policy_hash,          /* place */
    &policy_heft,          /* place */
    &policy_jit,           /* place */
    &policy_nona,          /* place, order, tick */
    &policy_fifo,          /* place, order */
    &policy_fair,          /* place, order */
    &policy_opportunistic, /* place */
    &policy_expert,        /* place */
    &policy_least_work,    /* place */
    &policy_po2,           /* place */
    &policy_esg,           /* order, dispatch, tick */
    &policy_infless,       /* order, dispatch, tick */
    &policy_fast_gshare,   /* order, dispatch, tick */
    &policy_orion,         /* dispatch, tick */
    &policy_aquatope,      /* dispatch */
    &policy_first_fit,     /* order, dispatch */
    &policy_lru,           /* cache */
    &policy_edf,           /* order */
    &policy_deadline,      /* admit */
    NULL,
};

const struct policy *policy_find(const char *name)
{
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        if (strcmp(policy_registry[i]->name, name) == 0) {
            return policy_registry[i];
        }
    }
    return NULL;
}
