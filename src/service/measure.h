/*
 * measure.h - how long a model takes to load and to run here, and what memory it needs.
 *
 * Models run as workers run them: on one thread, alone, from the same cache of mapped files; in a
 * process of their own, where there is one to be had (service/nursery.h). Inputs are made up. A
 * model that fails on them is learnt while it is served instead, and one that samples will run
 * (service/rehearsal.h) is not run here at all.
 */
#ifndef SERVICE_MEASURE_H
#define SERVICE_MEASURE_H

#include "document/repository.h"
#include "model/workflow.h"
#include "onnx/model.h"
#include "onnx/ort.h"
#include "profile/profile.h"

struct nursery;

enum {
    MEASURE_PORTS_MAX = 256, /* As many as a bundle has. */
    MEASURE_POINTS_MAX = 6,  /* Of 1, 2, 4 ... 32 items, on a processor. */
    MEASURE_FIGURES_MAX = 192,
};

/* What a model takes and gives, as its file says. */
struct measure_signature {
    uint32_t input_count;
    uint32_t output_count;
    struct workflow_input inputs[MEASURE_PORTS_MAX];
    struct workflow_input outputs[MEASURE_PORTS_MAX];
};

/* How much is found out. */
enum measure_depth {
    MEASURE_RUNS,  /* Everything. */
    MEASURE_LOADS, /* All but how long it runs. */
    MEASURE_ROWS,  /* What it takes and gives, and whether tasks may share its runs. */
    MEASURE_LOOK,  /* Only what it takes and gives: it is loaded once. */
};

struct measure_options {
    struct nursery *nursery; /* Makes the process in which it is done. NULL: it is done here. */
    uint32_t model;          /* Its number in the catalogue. */
    uint32_t version;        /* Which of its versions @file is. 0: that of the repository. */
    const char *name;
    const struct repository_file *file; /* Of a model that has the form in question, or of a
                                           function, which is only looked for: it is there. */
    bool is_shut;                       /* Functions are not loaded into this process: without a
                                           nursery, their first call says what is wrong. */
    const char *cache;                  /* Folder of mapped models; NULL: none. */
    enum measure_depth depth;
    bool is_gpu; /* Its form for GPUs is meant, on a GPU. */
    uint32_t gpu;
    bool are_streams;          /* Its shares. */
    uint32_t gpu_workers;      /* That it is cut into. */
    bool is_apart;             /* No other model runs beside it. */
    const char *const *others; /* As in struct cuda_measure_options, where it is done here. */
    uint32_t other_count;
};

/* What was found out. */
struct measure_figures {
    struct measure_signature signature;
    bool has_loads; /* The next three are known. */
    uint64_t resident_bytes;
    int64_t load_ns;
    char alone[ONNX_ALONE_BYTES]; /* Why it is never batched; "" if it is, or that is unknown. */
    uint32_t point_count;
    struct profile_point points[MEASURE_FIGURES_MAX];
    int64_t first_run_ns; /* As in struct profile_curve; known if there are points. */
    uint64_t workspace_bytes;
    uint64_t workspace_bytes_per_item;
    bool is_gpu;
    double interference; /* On a GPU: as in struct profile_curve. */
};

/*
 * Measure a model.
 *
 * Errors: those of onnx_model_load(), or of measure_gpu_look() and measure_gpu_here(); WEFT_FAILED
 * if it does not run on made-up inputs: signature and loads are filled in then all the same.
 * WEFT_CRASHED if its process did not survive it, and WEFT_LIMIT if that took too long.
 */
enum weft_status measure_model(
    const struct measure_options *options, struct measure_figures *figures_out,
    struct weft_error *error);

/* The same in this process, whatever becomes of it. */
enum weft_status measure_here(
    const struct measure_options *options, struct measure_figures *figures_out,
    struct weft_error *error);

/* Whether two models take and give the same. */
bool measure_is_same(const struct measure_signature *left, const struct measure_signature *right);

/* Let @profile say what @figures do of @model on @device, in place of what it said. */
void measure_apply(
    const struct measure_figures *figures, struct profile *profile, uint32_t model,
    uint32_t device);

#endif /* SERVICE_MEASURE_H */
