/*
 * function.h - running the functions of shared objects: include/weft/function.h from inside.
 *
 * A shared object is loaded once and stays for the life of the process. Functions are
 * called on the thread that asks. What they do wrong within the rules of the language (a
 * bad status, an output twice, one too large) fails their task; what they do outside of
 * them (a wild pointer, a loop without end) hits the whole process: see pool.h.
 */
#ifndef FUNCTION_FUNCTION_H
#define FUNCTION_FUNCTION_H

#include <stdbool.h>

#include <weft/function.h>

#include "base/limits.h"
#include "engine/bundle.h"
#include "function/limits.h"

enum { FUNCTION_PATH_BYTES = 512, FUNCTION_MODEL_RUNS_MAX = 4096, FUNCTION_ALIGNMENT = 64 };

struct function {
    char name[NAME_BYTES_MAX];
    char folder[FUNCTION_PATH_BYTES]; /* Of its shared object. */
    weft_function run;
};

/*
 * Find function @name of the shared object @path, which is loaded if it is not yet.
 *
 * Errors: WEFT_NOT_FOUND if there is no such file or function; WEFT_INVALID if it is not
 * a shared object of functions, or one for another version of them.
 */
enum weft_status function_open(
    const char *path, const char *name, struct function *function_out, struct weft_error *error);

/* Load the shared object @path ahead of its first call, which says what is wrong with it. */
void function_load(const char *path);

/* What a function may ask for while it runs. */
struct function_host {
    void *context;

    /* Run @model, of those that the task lists. The caller owns *output_out. */
    enum weft_status (*run)(
        void *context, const char *model, const struct weft_tensor *inputs, uint32_t input_count,
        struct bundle **output_out, struct weft_error *error);

    /* Whether no client waits any more. */
    bool (*is_cancelled)(void *context);

    uint64_t output_bytes_max; /* Of a task, all outputs together. 0: the default. */
    int64_t run_ns_max;        /* Of a call in a process of its own. 0: that of the pool. */
};

/* Memory that outputs are laid into, one behind the other at FUNCTION_ALIGNMENT, while it lasts. */
struct function_room {
    uint8_t *data;
    uint64_t bytes;
    uint64_t used; /* Of outputs that no longer fit, too: where they would lie. */
};

struct function_task {
    const struct weft_tensor *inputs;
    uint32_t input_count;
    uint32_t items;
    struct function_room *room; /* For outputs, which it must outlive. NULL: the heap. */
    struct bundle *output;      /* Made here; the caller owns it. NULL if the task failed. */
    struct weft_error error;    /* Why. */
};

/* Where the next output is laid, if @at is used. */
static inline uint64_t function_align(uint64_t at)
{
    return (at + FUNCTION_ALIGNMENT - 1) / FUNCTION_ALIGNMENT * FUNCTION_ALIGNMENT;
}

/* Call @function for @task. */
void function_run(
    const struct function *function, const struct function_host *host, struct function_task *task);

#endif /* FUNCTION_FUNCTION_H */
