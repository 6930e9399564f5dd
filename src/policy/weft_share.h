/*
 * weft_share.h - shares in whole numbers, so that all machines decide alike.
 */
#ifndef POLICY_WEFT_SHARE_H
#define POLICY_WEFT_SHARE_H

#include <stdint.h>

/* Shares are in 1024ths. */
enum { WEFT_SHARE_ONE = 1024 };

/* @share of @whole_ns, to within 1024 ns. */
static inline int64_t weft_share_ns(int64_t whole_ns, int64_t share)
{
    return whole_ns / WEFT_SHARE_ONE * share;
}

#endif /* POLICY_WEFT_SHARE_H */
