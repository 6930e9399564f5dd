#include "cli/check_repository.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "document/repository.h"
#include "model/builtin.h"
#include "model/dtype.h"
#include "service/repository_check.h"

enum { TENSORS_SHOWN = 8 }; /* Inputs, or outputs, of one model. */

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

/* The processor time of a request of one item, if all of it was measured here; 0 if not. */
static int64_t request_ns(const struct workflow *workflow, const struct measured *measured)
{
    const struct profile *profile = measured->document.profile;
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const uint32_t run = workflow->tasks[i].run;
        if (measured->repository->files[run].kind == REPOSITORY_BUILTIN) {
            continue;
        }
        if (!profile_is_measured(profile, run, /* device */ 0)) {
            return 0;
        }
        sum_ns += profile_run_alone_ns(profile, run, /* device */ 0, /* items */ 1);
    }
    return sum_ns;
}

/* What the workers here can carry. */
static void print_capacity(const struct workflow *workflow, const struct measured *measured)
{
    const int64_t sum_ns = request_ns(workflow, measured);
    const uint32_t worker_count = measured->fleet->worker_count;
    if (sum_ns > 0) {
        (void)printf(
            "%12s%.3g ms per request of one item: at most %.4g/s on %" PRIu32
            " workers, without batches\n",
            "", (double)sum_ns / 1e6, 1e9 * worker_count / (double)sum_ns, worker_count);
    }
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

/* On lines below the model's: models may have dozens. */
static void print_tensors(const char *verb, const struct workflow_input *tensors, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < TENSORS_SHOWN; i++) {
        if (i == 0) {
            (void)printf("\n%12s%s ", "", verb);
        }
        (void)printf("%s%s ", i == 0 ? "" : ", ", tensors[i].name);
        if (tensors[i].is_any_rank) {
            (void)printf("%s of any rank", dtype_name(tensors[i].dtype));
        } else {
            print_type(tensors[i].dtype, tensors[i].rank, tensors[i].shape);
        }
    }
    if (count > TENSORS_SHOWN) {
        (void)printf(" and %" PRIu32 " more", count - TENSORS_SHOWN);
    }
}

/* What a model takes and gives, and why it is never batched, as it was seen. */
static void print_look(const struct measure_look *look)
{
    const struct measure_signature *signature = &look->signature;
    print_tensors("takes", signature->inputs, signature->input_count);
    print_tensors("gives", signature->outputs, signature->output_count);
    if (look->alone[0] != '\0') {
        (void)printf("\n%12snever batched: %s", "", look->alone);
    }
    if (look->fault[0] != '\0') {
        (void)printf("\n%12snot here: %s", "", look->fault);
    }
}

static void print_file(
    const char *name, const struct repository_file *file, const struct measure_look *look)
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
        if (look != NULL) {
            print_look(look);
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

static void print(const struct repository *repository, const struct checked_repository *checked)
{
    const struct catalogue *catalogue = repository->catalogue;
    (void)printf("%s: repository ok\n", repository->folder);
    for (uint32_t i = 0; i < repository->written; i++) {
        print_workflow(catalogue->workflows[i], catalogue);
        if (checked->has_looked) {
            print_capacity(catalogue->workflows[i], &checked->measured);
        }
    }
    for (uint32_t i = 0; i < catalogue->model_count; i++) {
        print_file(
            catalogue->models[i], &repository->files[i],
            checked->has_looked ? &checked->measured.looks[i] : NULL);
    }
    if (!checked->has_looked) {
        (void)printf("  %-9s models were not loaded: %s\n", "note", checked->cause.message);
    }
}

bool check_repository(const char *folder)
{
    struct repository *repository = NULL;
    struct checked_repository checked = {.is_good = false};
    FILE *ignored = tmpfile();
    const struct repository_listener listener = {
        .on_problem = on_problem,
        .on_ignored = ignored == NULL ? NULL : on_ignored,
        .context = ignored,
    };
    if (repository_load(folder, &listener, &repository, NULL) == WEFT_OK) {
        repository_check(repository, &listener, &checked);
    }
    if (checked.is_good) {
        print(repository, &checked);
    }
    if (checked.is_good && ignored != NULL) {
        copy_out(ignored);
    }
    if (ignored != NULL) {
        (void)fclose(ignored); /* It is not read again. */
    }
    repository_check_close(&checked);
    repository_destroy(repository);
    return checked.is_good;
}
