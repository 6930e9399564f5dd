/* serve_log.h - the log of `weft serve`, as its command line asks for it. */
#ifndef CLI_SERVE_LOG_H
#define CLI_SERVE_LOG_H

#include <weft/status.h>

#include "base/log.h"

struct serve_values;

/*
 * A log on standard error. By default it tells a server's operator of
 * everything, and a person at a terminal only of what is wrong.
 *
 * Errors: WEFT_INVALID for a format or level that there is not.
 */
enum weft_status serve_log_open(
    const struct serve_values *values, struct log *log, struct weft_error *error);

#endif /* CLI_SERVE_LOG_H */
