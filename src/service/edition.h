/*
 * edition.h - one edition of a repository, and as the text that nodes of a cluster tell each other.
 *
 *     digits of what is unloaded ; VERSION:HASH of the first model , of the second , ...
 *
 * Which models there are, and in which order, all nodes agree on.
 */
#ifndef SERVICE_EDITION_H
#define SERVICE_EDITION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bitset.h"
#include "base/limits.h"

struct repository;
struct repository_file;

/* A model in it. */
struct edition_model {
    uint32_t version; /* 0: it has none. */
    uint32_t hash;    /* Of its file. */
};

struct edition {
    uint32_t number; /* Not part of the text. */
    struct model_set unloaded;
    bool closed[WORKFLOWS_MAX]; /* By workflow of a document: unloaded itself. */
    struct edition_model models[MODELS_MAX];
};

/* False if it does not fit into @room. */
bool edition_write(
    const struct edition *edition, const struct repository *repository, char *out, size_t room);

/* Fill in all but the number. False if @text is not one of @repository. */
bool edition_read(
    const char *text, const struct repository *repository, struct edition *edition_out);

/* Whether they have the same contents, as far as @repository goes. */
bool edition_is_same(
    const struct edition *a, const struct edition *b, const struct repository *repository);

/* The highest version of model @model that has a file, here; at least the one that was found first.
 */
uint32_t edition_find_version(const struct repository *repository, uint32_t model);

/* Where the files of a version are. */
struct edition_paths {
    char path[PATH_MAX]; /* The ONNX file or shared object. */
    char cuda[PATH_MAX]; /* The folder for GPUs. */
};

/*
 * What is behind @version of model @model; 0 is what was found first. *file_out points into
 * @paths_out. False if there is no room for it.
 */
bool edition_file(
    const struct repository *repository, uint32_t model, uint32_t version,
    struct edition_paths *paths_out, struct repository_file *file_out);

/*
 * The files that stand for @version of model @model, one per form, at most
 * EDITION_FORMS: its ONNX file or shared object, and of the folder for GPUs the list of sums.
 * Returns how many; 0 if there is no room for them.
 */
enum { EDITION_FORMS = 2 };
uint32_t edition_forms(
    const struct repository *repository, uint32_t model, uint32_t version,
    char out[static EDITION_FORMS][PATH_MAX]);

/* Whether versions of @model can change while it is served: not if it is built in. */
bool edition_has_versions(const struct repository *repository, uint32_t model);

#endif /* SERVICE_EDITION_H */
