/*
 * ports.h - the names of a workflow document: what a request brings, what each task takes
 * from whom, and what a job gives back.
 *
 * Two things that names can say and a graph alone cannot become tasks of weft.pass, behind
 * those of the document: see model/builtin.h.
 */
#ifndef DOCUMENT_PORTS_H
#define DOCUMENT_PORTS_H

#include "document/reference.h"

/* The parts of a request, under `inputs`. NULL: none are declared. */
void ports_read_inputs(
    struct reader *reader, const struct tree_node *node, struct workflow *workflow);

/* What the task at hand takes, port by port, under `in`: names and edges. NULL: nothing. */
void ports_read_in(const struct scope *scope, const struct tree_node *in);

/* Once all tasks are read: bring the request to those that have producers as well. */
void ports_pass_request(struct scope *scope, const struct tree_node *node);

/* The parts of the answer, under `outputs`. NULL: the outputs of all sinks. */
void ports_read_outputs(struct scope *scope, const struct tree_node *outputs);

#endif /* DOCUMENT_PORTS_H */
