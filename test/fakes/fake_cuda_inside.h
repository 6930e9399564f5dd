/* fake_cuda_inside.h - what the fake driver is made of. For its files alone. */
#ifndef FAKES_FAKE_CUDA_INSIDE_H
#define FAKES_FAKE_CUDA_INSIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cuda/driver.h"
#include "fakes/fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

enum { GRAIN = 2 << 20, RANGES_MAX = 4096, OBJECTS_MAX = 4096, NODES_MAX = 64 };

#define DEVICE_BYTES (UINT64_C(8) << 30)

enum kind { STREAM, EVENT, GRAPH, EXEC, GREEN, MODULE, FUNCTION, BLOCK, DESCRIPTION };

/* Something on a stream, or recorded. */
struct node {
    void (*run)(void *stream, const void *arguments);
    unsigned char arguments[96];
};

struct range;

struct object {
    enum kind kind;
    bool is_live;
    bool is_hung;          /* STREAM */
    bool is_recording;     /* STREAM */
    bool was_recorded;     /* EVENT */
    uint32_t lingers;      /* STREAM: questions until what was put there last has ended. */
    struct range *uses;    /* STREAM and EVENT: what is used until then. */
    uint32_t questions;    /* EVENT: until it is ready. */
    struct object *stream; /* EVENT: where. */
    struct object *owner;  /* STREAM: the share. */
    int priority;          /* STREAM */
    bool was_used;         /* STREAM */
    int64_t busy_ns;       /* STREAM and EVENT: until then, with FAKE_RUN_US. */
    uint32_t node_count;
    struct node *nodes; /* GRAPH, EXEC, and a STREAM that records. */
    int file;           /* BLOCK */
    bool is_imported;   /* BLOCK */
    uint64_t bytes;
    char name[32]; /* FUNCTION */
};

enum range_kind {
    RANGE_NONE,
    RANGE_DEVICE,
    RANGE_RESERVED,
    RANGE_MAPPED, /* Within one that is reserved. */
    RANGE_HOST,
    RANGE_REGISTERED,
};

struct range {
    enum range_kind kind;
    uint64_t address;
    uint64_t bytes;
    uint32_t users; /* MAPPED: events that stand for kernels which use it. */
    int access;     /* MAPPED: CUDA_READ, CUDA_READ_WRITE, or 0. */
};

struct fake {
    pthread_mutex_t lock;
    pid_t process; /* That called cuInit(). */
    bool has_context;
    int sticky;
    enum fake_cuda_fault fault;
    uint32_t fault_count;
    bool is_old;
    bool is_whole;
    uint32_t streams_used;
    uint32_t copying; /* Copies to the device that were not waited for. */
    struct object objects[OBJECTS_MAX];
    uint32_t range_end; /* None is behind it. */
    struct range ranges[RANGES_MAX];
    struct fake_cuda_counts counts;
};

extern struct fake fake;
extern _Thread_local bool fake_is_current;          /* The context, of this thread. */
extern _Thread_local struct object *fake_recording; /* The stream that this thread records. */

/* Misuse: say so, and end. */
__attribute__((format(printf, 1, 2))) _Noreturn void wrong(const char *format, ...);

/* A call that works on the device begins and ends with these; what they return is returned. */
int enter(const char *what);
int enter_context(const char *what);
int leave(int result);

struct object *make(enum kind kind);
struct object *check(void *handle, enum kind kind, const char *what);
void destroy(struct object *object);

struct range *add_range(enum range_kind kind, uint64_t address, uint64_t bytes);

/* The range of @kind that holds the @bytes at @address. */
struct range *find_range(enum range_kind kind, uint64_t address, uint64_t bytes);

bool is_pinned(const void *memory, size_t bytes);
bool take_fault(enum fake_cuda_fault fault);

/* Under the lock: do it, or record it. */
int put(
    struct object *stream, void (*run)(void *stream, const void *arguments), const void *arguments,
    size_t bytes);

EXPORT int fake_cuda_touch(uint64_t address, size_t bytes);

#endif /* FAKES_FAKE_CUDA_INSIDE_H */
