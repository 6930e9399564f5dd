/*
 * fetch.h - files that a repository lacks, from other nodes of its cluster.
 *
 * A node that joins with an empty folder, or one where something is missing, asks the members for
 * their files before it reads its own. What is there is never replaced. A file comes in pieces to
 * ".fetch-SUM" in the folder, where an interrupted one goes on, and takes its name when its sum is
 * right.
 */
#ifndef SERVICE_FETCH_H
#define SERVICE_FETCH_H

#include "service/clustered.h"

/* Which files may come. */
enum fetch_kinds {
    FETCH_MODELS, /* All but code. */
    FETCH_ALL,    /* Also functions and models for GPUs: shared objects, which a node runs. */
    FETCH_NOTHING,
};

struct fetch_options {
    const char *folder;
    const struct cluster_where *where;
    enum fetch_kinds kinds;
    const char *token_file; /* Of servers that ask their clients for one. NULL: they do not. */
    struct log *log;        /* NULL: none. */
    struct membership *membership; /* Of the node that asks. NULL: it is none yet, but a guest. */
    const char *under;             /* Only files below this, such as "MODEL/2/". NULL: all. */
};

/* "models", "all" or "none"; NULL is "models". Errors: WEFT_INVALID. */
enum weft_status fetch_parse(
    const char *text, enum fetch_kinds *kinds_out, struct weft_error *error);

/*
 * Fetch what is missing from the first member that has it. Without members there is nothing to do.
 *
 * Errors: WEFT_IO if no member gives any, unless the folder has settings, and so perhaps all it
 * needs; WEFT_LIMIT if they cannot be written. @error has the cause of the last try. Those of
 * trust_create() and directory_open().
 */
enum weft_status fetch_missing(const struct fetch_options *options, struct weft_error *error);

#endif /* SERVICE_FETCH_H */
