/*
 * ports.h - the names of a workflow document: what a request brings, what each task takes
 * from whom, and what a job gives back.
 *
 * Two things that names can say and a graph alone cannot become tasks of weft.pass, behind
 * those of the document: see model/builtin.h.
 */
#ifndef DOCUMENT_PORTS_H
#define DOCUMENT_PORTS_H

#include "document/record.h"
#include "document/reference.h"

extern const struct field ports_input_fields[];  /* Of each of `inputs`. */
extern const struct field ports_output_fields[]; /* Of each of `outputs` that says what it is. */

/* The parts of a request, under `inputs`. NULL: none are declared. */
void ports_read_inputs(
    struct reader *reader, const struct tree_node *node, struct workflow *workflow);

/* What the task being read takes, port by port, under `in`: names and edges. NULL: nothing. */
void ports_read_in(const struct scope *scope, const struct tree_node *in);

/* Whether an edge leads to @task, of a workflow that is being read. */
bool ports_has_producer(const struct workflow *workflow, uint32_t task);

/* Once all tasks are read: bring the request to those that have producers as well. */
void ports_pass_request(struct scope *scope, const struct tree_node *node);

/* The parts of the answer, under `outputs`. NULL: the outputs of all sinks. */
void ports_read_outputs(struct scope *scope, const struct tree_node *outputs);

/* Write the same of a workflow, of a struct task_entry, and of a workflow. Unless there is nothing
 * to say; the writer's context is the catalogue. */
void ports_write_inputs(struct writer *writer, const void *workflow);
void ports_write_in(struct writer *writer, const void *entry);
void ports_write_outputs(struct writer *writer, const void *workflow);

#endif /* DOCUMENT_PORTS_H */
