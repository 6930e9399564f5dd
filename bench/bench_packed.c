/*
 * What packed weights are worth: a model whose weights are packed once and kept in a file, beside
 * the same model with its weights as they are, made again at every load.
 *
 *     bench_packed [model.onnx ...]
 *
 * Without arguments the model has eight matrix products of 1024 x 1024. Processor time of the
 * thread, the best of several in turn, because others use the machine too. A model that is named
 * must take one tensor of FP32; extents that it leaves open are 1 but for the rows, which are as
 * many as run within a twentieth of a second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "onnx/run.h"
#include "unit/onnx_writer.h"

enum { FORMS = 2, ROUNDS = 12, POINTS = 4, LONG_MS = 50 };
enum { UNPACKED, PACKED };

static const char *const names[FORMS] = {"as they are", "packed, kept"};
static const uint32_t rows_of[POINTS] = {1, 2, 8, 32};

/* A model in one of its forms, and the least milliseconds of what it does. */
struct form {
    struct onnx_options options;
    struct onnx_digest digest;
    struct onnx_model *model;
    double made;  /* The first load, with all files there. */
    double load;  /* Later ones, */
    double first; /* with the first run after them; */
    double runs[POINTS];
};

static double cpu_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void keep_least(double *best, double value)
{
    *best = *best == 0 || value < *best ? value : *best;
}

static void load(const struct ort *ort, struct form *form)
{
    struct weft_error error;
    if (onnx_model_load(ort, &form->options, &form->model, &error) != WEFT_OK) {
        check(false, error.message);
    }
}

/* Evict the model and bring it back: made again, or woken if that is how it is kept. */
static void load_again(const struct ort *ort, struct form *form)
{
    const bool sleeps = form->options.is_unpacked ? false : onnx_model_sleep(form->model);
    if (!sleeps) {
        onnx_model_unload(form->model);
    }
    const double start = cpu_ms();
    if (sleeps) {
        onnx_model_wake(form->model);
    } else {
        load(ort, form);
    }
    keep_least(&form->load, cpu_ms() - start);
}

/* Milliseconds of a run of @rows rows; 0 if the model does not take so many. */
static double run(const struct form *form, uint32_t rows)
{
    const struct onnx_port *port = &form->model->inputs.items[0];
    struct weft_tensor input = {.dtype = WEFT_FP32, .rank = port->rank};
    struct onnx_usage usage;
    (void)snprintf(input.name, sizeof(input.name), "%s", port->name);
    for (uint32_t i = 0; i < port->rank; i++) {
        input.shape[i] = port->shape[i] < 0 ? 1 : port->shape[i];
    }
    if (rows > 1 && port->shape[0] >= 0) {
        return 0;
    }
    input.shape[0] = port->shape[0] < 0 ? rows : port->shape[0];
    input.bytes = tensor_bytes(WEFT_FP32, input.rank, input.shape);
    input.data = calloc(input.bytes, 1);
    check(input.data != NULL, "no memory");
    struct onnx_task task = {.inputs = &input, .input_count = 1};
    const double start = cpu_ms();
    onnx_run(form->model, NULL, &task, 1, &usage);
    const double taken = cpu_ms() - start;
    check(task.output != NULL, task.error.message);
    bundle_destroy(task.output);
    free(input.data);
    return taken;
}

static void measure(const struct ort *ort, struct form forms[FORMS])
{
    for (uint32_t i = 0; i < 2 * FORMS; i++) { /* Twice: the first ones write the files. */
        struct form *form = &forms[i % FORMS];
        onnx_model_unload(form->model);
        const double start = cpu_ms();
        load(ort, form);
        form->made = cpu_ms() - start;
    }
    for (uint32_t i = 0; i < ROUNDS * FORMS; i++) {
        struct form *form = &forms[i % FORMS];
        load_again(ort, form);
        keep_least(&form->first, run(form, 1));
        for (uint32_t k = 0; k < POINTS; k++) {
            if (k > 0 && (form->runs[k - 1] == 0 || form->runs[k - 1] > LONG_MS)) {
                break;
            }
            keep_least(&form->runs[k], run(form, rows_of[k]));
        }
    }
}

static void print(const char *what, const struct form forms[FORMS])
{
    const struct form *old = &forms[UNPACKED];
    (void)printf("%s, ms of processor time\n", what);
    (void)printf("  weights        made    load   first");
    for (uint32_t k = 0; k < POINTS; k++) {
        (void)printf("  %2u rows", rows_of[k]);
    }
    for (uint32_t i = 0; i < FORMS; i++) {
        (void)printf(
            "\n  %-12s %6.2f  %6.2f  %6.2f", names[i], forms[i].made, forms[i].load,
            forms[i].first);
        for (uint32_t k = 0; k < POINTS && forms[i].runs[k] > 0; k++) {
            (void)printf("  %7.2f", forms[i].runs[k]);
        }
    }
    (void)printf(
        "\n  ratio        %6.2f  %6.2f  %6.2f", forms[PACKED].made / old->made,
        forms[PACKED].load / old->load, forms[PACKED].first / old->first);
    for (uint32_t k = 0; k < POINTS && old->runs[k] > 0 && forms[PACKED].runs[k] > 0; k++) {
        (void)printf("  %7.2f", forms[PACKED].runs[k] / old->runs[k]);
    }
    (void)printf("\n");
}

static void bench(const struct ort *ort, const char *path, const char *folder)
{
    struct form forms[FORMS];
    memset(forms, 0, sizeof(forms));
    for (uint32_t i = 0; i < FORMS; i++) {
        forms[i].options = (struct onnx_options){
            .path = path,
            .name = path,
            .folder = folder,
            .is_unpacked = i == UNPACKED,
            .digest = &forms[i].digest,
        };
    }
    measure(ort, forms);
    print(path, forms);
    for (uint32_t i = 0; i < FORMS; i++) {
        onnx_model_unload(forms[i].model);
    }
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/weft-bench-XXXXXX";
    char path[64];
    char command[64];
    const struct ort *ort;
    struct weft_error error;
    check(mkdtemp(folder) != NULL, "no folder");
    if (ort_open(&ort, &error) != WEFT_OK) {
        (void)printf("skipped: %s\n", error.message);
    } else if (argc == 1) {
        (void)snprintf(path, sizeof(path), "%s/products.onnx", folder);
        onnx_write_mlp(path, 1024, 8);
        bench(ort, path, folder);
    } else {
        for (int i = 1; i < argc; i++) {
            bench(ort, argv[i], folder);
        }
    }
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
