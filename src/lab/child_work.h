/*
 * child_work.h - the same work on many things, each in a child process.
 *
 * A child that crashes takes nothing with it. Results are plain bytes and come back
 * through a pipe, in the order in which the children end.
 */
#ifndef LAB_CHILD_WORK_H
#define LAB_CHILD_WORK_H

#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

enum { CHILD_WORK_PARALLEL_MAX = 256 };

struct child_work {
    uint32_t count;    /* How often the work is done. */
    uint32_t parallel; /* At once; 0: as many as there are cores. */
    size_t result_bytes;
    void *context;

    /* In a child: do number @index and fill @result, which is zeroed. */
    void (*run)(void *context, uint32_t index, void *result);

    /*
     * In the parent, once for each: the result, or NULL and the way in which the child
     * ended instead, such as "signal 11 (Segmentation fault)".
     */
    void (*done)(void *context, uint32_t index, const void *result, const char *death);
};

/*
 * Errors: WEFT_CANCELLED if an interrupt came: the children are ended then; WEFT_IO if
 * there can be no more pipes or processes.
 */
enum weft_status child_work_run(const struct child_work *work, struct weft_error *error);

#endif /* LAB_CHILD_WORK_H */
