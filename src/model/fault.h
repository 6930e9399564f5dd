/*
 * fault.h - something that breaks, and when: the script of an experiment.
 */
#ifndef MODEL_FAULT_H
#define MODEL_FAULT_H

#include <stdint.h>

enum { FAULTS_MAX = 1024 };

enum fault_kind {
    FAULT_CRASH,   /* A node stops for good, with everything on it. */
    FAULT_RESTART, /* It comes back empty, in a new incarnation. */
    FAULT_DRAIN,   /* It is asked to finish and take no more. */
};

struct fault {
    int64_t at_ns;
    enum fault_kind kind;
    uint32_t node;
};

#endif /* MODEL_FAULT_H */
