/*
 * stock.h - what lies in the folder of a repository, before any of it is understood.
 *
 * Also where problems are gathered: each bad file says once what is wrong with it, and the
 * first of these is the error of the whole. For the files that read a repository.
 */
#ifndef DOCUMENT_STOCK_H
#define DOCUMENT_STOCK_H

#include "base/attributes.h"
#include "document/folder.h"
#include "document/repository.h"

enum { STOCK_DOCUMENTS_MAX = 1024 };

#define STOCK_MODEL_FILE    "model.onnx"
#define STOCK_SETTINGS_FILE "weft.yaml"
#define STOCK_WORKFLOW_FILE "workflow.yaml"

/* A model as it was found. */
struct stock_model {
    const char *name;
    const char *path;
    uint64_t bytes;
    uint32_t version;
};

struct stock {
    const struct repository_listener *listener; /* Borrowed, like the next. */
    const char *root;
    struct arena arena;
    struct weft_error *error;
    enum weft_status status; /* Of the first problem. */
    const char *settings;    /* The path of weft.yaml; NULL: there is none. */
    bool has_functions;
    struct folder functions; /* Shared objects, and whatever else lies there. */
    uint32_t model_count;
    struct stock_model models[MODELS_MAX]; /* By name, ascending. */
    uint32_t document_count;
    const char *documents[STOCK_DOCUMENTS_MAX]; /* Of workflows. */
};

/* Look at everything below @stock->root. */
void stock_scan(struct stock *stock);

/* NULL if there is no such model. */
const struct stock_model *stock_find_model(const struct stock *stock, const char *name);

/*
 * The shared object of function "FILE.NAME" and, through @function_out, its name there.
 * NULL if @name is none or there is no such object.
 */
const struct folder_entry *stock_find_function(
    const struct stock *stock, const char *name, const char **function_out);

/* Note what is wrong with one file: as a message of its own, or as an error that says so. */
ATTR_PRINTF(2, 3)
void stock_fault(struct stock *stock, const char *format, ...);
void stock_error(struct stock *stock, const struct weft_error *error);

#endif /* DOCUMENT_STOCK_H */
