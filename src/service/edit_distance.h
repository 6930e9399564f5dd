/*
 * edit_distance.h - how far a text is from what was expected.
 */
#ifndef SERVICE_EDIT_DISTANCE_H
#define SERVICE_EDIT_DISTANCE_H

#include <stdint.h>

/* Edits that make one text of the other, and how long the expected one is. */
struct edit_distance {
    uint64_t edits;
    uint64_t length;
};

/*
 * In letters and digits, whatever else and whether they are large or small: what recognisers
 * are measured by. Bytes of letters beyond ASCII count one each.
 */
struct edit_distance edit_distance_letters(const char *text, const char *expected);

#endif /* SERVICE_EDIT_DISTANCE_H */
