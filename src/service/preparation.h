/*
 * preparation.h - the files of models that an edition needs: fetched, compared and looked at.
 */
#ifndef SERVICE_PREPARATION_H
#define SERVICE_PREPARATION_H

#include "service/edition.h"
#include "service/measure_repository.h"

struct fetch_options;
struct membership;

/* One model of it. */
struct prepared_model {
    uint32_t model;
    uint32_t version;
    uint32_t hash;    /* 0: any; it is filled in. */
    int64_t since_ns; /* When its files were compared with their sums, by the system's clock. */
    struct measure_signature signature;
};

struct preparation {
    const struct measured *measured;   /* Borrowed, like the next. */
    const struct fetch_options *fetch; /* NULL: what is missing is missing. */
    struct membership *membership;     /* Of this node; as in struct fetch_options. */
    void *context;                     /* Of those who wait for it. */
    uint32_t count;
    struct prepared_model items[MODELS_MAX];
    enum weft_status status; /* When it has run. */
    struct weft_error error; /* The first thing that is wrong, with the model. */
};

/* The hash of the file of @version of @model. Errors: WEFT_IO. */
enum weft_status preparation_hash(
    const struct repository *repository, uint32_t model, uint32_t version, uint32_t *hash_out,
    struct weft_error *error);

/* Do it; takes a struct preparation. From any thread. */
void preparation_run(void *preparation);

/* The same, only to fill in hashes: 0 where a file cannot be read. */
void preparation_hash_all(void *preparation);

#endif /* SERVICE_PREPARATION_H */
