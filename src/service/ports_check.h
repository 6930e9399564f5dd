/* ports_check.h - whether the tasks of a workflow fit the models that they run. */
#ifndef SERVICE_PORTS_CHECK_H
#define SERVICE_PORTS_CHECK_H

#include "document/tree.h"
#include "service/measure_repository.h"

/*
 * Compare workflow number @number, of a document, with the models and functions in @measured.
 * @listener is told what the first request would fail by, and if the document cannot be read again.
 */
void ports_check(const struct measured *measured, uint32_t number, struct tree_listener *listener);

#endif /* SERVICE_PORTS_CHECK_H */
