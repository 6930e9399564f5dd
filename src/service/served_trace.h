/*
 * served_trace.h - the trace of a server: every record, in a file that can be read while it grows.
 */
#ifndef SERVICE_SERVED_TRACE_H
#define SERVICE_SERVED_TRACE_H

#include <stdio.h>

#include <weft/status.h>

#include "trace/writer.h"

/* All zero: there is none. */
struct served_trace {
    FILE *file;
    struct trace_writer *writer;
};

/*
 * Write to the file at @path, in the form that its name says: see trace_form_of(). NULL: to none.
 *
 * Errors: WEFT_IO.
 */
enum weft_status served_trace_open(
    struct served_trace *trace, const char *path, const struct fleet *fleet,
    const struct catalogue *catalogue, struct weft_error *error);

void served_trace_add(const struct served_trace *trace, const struct record *record);

void served_trace_close(struct served_trace *trace);

#endif /* SERVICE_SERVED_TRACE_H */
