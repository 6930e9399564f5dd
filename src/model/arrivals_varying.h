/* arrivals_varying.h - the kinds of arrivals whose rate changes with time; for arrivals.c. */
#ifndef MODEL_ARRIVALS_VARYING_H
#define MODEL_ARRIVALS_VARYING_H

#include "model/arrivals.h"

/* Check what @stream->arrivals asks for, and begin with it. */
void arrivals_begin_bursts(struct arrival_stream *stream);
void arrivals_begin_shape(struct arrival_stream *stream);

/* Move @stream->at_ns to the next arrival. False when that would be centuries from now. */
bool arrivals_next_of_bursts(struct arrival_stream *stream);
bool arrivals_next_of_shape(struct arrival_stream *stream);

/*
 * In whole nanoseconds: to the nearest, and no longer than any duration. Added to
 * @stream->at_ns, unless that would be centuries from now: then false.
 */
bool arrivals_advance(struct arrival_stream *stream, double gap_ns);

#endif /* MODEL_ARRIVALS_VARYING_H */
