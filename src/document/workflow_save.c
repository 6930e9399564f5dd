#include "document/workflow_save.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/assert.h"
#include "base/limits.h"
#include "document/reference.h"
#include "document/scalar_save.h"
#include "model/builtin.h"

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

/* Whether @task was not written by anybody: reading the names adds it again. */
static bool is_added(
    const struct workflow *workflow, const struct catalogue *catalogue, uint32_t task)
{
    return task != TASK_NONE && builtin_is_reserved(catalogue->models[workflow->tasks[task].run]);
}

/* How the document names @task; the request if it is none, or stands for it. */
static const char *producer_name(
    const struct workflow *workflow, const struct catalogue *catalogue, uint32_t task)
{
    return task == TASK_NONE || is_added(workflow, catalogue, task) ? REFERENCE_INPUTS
                                                                    : workflow->tasks[task].name;
}

/* "port: task.output" */
static void write_reference(const char *name, const char *task, const char *output, FILE *file)
{
    char reference[2 * NAME_BYTES_MAX];

    scalar_write_text(name, file);
    (void)fputs(": ", file);
    (void)snprintf(reference, sizeof(reference), "%s.%s", task, output);
    scalar_write_text(reference, file);
}

static bool has_port(const struct workflow *workflow, uint32_t task, uint32_t from)
{
    for (uint32_t i = 0; i < workflow->port_count; i++) {
        if (workflow->ports[i].task == task && workflow->ports[i].from == from) {
            return true;
        }
    }
    return false;
}

static void write_ports(
    const struct workflow *workflow, const struct catalogue *catalogue, uint32_t task, FILE *file)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < workflow->port_count; i++) {
        const struct workflow_port *port = &workflow->ports[i];
        if (port->task == task) {
            (void)fputs(count == 0 ? ", in: {" : ", ", file);
            write_reference(
                port->name, producer_name(workflow, catalogue, port->from), port->output, file);
            count++;
        }
    }
    (void)fputs(count == 0 ? "" : "}", file);
}

static void write_bytes(
    const struct workflow *workflow, const struct catalogue *catalogue, uint32_t task, FILE *file)
{
    const uint32_t count = workflow->tasks[task].in_count;

    for (uint32_t i = 0; i < count; i++) {
        const struct workflow_edge *edge = workflow_in(workflow, task, i);
        (void)fprintf(
            file, "%s%s: ",
            i > 0                    ? ", "
            : count <= INPUTS_A_LINE ? ", bytes: {"
                                     : ",\n      bytes: {",
            producer_name(workflow, catalogue, edge->from));
        scalar_write_bytes(edge->bytes, file);
        (void)fputs(edge->per_item ? " per item" : "", file);
    }
    (void)fputc('}', file);
}

static void write_inputs(
    const struct workflow *workflow, const struct catalogue *catalogue, uint32_t task, FILE *file)
{
    uint32_t nameless = 0;
    bool has_bytes = false;

    for (uint32_t i = 0; i < workflow->tasks[task].in_count; i++) {
        const struct workflow_edge *edge = workflow_in(workflow, task, i);
        const bool of_request = is_added(workflow, catalogue, edge->from);
        has_bytes |= edge->bytes != (of_request ? workflow->input_bytes : 0);
        if (!has_port(workflow, task, edge->from)) {
            (void)fprintf(
                file, "%s%s", nameless == 0 ? ", after: [" : ", ",
                producer_name(workflow, catalogue, edge->from));
            nameless++;
        }
    }
    (void)fputs(nameless == 0 ? "" : "]", file);
    write_ports(workflow, catalogue, task, file);
    if (has_bytes) {
        write_bytes(workflow, catalogue, task, file);
    }
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

static void write_type(enum weft_dtype dtype, uint32_t rank, const int64_t *shape, FILE *file)
{
    static const char *const dtypes[] = {
#define X(name, bytes, text) [name] = (text),
        WEFT_DTYPE_MAP(X)
#undef X
    };
    (void)fprintf(file, "dtype: %s, shape: [", dtypes[dtype]);
    for (uint32_t i = 0; i < rank; i++) {
        (void)fprintf(file, "%s%" PRId64, i == 0 ? "" : ", ", shape[i]);
    }
    (void)fputs("]}\n", file);
}

/* What a request brings. */
static void write_request(const struct workflow *workflow, FILE *file)
{
    (void)fputs(workflow->input_count == 0 ? "" : "inputs:\n", file);
    for (uint32_t i = 0; i < workflow->input_count; i++) {
        const struct workflow_input *input = &workflow->inputs[i];
        (void)fputs("  ", file);
        scalar_write_text(input->name, file);
        (void)fputs(": {", file);
        write_type(input->dtype, input->rank, input->shape, file);
    }
}

/* What a job gives back. */
static void write_results(
    const struct workflow *workflow, const struct catalogue *catalogue, FILE *file)
{
    (void)fputs(workflow->result_count == 0 ? "" : "outputs:\n", file);
    for (uint32_t i = 0; i < workflow->result_count; i++) {
        const struct workflow_result *result = &workflow->results[i];
        const uint32_t task = is_added(workflow, catalogue, result->task)
                                  ? workflow_in(workflow, result->task, 0)->from
                                  : result->task;
        (void)fputs("  ", file);
        if (result->is_declared) {
            scalar_write_text(result->name, file);
            (void)fputs(": {", file);
            write_reference("from", workflow->tasks[task].name, result->output, file);
            (void)fputs(", ", file);
            write_type(result->dtype, result->rank, result->shape, file);
        } else {
            write_reference(result->name, workflow->tasks[task].name, result->output, file);
            (void)fputc('\n', file);
        }
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
    if (workflow->priority > 0) {
        (void)fprintf(file, "priority: %" PRIu32 "\n", PRIORITY_MAX + 1 - workflow->priority);
    }
    if (workflow->input_bytes > 0) {
        (void)fputs("input: ", file);
        scalar_write_bytes(workflow->input_bytes, file);
        (void)fputc('\n', file);
    }
    write_request(workflow, file);
    (void)fputs("tasks:\n", file);
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        if (is_added(workflow, catalogue, i)) {
            continue;
        }
        (void)fprintf(file, "  %s: {", workflow->tasks[i].name);
        write_work(&workflow->tasks[i], catalogue, file);
        write_inputs(workflow, catalogue, i, file);
        write_gives(&workflow->tasks[i].gives, file);
        (void)fputs("}\n", file);
    }
    write_results(workflow, catalogue, file);
}
