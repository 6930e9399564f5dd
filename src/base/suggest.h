/*
 * suggest.h - the known name that a mistyped one was probably meant to be.
 *
 *     struct suggestion suggestion = suggest_for("--rat");
 *     suggest_consider(&suggestion, "--rate");     each known name
 *     suggestion.name                           "--rate", or NULL if nothing is near
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stdint.h>

struct suggestion {
    const char *wrong;
    const char *name; /* Borrowed from the caller's list; NULL: nothing is near. */
    uint32_t distance;
};

struct suggestion suggest_for(const char *wrong);

/* Consider @name. The nearest wins; among equals the first. */
void suggest_consider(struct suggestion *suggestion, const char *name);

#endif /* BASE_SUGGEST_H */
