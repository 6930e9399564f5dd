/*
 * crew.h - the same work on many things, each in a child process of its own.
 *
 * A child that crashes takes nothing with it. Results are plain bytes and come back
 * through a pipe, in the order in which the children end.
 */
#ifndef LAB_CREW_H
#define LAB_CREW_H

#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

enum { CREW_PARALLEL_MAX = 256 };

struct crew {
    uint32_t count;    /* How often the work is done. */
    uint32_t parallel; /* At once; 0: as many as there are cores. */
    size_t result_bytes;
    void *context;

    /* In a child: do number @index and fill @result, which is zeroed. */
    void (*work)(void *context, uint32_t index, void *result);

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
enum weft_status crew_run(const struct crew *crew, struct weft_error *error);

#endif /* LAB_CREW_H */
