/*
 * events.h - a trace as Chrome's trace events: what Perfetto and chrome://tracing show.
 *
 * A machine is a process, and each of its workers a thread of batches and a thread of loads; where
 * a worker runs several batches at once it has more threads. Transfers between machines and jobs
 * are asynchronous spans, and the number of jobs is a counter.
 */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include "trace/writer.h"

struct trace_events;

/* The caller owns it. The form is not looked at. */
struct trace_events *trace_events_create(const struct trace_writer_options *options);

void trace_events_add(struct trace_events *events, const struct record *record);

/* End the file, and release what it took. NULL is allowed. */
void trace_events_destroy(struct trace_events *events);

#endif /* TRACE_EVENTS_H */
