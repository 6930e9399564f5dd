/*
 * check.h - whether a file is a valid document of any kind.
 */
#ifndef DOCUMENT_CHECK_H
#define DOCUMENT_CHECK_H

#include <weft/status.h>

#include "document/tree.h"

enum document_kind {
    DOCUMENT_SCENARIO,
    DOCUMENT_WORKFLOW,
    DOCUMENT_PROFILE,
    DOCUMENT_CLUSTER,
    DOCUMENT_SETTINGS,
    DOCUMENT_TRACE,
};

/* "scenario". */
const char *document_kind_text(enum document_kind kind);

/*
 * Find out by its keys what the file at @path is, and check it as a whole, with the
 * files it names. A trace of requests is told by its name, which ends in ".csv"; it may name any
 * workflows. @listener is told of every error, and may be NULL; @error is the first.
 *
 * Errors: those of the kind; WEFT_INVALID if it is a document of no kind.
 */
enum weft_status document_check(
    const char *path, struct tree_listener *listener, enum document_kind *kind_out,
    struct weft_error *error);

struct scenario;

/*
 * The same. If it is a scenario, it is given to the caller, who then owns it, unless @scenario_out
 * is NULL; *scenario_out is to be NULL before.
 */
enum weft_status document_check_scenario(
    const char *path, struct tree_listener *listener, enum document_kind *kind_out,
    struct scenario **scenario_out, struct weft_error *error);

/* The same for a tree. */
enum weft_status document_check_tree(
    const struct tree_node *node, enum document_kind *kind_out, struct weft_error *error);

#endif /* DOCUMENT_CHECK_H */
