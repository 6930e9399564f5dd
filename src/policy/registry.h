/*
 * registry.h - the policies that are built in, and the one list to which a policy is added.
 *
 * A policy is a family of files, <name>.c and any <name>_*.c that it needs. It exports one table,
 * policy_<name>.
 */
#ifndef POLICY_REGISTRY_H
#define POLICY_REGISTRY_H

struct policy;

/* In the order in which they are listed; with the roles they fill. */
#define POLICY_LIST(X)                                                                             \
    X(compass)       /* place, cache */                                                            \
    X(hash)          /* place */                                                                   \
    X(heft)          /* place */                                                                   \
    X(jit)           /* place */                                                                   \
    X(nona)          /* place, order, tick */                                                      \
    X(weft)          /* place, order, dispatch, cache, tick */                                     \
    X(fifo)          /* place, order */                                                            \
    X(fair)          /* place, order */                                                            \
    X(opportunistic) /* place */                                                                   \
    X(expert)        /* place */                                                                   \
    X(least_work)    /* place */                                                                   \
    X(po2)           /* place */                                                                   \
    X(esg)           /* order, dispatch, tick */                                                   \
    X(infless)       /* order, dispatch, tick */                                                   \
    X(fast_gshare)   /* order, dispatch, tick */                                                   \
    X(orion)         /* dispatch, tick */                                                          \
    X(aquatope)      /* dispatch */                                                                \
    X(first_fit)     /* order, dispatch */                                                         \
    X(lru)           /* cache */                                                                   \
    X(edf)           /* order */                                                                   \
    X(deadline)      /* admit */

#define X(name) extern const struct policy policy_##name;
POLICY_LIST(X)
#undef X

#endif /* POLICY_REGISTRY_H */
