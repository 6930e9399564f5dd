/*
 * What it is worth to choose how many rows run at a time: all rows in one call of the library, as
 * without a choice, beside one by one, and beside what the engine has found out.
 *
 *     bench_turns [model.onnx extents ...]
 *
 * Without arguments the model has eight matrix products of 1024 x 1024. A model that is named must
 * take one tensor of FP32; extents that it leaves open, beside the rows, are those that are given,
 * such as 48x640, with one table each. Processor time of the thread, the best of several in turn,
 * because others use the machine too. Answers must agree (onnx/rows.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "engine/monotonic.h"
#include "onnx/run.h"
#include "unit/onnx_writer.h"

enum { FORMS = 3, ROUNDS = 8, POINTS = 4, TRIALS = 14 };
enum { TOGETHER, ONE_BY_ONE, CHOSEN };

static const char *const names[FORMS] = {"together", "one by one", "as found out"};
static const uint32_t rows_of[POINTS] = {2, 4, 6, 8};

static struct onnx_model *load(const struct ort *ort, const char *path, uint32_t form)
{
    struct onnx_model *model;
    struct weft_error error;
    const struct onnx_options options = {
        .path = path,
        .name = path,
        .rows_max = form == ONE_BY_ONE ? 1 : 0,
        .has_turns = form == CHOSEN,
    };
    if (onnx_model_load(ort, &options, &model, &error) != WEFT_OK) {
        check(false, error.message);
    }
    atomic_store(&model->rows->rows, ROWS_APART);
    return model;
}

static struct weft_tensor make_input(
    const struct onnx_port *port, uint32_t rows, const char *extents)
{
    struct weft_tensor input = {.dtype = WEFT_FP32, .rank = port->rank};
    uint32_t noise = 1;
    memcpy(input.name, port->name, sizeof(input.name));
    input.shape[0] = rows;
    for (uint32_t i = 1; i < port->rank; i++) {
        char *end = NULL;
        input.shape[i] = port->shape[i] < 0 ? strtoll(extents, &end, 10) : port->shape[i];
        check(input.shape[i] > 0, "an extent is missing");
        extents = end == NULL ? extents : *end == 'x' ? end + 1 : end;
    }
    input.bytes = tensor_bytes(WEFT_FP32, input.rank, input.shape);
    input.data = malloc(input.bytes);
    check(input.data != NULL, "no memory");
    for (uint64_t i = 0; i < input.bytes / sizeof(float); i++) {
        noise = noise * 1664525 + 1013904223;
        ((float *)input.data)[i] = (float)(noise >> 8) / (1U << 23) - 1;
    }
    return input;
}

/* Milliseconds of a run; its output, which the caller owns. */
static double run(
    struct onnx_model *model, const struct weft_tensor *input, struct bundle **output_out)
{
    struct onnx_usage usage;
    struct onnx_task task = {.inputs = input, .input_count = 1};
    const int64_t start_ns = thread_ns();
    onnx_run(model, NULL, &task, 1, &usage);
    const int64_t taken_ns = thread_ns() - start_ns;
    check(task.output != NULL, task.error.message);
    *output_out = task.output;
    return (double)taken_ns * 1e-6;
}

static void measure(
    struct onnx_model *const models[FORMS], const struct weft_tensor *input, double best[FORMS])
{
    struct bundle *outputs[FORMS];
    for (uint32_t i = 0; i < TRIALS; i++) {
        (void)run(models[CHOSEN], input, &outputs[CHOSEN]);
        bundle_destroy(outputs[CHOSEN]);
    }
    for (uint32_t i = 0; i < ROUNDS; i++) {
        for (uint32_t k = 0; k < FORMS; k++) {
            const double taken = run(models[k], input, &outputs[k]);
            best[k] = i == 0 || taken < best[k] ? taken : best[k];
            const struct weft_tensor *made = &outputs[k]->tensors[0];
            check(
                memcmp(made->data, outputs[0]->tensors[0].data, made->bytes) == 0 ||
                    onnx_rows_agree(outputs[0], outputs[k]),
                "answers differ");
        }
        for (uint32_t k = 0; k < FORMS; k++) {
            bundle_destroy(outputs[k]);
        }
    }
}

static void bench(const struct ort *ort, const char *path, const char *extents)
{
    struct onnx_model *models[FORMS];
    double best[POINTS][FORMS];
    for (uint32_t k = 0; k < FORMS; k++) {
        models[k] = load(ort, path, k);
    }
    for (uint32_t i = 0; i < POINTS; i++) {
        struct weft_tensor input = make_input(&models[0]->inputs.items[0], rows_of[i], extents);
        measure(models, &input, best[i]);
        free(input.data);
    }
    (void)printf("%s %s: ms of processor time\n  rows        ", path, extents);
    for (uint32_t i = 0; i < POINTS; i++) {
        (void)printf(" %8u", rows_of[i]);
    }
    for (uint32_t k = 0; k < FORMS; k++) {
        (void)printf("\n  %-12s", names[k]);
        for (uint32_t i = 0; i < POINTS; i++) {
            (void)printf(" %8.2f", best[i][k]);
        }
        onnx_model_unload(models[k]);
    }
    (void)printf("\n  ratio       ");
    for (uint32_t i = 0; i < POINTS; i++) {
        (void)printf(" %8.2f", best[i][CHOSEN] / best[i][TOGETHER]);
    }
    (void)printf("\n");
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/weft-bench-XXXXXX";
    char path[64];
    const struct ort *ort;
    struct weft_error error;
    check(mkdtemp(folder) != NULL, "no folder");
    (void)snprintf(path, sizeof(path), "%s/products.onnx", folder);
    if (ort_open(&ort, &error) != WEFT_OK) {
        (void)printf("skipped: %s\n", error.message);
    } else if (argc < 3) {
        onnx_write_mlp(path, 1024, 8);
        bench(ort, path, "");
        check(unlink(path) == 0, "the model cannot be removed");
    } else {
        for (int i = 2; i < argc; i++) {
            bench(ort, argv[1], argv[i]);
        }
    }
    return rmdir(folder) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
