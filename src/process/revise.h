/*
 * revise.h - other versions of a model on all GPUs, and what processes have started. For
 * the files of the engine of processes alone.
 */
#ifndef PROCESS_REVISE_H
#define PROCESS_REVISE_H

#include "process/inside.h"

/* As in struct engine_ops. */
bool process_revise(
    struct engine *engine, uint32_t model, const struct artifact_versions *versions);

void process_revise_init(struct engine_process *engine);
void process_revise_close(struct engine_process *engine);

/* The process of @worker reports of a revision. False if it was not asked for any. */
bool process_revised(struct process_worker *worker, const struct process_report *report);

/* The process of @worker is new; or has ended, @how. */
void process_revise_again(struct process_worker *worker);
void process_revise_orphaned(struct process_worker *worker, const char *how);

/* Whether the process of @worker takes too long: @why_out says so. */
bool process_revise_is_late(
    struct process_worker *worker, int64_t now_ns, char *why_out, size_t room);

/* count.c */

/* The process counts from its own beginning, and some of its reports do not say. */
void process_count_functions(struct process_worker *worker, const struct process_report *report);

/* As in struct engine_ops. */
void process_count(const struct engine *engine, struct engine_counts *counts_out);

#endif /* PROCESS_REVISE_H */
