/* functions_sample.c - functions that do right and functions that do wrong, for tests. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weft/function.h>

/* out = 255 - image, of UINT8. */
static enum weft_status invert(const struct weft_call *call)
{
    const struct weft_tensor *in = weft_call_input(call, "image");
    if (in == NULL || in->dtype != WEFT_UINT8) {
        return weft_call_fail(call, "'image' must be UINT8");
    }
    uint8_t *out = weft_call_output(call, "out", in->dtype, in->rank, in->shape);
    if (out == NULL) {
        return WEFT_NO_MEMORY;
    }
    for (uint64_t i = 0; i < in->bytes; i++) {
        out[i] = (uint8_t)(255 - ((const uint8_t *)in->data)[i]);
    }
    weft_call_give_items(call, 2 * call->items);
    return WEFT_OK;
}

/* The folder, as a text. */
static enum weft_status where(const struct weft_call *call)
{
    const int64_t one = 1;
    const uint32_t length = (uint32_t)strlen(weft_call_folder(call));
    uint8_t *out = weft_call_texts(call, "folder", 1, &one, sizeof(length) + length);
    if (out == NULL) {
        return WEFT_NO_MEMORY;
    }
    memcpy(out, &length, sizeof(length));
    memcpy(out + sizeof(length), weft_call_folder(call), length);
    return WEFT_OK;
}

/* Runs model "relu" on its input x twice over, and passes y on. */
static enum weft_status twice(const struct weft_call *call)
{
    const struct weft_tensor *x = weft_call_input(call, "x");
    const struct weft_tensor *first;
    const struct weft_tensor *second;
    uint32_t count;
    if (x == NULL) {
        return weft_call_fail(call, "no 'x'");
    }
    enum weft_status status = weft_call_run(call, "relu", x, 1, &first, &count);
    if (status != WEFT_OK) {
        return status;
    }
    struct weft_tensor again = *first;
    (void)snprintf(again.name, sizeof(again.name), "x");
    status = weft_call_run(call, "relu", &again, 1, &second, &count);
    if (status != WEFT_OK) {
        return status;
    }
    void *out = weft_call_output(call, "y", second->dtype, second->rank, second->shape);
    if (out == NULL) {
        return WEFT_NO_MEMORY;
    }
    memcpy(out, second->data, second->bytes);
    return first->bytes == second->bytes ? WEFT_OK : WEFT_FAILED;
}

/* A model that is not there is no reason to fail. */
static enum weft_status forgive(const struct weft_call *call)
{
    const struct weft_tensor *outputs;
    uint32_t count;
    const int64_t one = 1;
    const enum weft_status status = weft_call_run(call, "none", NULL, 0, &outputs, &count);
    int32_t *out = weft_call_output(call, "status", WEFT_INT32, 1, &one);
    if (out == NULL) {
        return WEFT_NO_MEMORY;
    }
    *out = (int32_t)status;
    return WEFT_OK;
}

static enum weft_status nothing(const struct weft_call *call)
{
    (void)call;
    return WEFT_OK;
}

static enum weft_status refuse(const struct weft_call *call)
{
    (void)call;
    return WEFT_REFUSED;
}

static enum weft_status strange(const struct weft_call *call)
{
    (void)call;
    const int number = 17;
    enum weft_status status;
    memcpy(&status, &number, sizeof(status));
    return status;
}

static enum weft_status same_name(const struct weft_call *call)
{
    const int64_t one = 1;
    (void)weft_call_output(call, "a", WEFT_UINT8, 1, &one);
    (void)weft_call_output(call, "a", WEFT_UINT8, 1, &one);
    return WEFT_OK; /* It did not look. */
}

static enum weft_status too_many(const struct weft_call *call)
{
    const int64_t one = 1;
    for (uint32_t i = 0; i < 257; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "o%u", i);
        if (weft_call_output(call, name, WEFT_UINT8, 1, &one) == NULL) {
            return WEFT_NO_MEMORY;
        }
    }
    return WEFT_OK;
}

static enum weft_status too_large(const struct weft_call *call)
{
    const int64_t shape[2] = {1000, 1000};
    return weft_call_output(call, "big", WEFT_FP64, 2, shape) == NULL ? WEFT_NO_MEMORY : WEFT_OK;
}

static enum weft_status bad_shape(const struct weft_call *call)
{
    const int64_t shape[2] = {4, -1};
    return weft_call_output(call, "out", WEFT_FP32, 2, shape) == NULL ? WEFT_NO_MEMORY : WEFT_OK;
}

static enum weft_status bad_texts(const struct weft_call *call)
{
    const int64_t one = 1;
    uint8_t *out = weft_call_texts(call, "texts", 1, &one, 8);
    if (out == NULL) {
        return WEFT_NO_MEMORY;
    }
    memset(out, 255, 8);
    return WEFT_OK;
}

static enum weft_status crash(const struct weft_call *call)
{
    (void)call;
    (void)raise(SIGSEGV); /* As a wild pointer would, but past every sanitizer. */
    return WEFT_OK;
}

static enum weft_status leave(const struct weft_call *call)
{
    (void)call;
    _Exit(3);
}

/* Until no client waits. */
static enum weft_status loop(const struct weft_call *call)
{
    while (!weft_call_is_cancelled(call)) {
    }
    return WEFT_CANCELLED;
}

/* Does not even look whether a client waits. */
static enum weft_status hang(const struct weft_call *call)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    while (call != NULL) {
        (void)nanosleep(&moment, NULL);
    }
    return WEFT_OK;
}

WEFT_FUNCTIONS(
    {"invert", invert}, {"where", where}, {"twice", twice}, {"forgive", forgive},
    {"nothing", nothing}, {"refuse", refuse}, {"strange", strange}, {"same_name", same_name},
    {"too_many", too_many}, {"too_large", too_large}, {"bad_shape", bad_shape},
    {"bad_texts", bad_texts}, {"crash", crash}, {"leave", leave}, {"loop", loop}, {"hang", hang});
