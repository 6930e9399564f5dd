#include "document/workflow_save.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/assert.h"
#include "document/scalar_save.h"

enum { INPUTS_A_LINE = 2 }; /* More get a line for their bytes. */

static void write_work(
    const struct workflow_task *task, const struct catalogue *catalogue, FILE *file)
{
    const bool is_model = task->model_count == 1 && task->models[0] == task->run;
    (void)fprintf(file, "%s: %s", is_model ? "model" : "function", catalogue->models[task->run]);
    if (is_model || task->model_count == 0) {
        return;
    }
    for (uint32_t i = 0; i < task->model_count; i++) {
        (void)fprintf(
            file, "%s%s", i == 0 ? ", models: [" : ", ", catalogue->models[task->models[i]]);
    }
    (void)fputc(']', file);
}

static void write_inputs(const struct workflow *workflow, uint32_t task, FILE *file)
{
    const uint32_t count = workflow->tasks[task].in_count;
    bool has_bytes = false;

    for (uint32_t i = 0; i < count; i++) {
        const struct workflow_edge *edge = workflow_in(workflow, task, i);
        (void)fprintf(file, "%s%s", i == 0 ? ", after: [" : ", ", workflow->tasks[edge->from].name);
        has_bytes |= edge->bytes > 0;
    }
    (void)fputs(count == 0 ? "" : "]", file);
    if (!has_bytes) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct workflow_edge *edge = workflow_in(workflow, task, i);
        (void)fprintf(
            file, "%s%s: ",
            i > 0                    ? ", "
            : count <= INPUTS_A_LINE ? ", bytes: {"
                                     : ",\n      bytes: {",
            workflow->tasks[edge->from].name);
        scalar_write_bytes(edge->bytes, file);
        (void)fputs(edge->per_item ? " per item" : "", file);
    }
    (void)fputc('}', file);
}

static void write_gives(const struct items_rule *gives, FILE *file)
{
    if (gives->low == 0 && gives->high == 0) {
        return;
    }
    if (gives->low == gives->high) {
        (void)fprintf(file, ", gives: %" PRIu32, gives->low);
    } else {
        (void)fprintf(file, ", gives: [%" PRIu32 ", %" PRIu32 "]", gives->low, gives->high);
    }
}

void workflow_write(const struct workflow *workflow, const struct catalogue *catalogue, FILE *file)
{
    ASSERT(workflow->sealed);

    (void)fprintf(file, "workflow: %s\n", workflow->name);
    if (workflow->slo_ns > 0) {
        (void)fputs("slo: ", file);
        scalar_write_duration(workflow->slo_ns, file);
        (void)fputc('\n', file);
    }
    if (workflow->input_bytes > 0) {
        (void)fputs("input: ", file);
        scalar_write_bytes(workflow->input_bytes, file);
        (void)fputc('\n', file);
    }
    (void)fputs("tasks:\n", file);
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        (void)fprintf(file, "  %s: {", workflow->tasks[i].name);
        write_work(&workflow->tasks[i], catalogue, file);
        write_inputs(workflow, i, file);
        write_gives(&workflow->tasks[i].gives, file);
        (void)fputs("}\n", file);
    }
}
