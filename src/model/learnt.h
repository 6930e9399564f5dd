/*
 * learnt.h - what a host has learnt of a model on a kind of device that it has, as others hear of
 * it.
 *
 * The times of no more than one number of items are told at a time, with what is known beside them.
 */
#ifndef MODEL_LEARNT_H
#define MODEL_LEARNT_H

#include <stdint.h>

struct learnt {
    uint32_t model;
    uint32_t device; /* Its kind, as numbered here: it does not travel. */
    uint64_t kind; /* The same as the hash of its name: processes number kinds as they meet them. */
    uint32_t items;
    uint32_t runs; /* That were seen. 0: it was measured at the start. */
    int64_t run_ns;
    int64_t sd_ns;
    int64_t handoff_ns;
    int64_t load_ns;      /* 0: not known. */
    int64_t first_run_ns; /* 0: not known, or nothing. */
};

#endif /* MODEL_LEARNT_H */
