/*
 * measure.h - how long a model takes to load and to run here, and what memory it needs.
 *
 * Models run as workers run them: on one thread, alone, from the same cache of mapped files.
 * Inputs are made up. A model that fails on them is learnt while it is served instead, and one
 * that samples will run (cli/rehearsal.h) is not run here at all.
 */
#ifndef CLI_MEASURE_H
#define CLI_MEASURE_H

#include "document/repository.h"
#include "engine/ort.h"
#include "model/workflow.h"
#include "profile/profile.h"

enum { MEASURE_PORTS_MAX = 64 };

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
    MEASURE_LOOK,  /* Only what it takes and gives: it is loaded once. */
};

struct measure_options {
    const struct ort *ort;
    const char *name;
    const struct repository_file *file; /* Of an ONNX model. */
    const char *cache;                  /* Folder of mapped models; NULL: none. */
    enum measure_depth depth;
};

/*
 * Measure a model. @model_out is filled but for its curves; the points of @device are added
 * to @profile, in place of what was there.
 *
 * Errors: those of onnx_model_load(); WEFT_FAILED if it does not run on made-up inputs:
 * signature, loads and bytes are filled in then all the same.
 */
enum weft_status measure_model(
    const struct measure_options *options, struct profile *profile, uint32_t model, uint32_t device,
    struct measure_signature *signature_out, struct weft_error *error);

#endif /* CLI_MEASURE_H */
