#include "profile/builtin.h"

#include "base/assert.h"
#include "model/builtin.h"

void profile_add_builtin(
    struct profile *profile, const struct catalogue *catalogue, uint32_t device_count)
{
    const uint32_t pass = catalogue_find_model(catalogue, BUILTIN_PASS);
    const struct profile_point no_time = {.items = 1};

    if (pass == MODEL_NONE) {
        return;
    }
    ASSERT(pass < profile->model_count);
    for (uint32_t device = 0; device < device_count; device++) {
        (void)profile_add_point(profile, pass, device, &no_time); /* If it was there: as well. */
    }
}
