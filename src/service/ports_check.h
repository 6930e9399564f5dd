/* ports_check.h - whether the tasks of a workflow fit the models that they run. */
#ifndef SERVICE_PORTS_CHECK_H
#define SERVICE_PORTS_CHECK_H

#include "document/tree.h"
#include "service/measure_repository.h"

/*
 * Compare workflow number @number with the models and functions in @measured. The listener of the
 * tree of @node, which it was read from, is told what the first request would fail by.
 */
void ports_check(const struct measured *measured, uint32_t number, const struct tree_node *node);

#endif /* SERVICE_PORTS_CHECK_H */
