/*
 * Tasks share runs where they can, fail alone where they cannot, and memory is counted.
 *
 * Covers: src/onnx/run.c, src/onnx/bind.c, src/onnx/call.c,
 * src/onnx/parts.c, src/onnx/rows.c, src/onnx/texts.c, src/onnx/maps.c,
 * src/onnx/turns.c, src/onnx/ort_memory.c
 */
#include "unit/onnx_fixture.h"

#include <math.h>
#include <pthread.h>

#include "base/attributes.h"
#include "onnx/ort_memory.h"

/* A task of one input x of @rows rows and @columns columns. */
struct fed {
    float data[256];
    struct weft_tensor input;
};

static struct onnx_task feed(struct fed *fed, int64_t rows, int64_t columns, float first)
{
    const int64_t shape[2] = {rows, columns};
    for (int64_t i = 0; i < rows * columns; i++) {
        fed->data[i] = i % 2 == 0 ? first + (float)i : -first;
    }
    fed->input = fixture_floats("x", 2, shape, fed->data);
    return (struct onnx_task){.inputs = &fed->input, .input_count = 1};
}

static void assert_relu(const struct onnx_task *task, const struct fed *fed)
{
    assert_int_equal(task->error.status, WEFT_OK);
    assert_non_null(task->output);
    const struct weft_tensor *y = bundle_find(task->output, "y");
    assert_non_null(y);
    assert_int_equal(y->rank, 2);
    assert_int_equal(y->shape[0], fed->input.shape[0]);
    assert_int_equal(y->shape[1], fed->input.shape[1]);
    assert_int_equal(y->bytes, fed->input.bytes);
    assert_int_equal(task->output->items, fed->input.shape[0]);
    for (uint64_t i = 0; i < y->bytes / sizeof(float); i++) {
        const float wanted = fed->data[i] > 0 ? fed->data[i] : 0;
        assert_true(((const float *)y->data)[i] == wanted);
    }
}

static void tasks_share_a_run(ATTR_UNUSED void **state)
{
    struct fed fed[3];
    struct onnx_usage usage;
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    struct onnx_model *model = fixture_load("relu.onnx", 0);
    struct onnx_task tasks[3] = {
        feed(&fed[0], 2, 4, 1), feed(&fed[1], 1, 4, 10), feed(&fed[2], 5, 4, 100)};
    onnx_run(model, NULL, tasks, 3, &usage);
    for (uint32_t i = 0; i < 3; i++) {
        assert_relu(&tasks[i], &fed[i]);
        bundle_destroy(tasks[i].output);
    }
    assert_int_equal(usage.run_count, 1);
    assert_int_equal(usage.rows_most, 8);
    assert_true(usage.workspace_bytes >= 2 * 8 * 4 * sizeof(float)); /* Inputs and outputs. */
    assert_int_equal(usage.left_bytes, 0);
    onnx_model_unload(model);
}

static void runs_have_at_most_so_many_rows(ATTR_UNUSED void **state)
{
    struct fed fed[3];
    struct onnx_usage usage;
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    struct onnx_model *model = fixture_load("relu.onnx", 3);
    struct onnx_task tasks[3] = {
        feed(&fed[0], 2, 4, 1), feed(&fed[1], 1, 4, 10), feed(&fed[2], 5, 4, 100)};
    onnx_run(model, NULL, tasks, 3, &usage);
    for (uint32_t i = 0; i < 3; i++) {
        assert_relu(&tasks[i], &fed[i]);
        bundle_destroy(tasks[i].output);
    }
    assert_int_equal(usage.run_count, 3);
    assert_int_equal(usage.rows_most, 3);
    onnx_model_unload(model);
}

/* Each thread has a part of all rows, which need not be all rows of one task. */
static void rows_are_split_into_parts(ATTR_UNUSED void **state)
{
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    struct onnx_model *model = fixture_load("relu.onnx", 0);
    for (uint32_t parts = 1; parts < 12; parts++) {
        struct fed fed[2];
        struct onnx_usage usage;
        struct onnx_task tasks[2] = {feed(&fed[0], 3, 4, 1), feed(&fed[1], 5, 4, 10)};
        onnx_run_split(model, NULL, tasks, 2, parts, &usage);
        for (uint32_t i = 0; i < 2; i++) {
            assert_relu(&tasks[i], &fed[i]);
            bundle_destroy(tasks[i].output);
        }
        const uint32_t turns = parts == 1 ? 1 : parts * 3 < 8 ? parts * 3 : 8;
        const uint32_t runs = (8 + (8 + turns - 1) / turns - 1) / ((8 + turns - 1) / turns);
        assert_in_range(usage.run_count, runs, runs + 2); /* The first time each runs alone. */
        assert_int_equal(usage.left_bytes, 0);

        struct onnx_task alone = feed(&fed[0], 7, 4, 1);
        onnx_run_split(model, NULL, &alone, 1, parts, &usage);
        assert_relu(&alone, &fed[0]);
        bundle_destroy(alone.output);
        assert_int_equal(usage.run_count, parts == 1 ? 1 : parts == 2 ? 4 : 7);
        assert_int_equal(usage.rows_most, parts == 1 ? 7 : parts == 2 ? 2 : 1);
    }
    onnx_model_unload(model);
}

static void parts_have_at_most_so_many_rows(ATTR_UNUSED void **state)
{
    struct fed fed;
    struct onnx_usage usage;
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    struct onnx_model *model = fixture_load("relu.onnx", 3);
    struct onnx_task task = feed(&fed, 60, 4, 1);
    onnx_run_split(model, NULL, &task, 1, 2, &usage);
    assert_relu(&task, &fed);
    bundle_destroy(task.output);
    assert_int_equal(usage.run_count, 20); /* Six turns would be of ten rows. */
    assert_int_equal(usage.rows_most, 3);
    onnx_model_unload(model);
}

static void a_cancelled_run_fails_in_all_its_parts(ATTR_UNUSED void **state)
{
    struct fed fed;
    struct onnx_usage usage;
    struct OrtRunOptions *options = NULL;
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    struct onnx_model *model = fixture_load("relu.onnx", 0);
    const struct ort *ort = model->ort;
    assert_null(ort->api.CreateRunOptions(&options));
    assert_null(ort->api.RunOptionsSetTerminate(options));
    struct onnx_task task = feed(&fed, 10, 4, 1);
    onnx_run_split(model, options, &task, 1, 5, &usage);
    assert_null(task.output);
    assert_int_not_equal(task.error.status, WEFT_OK);
    ort->api.ReleaseRunOptions(options);
    onnx_model_unload(model);
}

static void a_model_of_one_row_runs_for_each(ATTR_UNUSED void **state)
{
    struct fed fed[2];
    struct onnx_usage usage;
    onnx_write_relu(fixture_path("one.onnx"), 1);
    struct onnx_model *model = fixture_load("one.onnx", 0);
    struct onnx_task tasks[2] = {feed(&fed[0], 4, 4, 1), feed(&fed[1], 1, 4, 10)};
    onnx_run(model, NULL, tasks, 2, &usage);
    for (uint32_t i = 0; i < 2; i++) {
        assert_relu(&tasks[i], &fed[i]);
        bundle_destroy(tasks[i].output);
    }
    assert_int_equal(usage.run_count, 5);
    onnx_model_unload(model);
}

static void shapes_that_differ_run_apart(ATTR_UNUSED void **state)
{
    struct fed fed[4];
    struct onnx_usage usage;
    struct onnx_writer writer;
    const int64_t open[2] = {-1, -2};
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, open);
    onnx_writer_node(&writer, "Relu", "x", NULL, "y");
    onnx_writer_output(&writer, "y", ONNX_FLOAT, 2, open);
    onnx_writer_finish(&writer, fixture_path("open.onnx"));
    struct onnx_model *model = fixture_load("open.onnx", 0);
    struct onnx_task tasks[4] = {
        feed(&fed[0], 2, 4, 1), feed(&fed[1], 2, 5, 10), feed(&fed[2], 1, 4, 100),
        feed(&fed[3], 1, 5, 1000)};
    onnx_run(model, NULL, tasks, 4, &usage);
    for (uint32_t i = 0; i < 4; i++) {
        assert_relu(&tasks[i], &fed[i]);
        bundle_destroy(tasks[i].output);
    }
    assert_int_equal(usage.run_count, 2);
    onnx_model_unload(model);
}

static void a_wrong_task_fails_alone_and_says_why(ATTR_UNUSED void **state)
{
    struct fed fed[5];
    struct onnx_usage usage;
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    struct onnx_model *model = fixture_load("relu.onnx", 0);
    struct onnx_task tasks[5] = {
        feed(&fed[0], 2, 4, 1), feed(&fed[1], 2, 5, 10), feed(&fed[2], 1, 4, 100),
        feed(&fed[3], 1, 4, 7), feed(&fed[4], 2, 4, 8)};
    fed[2].input.dtype = WEFT_INT32;
    memcpy(fed[3].input.name, "z", 2);
    fed[4].input.rank = 3;
    fed[4].input.shape[2] = 1;
    onnx_run(model, NULL, tasks, 5, &usage);
    assert_relu(&tasks[0], &fed[0]);
    bundle_destroy(tasks[0].output);
    static const char *const wanted[5] = {
        NULL, "model 'relu.onnx': input 'x' wants FP32 [?,4], and is given FP32 [2,5]",
        "model 'relu.onnx': input 'x' wants FP32 [?,4], and is given INT32 [1,4]",
        "model 'relu.onnx': input 'x' (FP32 [?,4]) is not given",
        "model 'relu.onnx': input 'x' wants FP32 [?,4], and is given FP32 [2,4,1]"};
    for (uint32_t i = 1; i < 5; i++) {
        assert_null(tasks[i].output);
        assert_int_equal(tasks[i].error.status, i == 3 ? WEFT_NOT_FOUND : WEFT_INVALID);
        assert_string_equal(tasks[i].error.message, wanted[i]);
    }
    onnx_model_unload(model);
}

static void two_inputs_go_together(ATTR_UNUSED void **state)
{
    static const float ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const float ramp[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    struct onnx_usage usage;
    onnx_write_add(fixture_path("add.onnx"));
    struct onnx_model *model = fixture_load("add.onnx", 0);
    const int64_t one[2] = {1, 3};
    const int64_t two[2] = {2, 3};
    /* The order of inputs is the task's own, and what the model does not know is left alone. */
    const struct weft_tensor first[3] = {
        fixture_floats("y", 2, one, ramp), fixture_floats("other", 2, two, ones),
        fixture_floats("x", 2, one, ones)};
    const struct weft_tensor second[2] = {
        fixture_floats("x", 2, two, ramp + 3), fixture_floats("y", 2, two, ones)};
    const struct weft_tensor uneven[2] = {
        fixture_floats("x", 2, two, ramp), fixture_floats("y", 2, one, ones)};
    struct onnx_task tasks[3] = {
        {.inputs = first, .input_count = 3},
        {.inputs = second, .input_count = 2},
        {.inputs = uneven, .input_count = 2}};
    onnx_run(model, NULL, tasks, 3, &usage);
    assert_int_equal(usage.run_count, 1);
    const float *z = bundle_find(tasks[0].output, "z")->data;
    assert_true(z[0] == 1 && z[2] == 3);
    z = bundle_find(tasks[1].output, "z")->data;
    assert_true(z[0] == 4 && z[5] == 9);
    assert_null(tasks[2].output);
    assert_string_equal(
        tasks[2].error.message, "model 'add.onnx': input 'y' has 1 rows, and 'x' has 2");
    bundle_destroy(tasks[0].output);
    bundle_destroy(tasks[1].output);
    onnx_model_unload(model);
}

static void no_rows_give_no_rows(ATTR_UNUSED void **state)
{
    struct fed fed[2];
    struct onnx_usage usage;
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    struct onnx_model *model = fixture_load("relu.onnx", 0);
    struct onnx_task tasks[2] = {feed(&fed[0], 0, 4, 1), feed(&fed[1], 2, 4, 1)};
    onnx_run(model, NULL, tasks, 2, &usage);
    assert_relu(&tasks[0], &fed[0]);
    assert_relu(&tasks[1], &fed[1]);
    assert_int_equal(usage.run_count, 1);
    bundle_destroy(tasks[0].output);
    bundle_destroy(tasks[1].output);
    onnx_model_unload(model);
}

/* Rows that are not there have a size all the same. */
static void no_rows_keep_their_size(ATTR_UNUSED void **state)
{
    struct fed fed[2];
    struct onnx_usage usage;
    struct onnx_writer writer;
    const int64_t open[2] = {-1, -2};
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, open);
    onnx_writer_node(&writer, "Relu", "x", NULL, "y");
    onnx_writer_output(&writer, "y", ONNX_FLOAT, 2, open);
    onnx_writer_finish(&writer, fixture_path("open.onnx"));
    struct onnx_model *model = fixture_load("open.onnx", 0);
    struct onnx_task tasks[2] = {feed(&fed[0], 0, 3, 1), feed(&fed[1], 2, 3, 10)};
    onnx_run(model, NULL, tasks, 2, &usage);
    for (uint32_t i = 0; i < 2; i++) {
        assert_relu(&tasks[i], &fed[i]);
        bundle_destroy(tasks[i].output);
    }
    assert_true(model->has_rows);
    onnx_model_unload(model);
}

/* What comes out shows that these are no rows of the input: one for each value but zero. */
static void a_model_without_rows_is_found_out(ATTR_UNUSED void **state)
{
    struct fed fed[2];
    struct onnx_usage usage;
    struct onnx_writer writer;
    const int64_t open[2] = {-1, 4};
    const int64_t made[2] = {-1, 2};
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, open);
    onnx_writer_node(&writer, "NonZero", "x", NULL, "columns");
    onnx_writer_node(&writer, "Transpose", "columns", NULL, "y");
    onnx_writer_output(&writer, "y", ONNX_INT64, 2, made);
    onnx_writer_finish(&writer, fixture_path("nonzero.onnx"));
    struct onnx_model *model = fixture_load("nonzero.onnx", 0);
    assert_true(model->has_rows);
    for (uint32_t round = 0; round < 2; round++) {
        struct onnx_task tasks[2] = {feed(&fed[0], 1, 4, 1), feed(&fed[1], 3, 4, 10)};
        onnx_run(model, NULL, tasks, 2, &usage);
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(tasks[i].error.status, WEFT_OK);
            const struct weft_tensor *y = bundle_find(tasks[i].output, "y");
            assert_int_equal(y->dtype, WEFT_INT64);
            assert_int_equal(y->shape[0], fed[i].input.shape[0] * 4);
            assert_int_equal(y->shape[1], 2);
            bundle_destroy(tasks[i].output);
        }
        assert_int_equal(usage.run_count, round == 0 ? 3 : 2); /* Once in vain. */
        assert_false(model->has_rows);
    }
    onnx_model_unload(model);
}

/* A run that fails for the data of one task takes no other with it: Gather outside of a table. */
static void a_run_that_fails_is_taken_apart(ATTR_UNUSED void **state)
{
    static const float table[3] = {10, 20, 30};
    static int64_t good[2] = {2, 0};
    static int64_t bad[1] = {7};
    struct onnx_usage usage;
    struct onnx_writer writer;
    const int64_t open[1] = {-1};
    onnx_writer_start(&writer);
    onnx_writer_floats(&writer, "table", 1, (const int64_t[]){3}, table);
    onnx_writer_input(&writer, "x", ONNX_INT64, 1, open);
    onnx_writer_node(&writer, "Gather", "table", "x", "y");
    onnx_writer_output(&writer, "y", ONNX_FLOAT, 1, open);
    onnx_writer_finish(&writer, fixture_path("gather.onnx"));
    struct onnx_model *model = fixture_load("gather.onnx", 0);
    struct weft_tensor inputs[2] = {
        {.name = "x", .dtype = WEFT_INT64, .rank = 1, .shape = {2}, .bytes = 16, .data = good},
        {.name = "x", .dtype = WEFT_INT64, .rank = 1, .shape = {1}, .bytes = 8, .data = bad}};
    struct onnx_task tasks[2] = {
        {.inputs = &inputs[0], .input_count = 1}, {.inputs = &inputs[1], .input_count = 1}};
    onnx_run(model, NULL, tasks, 2, &usage);
    assert_int_equal(usage.run_count, 3);
    const float *y = bundle_find(tasks[0].output, "y")->data;
    assert_true(y[0] == 30 && y[1] == 10);
    assert_null(tasks[1].output);
    assert_int_equal(tasks[1].error.status, WEFT_FAILED);
    assert_non_null(strstr(tasks[1].error.message, "model 'gather.onnx': "));
    bundle_destroy(tasks[0].output);
    onnx_model_unload(model);
}

static void a_cancelled_run_fails(ATTR_UNUSED void **state)
{
    struct fed fed;
    struct onnx_usage usage;
    const struct ort *ort = fixture_ort();
    struct OrtRunOptions *options = NULL;
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    struct onnx_model *model = fixture_load("relu.onnx", 0);
    assert_null(ort->api.CreateRunOptions(&options));
    assert_null(ort->api.RunOptionsSetTerminate(options));
    struct onnx_task task = feed(&fed, 1, 4, 1);
    onnx_run(model, options, &task, 1, &usage);
    assert_null(task.output);
    assert_int_equal(task.error.status, WEFT_FAILED);
    assert_null(ort->api.RunOptionsUnsetTerminate(options));
    onnx_run(model, options, &task, 1, &usage);
    assert_relu(&task, &fed);
    bundle_destroy(task.output);
    ort->api.ReleaseRunOptions(options);
    onnx_model_unload(model);
}

static void workspace_is_measured(ATTR_UNUSED void **state)
{
    enum { WIDTH = 64, ROWS = 1024 };
    static float data[ROWS * WIDTH];
    struct onnx_usage usage;
    onnx_write_mlp(fixture_path("mlp.onnx"), WIDTH, 3);
    struct onnx_model *model = fixture_load("mlp.onnx", 0);
    const uint64_t layer_bytes = sizeof(data);
    for (uint32_t round = 0; round < 3; round++) {
        const struct weft_tensor input =
            fixture_floats("x", 2, (const int64_t[]){ROWS, WIDTH}, data);
        struct onnx_task task = {.inputs = &input, .input_count = 1};
        onnx_run(model, NULL, &task, 1, &usage);
        assert_int_equal(task.error.status, WEFT_OK);
        bundle_destroy(task.output);
        assert_true(usage.workspace_bytes >= layer_bytes); /* The output, at least. */
        assert_true(usage.workspace_bytes <= 8 * layer_bytes);
        assert_int_equal(usage.left_bytes, 0);
    }
    assert_true(ort_memory_kept_bytes() >= layer_bytes);
    assert_true(ort_memory_kept_bytes() <= ORT_MEMORY_KEPT_MAX);
    ort_memory_trim();
    assert_true(ort_memory_kept_bytes() >= layer_bytes); /* Used since the trim before. */
    ort_memory_trim();
    assert_int_equal(ort_memory_kept_bytes(), 0);
    onnx_model_unload(model);
}

enum { THREADS = 3, ROUNDS = 200 };

static void *run_many(void *model)
{
    struct fed fed;
    struct onnx_usage usage;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct onnx_task task = feed(&fed, 3, 4, (float)i + 1);
        onnx_run(model, NULL, &task, 1, &usage);
        assert_relu(&task, &fed);
        bundle_destroy(task.output);
    }
    return NULL;
}

static void threads_share_a_model(ATTR_UNUSED void **state)
{
    pthread_t threads[THREADS];
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    struct onnx_model *model = fixture_load("relu.onnx", 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, model), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    onnx_model_unload(model);
}

/* y = x less the mean of all rows; or, with @first and @second, any two operators, with extents of
 * two names. */
static void write_two(const char *path, const char *first, const char *second, int64_t rows)
{
    struct onnx_writer writer;
    const int64_t shape[2] = {-1, 4};
    const int64_t output[2] = {rows, 4};
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, shape);
    onnx_writer_node(&writer, first, "x", NULL, "a");
    onnx_writer_node(&writer, second, "x", "a", "y");
    onnx_writer_output(&writer, "y", ONNX_FLOAT, 2, output);
    onnx_writer_finish(&writer, path);
}

static void write_centred(const char *path)
{
    write_two(path, "ReduceMean", "Sub", -1);
}

/* Run @model for two tasks of one row each, @a and @b in all places. */
static void run_two(
    struct onnx_model *model, float a, float b, float *first_out, float *second_out,
    struct onnx_usage *usage_out)
{
    const float values[2][4] = {{a, a, a, 0}, {b, b, b, 0}};
    const int64_t shape[2] = {1, 4};
    struct weft_tensor inputs[2];
    struct onnx_task tasks[2];
    for (uint32_t i = 0; i < 2; i++) {
        inputs[i] = fixture_floats("x", 2, shape, values[i]);
        tasks[i] = (struct onnx_task){.inputs = &inputs[i], .input_count = 1};
    }
    onnx_run(model, NULL, tasks, 2, usage_out);
    assert_non_null(tasks[0].output);
    assert_non_null(tasks[1].output);
    *first_out = *(const float *)bundle_find(tasks[0].output, "y")->data;
    *second_out = *(const float *)bundle_find(tasks[1].output, "y")->data;
    bundle_destroy(tasks[0].output);
    bundle_destroy(tasks[1].output);
}

/* What one client sent never shows in the answer of another. */
static void rows_that_change_one_another_are_found_out(ATTR_UNUSED void **state)
{
    float first;
    float second;
    struct onnx_usage usage;
    write_centred(fixture_path("centred.onnx"));
    struct onnx_model *model = fixture_load("centred.onnx", 0);
    atomic_store(&model->rows->rows, ROWS_UNKNOWN);
    assert_true(atomic_load(&model->has_rows));
    run_two(model, 8, 8, &first, &second, &usage); /* The same in company: that shows little. */
    assert_int_equal(usage.run_count, 2);
    assert_int_equal(atomic_load(&model->rows->rows), ROWS_ALIKE);
    run_two(model, 8, 8, &first, &second, &usage);
    assert_int_equal(usage.run_count, 1);
    run_two(model, 4, 400, &first, &second, &usage);
    assert_true(first == 1 && second == 100); /* As they are alone. */
    assert_int_equal(atomic_load(&model->rows->rows), ROWS_MIXED);
    run_two(model, 8, -8, &first, &second, &usage);
    assert_true(first == 2 && second == -2);
    assert_int_equal(usage.run_count, 2);
    onnx_model_unload(model);
}

/* A share of the sum of all rows: equal rows show it as well. */
static void equal_rows_can_change_one_another(ATTR_UNUSED void **state)
{
    float first;
    float second;
    struct onnx_usage usage;
    write_two(fixture_path("share.onnx"), "ReduceSum", "Div", -1);
    struct onnx_model *model = fixture_load("share.onnx", 0);
    atomic_store(&model->rows->rows, ROWS_UNKNOWN);
    run_two(model, 8, 8, &first, &second, &usage);
    assert_true(first == 1.0F / 3 && second == 1.0F / 3); /* As they are alone. */
    assert_int_equal(atomic_load(&model->rows->rows), ROWS_MIXED);
    onnx_model_unload(model);
}

/* A model that finds out how many rows to run at a time, with what it has found in @folder. */
static struct onnx_model *load_with_turns(const char *file, const char *folder)
{
    struct onnx_model *model = NULL;
    struct weft_error error;
    const struct onnx_options options = {
        .path = fixture_path(file), .name = file, .folder = folder, .has_turns = true};
    assert_int_equal(onnx_model_load(fixture_ort(), &options, &model, &error), WEFT_OK);
    return model;
}

/* Whatever turns are tried or chosen, all rows come back as they should. */
static void turns_are_found_out_and_kept(ATTR_UNUSED void **state)
{
    uint32_t most = 0;
    struct fed fed;
    struct onnx_usage usage;
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    for (uint32_t load = 0; load < 2; load++) {
        struct onnx_model *model = load_with_turns("relu.onnx", fixture_folder);
        assert_non_null(model->turns_path);
        assert_int_equal(access(model->turns_path, R_OK), load == 0 ? -1 : 0);
        for (uint32_t i = 0; i < 40; i++) {
            struct onnx_task task = feed(&fed, 7, 4, (float)(1 + i));
            onnx_run(model, NULL, &task, 1, &usage);
            assert_relu(&task, &fed);
            bundle_destroy(task.output);
            most = usage.run_count > most ? usage.run_count : most;
            if (i == 0) { /* In halves, and at once. */
                assert_int_equal(usage.run_count, 3);
                assert_true(usage.is_odd);
            }
        }
        assert_int_equal(atomic_load(&model->rows->rows), ROWS_APART);
        assert_true(load == 1 || most >= 4); /* Turns of two rows were tried. */
        assert_int_equal(access(model->turns_path, R_OK), 0);
        const struct onnx_turn_class *class = &model->rows->turns.classes[4]; /* 16 bytes a row. */
        assert_true(class->cost[2] > 0);
        assert_true(class->trials[2] > 0); /* Once, if others seemed to be far better. */
        onnx_model_unload(model);
    }
}

/* A failed run, which takes no time, is not the best one. */
static void a_trial_that_fails_shows_nothing(ATTR_UNUSED void **state)
{
    struct fed fed;
    struct onnx_usage usage;
    struct OrtRunOptions *options = NULL;
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    struct onnx_model *model = load_with_turns("relu.onnx", NULL);
    atomic_store(&model->rows->rows, ROWS_APART);
    assert_null(model->ort->api.CreateRunOptions(&options));
    assert_null(model->ort->api.RunOptionsSetTerminate(options));
    for (uint32_t i = 0; i < 20; i++) {
        struct onnx_task task = feed(&fed, 7, 4, 1);
        onnx_run(model, options, &task, 1, &usage);
        assert_null(task.output);
    }
    const struct onnx_turn_class *class = &model->rows->turns.classes[4];
    for (uint32_t i = 0; i < TURN_SIZES; i++) {
        assert_true(class->cost[i] == 0);
    }
    model->ort->api.ReleaseRunOptions(options);
    onnx_model_unload(model);
}

/* Rows of one task that change one another run together, always. */
static void rows_of_a_task_that_change_one_another_stay_together(ATTR_UNUSED void **state)
{
    const float values[4][4] = {{1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}, {40, 40, 40, 40}};
    const int64_t shape[2] = {4, 4};
    write_centred(fixture_path("centred.onnx"));
    struct onnx_model *model = load_with_turns("centred.onnx", NULL);
    float first[16];
    for (uint32_t i = 0; i < 20; i++) {
        struct onnx_usage usage;
        struct weft_tensor input = fixture_floats("x", 2, shape, values[0]);
        struct onnx_task task = {.inputs = &input, .input_count = 1};
        onnx_run(model, NULL, &task, 1, &usage);
        assert_non_null(task.output);
        const struct weft_tensor *y = bundle_find(task.output, "y");
        if (i == 0) {
            memcpy(first, y->data, sizeof(first));
        }
        assert_memory_equal(y->data, first, sizeof(first));
        assert_int_equal(usage.run_count, i == 0 ? 4 : 1); /* Two halves, then all, and again. */
        bundle_destroy(task.output);
    }
    assert_int_equal(atomic_load(&model->rows->rows), ROWS_MIXED);
    onnx_model_unload(model);
    model = fixture_load("centred.onnx", 0); /* As it runs without turns. */
    struct onnx_usage usage;
    struct weft_tensor input = fixture_floats("x", 2, shape, values[0]);
    struct onnx_task task = {.inputs = &input, .input_count = 1};
    onnx_run(model, NULL, &task, 1, &usage);
    assert_memory_equal(bundle_find(task.output, "y")->data, first, sizeof(first));
    bundle_destroy(task.output);
    onnx_model_unload(model);
}

/* Some exporters name the first extents of input and output differently: runs decide. */
static void rows_of_two_names_share_a_run_once_they_may(ATTR_UNUSED void **state)
{
    float first;
    float second;
    struct onnx_usage usage;
    write_two(fixture_path("names.onnx"), "Relu", "Add", -2);
    write_two(fixture_path("names_mixed.onnx"), "ReduceMean", "Sub", -2);
    struct onnx_model *model = fixture_load("names.onnx", 0);
    struct onnx_model *mixed = fixture_load("names_mixed.onnx", 0);
    atomic_store(&model->rows->rows, ROWS_UNKNOWN);
    atomic_store(&mixed->rows->rows, ROWS_UNKNOWN);
    assert_false(model->is_sure);
    run_two(model, 3, -3, &first, &second, &usage);
    assert_true(first == 6 && second == -3);
    assert_int_equal(usage.run_count, 3);
    run_two(model, 5, -5, &first, &second, &usage);
    assert_true(first == 10 && second == -5);
    assert_int_equal(usage.run_count, 1);
    run_two(mixed, 4, 400, &first, &second, &usage);
    assert_true(first == 1 && second == 100);
    assert_string_equal(onnx_model_alone(mixed), "rows of one run change one another");
    onnx_model_unload(model);
    onnx_model_unload(mixed);
}

/* They count different things, then; it is no error. */
static void inputs_of_two_names_may_have_different_extents(ATTR_UNUSED void **state)
{
    struct onnx_writer writer;
    const int64_t shapes[2][2] = {{-1, 3}, {-2, 3}};
    const int64_t given[2][2] = {{2, 3}, {1, 3}};
    const float values[6] = {1, 2, 3, 4, 5, 6};
    struct onnx_usage usage;
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, shapes[0]);
    onnx_writer_input(&writer, "y", ONNX_FLOAT, 2, shapes[1]);
    onnx_writer_node(&writer, "Add", "x", "y", "z");
    onnx_writer_output(&writer, "z", ONNX_FLOAT, 2, shapes[0]);
    onnx_writer_finish(&writer, fixture_path("broadcast.onnx"));
    struct onnx_model *model = fixture_load("broadcast.onnx", 0);
    const struct weft_tensor inputs[2] = {
        fixture_floats("x", 2, given[0], values), fixture_floats("y", 2, given[1], values)};
    struct onnx_task task = {.inputs = inputs, .input_count = 2};
    onnx_run(model, NULL, &task, 1, &usage);
    assert_non_null(task.output);
    assert_true(((const float *)bundle_find(task.output, "z")->data)[3] == 5);
    assert_false(atomic_load(&model->has_rows));
    bundle_destroy(task.output);
    onnx_model_unload(model);
}

static void rows_that_do_not_are_looked_at_once(ATTR_UNUSED void **state)
{
    float first;
    float second;
    struct onnx_usage usage;
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    struct onnx_model *model = fixture_load("relu.onnx", 0);
    atomic_store(&model->rows->rows, ROWS_UNKNOWN);
    run_two(model, 3, -3, &first, &second, &usage);
    assert_true(first == 3 && second == 0);
    assert_int_equal(usage.run_count, 3); /* Together, and each alone. */
    assert_int_equal(atomic_load(&model->rows->rows), ROWS_APART);
    run_two(model, 5, -5, &first, &second, &usage);
    assert_true(first == 5 && second == 0);
    assert_int_equal(usage.run_count, 1);
    onnx_model_unload(model);
}

/* What was shown stays known from load to load, as long as the file is the same. */
static void what_rows_showed_is_kept_for_the_next_load(ATTR_UNUSED void **state)
{
    float first;
    float second;
    struct onnx_usage usage;
    struct onnx_shown shown = {.digest = 0};
    struct onnx_digest digest = {.bytes = 0};
    const struct onnx_options options = {
        .path = fixture_path("kept.onnx"),
        .name = "kept",
        .folder = fixture_folder,
        .rows = &shown,
        .digest = &digest,
    };
    for (uint32_t i = 0; i < 3; i++) {
        struct onnx_model *model = NULL;
        if (i == 0) {
            write_centred(options.path);
        } else if (i == 2) {
            onnx_write_relu(options.path, -1);
        }
        assert_int_equal(onnx_model_load(fixture_ort(), &options, &model, NULL), WEFT_OK);
        assert_int_equal(atomic_load(&model->rows->rows), i == 1 ? ROWS_MIXED : ROWS_UNKNOWN);
        run_two(model, 4, 400, &first, &second, &usage);
        assert_true(i == 2 ? first == 4 && second == 400 : first == 1 && second == 100);
        assert_int_equal(usage.run_count, i == 1 ? 2 : i == 0 ? 4 : 3);
        onnx_model_unload(model);
    }
}

static void numbers_agree_but_for_the_order_of_summation(ATTR_UNUSED void **state)
{
    static const struct {
        float a[2];
        float b[2];
        bool agrees;
    } cases[] = {
        {{1, 2}, {1, 2}, true},
        {{1, 100}, {1.005F, 100}, true},
        {{1, 100}, {1.05F, 100}, true}, /* Little beside the other. */
        {{1, 1}, {1.05F, 1}, false},
        {{0, 1000}, {0.5F, 1000}, true},
        {{NAN, INFINITY}, {NAN, INFINITY}, true},
        {{NAN, 1}, {1, 1}, false},
        {{1, 0}, {-1, 0}, false},
    };
    const int64_t shape[1] = {2};
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bundle *bundles[2];
        for (uint32_t k = 0; k < 2; k++) {
            const struct weft_tensor tensor = fixture_floats("y", 1, shape, NULL);
            bundles[k] = bundle_create();
            memcpy(
                bundle_add(bundles[k], &tensor), k == 0 ? cases[i].a : cases[i].b,
                sizeof(cases[i].a));
        }
        assert_true(onnx_rows_agree(bundles[0], bundles[1]) == cases[i].agrees);
        bundle_destroy(bundles[0]);
        bundle_destroy(bundles[1]);
    }
}

/* A task of texts: @count of them, each of @length bytes, as @rows rows. */
struct spoken {
    uint8_t data[1024];
    struct weft_tensor input;
};

static struct onnx_task speak(struct spoken *spoken, int64_t rows, int64_t columns, uint32_t seed)
{
    uint64_t at = 0;
    for (int64_t i = 0; i < rows * columns; i++) {
        const uint32_t length = (uint32_t)(seed + i * 3) % 7; /* Some are empty. */
        memcpy(spoken->data + at, &length, sizeof(length));
        at += sizeof(length);
        memset(spoken->data + at, (int)(seed + i) % 4, length); /* Some bytes are 0. */
        at += length;
    }
    spoken->input = (struct weft_tensor){
        .name = "x",
        .dtype = WEFT_BYTES,
        .rank = 2,
        .shape = {rows, columns},
        .bytes = at,
        .data = spoken->data};
    return (struct onnx_task){.inputs = &spoken->input, .input_count = 1};
}

static void texts_come_back_as_they_went(ATTR_UNUSED void **state)
{
    onnx_write_same(fixture_path("texts.onnx"), ONNX_STRING, 2, (const int64_t[]){-1, -2});
    for (uint32_t rows_max = 0; rows_max < 4; rows_max++) {
        struct spoken spoken[4];
        struct onnx_usage usage;
        struct onnx_model *model = fixture_load("texts.onnx", rows_max);
        struct onnx_task tasks[4] = {
            speak(&spoken[0], 3, 2, 1), speak(&spoken[1], 1, 2, 2), speak(&spoken[2], 0, 2, 3),
            speak(&spoken[3], 5, 2, 6)};
        onnx_run(model, NULL, tasks, 4, &usage);
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(tasks[i].error.status, WEFT_OK);
            const struct weft_tensor *y = bundle_find(tasks[i].output, "y");
            assert_int_equal(y->dtype, WEFT_BYTES);
            assert_int_equal(y->shape[0], spoken[i].input.shape[0]);
            assert_int_equal(y->bytes, spoken[i].input.bytes);
            assert_memory_equal(y->data, spoken[i].data, y->bytes);
            bundle_destroy(tasks[i].output);
        }
        /* Nine rows, and a run for what has none. */
        assert_int_equal(usage.run_count, (rows_max == 0 ? 1 : (9 + rows_max - 1) / rows_max) + 1);
        onnx_model_unload(model);
    }
}

static void texts_that_do_not_add_up_are_refused(ATTR_UNUSED void **state)
{
    struct spoken spoken;
    struct onnx_usage usage;
    onnx_write_same(fixture_path("texts.onnx"), ONNX_STRING, 2, (const int64_t[]){-1, -2});
    struct onnx_model *model = fixture_load("texts.onnx", 0);
    struct onnx_task task = speak(&spoken, 3, 2, 1);
    spoken.input.bytes--;
    onnx_run(model, NULL, &task, 1, &usage);
    assert_int_equal(task.error.status, WEFT_INVALID);
    onnx_model_unload(model);
}

static void numbers_of_two_bytes_pass(ATTR_UNUSED void **state)
{
    const uint16_t data[4] = {0x3f80, 0xbf80, 0x7f80, 0x0001};
    struct onnx_usage usage;
    struct weft_tensor input = {
        .name = "x",
        .dtype = WEFT_BF16,
        .rank = 2,
        .shape = {2, 2},
        .bytes = sizeof(data),
        .data = (void *)(uintptr_t)data};
    struct onnx_task task = {.inputs = &input, .input_count = 1};
    onnx_write_same(fixture_path("bf16.onnx"), ONNX_BFLOAT16, 2, (const int64_t[]){-1, 2});
    struct onnx_model *model = fixture_load("bf16.onnx", 0);
    onnx_run(model, NULL, &task, 1, &usage);
    assert_int_equal(task.error.status, WEFT_OK);
    assert_int_equal(task.output->tensors[0].dtype, WEFT_BF16);
    assert_memory_equal(task.output->tensors[0].data, data, sizeof(data));
    bundle_destroy(task.output);
    onnx_model_unload(model);
}

static void a_map_of_each_row_is_a_row(ATTR_UNUSED void **state)
{
    static const char *const labels[] = {"dog", "c"};
    static const uint8_t texts[] = "\1\0\0\0c\3\0\0\0dog\1\0\0\0c\3\0\0\0dog";
    static const int64_t numbers[] = {10, 11, 10, 11};
    for (uint32_t round = 0; round < 2; round++) {
        struct fed fed[2];
        struct onnx_usage usage;
        onnx_write_zipmap(fixture_path("zipmap.onnx"), round == 0 ? labels : NULL);
        struct onnx_model *model = fixture_load("zipmap.onnx", 0);
        struct onnx_task tasks[2] = {feed(&fed[0], 2, 2, 1), feed(&fed[1], 1, 2, 10)};
        onnx_run(model, NULL, tasks, 2, &usage);
        assert_int_equal(usage.run_count, 1);
        const struct weft_tensor *keys = bundle_find(tasks[0].output, "z_keys");
        const float *values = bundle_find(tasks[0].output, "z")->data;
        assert_int_equal(keys->shape[0], 2);
        assert_int_equal(keys->shape[1], 2);
        /* Maps are in the order of their keys. */
        for (uint32_t i = 0; i < 4; i++) {
            assert_true(values[i] == fed[0].data[round == 0 ? i ^ 1 : i]);
        }
        assert_int_equal(keys->bytes, round == 0 ? sizeof(texts) - 1 : sizeof(numbers));
        assert_memory_equal(keys->data, round == 0 ? (const void *)texts : numbers, keys->bytes);
        assert_int_equal(bundle_find(tasks[1].output, "z")->bytes, 2 * sizeof(float));
        assert_int_equal(
            bundle_find(tasks[1].output, "z_keys")->bytes,
            round == 0 ? (sizeof(texts) - 1) / 2 : sizeof(numbers) / 2);
        bundle_destroy(tasks[0].output);
        bundle_destroy(tasks[1].output);
        onnx_model_unload(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_back_as_they_went),
        cmocka_unit_test(texts_that_do_not_add_up_are_refused),
        cmocka_unit_test(numbers_of_two_bytes_pass),
        cmocka_unit_test(a_map_of_each_row_is_a_row),
        cmocka_unit_test(tasks_share_a_run),
        cmocka_unit_test(runs_have_at_most_so_many_rows),
        cmocka_unit_test(rows_are_split_into_parts),
        cmocka_unit_test(parts_have_at_most_so_many_rows),
        cmocka_unit_test(a_cancelled_run_fails_in_all_its_parts),
        cmocka_unit_test(a_model_of_one_row_runs_for_each),
        cmocka_unit_test(shapes_that_differ_run_apart),
        cmocka_unit_test(a_wrong_task_fails_alone_and_says_why),
        cmocka_unit_test(two_inputs_go_together),
        cmocka_unit_test(no_rows_give_no_rows),
        cmocka_unit_test(no_rows_keep_their_size),
        cmocka_unit_test(a_model_without_rows_is_found_out),
        cmocka_unit_test(a_run_that_fails_is_taken_apart),
        cmocka_unit_test(a_cancelled_run_fails),
        cmocka_unit_test(workspace_is_measured),
        cmocka_unit_test(threads_share_a_model),
        cmocka_unit_test(rows_that_change_one_another_are_found_out),
        cmocka_unit_test(equal_rows_can_change_one_another),
        cmocka_unit_test(turns_are_found_out_and_kept),
        cmocka_unit_test(a_trial_that_fails_shows_nothing),
        cmocka_unit_test(rows_of_a_task_that_change_one_another_stay_together),
        cmocka_unit_test(rows_of_two_names_share_a_run_once_they_may),
        cmocka_unit_test(inputs_of_two_names_may_have_different_extents),
        cmocka_unit_test(rows_that_do_not_are_looked_at_once),
        cmocka_unit_test(what_rows_showed_is_kept_for_the_next_load),
        cmocka_unit_test(numbers_agree_but_for_the_order_of_summation),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
