/*
 * writer.h - a trace as a file: text for people, JSON lines for programs, or events for viewers.
 *
 * What a policy weighed becomes part of the record of what it chose. JSON lines also say where the
 * time of each job went, and which SLO its workflow has.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <stddef.h>

#include "model/catalogue.h"
#include "model/fleet.h"
#include "node/record.h"

struct trace_writer;

enum trace_form {
    TRACE_TEXT,   /* Lines of trace_text(). */
    TRACE_LINES,  /* Lines of trace_json(). */
    TRACE_EVENTS, /* Chrome's trace events, one JSON object: for Perfetto and chrome://tracing. */
};

struct trace_writer_options {
    enum trace_form form;
    const struct fleet *fleet; /* Borrowed, like the next. */
    const struct catalogue *catalogue;
    void (*write)(void *context, const char *bytes, size_t count);
    void *context;
};

/* By the end of the file's name: ".json" has events, ".jsonl" lines of JSON, all else text. */
enum trace_form trace_form_of(const char *path);

/* The caller owns it. */
struct trace_writer *trace_writer_create(const struct trace_writer_options *options);

void trace_writer_add(struct trace_writer *writer, const struct record *record);

/* Write what is left, and release it. NULL is allowed. */
void trace_writer_destroy(struct trace_writer *writer);

#endif /* TRACE_WRITER_H */
