/*
 * repository_check.h - what serving a repository would find out, without serving it.
 *
 * Models are loaded and functions looked for, each in a process of its own. Then the workflows are
 * compared with what models take and give: ports and outputs that do not exist, and tensors of the
 * wrong type. A problem is told in the words of the server, behind the file and line that it comes
 * from. What functions take and give is known only once they run.
 */
#ifndef SERVICE_REPOSITORY_CHECK_H
#define SERVICE_REPOSITORY_CHECK_H

#include "service/measure_repository.h"

struct checked_repository {
    bool is_good;
    bool has_looked;          /* Models were loaded; otherwise only their files were read. */
    struct weft_error cause;  /* Why they were not. */
    struct measured measured; /* What was seen, if they were. */
};

/* Check @repository; on_problem of @listener, which is needed, is told of everything wrong. */
void repository_check(
    struct repository *repository, const struct repository_listener *listener,
    struct checked_repository *checked_out);

void repository_check_close(struct checked_repository *checked);

#endif /* SERVICE_REPOSITORY_CHECK_H */
