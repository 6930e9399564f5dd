/* background.h - what others put on a worker or a link, as the input of a program says. */
#ifndef MIXTURE_BACKGROUND_H
#define MIXTURE_BACKGROUND_H

#include <stddef.h>
#include <stdint.h>

#include "mixture/program.h"

/* Of @link, which carries @bytes_per_s: by the input, or by what the network says. */
struct program_background background_of_link(
    const struct program_input *input, uint32_t link, uint64_t bytes_per_s);

static inline struct program_background background_of_worker(
    const struct program_input *input, uint32_t worker)
{
    return input->workers != NULL ? input->workers[worker] : (struct program_background){0};
}

/* The load of others on all workers of machine @node together. */
double background_of_machine(const struct program_input *input, uint32_t node);

#endif /* MIXTURE_BACKGROUND_H */
