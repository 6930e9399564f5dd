/* sites_group.h - which machines of a fleet differ in nothing that a program sees. */
#ifndef MIXTURE_SITES_GROUP_H
#define MIXTURE_SITES_GROUP_H

#include <stdint.h>

struct program_input;
struct sites;
struct sites_options;

/*
 * Fill in the classes of @sites, in the order of their first machines. @rates has the bytes a
 * second of each link.
 */
void sites_group(
    struct sites *sites, const struct program_input *input, const struct sites_options *options,
    const uint64_t *rates);

#endif /* MIXTURE_SITES_GROUP_H */
