/* workflow_save.h - a workflow as its document: what is written reads as the same graph. */
#ifndef DOCUMENT_WORKFLOW_SAVE_H
#define DOCUMENT_WORKFLOW_SAVE_H

#include <stdio.h>

#include "model/catalogue.h"

/* Write the sealed @workflow to @file. Whether that went well, the file knows. */
void workflow_write(const struct workflow *workflow, const struct catalogue *catalogue, FILE *file);

#endif /* DOCUMENT_WORKFLOW_SAVE_H */
