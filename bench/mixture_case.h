/*
 * mixture_case.h - clusters and jobs of a given size for the benchmarks of the mixture.
 *
 * Ten workflows of two to five tasks, each in five shapes: whole on one machine, and four ways
 * over two. With `unequal`, every machine carries a different load of others, so no two of them
 * can be taken together and every shape on every machine is a variable of its own.
 */
#ifndef MIXTURE_CASE_H
#define MIXTURE_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "mixture/draft.h"
#include "mixture/program.h"

enum { CASE_WORKFLOWS = 10, CASE_SHAPES = 5 };

struct mixture_case {
    struct catalogue *catalogue;
    struct profile *profile;
    struct fleet *fleet;
    double rates[CASE_WORKFLOWS];
    struct program_background *others;
    struct program_input input;
    struct workload *workload;
    struct draft *draft; /* All patterns of all machines, with equal shares; if asked for. */
};

struct mixture_case_options {
    uint32_t machines;
    double load;   /* That jobs put on them. */
    uint64_t seed; /* Of the workflows and of the load of others. 0: 7. */
    bool unequal;
    bool with_patterns;
};

void mixture_case_open(struct mixture_case *the, const struct mixture_case_options *options);
void mixture_case_close(struct mixture_case *the);

/* All shapes of the case on each machine into @draft, whose sites are single machines. */
void mixture_case_add_patterns(struct draft *draft);

/* Back to where every descent starts: number 0 even, the others drawn. */
void mixture_case_restart(struct mixture_case *the, uint32_t number);

/* Of this process on a processor, which other work does not lengthen: there is one thread. */
double mixture_case_seconds(void);

#endif /* MIXTURE_CASE_H */
