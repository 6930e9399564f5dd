/*
 * fake_cuda.h - what fakes and tests ask of the fake driver beyond the driver's own functions.
 *
 * Device memory is memory of this machine; streams do what they are told at once. What the real
 * driver would answer with undefined behaviour ends the process, with a line that says what was
 * wrong. What breaks a real device breaks this one: every later call fails.
 */
#ifndef FAKES_FAKE_CUDA_H
#define FAKES_FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

enum { FAKE_GPUS = 2, FAKE_UNITS = 16, FAKE_PROCESSORS = 132, FAKE_PRIORITIES = 5 };

/* What can be made to happen. */
enum fake_cuda_fault {
    FAKE_NO_FAULT,
    FAKE_NO_MEMORY,   /* The next that is asked for memory has none. */
    FAKE_OLD_DRIVER,  /* From now on. */
    FAKE_NO_SHARES,   /* The device cannot be split, from now on. */
    FAKE_NO_REGISTER, /* The next host memory cannot be registered. */
    FAKE_NO_MAP,      /* The next memory cannot be mapped. */
    FAKE_LOST,        /* The device is broken, as by a kernel. */
};

/* In the environment of a process that uses the fake: what it may do, and must. */
#define FAKE_STREAMS_MOST   "WEFT_FAKE_STREAMS_MOST"   /* So many streams graphs run on, at most. */
#define FAKE_NEEDS_PRIORITY "WEFT_FAKE_NEEDS_PRIORITY" /* All of them have one. */
#define FAKE_GRAPHS_MOST    "WEFT_FAKE_GRAPHS_MOST"    /* So many graphs are there, at most. */
#define FAKE_RUN_US         "WEFT_FAKE_RUN_US"         /* So long a graph runs. */
#define FAKE_BESIDE_US      "WEFT_FAKE_BESIDE_US" /* And longer, for each other stream that runs. */
#define FAKE_MEMORY_MIB     "WEFT_FAKE_MEMORY_MIB" /* So much memory the device has. */

/* A file: while it is there, no recording begins. */
#define FAKE_GATE "WEFT_FAKE_GATE"

/*
 * A file: for each graph that runs, a line with its processors, as bits; 0: the whole device. The
 * same behind a + when it is made, and a line with a - when it is destroyed. For each input that it
 * reads a line: `own`, if the last row lies in memory of the driver, or `there`, if it lies in
 * memory that was registered. For each output `out own` or `out there`: where it is copied to.
 */
#define FAKE_RUNS "WEFT_FAKE_RUNS"

/* A file: for each copy to the device a line that says how many are under way, with it. */
#define FAKE_COPIES "WEFT_FAKE_COPIES"

/* A file: for each package that is opened a line with its folder. */
#define FAKE_PACKAGES "WEFT_FAKE_PACKAGES"

struct fake_cuda_counts {
    uint32_t objects; /* Streams, events, graphs and so on that were not destroyed. */
    uint64_t device_bytes;
    uint64_t copied_bytes; /* To the device, ever. */
    uint32_t copies;
    uint32_t copies_most; /* Under way at once: not waited for. Since they were last counted. */
    uint32_t launches;    /* Of graphs, ever. */
    uint32_t captures;
    uint32_t blocks; /* Of memory, made ever. */
};

typedef void fake_cuda_fail_function(int fault, uint32_t count);
typedef void fake_cuda_count_function(struct fake_cuda_counts *counts_out);

/* Put @function, with a copy of @arguments, on @stream. Returns a result. */
typedef int fake_cuda_enqueue_function(
    void *stream, void (*function)(void *stream, const void *arguments), const void *arguments,
    size_t bytes);

/* Whether a kernel may use the @bytes at @address; if not, the device is broken from now on. */
typedef int fake_cuda_touch_function(uint64_t address, size_t bytes);

/* @stream never ends what it is at. */
typedef void fake_cuda_hang_function(void *stream);

/* @stream uses the memory at @address for a while: until it was asked @questions times. */
typedef void fake_cuda_linger_function(void *stream, uint32_t questions, uint64_t address);

#endif /* FAKES_FAKE_CUDA_H */
