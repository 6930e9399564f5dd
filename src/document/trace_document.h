/*
 * trace_document.h - requests that were recorded, or generated, as CSV.
 *
 *   t_ms,workflow           or   t_ms,workflow,items     our own form
 *   0,chat                       12.25,chat,3
 *
 *   TIMESTAMP,ContextTokens,GeneratedTokens              public traces of language models
 *   2023-11-16 18:15:46.6805900,374,44
 *
 * The first line says which. Rows are by time, ascending; those of a public trace are
 * counted from its first, and name no workflow. A trace is good as a whole or not at all.
 */
#ifndef DOCUMENT_TRACE_DOCUMENT_H
#define DOCUMENT_TRACE_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

#include "base/arena.h"
#include "document/reader.h"
#include "model/arrivals.h"
#include "model/catalogue.h"

enum { TRACE_BYTES_MAX = 512 * 1024 * 1024 }; /* 32 bytes per row. */

#define TRACE_SPAN_NS (INT64_C(240) * 3600 * 1000000000) /* Ten days, as any duration. */

struct trace_options {
    const struct catalogue *catalogue; /* Borrowed: the workflows that rows may name. NULL: any,
                                          and each row is ARRIVAL_WORKFLOW_ANY. */
    uint32_t items_per;                /* Tokens per item; 0: each request has one item. */
    struct tree_listener *listener;    /* Told of every bad row. NULL: reading ends at the first. */
};

struct trace {
    bool has_workflows; /* Otherwise each is ARRIVAL_WORKFLOW_ANY. */
    uint32_t count;
    const struct arrival *rows; /* In the caller's arena. */
};

/*
 * Read the file at @path. Rows come from @arena, also when something is wrong.
 *
 * Errors: WEFT_IO; WEFT_INVALID for what it says and WEFT_LIMIT for how much, with
 * "file:line: cause".
 */
enum weft_status trace_load(
    const char *path, const struct trace_options *options, struct arena *arena,
    struct trace *trace_out, struct weft_error *error);

/* Bytes in memory, which errors call @file. */
struct trace_source {
    const char *file;
    const char *bytes;
    size_t size;
};

/* The same for bytes in memory. */
enum weft_status trace_parse(
    const struct trace_source *source, const struct trace_options *options, struct arena *arena,
    struct trace *trace_out, struct weft_error *error);

/* Of the workflows, the nearest to @name: "; did you mean 'chat'?" or "". */
const char *trace_suggest_workflow(
    const struct catalogue *catalogue, const char *name, char out[READER_QUOTE_BYTES]);

#endif /* DOCUMENT_TRACE_DOCUMENT_H */
