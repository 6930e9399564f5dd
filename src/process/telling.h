/*
 * telling.h - what the host of engine processes waits for, and is told.
 *
 * Everything that the host has asked for and not heard of yet keeps the loop alive. Reports are
 * kept in a list and told in order, from the loop, never from inside an operation of the engine.
 */
#ifndef PROCESS_TELLING_H
#define PROCESS_TELLING_H

#include "process/inside.h"

/* The host waits for one thing more, and will be told; or for one less. */
void process_begin(struct engine_process *engine);
void process_end(struct engine_process *engine);

/* The host will be told @done, with @message or NULL, soon. @told holds it until then. */
void process_tell(
    struct engine_process *engine, struct process_told *told, const struct engine_done *done,
    const char *message);

/* Tell the host what it is to be told, in order. It may give orders meanwhile. */
void process_tell_all(struct engine_process *engine);

/* What was to be told of a load or a batch will not be: take it off the list. */
void process_forget_told(
    struct engine_process *engine, enum engine_done_kind kind, uint32_t worker, uint64_t number);

/* Release what @told is about, if nothing else holds it. */
void process_release_told(struct process_told *told);

#endif /* PROCESS_TELLING_H */
