/* fault_document.h - the part of a scenario that says what breaks. */
#ifndef DOCUMENT_FAULT_DOCUMENT_H
#define DOCUMENT_FAULT_DOCUMENT_H

#include "document/record.h"
#include "document/scenario.h"

extern const struct field fault_fields[];
extern const struct field fault_random_fields[]; /* Of `random`. */

/* Read the list of faults at @node into @scenario, which has its fleet. */
void faults_read(struct reader *reader, const struct tree_node *node, void *scenario);

/* Write the faults of @scenario as the next key, if there are any. */
void faults_write(struct writer *writer, const void *scenario);

#endif /* DOCUMENT_FAULT_DOCUMENT_H */
