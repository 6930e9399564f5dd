/* registry.h - the policies that are built in: one table a file, and this is all they export. */
#ifndef POLICY_REGISTRY_H
#define POLICY_REGISTRY_H

struct policy;

extern const struct policy policy_aquatope;
extern const struct policy policy_compass;
extern const struct policy policy_deadline;
extern const struct policy policy_edf;
extern const struct policy policy_esg;
extern const struct policy policy_expert;
extern const struct policy policy_fair;
extern const struct policy policy_fast_gshare;
extern const struct policy policy_fifo;
extern const struct policy policy_first_fit;
extern const struct policy policy_hash;
extern const struct policy policy_heft;
extern const struct policy policy_infless;
extern const struct policy policy_jit;
extern const struct policy policy_least_work;
extern const struct policy policy_lru;
extern const struct policy policy_nona;
extern const struct policy policy_opportunistic;
extern const struct policy policy_orion;
extern const struct policy policy_po2;

#endif /* POLICY_REGISTRY_H */
