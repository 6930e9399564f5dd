/*
 * option_list.h - one argument that holds several: "1,2,4" and "hash;place=jit,cache=lru".
 */
#ifndef LAB_OPTION_LIST_H
#define LAB_OPTION_LIST_H

#include <stdint.h>

#include <weft/status.h>

enum { OPTION_LIST_PARTS_MAX = 64 };

struct option_list {
    char *bytes; /* Owned. */
    uint32_t count;
    const char *parts[OPTION_LIST_PARTS_MAX]; /* Without spaces around; never empty. */
};

/*
 * Parts between commas.
 *
 * Errors: WEFT_INVALID for an empty part, WEFT_LIMIT past OPTION_LIST_PARTS_MAX.
 */
enum weft_status option_list_commas(
    const char *text, struct option_list *list_out, struct weft_error *error);

/*
 * The same, where a part may also be a range: "1:4:0.5" is the rates from 1 up to 4 in
 * steps of 0.5, plain numbers above 0. Errors as above, and WEFT_INVALID for a bad range.
 */
enum weft_status option_list_rates(
    const char *text, struct option_list *list_out, struct weft_error *error);

/*
 * Policies, whose compositions contain commas. If there is a semicolon, only
 * semicolons separate. Otherwise commas do, except before role=policy, which belongs to
 * what comes before it: "hash,weft,cache=lru,heft" is three policies, and "hash;cache=lru"
 * needs the semicolon. Errors as above.
 */
enum weft_status option_list_policies(
    const char *text, struct option_list *list_out, struct weft_error *error);

void option_list_deinit(struct option_list *list);

#endif /* LAB_OPTION_LIST_H */
