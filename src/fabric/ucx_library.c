#include "fabric/ucx_library.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define LIBRARY_DEFAULT "libucp.so.0"

/*
 * UCX reads its settings from the environment as it is opened, and says "success" to settings of
 * transports that come later without obeying them. What the user has set stays.
 */
static const struct {
    const char *name;
    const char *value;
} settings[] = {
    {"UCX_TCP_CONN_NB", "y"},          /* Else an endpoint to a host that is away blocks. */
    {"UCX_HANDLE_ERRORS", "none"},     /* Else it takes SIGSEGV and others over. */
    {"UCX_LOG_LEVEL", "fatal"},        /* It logs to the standard output. */
    {"UCX_MEM_EVENTS", "n"},           /* Else it replaces mmap() and others. */
    {"UCX_WARN_UNUSED_ENV_VARS", "n"}, /* Those above, in other versions. */
    {"UCX_RNDV_THRESH", "inf"},        /* Data comes with its message: see ucx.c. */
    {"UCX_TCP_TX_SEG_SIZE", "136kb"},  /* A message of a lane, and its head. */
    {"UCX_TCP_RX_SEG_SIZE", "136kb"},
};

/* Listen on the device of @host alone: by default UCX listens on all. */
static void choose_device(const char *host)
{
    struct in_addr wanted;
    struct in6_addr wanted6;
    const bool is_v4 = inet_pton(AF_INET, host, &wanted) == 1;
    const bool is_v6 = !is_v4 && inet_pton(AF_INET6, host, &wanted6) == 1;
    struct ifaddrs *all = NULL;
    if ((!is_v4 && !is_v6) || getifaddrs(&all) != 0) {
        return;
    }
    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next) {
        const struct sockaddr *address = one->ifa_addr;
        if (address == NULL) {
            continue;
        }
        const bool is_it = (is_v4 && address->sa_family == AF_INET &&
                            ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr ==
                                wanted.s_addr) ||
                           (is_v6 && address->sa_family == AF_INET6 &&
                            memcmp(
                                &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
                                &wanted6, sizeof(wanted6)) == 0);
        if (is_it) {
            (void)setenv("UCX_NET_DEVICES", one->ifa_name, /* overwrite */ 0);
            break;
        }
    }
    freeifaddrs(all);
}

#define FUNCTION(name)                                                                             \
    {                                                                                              \
        "ucp_" #name, offsetof(struct ucx_library, name)                                           \
    }

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
    FUNCTION(config_read),
    FUNCTION(config_release),
    FUNCTION(init_version),
    FUNCTION(cleanup),
    FUNCTION(worker_create),
    FUNCTION(worker_destroy),
    FUNCTION(worker_get_efd),
    FUNCTION(worker_arm),
    FUNCTION(worker_progress),
    FUNCTION(worker_get_address),
    FUNCTION(worker_release_address),
    FUNCTION(worker_set_am_recv_handler),
    FUNCTION(ep_create),
    FUNCTION(ep_close_nbx),
    FUNCTION(am_send_nbx),
    FUNCTION(am_data_release),
    FUNCTION(request_free),
};

enum weft_status ucx_library_open(
    const char *host, const struct ucx_library **library_out, struct weft_error *error)
{
    static struct ucx_library library;
    static void *handle;
    const char *file = getenv("WEFT_UCX");
    if (handle != NULL) {
        *library_out = &library;
        return WEFT_OK;
    }
    choose_device(host);
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        (void)setenv(settings[i].name, settings[i].value, /* overwrite */ 0);
    }
    void *opened = dlopen(file == NULL ? LIBRARY_DEFAULT : file, RTLD_NOW | RTLD_LOCAL);
    if (opened == NULL) {
        return error_set(
            error, WEFT_NOT_FOUND, "UCX cannot be opened (Debian package libucx0): %.120s",
            dlerror());
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *symbol = dlsym(opened, functions[i].name);
        if (symbol == NULL) {
            (void)dlclose(opened);
            return error_set(error, WEFT_NOT_FOUND, "UCX has no %s()", functions[i].name);
        }
        memcpy((char *)&library + functions[i].offset, &symbol, sizeof(symbol));
    }
    handle = opened;
    *library_out = &library;
    return WEFT_OK;
}
