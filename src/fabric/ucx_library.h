/*
 * ucx_library.h - UCX, opened at run time with the settings that Weft needs.
 */
#ifndef FABRIC_UCX_LIBRARY_H
#define FABRIC_UCX_LIBRARY_H

#include <weft/status.h>

#include "fabric/ucx_abi.h"

/*
 * Open UCX for endpoints on the network device that has the address @host, once per process: later
 * calls give the same. It is the file that WEFT_UCX names, else the one that ships with Weft, else
 * the system's. Never released.
 *
 * Errors: WEFT_NOT_FOUND if there is none, or it is too old.
 */
enum weft_status ucx_library_open(
    const char *host, const struct ucx_library **library_out, struct weft_error *error);

#endif /* FABRIC_UCX_LIBRARY_H */
