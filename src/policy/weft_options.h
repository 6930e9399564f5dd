/*
 * weft_options.h - rows of the table of weft's options.
 */
#ifndef POLICY_WEFT_OPTIONS_H
#define POLICY_WEFT_OPTIONS_H

#include "policy/policy.h"

enum weft_option {
    WEFT_PATH,
    WEFT_LINKS,
    WEFT_TOLL,
    WEFT_RETURN,
    WEFT_ONWARD,
    WEFT_DOUBT,
    WEFT_FADE,
    WEFT_CHANCE,
    WEFT_SAMPLE,
    WEFT_SPREAD,
    WEFT_GATHER,
    WEFT_HOLD,
    WEFT_COPY,
    WEFT_LEARN,
    WEFT_STEAL,
    WEFT_HASTE,
    WEFT_TROUBLE,
    WEFT_FORK,
    WEFT_POOL,
    WEFT_GIVE_UP,
    WEFT_STRICT,
    WEFT_RESERVE,
    WEFT_BEGIN,
    WEFT_STAY,
    WEFT_ROUND,
    WEFT_AHEAD,
    WEFT_KEEP,
    WEFT_PARTS,
    WEFT_PAYING,
    WEFT_TOGETHER,
};

/* By enum weft_option. */
extern const struct policy_option weft_options[];

#endif /* POLICY_WEFT_OPTIONS_H */
