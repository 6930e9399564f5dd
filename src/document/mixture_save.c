#include <inttypes.h>
#include <math.h>

#include "base/assert.h"
#include "document/mixture_document.h"
#include "document/scalar_save.h"
#include "mixture/mixture.h"
#include "model/catalogue.h"

#define NS_PER_MS 1e6

/* Names have no character that JSON would have to escape. */
struct writer {
    FILE *file;
    uint32_t indent;
};

static void new_line(const struct writer *writer, uint32_t more)
{
    (void)fputc('\n', writer->file);
    for (uint32_t i = 0; i < writer->indent + more; i++) {
        (void)fputc(' ', writer->file);
    }
}

/* A prediction that nobody made, or that has no end, is left out. */
static void write_mean(const struct writer *writer, uint32_t more, double mean_ns)
{
    if (mean_ns > 0 && isfinite(mean_ns)) {
        new_line(writer, more);
        (void)fputs("\"mean_ms\": ", writer->file);
        scalar_write_number(mean_ns / NS_PER_MS, writer->file);
        (void)fputc(',', writer->file);
    }
}

static void write_patterns(const struct writer *writer, const struct mixture_workflow *mixed)
{
    const char *comma = "";

    for (uint32_t i = 0; i < mixed->pattern_count; i++) {
        const uint16_t *placement = mixed->placements + (size_t)i * mixed->task_count;
        if (!(mixed->weights[i] > 0)) {
            continue;
        }
        (void)fputs(comma, writer->file);
        new_line(writer, 8);
        (void)fputs("{\"weight\": ", writer->file);
        scalar_write_number(mixed->weights[i], writer->file);
        (void)fputs(", \"workers\": [", writer->file);
        for (uint32_t task = 0; task < mixed->task_count; task++) {
            (void)fprintf(writer->file, "%s%u", task == 0 ? "" : ", ", placement[task]);
        }
        (void)fputs("]}", writer->file);
        comma = ",";
    }
}

static void write_workflow(
    const struct writer *writer, const struct mixture_workflow *mixed,
    const struct workflow *workflow)
{
    (void)fprintf(writer->file, "\"%s\": {", workflow->name);
    new_line(writer, 6);
    (void)fputs("\"rate_per_s\": ", writer->file);
    scalar_write_number(mixed->rate_per_s, writer->file);
    (void)fputc(',', writer->file);
    write_mean(writer, 6, mixed->mean_ns);
    new_line(writer, 6);
    (void)fputs("\"tasks\": [", writer->file);
    for (uint32_t task = 0; task < workflow->task_count; task++) {
        (void)fprintf(writer->file, "%s\"%s\"", task == 0 ? "" : ", ", workflow->tasks[task].name);
    }
    (void)fputs("],", writer->file);
    new_line(writer, 6);
    (void)fputs("\"patterns\": [", writer->file);
    write_patterns(writer, mixed);
    new_line(writer, 6);
    (void)fputc(']', writer->file);
    new_line(writer, 4);
    (void)fputc('}', writer->file);
}

static void write_loads(
    const struct writer *writer, const char *key, const double *loads, uint32_t count)
{
    (void)fputc(',', writer->file);
    new_line(writer, 2);
    (void)fprintf(writer->file, "\"%s\": [", key);
    for (uint32_t i = 0; i < count; i++) {
        (void)fputs(i == 0 ? "" : ", ", writer->file);
        scalar_write_number(loads[i], writer->file);
    }
    (void)fputc(']', writer->file);
}

void mixture_write(
    const struct mixture *mixture, const struct catalogue *catalogue, uint32_t indent, FILE *file)
{
    const struct writer writer = {.file = file, .indent = indent};
    const char *comma = "";

    ASSERT(mixture->sealed);
    (void)fputc('{', file);
    new_line(&writer, 2);
    (void)fprintf(file, "\"weft_mixture\": %d,", MIXTURE_VERSION);
    write_mean(&writer, 2, mixture->mean_ns);
    new_line(&writer, 2);
    (void)fputs("\"workflows\": {", file);
    for (uint32_t i = 0; i < mixture->workflow_count; i++) {
        if (mixture_has(mixture, i)) {
            (void)fputs(comma, file);
            new_line(&writer, 4);
            write_workflow(&writer, &mixture->workflows[i], catalogue->workflows[i]);
            comma = ",";
        }
    }
    new_line(&writer, 2);
    (void)fputc('}', file);
    write_loads(&writer, "workers", mixture->worker_load, mixture->worker_count);
    write_loads(&writer, "links", mixture->link_load, mixture->link_count);
    new_line(&writer, 0);
    (void)fputs("}\n", file);
}
