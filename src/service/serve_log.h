/* serve_log.h - the log of a server, as its command line asks for it. */
#ifndef SERVICE_SERVE_LOG_H
#define SERVICE_SERVE_LOG_H

#include <weft/status.h>

#include "base/log.h"

/*
 * A log on standard error, of @format and @level as they are written; NULL: the defaults. Unless
 * @level says otherwise, the log of a server (@has_clients, and not on a terminal) has everything,
 * and that of a person at a terminal only what is wrong.
 *
 * Errors: WEFT_INVALID for an unknown format or level.
 */
enum weft_status serve_log_open(
    const char *format, const char *level, bool has_clients, struct log *log,
    struct weft_error *error);

#endif /* SERVICE_SERVE_LOG_H */
