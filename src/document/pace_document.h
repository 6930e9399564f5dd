/* pace_document.h - the part of a scenario that says how fast machines are as time goes on. */
#ifndef DOCUMENT_PACE_DOCUMENT_H
#define DOCUMENT_PACE_DOCUMENT_H

#include "document/record.h"

extern const struct field pace_fields[];

/* Read the pace at @node into @scenario, a struct scenario. */
void pace_read(struct reader *reader, const struct tree_node *node, void *scenario);

/* Write that of @scenario as the next key, if it has one. */
void pace_write(struct writer *writer, const void *scenario);

#endif /* DOCUMENT_PACE_DOCUMENT_H */
