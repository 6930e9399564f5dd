/*
 * profile_document.h - measurements in and out of JSON: docs/DOCUMENTS.md has the form.
 *
 * A document has models and devices by name, a profile by number: a catalogue and
 * a fleet translate. What is saved and loaded again is the same profile.
 */
#ifndef DOCUMENT_PROFILE_DOCUMENT_H
#define DOCUMENT_PROFILE_DOCUMENT_H

#include <stdio.h>

#include <weft/status.h>

#include "base/bitset.h"
#include "document/record.h"
#include "document/tree.h"
#include "model/catalogue.h"
#include "model/fleet.h"
#include "profile/profile.h"

enum {
    PROFILE_VERSION = 1,
    PROFILE_SOURCE_BYTES_MAX = 512,
    PROFILE_POINTS_MAX = 4096, /* Of one model on one device. */
};

enum profile_figures {
    FIGURES_MEASURED,  /* On the device itself. */
    FIGURES_PUBLISHED, /* By others: they name their source. */
    FIGURES_ASSUMED,   /* Made up. */
};

struct profile_origin {
    enum profile_figures figures;
    char source[PROFILE_SOURCE_BYTES_MAX]; /* "" if it is not said. */
};

struct profile_document {
    struct profile *profile; /* Owned by the caller who read the document. */
    struct profile_origin origin;
    struct model_set listed; /* The models that the document names. */
};

/* Which models and devices of a document are taken. */
enum profile_scope {
    PROFILE_ALL,   /* Every one; new names are added to catalogue and fleet. */
    PROFILE_KNOWN, /* Those that catalogue and fleet have; the others are only checked. */
};

extern const struct field profile_fields[];
extern const struct field profile_model_fields[];  /* Of each of `models`. */
extern const struct field profile_device_fields[]; /* Of each of their `devices`. */
extern const struct field profile_point_fields[];  /* Of each of the `points` of those. */

/*
 * Read the profile at @node. On success the caller owns document_out->profile.
 *
 * Errors: WEFT_INVALID, with "file:line: cause".
 */
enum weft_status profile_read(
    const struct tree_node *node, enum profile_scope scope, struct catalogue *catalogue,
    struct fleet *fleet, struct profile_document *document_out, struct weft_error *error);

/*
 * Write the listed models of @document as the next value: PROFILE_ALL with every device that was
 * measured, PROFILE_KNOWN with those that a worker of @fleet has.
 */
void profile_write(
    struct writer *writer, enum profile_scope scope, const struct catalogue *catalogue,
    const struct fleet *fleet, const struct profile_document *document);

/* All of it as JSON. Errors: WEFT_INVALID if its source is not UTF-8. */
enum weft_status profile_print(
    FILE *file, const struct catalogue *catalogue, const struct fleet *fleet,
    const struct profile_document *document);

/*
 * The same into the file at @path, which is replaced only by a whole document.
 *
 * Errors: also WEFT_IO.
 */
enum weft_status profile_save(
    const char *path, const struct catalogue *catalogue, const struct fleet *fleet,
    const struct profile_document *document, struct weft_error *error);

#endif /* DOCUMENT_PROFILE_DOCUMENT_H */
