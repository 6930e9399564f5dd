/*
 * split.h - one argument that holds several: "1,2,4" and "hash;place=jit,cache=lru".
 */
#ifndef LAB_SPLIT_H
#define LAB_SPLIT_H

#include <stdint.h>

#include <weft/status.h>

enum { SPLIT_PARTS_MAX = 64 };

struct split {
    char *bytes; /* Owned. */
    uint32_t count;
    const char *parts[SPLIT_PARTS_MAX]; /* Without spaces around; never empty. */
};

/*
 * Parts between commas.
 *
 * Errors: WEFT_INVALID for an empty part, WEFT_LIMIT past SPLIT_PARTS_MAX.
 */
enum weft_status split_commas(const char *text, struct split *split_out, struct weft_error *error);

/*
 * The same, where a part may also be a range: "1:4:0.5" is the rates from 1 up to 4 in
 * steps of 0.5, plain numbers above 0. Errors as above, and WEFT_INVALID for a bad range.
 */
enum weft_status split_rates(const char *text, struct split *split_out, struct weft_error *error);

/*
 * Policies, whose compositions have commas of their own. If there is a semicolon, only
 * semicolons separate. Otherwise commas do, except between two parts of the form
 * role=policy, which belong to one composition: "hash,place=jit,cache=lru,heft" is three
 * policies. Two compositions in a row need the semicolon. Errors as above.
 */
enum weft_status split_policies(
    const char *text, struct split *split_out, struct weft_error *error);

void split_deinit(struct split *split);

#endif /* LAB_SPLIT_H */
