/*
 * scenario_save.h - a scenario as one document that names no other file.
 *
 * What is written loads as the same experiment: the same seeds give the same traces. A
 * trace of arrivals becomes a list of as many as there are jobs; if workflows were drawn
 * for its rows, they are those of the first seed, which is then the only one written.
 */
#ifndef DOCUMENT_SCENARIO_SAVE_H
#define DOCUMENT_SCENARIO_SAVE_H

#include <stdio.h>

#include "document/scenario.h"

enum { SCENARIO_LIST_MAX = 200000 }; /* Arrivals that one document has room for. */

/*
 * Write @scenario to @file. Whether that went well, the file knows.
 *
 * Errors, before anything is written: WEFT_INVALID if its machines are such as no document
 * describes; WEFT_LIMIT for a list or trace of more than SCENARIO_LIST_MAX.
 */
enum weft_status scenario_write(
    const struct scenario *scenario, FILE *file, struct weft_error *error);

#endif /* DOCUMENT_SCENARIO_SAVE_H */
