/*
 * ort_memory.h - the memory that ONNX Runtime works in: counted, and kept for the next run.
 *
 * All sessions share this allocator. A thread that wants to know what the library takes puts
 * a meter on itself: since runs and loads stay on the thread that asked for them, what is
 * taken meanwhile on that thread is exactly what they took. Blocks of runs are kept when they
 * come back, up to ORT_MEMORY_KEPT_MAX in all: fresh pages would cost a third of the time of
 * a run. Blocks of loads are never kept; they can be laid into one range of memory instead, which
 * looks the same after every load of a model. What all blocks in use may come to can be bounded:
 * the library is then told as its own allocator tells it, by an exception, and the run fails. Safe
 * from any thread.
 */
#ifndef ONNX_ORT_MEMORY_H
#define ONNX_ORT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "onnx/ort_abi.h"

#define ORT_MEMORY_KEPT_MAX (UINT64_C(256) << 20)

struct ort_meter {
    int64_t now_bytes;       /* Taken and not given back since the start. */
    int64_t peak_bytes;      /* The most that this ever was. */
    uint64_t denied;         /* Bytes that were asked for and not given; 0: everything was. */
    bool is_load;            /* What is taken stays: none of it is worth keeping. */
    struct ort_image *image; /* Loads: where large blocks lie. NULL, or full: as any other. */
};

/* A range of zeroes, on a page of its own, that a load fills from the front. */
struct ort_image {
    uint8_t *start;
    uint64_t used;
    uint64_t room;
};

/* The one allocator, for memory that @info describes. */
struct OrtAllocator *ort_memory_allocator(const struct OrtMemoryInfo *info);

/*
 * From now on blocks in use come to at most @bytes; 0: as many as the system gives. Where
 * ort_memory_set_throw() was not called the library may not survive it.
 */
void ort_memory_set_limit(uint64_t bytes);

/* The limit; 0: none. */
uint64_t ort_memory_limit(void);

/* What throws std::bad_alloc in the C++ library that the library uses. */
void ort_memory_set_throw(void (*throw_bad_alloc)(void));

/*
 * Count what this thread takes for a run from here on; until the stop, which must come. For a load,
 * blocks of a page or more come from @image, and are neither counted nor given back one by one:
 * they end with it.
 */
void ort_meter_start(struct ort_meter *meter);
void ort_meter_start_load(struct ort_meter *meter, struct ort_image *image);
void ort_meter_stop(void);

/*
 * A model has left: give back to the system the kept blocks that no run has taken since the
 * call before this one, and what the C library keeps, once a second: that takes milliseconds.
 */
void ort_memory_trim(void);

/* What is kept now. */
uint64_t ort_memory_kept_bytes(void);

#endif /* ONNX_ORT_MEMORY_H */
