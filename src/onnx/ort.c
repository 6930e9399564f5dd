#include "onnx/ort.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shipped.h"
#include "base/units.h"
#include "onnx/ort_memory.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct ort library;
static struct weft_error failure; /* WEFT_OK if the library is there. */

/* Behind the last @mark in @text, if anything is there; else @text. */
static const char *behind(const char *text, const char *mark)
{
    const char *found = text;
    for (const char *at = strstr(text, mark); at != NULL; at = strstr(at + 1, mark)) {
        found = at + strlen(mark);
    }
    return found[strspn(found, " \r\n")] == '\0' ? text : found;
}

/* Behind "/folder/file.cc:123 ", which says where in the library it was noticed. */
static const char *behind_place(const char *text)
{
    const size_t length = strcspn(text, " ");
    const char *colon = memchr(text, ':', length);
    return text[0] == '/' && colon != NULL && text[length] == ' ' ? text + length + 1 : text;
}

/* "Expand 'name': " for "... while running Expand node. Name:'name' ..." Returns its length. */
static size_t put_node(const char *said, char *out, size_t room)
{
    static const char before[] = "while running ";
    static const char middle[] = " node. Name:'";
    const char *kind = strstr(said, before);
    const char *kind_end = kind == NULL ? NULL : strstr(kind, middle);
    if (kind_end == NULL) {
        return 0;
    }
    kind += strlen(before);
    const char *name = kind_end + strlen(middle);
    const int length = snprintf(
        out, room, "%.*s '%.*s': ", (int)(kind_end - kind), kind, (int)strcspn(name, "'"), name);
    return length < 0 || (size_t)length >= room ? 0 : (size_t)length;
}

void ort_shorten(const char *said, char out[static ORT_SAID_BYTES])
{
    const size_t node = put_node(said, out, ORT_SAID_BYTES / 2);
    const size_t room = ORT_SAID_BYTES - node;
    const char *point = behind(behind_place(behind(said, "Status Message: ")), " was false. ");
    const char *trace = strstr(point, "\nStacktrace:");
    size_t length = trace != NULL && trace > point ? (size_t)(trace - point) : strlen(point);
    while (length > 0 && (point[length - 1] == '\n' || point[length - 1] == ' ')) {
        length--;
    }
    if (length < room) {
        (void)snprintf(out + node, room, "%.*s", (int)length, point);
    } else { /* What matters stands at the end. */
        const size_t kept = room - sizeof("...");
        (void)snprintf(out + node, room, "...%.*s", (int)kept, point + length - kept);
    }
    for (char *at = out; *at != '\0'; at++) {
        if (*at == '\n') {
            *at = ' ';
        }
    }
}

enum weft_status ort_check(
    const struct ort *ort, struct OrtStatus *outcome, const char *what, struct weft_error *error)
{
    if (outcome == NULL) {
        return WEFT_OK;
    }
    char said[ORT_SAID_BYTES];
    ort_shorten(ort->api.GetErrorMessage(outcome), said);
    ort->api.ReleaseStatus(outcome);
    return error_set(error, WEFT_FAILED, "%s: %s", what, said);
}

/* Load @path, which may be a bare name. NULL if that is not a library. */
static void *try_path(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle != NULL) {
        (void)snprintf(library.path, sizeof(library.path), "%s", path);
    }
    return handle;
}

static void *find_library(struct weft_error *error)
{
    static const char *const names[] = {"libonnxruntime.so.1", "libonnxruntime.so"};
    const char *given = getenv("WEFT_ONNXRUNTIME");
    char shipped[SHIPPED_PATH_BYTES];
    void *handle;
    if (given != NULL && *given != '\0') {
        handle = dlopen(given, RTLD_NOW | RTLD_LOCAL);
        (void)snprintf(library.path, sizeof(library.path), "%s", given);
        if (handle == NULL) {
            (void)error_set(error, WEFT_NOT_FOUND, "WEFT_ONNXRUNTIME: %s", dlerror());
        }
        return handle;
    }
    handle = shipped_find("onnxruntime/libonnxruntime.so", shipped) ? try_path(shipped) : NULL;
    for (uint32_t i = 0; i < ARRAY_COUNT(names) && handle == NULL; i++) {
        handle = try_path(names[i]);
    }
    if (handle == NULL) {
        (void)error_set(
            error, WEFT_NOT_FOUND,
            "ONNX Runtime is not found; run tools/fetch.sh, or name a libonnxruntime.so in "
            "WEFT_ONNXRUNTIME");
    }
    return handle;
}

static enum weft_status bind(struct ort *ort, void *handle, struct weft_error *error)
{
    const struct ort_abi_base *(*get_base)(void);
    void *symbol = dlsym(handle, "OrtGetApiBase");
    if (symbol == NULL) {
        return error_set(error, WEFT_INVALID, "%s is not ONNX Runtime", ort->path);
    }
    memcpy(&get_base, &symbol, sizeof(symbol)); /* ISO C converts no data to code. */
    const struct ort_abi_base *base = get_base();
    (void)snprintf(ort->version, sizeof(ort->version), "%s", base->GetVersionString());
    const void *table = base->GetApi(ORT_ABI_VERSION);
    if (table == NULL) {
        return error_set(
            error, WEFT_INVALID, "%s is ONNX Runtime %s; 1.16 or later is needed", ort->path,
            ort->version);
    }
    const uint8_t *places = table;
#define X(place, result, name, parameters)                                                         \
    memcpy(&ort->api.name, places + (place) * sizeof(void *), sizeof(void *));
    ORT_ABI_MAP(X)
#undef X
    void (*throw_bad_alloc)(void) = NULL;
    symbol = dlsym(handle, "_ZSt17__throw_bad_allocv"); /* Of the C++ library that it loaded. */
    memcpy(&throw_bad_alloc, &symbol, sizeof(symbol));
    ort_memory_set_throw(throw_bad_alloc);
    return WEFT_OK;
}

static enum weft_status make_env(struct ort *ort, struct weft_error *error)
{
    static const char what[] = "starting ONNX Runtime";
    const struct ort_abi *api = &ort->api;
    struct OrtThreadingOptions *threads = NULL;
    enum weft_status status = ort_check(ort, api->CreateThreadingOptions(&threads), what, error);
    if (status != WEFT_OK) {
        return status;
    }
    struct OrtStatus *outcome = api->SetGlobalIntraOpNumThreads(threads, 1);
    if (outcome == NULL) {
        outcome = api->SetGlobalInterOpNumThreads(threads, 1);
    }
    if (outcome == NULL) {
        outcome = api->SetGlobalSpinControl(threads, /* spin */ 0);
    }
    if (outcome == NULL) { /* What fails is said by a status; the library need not print it. */
        outcome = api->CreateEnvWithGlobalThreadPools(ORT_LOG_FATAL, "weft", threads, &ort->env);
    }
    if (outcome == NULL) {
        outcome = api->CreateCpuMemoryInfo(ORT_ALLOCATOR_DEVICE, ORT_MEMORY_DEFAULT, &ort->memory);
    }
    if (outcome == NULL) {
        outcome = api->GetAllocatorWithDefaultOptions(&ort->names);
    }
    if (outcome == NULL) {
        outcome = api->RegisterAllocator(ort->env, ort_memory_allocator(ort->memory));
    }
    status = ort_check(ort, outcome, what, error);
    api->ReleaseThreadingOptions(threads);
    return status;
}

void ort_silence(void)
{
    static const char name[] = "ORT_DISABLE_TELEMETRY";
    if (getenv(name) == NULL) {
        (void)setenv(name, "1", /* overwrite */ 1); /* Fails only without memory. */
    }
}

static void open_once(void)
{
    failure.status = WEFT_OK;
    ort_silence();
    void *handle = find_library(&failure);
    if (handle == NULL || bind(&library, handle, &failure) != WEFT_OK) {
        return;
    }
    (void)make_env(&library, &failure); /* What failed is in failure. */
}

enum weft_status ort_open(const struct ort **ort_out, struct weft_error *error)
{
    (void)pthread_once(&once, open_once); /* Fails only for a wrong argument. */
    if (failure.status != WEFT_OK) {
        return error_set(error, failure.status, "%s", failure.message);
    }
    *ort_out = &library;
    return WEFT_OK;
}
