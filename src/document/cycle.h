/* cycle.h - a cycle of tasks, named in the order in which they wait for each other. */
#ifndef DOCUMENT_CYCLE_H
#define DOCUMENT_CYCLE_H

#include "document/reader.h"
#include "document/tree.h"
#include "model/workflow.h"

/* Fail at a task of a cycle, if @workflow has one. @tasks has a child for each task. */
void cycle_refuse(
    struct reader *reader, const struct tree_node *tasks, const struct workflow *workflow);

#endif /* DOCUMENT_CYCLE_H */
