/*
 * levels.h - machines that differ only in the load of others, in a few levels of it.
 *
 * Many such machines are too many to begin with, and their mean says too little: light ones are
 * for short jobs. Those of one level are near enough to be taken together at first.
 */
#ifndef MIXTURE_LEVELS_H
#define MIXTURE_LEVELS_H

#include <stdint.h>

struct program_input;

enum { LEVELS_COUNT = 6 };

/*
 * By machine: its level, as uses for struct sites_options. Those of one kind, which could take
 * each other's place but for the load of others, have the same quotient by LEVELS_COUNT. Levels
 * of a kind differ by one machine in size at most. The caller owns the array.
 */
uint32_t *levels_find(const struct program_input *input);

#endif /* MIXTURE_LEVELS_H */
