/*
 * measure_repository.h - the models of a repository, looked at and measured on this machine.
 *
 * What has a profile is only looked at. Each measurement is saved at once, so that an
 * interruption loses the one it came in and no other.
 */
#ifndef SERVICE_MEASURE_REPOSITORY_H
#define SERVICE_MEASURE_REPOSITORY_H

#include "console/arguments.h"
#include "document/repository_profile.h"
#include "service/machine.h"
#include "service/measure.h"

enum { MEASURE_LIBRARY_BYTES = 64, MEASURE_FAULT_BYTES = 240 };

/* What was seen of a model. */
struct measure_look {
    struct measure_signature signature; /* Empty if it could not be loaded, or is a function. */
    char fault[MEASURE_FAULT_BYTES];    /* Why it could not be; "" if it could. */
    char alone[ONNX_ALONE_BYTES]; /* Why it is never batched; "" if it is, or is a function. */
    bool is_onnx_broken;          /* Its ONNX file cannot be loaded; another form may be. */
};

/* What was measured on one kind of device. */
struct measured_kind {
    struct profile_document document; /* As its file has it. Its profile is owned. */
    char library[MEASURE_LIBRARY_BYTES];
    uint32_t gpu; /* The first of this kind, if they are GPUs. */
};

/* What is known about the models of a repository, here. */
struct measured {
    struct repository *repository;    /* Borrowed; models alone are described by what is found. */
    struct nursery *nursery;          /* Borrowed; see struct measure_options. */
    struct fleet *fleet;              /* Owned, like the profile. */
    struct profile_document document; /* Of all kinds of devices: what nodes read. */
    struct measured_kind *kinds;      /* By device of the fleet; owned. Processors are the first. */
    uint32_t kind_count;              /* That this machine has. Others come after them. */
    struct measure_look *looks;       /* By model; owned. */
    uint32_t measured_count;          /* Models that were measured now, on one kind each. */
    uint32_t failed_count;            /* Models that could not be; each has been said. */
    bool is_unsaved;                  /* The last time that it was tried, and this has been said. */
};

/* What it means that a model could not be measured. */
enum measure_failure {
    MEASURE_UNAVAILABLE, /* It cannot be loaded at all. */
    MEASURE_LATER,       /* It is measured when it first runs. */
    MEASURE_NOT_ON_GPUS, /* It runs on processors alone. */
};

struct measure_request {
    struct nursery *nursery;            /* As in struct measure_options; outlives the result. */
    bool again;                         /* Measure what has a profile, too. */
    bool only_measured;                 /* Do not look at what has one, if it says all. */
    bool only_looked;                   /* Measure nothing; look at functions, too. */
    const struct argument_list *models; /* Only these. NULL or none: all. */
    const struct model_set *rehearsed;  /* Whose runs will be seen anyway. NULL: none. */

    /*
     * Called before model number @index of @count, which is measured or only looked at, and
     * after it if it did not load or run.
     */
    void (*on_model)(
        void *context, const char *name, uint32_t index, uint32_t count, bool is_measured);
    void (*on_failed)(
        void *context, const char *name, const char *cause, enum measure_failure failure);
    /* The model @name, which was measured, is never batched. May be NULL. */
    void (*on_alone)(void *context, const char *name, const char *cause);
    /* Called if measurements cannot be saved, once. NULL: that is an error of the whole. */
    void (*on_unsaved)(void *context, const char *cause);

    bool (*is_interrupted)(void *context); /* Between models. NULL: never. */
    void *context;
};

/*
 * Look at, or measure, the models of @repository on @machine. On success the caller owns
 * *measured_out: measured_close(). A model that does not load or run does not fail the
 * whole.
 *
 * Errors: those of ort_open(); WEFT_NOT_FOUND for a model that is not there; those of
 * repository_profile_load() and repository_profile_save(); WEFT_CANCELLED.
 */
enum weft_status measure_repository(
    struct repository *repository, const struct machine *machine,
    const struct measure_request *request, struct measured *measured_out, struct weft_error *error);

/*
 * Read the files of @version of @model, or with 0 those of the repository: what it takes and gives
 * now. That of the ONNX file, if it has one; the form for GPUs must say the same, and its files
 * must have the right sums, if GPUs of this machine run it. Changes nothing; from any thread.
 *
 * Errors: those of measure_model(); WEFT_INVALID if the two forms differ.
 */
enum weft_status measured_look(
    const struct measured *measured, uint32_t model, uint32_t version,
    struct measure_signature *signature_out, struct weft_error *error);

/* Whether GPUs of this machine run @model. */
bool measured_runs_on_gpus(const struct measured *measured, uint32_t model);

/* From now on @model takes and gives what @signature says, and nothing is wrong with it. */
void measured_take(
    struct measured *measured, uint32_t model, const struct measure_signature *signature);

/* Save what has changed while models were served: what is known of processors. */
enum weft_status measured_save(const struct measured *measured, struct weft_error *error);

void measured_close(struct measured *measured);

#endif /* SERVICE_MEASURE_REPOSITORY_H */
