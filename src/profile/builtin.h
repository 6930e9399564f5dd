/* builtin.h - what need not be measured: the functions of model/builtin.h take no time. */
#ifndef PROFILE_BUILTIN_H
#define PROFILE_BUILTIN_H

#include "model/catalogue.h"
#include "profile/profile.h"

/* Say so in @profile, which is of @catalogue, for each of @device_count kinds of devices. */
void profile_add_builtin(
    struct profile *profile, const struct catalogue *catalogue, uint32_t device_count);

#endif /* PROFILE_BUILTIN_H */
