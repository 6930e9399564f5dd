/*
 * repository_scan.h - what lies in the folder of a repository, before any of it is understood.
 *
 * Also where problems are gathered: each bad file says once what is wrong with it, and the
 * first of these is the error of the whole. For the files that read a repository.
 */
#ifndef DOCUMENT_REPOSITORY_SCAN_H
#define DOCUMENT_REPOSITORY_SCAN_H

#include "base/attributes.h"
#include "document/folder.h"
#include "document/repository.h"
#include "document/tree.h"

enum { REPOSITORY_DOCUMENTS_MAX = 1024, REPOSITORY_FUNCTIONS_MAX = 64 };

#define REPOSITORY_MODEL_FILE    "model.onnx"
#define REPOSITORY_CUDA_FOLDER   "model.cuda"
#define REPOSITORY_WEIGHTS_FILE  "weights.bin" /* As tools/weft_export.py calls it. */
#define REPOSITORY_SETTINGS_FILE "weft.yaml"
#define REPOSITORY_WORKFLOW_FILE "workflow.yaml"

/* A model as it was found. */
struct scanned_model {
    const char *name;
    const char *path;
    uint64_t bytes;
    const char *cuda;
    uint64_t cuda_bytes;
    uint32_t version;
};

/* A shared object as it was found. */
struct scanned_function {
    const char *name; /* In the shared object. */
    const char *path;
    uint64_t bytes;
    uint32_t version;
};

/* Shared objects, and anything else in that folder. */
struct scanned_folder {
    uint32_t version;
    struct folder folder;
};

struct repository_scan {
    const struct repository_listener *listener; /* Borrowed, like the next. */
    const char *root;
    struct arena arena;
    struct weft_error *error;
    enum weft_status status; /* Of the first problem. */
    const char *settings;    /* The path of weft.yaml; NULL: there is none. */
    uint32_t function_count;
    struct scanned_folder functions[REPOSITORY_FUNCTIONS_MAX]; /* In no order. */
    uint32_t model_count;
    struct scanned_model models[MODELS_MAX]; /* By name, ascending. */
    uint32_t document_count;
    const char *documents[REPOSITORY_DOCUMENTS_MAX]; /* Of workflows. */
};

/* Look at everything below @scan->root. */
void repository_scan_all(struct repository_scan *scan);

/* NULL if there is no such model. */
const struct scanned_model *repository_scan_find_model(
    const struct repository_scan *scan, const char *name);

/* The newest shared object of function "FILE.NAME". False if @name is none or there is no such. */
bool repository_scan_find_function(
    const struct repository_scan *scan, const char *name, struct scanned_function *function_out);

/* Note what is wrong with one file: as a message of its own, or as an error that says so. */
ATTR_PRINTF(2, 3)
void repository_scan_fault(struct repository_scan *scan, const char *format, ...);
void repository_scan_error(struct repository_scan *scan, const struct weft_error *error);

/* Notes every error of a document in the same way. */
struct tree_listener repository_scan_listener(struct repository_scan *scan);

#endif /* DOCUMENT_REPOSITORY_SCAN_H */
