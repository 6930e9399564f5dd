#include "cli/check_repository.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "document/repository.h"
#include "model/builtin.h"
#include "model/dtype.h"
#include "service/served_repository.h"

static void on_problem(void *context, const char *message)
{
    (void)context;
    (void)fprintf(stderr, "%s\n", message);
}

/* Told before the rest is known to be good, and of less interest: to be said at the end. */
static void on_ignored(void *context, const char *path)
{
    FILE *ignored = context;
    (void)fprintf(ignored, "  %-9s %s\n", "ignored", path);
}

/* As a document has it: "FP32[-1,4]" */
static void print_type(enum weft_dtype dtype, uint32_t rank, const int64_t *shape)
{
    (void)printf("%s[", dtype_name(dtype));
    for (uint32_t i = 0; i < rank; i++) {
        (void)printf("%s%" PRId64, i == 0 ? "" : ",", shape[i]);
    }
    (void)putchar(']');
}

/* As its document has them. */
static uint32_t count_tasks(const struct workflow *workflow, const struct catalogue *catalogue)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        count += builtin_is_reserved(catalogue->models[workflow->tasks[i].run]) ? 0 : 1;
    }
    return count;
}

static void print_workflow(const struct workflow *workflow, const struct catalogue *catalogue)
{
    char slo[TEXT_SCALED_BYTES];
    const uint32_t count = count_tasks(workflow, catalogue);
    (void)printf(
        "  %-9s %s: %" PRIu32 " task%s", "workflow", workflow->name, count, count == 1 ? "" : "s");
    if (workflow->slo_ns > 0) {
        (void)printf(", SLO %s", text_duration(slo, workflow->slo_ns));
    }
    for (uint32_t i = 0; i < workflow->input_count; i++) {
        const struct workflow_input *input = &workflow->inputs[i];
        (void)printf("%s %s ", i == 0 ? "; takes" : ",", input->name);
        print_type(input->dtype, input->rank, input->shape);
    }
    for (uint32_t i = 0; i < workflow->result_count; i++) {
        const struct workflow_result *result = &workflow->results[i];
        (void)printf("%s %s", i == 0 ? "; gives" : ",", result->name);
        if (result->is_declared) {
            (void)putchar(' ');
            print_type(result->dtype, result->rank, result->shape);
        }
    }
    (void)putchar('\n');
}

static void print_file(const char *name, const struct repository_file *file)
{
    char bytes[TEXT_SCALED_BYTES];
    switch (file->kind) {
    case REPOSITORY_BUILTIN:
        return;
    case REPOSITORY_MODEL:
        (void)printf("  %-9s %s: version %" PRIu32, "model", name, file->version);
        if (file->path != NULL) {
            (void)printf(", %s", text_bytes(bytes, file->bytes));
        }
        if (file->cuda != NULL) {
            (void)printf(", for GPUs %s", text_bytes(bytes, file->cuda_bytes));
        }
        (void)putchar('\n');
        return;
    case REPOSITORY_FUNCTION:
        (void)printf("  %-9s %s: %s\n", "function", name, file->path);
        return;
    }
}

static void copy_out(FILE *from)
{
    char line[512];
    rewind(from);
    while (fgets(line, sizeof(line), from) != NULL) {
        (void)fputs(line, stdout);
    }
}

bool check_repository(const char *folder)
{
    struct repository *repository = NULL;
    FILE *ignored = tmpfile();
    const struct repository_listener listener = {
        .on_problem = on_problem,
        .on_ignored = ignored == NULL ? NULL : on_ignored,
        .context = ignored,
    };
    const bool is_good = repository_load(folder, &listener, &repository, NULL) == WEFT_OK &&
                         served_repository_check(repository, &listener);
    if (is_good) {
        (void)printf("%s: repository ok\n", folder);
        for (uint32_t i = 0; i < repository->written; i++) {
            print_workflow(repository->catalogue->workflows[i], repository->catalogue);
        }
        for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
            print_file(repository->catalogue->models[i], &repository->files[i]);
        }
        if (ignored != NULL) {
            copy_out(ignored);
        }
    }
    if (ignored != NULL) {
        (void)fclose(ignored); /* It is not read again. */
    }
    repository_destroy(repository);
    return is_good;
}
