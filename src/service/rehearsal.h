/*
 * rehearsal.h - samples that run before clients are served, so that models are known by what
 * they will really be given.
 *
 * Requests that are made up say little about a model whose work depends on what it is shown:
 * how large a page is, how long a recording is. A few samples of every workflow run one after
 * another; the parts take note of each run, as they do of those of clients.
 */
#ifndef SERVICE_REHEARSAL_H
#define SERVICE_REHEARSAL_H

#include "service/samples.h"
#include "service/service.h"

enum { REHEARSAL_SAMPLES_MAX = 4 }; /* Of each workflow, spread over all that it has. */

/* Whether samples would run a model or function that has no figures in @profile. */
bool rehearsal_is_needed(
    const struct samples *samples, const struct catalogue *catalogue,
    const struct profile *profile);

/*
 * Run @count_max samples of each workflow, at most REHEARSAL_SAMPLES_MAX, on the cluster that
 * @options describe, with its parts. A sample that fails is said in the log.
 *
 * Errors: those of runtime_create().
 */
enum weft_status rehearsal_run(
    const struct samples *samples, const struct service_options *options, uint32_t count_max,
    struct weft_error *error);

/*
 * The cluster that @options describe, for requests that no client has sent. The caller owns
 * *runtime_out.
 *
 * Errors: those of runtime_create().
 */
enum weft_status rehearsal_open(
    const struct service_options *options, struct runtime **runtime_out, struct weft_error *error);

/* What was learnt from it stays with the parts of @options. */
void rehearsal_close(const struct service_options *options, struct runtime *runtime);

#endif /* SERVICE_REHEARSAL_H */
