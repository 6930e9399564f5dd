#include "policy/registry.h"

#include <string.h>

#include "policy/policy.h"

const struct policy *const policy_registry[] = {
#define X(name) &policy_##name,
    POLICY_LIST(X)
#undef X
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
