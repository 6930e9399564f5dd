/*
 * function.h - writing functions for workflows: decode, crop, join, post-process.
 *
 * A function is C code in a shared object of a repository. It needs only this header:
 * everything it asks of Weft goes through the call it is given, so a shared object links
 * to no library of Weft.
 *
 *     static enum weft_status invert(const struct weft_call *call)
 *     {
 *         const struct weft_tensor *in = weft_call_input(call, "image");
 *         if (in == NULL || in->dtype != WEFT_UINT8) {
 *             return weft_call_fail(call, "'image' must be UINT8");
 *         }
 *         uint8_t *out = weft_call_output(call, "out", in->dtype, in->rank, in->shape);
 *         ...
 *         return WEFT_OK;
 *     }
 *
 *     WEFT_FUNCTIONS({"invert", invert});
 *
 * A workflow names it `function: FILE.invert`, FILE being the shared object without its
 * ".so". A function may be called from several threads at once; it keeps no state and touches
 * nothing outside its call. Any status but WEFT_OK fails this task and no other. A function
 * usually runs in a separate process, with limits on time and memory, which can read the files
 * beside the shared object and reach nothing else: docs/FUNCTIONS.md.
 */
#ifndef WEFT_FUNCTION_H
#define WEFT_FUNCTION_H

#include <stddef.h>
#include <stdint.h>

#include <weft/tensor.h>

enum { WEFT_FUNCTION_VERSION = 1 };

/* One run of a function for one task. Use the functions below, not the pointers. */
struct weft_call {
    void *inside;
    uint32_t items; /* Of the task's inputs: the largest number among them. */
    uint32_t input_count;
    const struct weft_tensor *inputs; /* Named by the ports of `in`; they are not to be changed. */

    void *(*output)(
        void *inside, const char *name, enum weft_dtype dtype, uint32_t rank, const int64_t *shape,
        uint64_t bytes);
    void (*give_items)(void *inside, uint32_t items);
    enum weft_status (*run)(
        void *inside, const char *model, const struct weft_tensor *inputs, uint32_t input_count,
        const struct weft_tensor **outputs_out, uint32_t *output_count_out);
    void (*fail)(void *inside, const char *message);
    int (*is_cancelled)(void *inside);
    const char *(*folder)(void *inside);
};

typedef enum weft_status (*weft_function)(const struct weft_call *call);

struct weft_function_entry {
    const char *name;
    weft_function run;
};

struct weft_function_table {
    uint32_t version; /* WEFT_FUNCTION_VERSION */
    uint32_t count;
    const struct weft_function_entry *entries;
};

/* The functions of a shared object. Use it once, in one of its files. */
#define WEFT_FUNCTIONS(...)                                                                        \
    static const struct weft_function_entry weft_function_entries[] = {__VA_ARGS__};               \
    __attribute__((visibility("default"))) extern const struct weft_function_table weft_functions; \
    const struct weft_function_table weft_functions = {                                            \
        WEFT_FUNCTION_VERSION,                                                                     \
        sizeof(weft_function_entries) / sizeof(weft_function_entries[0]),                          \
        weft_function_entries,                                                                     \
    }

/* NULL if no port has this name. */
static inline const struct weft_tensor *weft_call_input(
    const struct weft_call *call, const char *name)
{
    for (uint32_t i = 0; i < call->input_count; i++) {
        const char *a = call->inputs[i].name;
        const char *b = name;
        while (*a != '\0' && *a == *b) {
            a++;
            b++;
        }
        if (*a == *b) {
            return &call->inputs[i];
        }
    }
    return NULL;
}

/*
 * Memory for output @name, not initialised, owned by Weft. NULL if there is none: then return
 * WEFT_NO_MEMORY. Not for WEFT_BYTES.
 */
static inline void *weft_call_output(
    const struct weft_call *call, const char *name, enum weft_dtype dtype, uint32_t rank,
    const int64_t *shape)
{
    return call->output(call->inside, name, dtype, rank, shape, 0);
}

/* The same for texts of @bytes in total, lengths included, in the form of tensor.h. */
static inline void *weft_call_texts(
    const struct weft_call *call, const char *name, uint32_t rank, const int64_t *shape,
    uint64_t bytes)
{
    return call->output(call->inside, name, WEFT_BYTES, rank, shape, bytes);
}

/*
 * Say that the outputs hold @items items: the first dimension of every output that has one entry
 * per item. Without this call, as many as the inputs.
 */
static inline void weft_call_give_items(const struct weft_call *call, uint32_t items)
{
    call->give_items(call->inside, items);
}

/*
 * Run @model, which the task lists under `models`, on @inputs, and wait for it. The outputs
 * stay valid until the function returns.
 */
static inline enum weft_status weft_call_run(
    const struct weft_call *call, const char *model, const struct weft_tensor *inputs,
    uint32_t input_count, const struct weft_tensor **outputs_out, uint32_t *output_count_out)
{
    return call->run(call->inside, model, inputs, input_count, outputs_out, output_count_out);
}

/* Say why the task fails: `return weft_call_fail(call, "no face");` @message is copied. */
static inline enum weft_status weft_call_fail(const struct weft_call *call, const char *message)
{
    call->fail(call->inside, message);
    return WEFT_INVALID;
}

/* Whether the result is no longer wanted. Long functions should ask now and then. */
static inline int weft_call_is_cancelled(const struct weft_call *call)
{
    return call->is_cancelled(call->inside);
}

/* The folder of the shared object, for files beside it such as vocabularies. */
static inline const char *weft_call_folder(const struct weft_call *call)
{
    return call->folder(call->inside);
}

#endif /* WEFT_FUNCTION_H */
