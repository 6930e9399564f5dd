/*
 * listen_limits.h - limits of the server, as a command line changes them: "NAME=VALUE" each.
 */
#ifndef SERVICE_LISTEN_LIMITS_H
#define SERVICE_LISTEN_LIMITS_H

#include <weft/status.h>

struct argument_list;
struct http_limits;

/*
 * Set in @limits what @given says; what it does not name stays.
 *
 * Errors: WEFT_INVALID; @error says which one is wrong, and what it could be.
 */
enum weft_status listen_limits_read(
    const struct argument_list *given, struct http_limits *limits, struct weft_error *error);

#endif /* SERVICE_LISTEN_LIMITS_H */
