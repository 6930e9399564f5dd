/*
 * reference.h - how one task of a workflow document names another, or the request.
 *
 * For the files that read a workflow.
 */
#ifndef DOCUMENT_REFERENCE_H
#define DOCUMENT_REFERENCE_H

#include "document/reader.h"
#include "document/tree.h"
#include "document/writer.h"
#include "model/catalogue.h"
#include "model/workflow.h"

#define REFERENCE_INPUT  "input"  /* The request, under `after`. */
#define REFERENCE_INPUTS "inputs" /* The request, under `in`, before the name of a part. */

/* Everything that the names of one task are read with. */
struct scope {
    struct reader *reader;
    struct catalogue *catalogue;
    struct workflow *workflow;
    const struct tree_node *inputs; /* The declared parts of a request; NULL if none are. */
    uint32_t written;               /* Tasks of the document; those behind them were added. */
    uint32_t task;                  /* The one being read. */
    bool *wants_request;            /* By task: it names the request as `inputs`. */
};

/* A task as it is read, and where it is written. */
struct task_entry {
    struct workflow_task task;
    const struct workflow *workflow;
    uint32_t number;
};

/* "task.output", or "inputs.name". */
struct reference {
    uint32_t task; /* TASK_NONE: the request. */
    char output[NAME_BYTES_MAX];
};

/* TASK_NONE, and the reader has failed, if the document has no task @name. */
uint32_t reference_find_task(
    const struct scope *scope, const struct tree_node *node, const char *name);

/* The reference at @node; false, and the reader has failed, if it is none. */
bool reference_read(
    const struct scope *scope, const struct tree_node *node, struct reference *reference_out);

/* Make @from a producer of the task being read. @twice: whether it may be one already. */
void reference_link(
    const struct scope *scope, const struct tree_node *node, uint32_t from, bool twice);

/* Whether @task is in no document, because reading the names adds it: see model/builtin.h. */
bool reference_is_added(
    const struct workflow *workflow, const struct catalogue *catalogue, uint32_t task);

/* How a document names @task: as the request, if it is TASK_NONE or stands for that. */
const char *reference_task_name(
    const struct workflow *workflow, const struct catalogue *catalogue, uint32_t task);

/* "key: task.output". */
void reference_write(struct writer *writer, const char *key, const char *task, const char *output);

/* A name as models have them: any text that is short enough. As the key of @node. */
void reference_port_name(
    struct reader *reader, const struct tree_node *node, const char *text,
    char out[NAME_BYTES_MAX]);

#endif /* DOCUMENT_REFERENCE_H */
