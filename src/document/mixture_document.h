/*
 * mixture_document.h - probabilities of placements in and out of JSON: docs/DOCUMENTS.md.
 *
 * A document names workflows and tasks, and gives workers by number, as a fleet
 * counts them. What is written and read again is the same mixture.
 */
#ifndef DOCUMENT_MIXTURE_DOCUMENT_H
#define DOCUMENT_MIXTURE_DOCUMENT_H

#include <stdio.h>

#include <weft/status.h>

#include "document/record.h"
#include "document/tree.h"

struct catalogue;
struct fleet;
struct mixture;

enum { MIXTURE_VERSION = 1 };

extern const struct field mixture_fields[];
extern const struct field mixture_workflow_fields[]; /* Of each of `workflows`. */
extern const struct field mixture_pattern_fields[];  /* Of each of their `patterns`. */

/*
 * Read the mixture at @node, for the workflows of @catalogue on @fleet. On success the
 * caller owns the sealed *mixture_out.
 *
 * Errors: WEFT_INVALID or WEFT_LIMIT, with "file:line: cause".
 */
enum weft_status mixture_read(
    const struct tree_node *node, const struct catalogue *catalogue, const struct fleet *fleet,
    struct mixture **mixture_out, struct weft_error *error);

/* Write the sealed @mixture as the next value, which is JSON. What is not drawn is left out. */
void mixture_write(
    struct writer *writer, const struct mixture *mixture, const struct catalogue *catalogue);

/* All of it to @file. */
void mixture_print(const struct mixture *mixture, const struct catalogue *catalogue, FILE *file);

#endif /* DOCUMENT_MIXTURE_DOCUMENT_H */
