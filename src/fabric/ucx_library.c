#include "fabric/ucx_library.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shipped.h"
#include "base/units.h"

#define LIBRARY_DEFAULT "libucp.so.0"

/* Versions before it end a process whose peer goes away while the two connect. */
enum { MAJOR_MIN = 1, MINOR_MIN = 14 };

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

static enum weft_status check_version(void *opened, struct weft_error *error)
{
    unsigned major, minor, release;
    void (*get_version)(unsigned *, unsigned *, unsigned *);
    void *symbol = dlsym(opened, "ucp_get_version");
    if (symbol == NULL) {
        return error_set(error, WEFT_NOT_FOUND, "UCX has no ucp_get_version()");
    }
    memcpy(&get_version, &symbol, sizeof(symbol)); /* ISO C converts no data to code. */
    get_version(&major, &minor, &release);
    if (major != MAJOR_MIN || minor < MINOR_MIN) {
        return error_set(
            error, WEFT_NOT_FOUND, "UCX %u.%u is too old: %d.%d or newer is needed (WEFT_UCX)",
            major, minor, MAJOR_MIN, MINOR_MIN);
    }
    return WEFT_OK;
}

static enum weft_status find_functions(
    struct ucx_library *library, void *opened, struct weft_error *error)
{
    const enum weft_status status = check_version(opened, error);
    for (size_t i = 0; i < ARRAY_COUNT(functions) && status == WEFT_OK; i++) {
        void *symbol = dlsym(opened, functions[i].name);
        if (symbol == NULL) {
            return error_set(error, WEFT_NOT_FOUND, "UCX has no %s()", functions[i].name);
        }
        memcpy((char *)library + functions[i].offset, &symbol, sizeof(symbol));
    }
    return status;
}

enum weft_status ucx_library_open(
    const char *host, const struct ucx_library **library_out, struct weft_error *error)
{
    static struct ucx_library library;
    static void *handle;
    char shipped[SHIPPED_PATH_BYTES];
    const char *file = getenv("WEFT_UCX");
    if (handle != NULL) {
        *library_out = &library;
        return WEFT_OK;
    }
    choose_device(host);
    for (size_t i = 0; i < ARRAY_COUNT(settings); i++) {
        (void)setenv(settings[i].name, settings[i].value, /* overwrite */ 0);
    }
    if (file == NULL) {
        file = shipped_find("ucx/libucp.so.0", shipped) ? shipped : LIBRARY_DEFAULT;
    }
    void *opened = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (opened == NULL) {
        return error_set(
            error, WEFT_NOT_FOUND, "UCX cannot be opened (see tools/fetch.sh): %.120s", dlerror());
    }
    const enum weft_status status = find_functions(&library, opened, error);
    if (status != WEFT_OK) {
        (void)dlclose(opened);
        return status;
    }
    handle = opened;
    *library_out = &library;
    return WEFT_OK;
}
