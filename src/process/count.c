/* count.c - processes that engine processes have started, and those that ended early. */
#include "process/revise.h"

void process_count_functions(struct process_worker *worker, const struct process_report *report)
{
    struct engine_process *engine = worker->engine;
    if (report->function_starts > worker->function_starts) {
        engine->function_starts += report->function_starts - worker->function_starts;
        worker->function_starts = report->function_starts;
    }
    if (report->function_crashes > worker->function_crashes) {
        engine->function_crashes += report->function_crashes - worker->function_crashes;
        worker->function_crashes = report->function_crashes;
    }
}

void process_count(const struct engine *base, struct engine_counts *counts_out)
{
    const struct engine_process *engine = (const struct engine_process *)base;
    counts_out->function_starts = engine->function_starts;
    counts_out->function_crashes = engine->function_crashes;
    counts_out->engine_starts = engine->counts.restarts;
    for (uint32_t i = engine->hosted.first; i < engine->hosted.end; i++) {
        counts_out->engine_starts += engine->workers[i].worker_count > 0 ? 1 : 0;
    }
    counts_out->engine_crashes = engine->counts.crashes + engine->counts.kills;
}
