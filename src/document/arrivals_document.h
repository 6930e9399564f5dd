/*
 * arrivals_document.h - the part of a scenario that says how requests come.
 *
 * The command line gives the same settings one by one: they are put into a tree and read
 * here, so that both mean the same and are refused in the same words.
 */
#ifndef DOCUMENT_ARRIVALS_DOCUMENT_H
#define DOCUMENT_ARRIVALS_DOCUMENT_H

#include "base/arena.h"
#include "document/record.h"
#include "model/arrivals.h"
#include "model/catalogue.h"

extern const struct field arrivals_fields[];
extern const struct field arrivals_burst_fields[];   /* Of `burst`. */
extern const struct field arrivals_diurnal_fields[]; /* Of `diurnal`. */
extern const struct field arrivals_list_fields[];    /* Of each of `list`. */

/*
 * Read the arrivals at @node. Lists and traces come from @arena and live as long. The
 * path of a trace is relative to the folder of the file that @node stands in.
 */
void arrivals_read(
    struct reader *reader, const struct tree_node *node, const struct catalogue *catalogue,
    struct arena *arena, struct arrivals *arrivals_out);

/* Arrivals, and what is needed to list them one by one: as many as @jobs, with this seed. */
struct arrivals_written {
    const struct arrivals *arrivals;
    const struct catalogue *catalogue;
    uint64_t seed;
    uint64_t jobs;
};

/* Write them as the next value, each key on its line. A trace is written as a list. */
void arrivals_write(struct writer *writer, const struct arrivals_written *written);

#endif /* DOCUMENT_ARRIVALS_DOCUMENT_H */
