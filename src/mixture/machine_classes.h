/* machine_classes.h - which machines of a fleet differ in nothing that a program sees. */
#ifndef MIXTURE_MACHINE_CLASSES_H
#define MIXTURE_MACHINE_CLASSES_H

#include <stdint.h>

struct program_input;
struct sites;
struct sites_options;

/*
 * Fill in the classes of @sites, in the order of their first machines. @rates has the bytes a
 * second of each link.
 */
void machine_classes(
    struct sites *sites, const struct program_input *input, const struct sites_options *options,
    const uint64_t *rates);

#endif /* MIXTURE_MACHINE_CLASSES_H */
