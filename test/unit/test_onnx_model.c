/*
 * Models are loaded as they are or mapped from the cache, say what they take, and leave nothing.
 *
 * Covers: src/onnx/ports.c, src/onnx/model.c, src/onnx/cache.c,
 * src/onnx/digest.c, src/onnx/ort.c
 */
#include "unit/onnx_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "onnx/file.h"
#include "onnx/ort_memory.h"

static void write_file(const char *path, const char *contents)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(contents, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* How many files lie in the folder @path; the path of the last through @last_out. */
static uint32_t count_files(const char *path, char last_out[512])
{
    uint32_t count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            (void)snprintf(last_out, 512, "%s/%s", path, entry->d_name);
            count++;
        }
    }
    assert_int_equal(closedir(folder), 0);
    return count;
}

static void ports_are_those_of_the_file(ATTR_UNUSED void **state)
{
    onnx_write_add(fixture_path("add.onnx"));
    struct onnx_model *model = fixture_load("add.onnx", 7);
    assert_int_equal(model->inputs.count, 2);
    assert_int_equal(model->outputs.count, 1);
    assert_string_equal(model->inputs.items[1].name, "y");
    assert_string_equal(model->outputs.items[0].name, "z");
    assert_string_equal(model->outputs.items[0].symbol, "N");
    const struct onnx_port *x = &model->inputs.items[0];
    assert_int_equal(x->dtype, WEFT_FP32);
    assert_int_equal(x->rank, 2);
    assert_int_equal(x->shape[0], -1);
    assert_int_equal(x->shape[1], 3);
    assert_true(model->has_rows);
    assert_int_equal(model->rows_max, 7);
    onnx_model_unload(model);
    onnx_model_unload(NULL);
}

/* What runs show decides: test_onnx_run.c. */
static void extents_of_two_names_may_be_rows(ATTR_UNUSED void **state)
{
    struct onnx_writer writer;
    const int64_t first[2] = {-1, 3};
    const int64_t second[2] = {-2, 3};
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, first);
    onnx_writer_input(&writer, "y", ONNX_FLOAT, 2, second);
    onnx_writer_node(&writer, "Add", "x", "y", "z");
    onnx_writer_output(&writer, "z", ONNX_FLOAT, 2, first);
    onnx_writer_finish(&writer, fixture_path("two.onnx"));
    struct onnx_model *model = fixture_load("two.onnx", 0);
    assert_true(model->has_rows);
    assert_false(model->is_sure);
    assert_null(onnx_model_alone(model));
    onnx_model_unload(model);
}

/* x and y = x of two shapes, as far as the file says. */
static struct onnx_model *load_shapes(
    uint32_t rank, const int64_t *input, uint32_t output_rank, const int64_t *output)
{
    struct onnx_writer writer;
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, rank, input);
    onnx_writer_node(&writer, "Identity", "x", NULL, "y");
    onnx_writer_output(&writer, "y", ONNX_FLOAT, output_rank, output);
    onnx_writer_finish(&writer, fixture_path("shapes.onnx"));
    return fixture_load("shapes.onnx", 0);
}

static void a_model_says_why_it_is_never_batched(ATTR_UNUSED void **state)
{
    static const struct {
        int64_t shape[1];
        uint32_t rank;
        bool is_any; /* No shape is said. */
        const char *cause;
    } cases[] = {
        {{-1}, 1, false, NULL},
        {{1}, 1, false, "its first dimensions are 1"},
        {{5}, 1, false, "input 'x' has a fixed first dimension"},
        {{0}, 0, false, "input 'x' has no dimensions"},
        {{0}, 0, true, "input 'x' may have any rank"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int64_t *shape = cases[i].is_any ? NULL : cases[i].shape;
        struct onnx_model *model = load_shapes(cases[i].rank, shape, cases[i].rank, shape);
        if (cases[i].cause == NULL) {
            assert_null(onnx_model_alone(model));
            atomic_store(&model->rows->rows, ROWS_MIXED);
            assert_string_equal(onnx_model_alone(model), "rows of one run change one another");
        } else {
            assert_string_equal(onnx_model_alone(model), cases[i].cause);
        }
        onnx_model_unload(model);
    }
}

static void types_go_both_ways(ATTR_UNUSED void **state)
{
    for (enum weft_dtype dtype = WEFT_BOOL; dtype < WEFT_DTYPES; dtype++) {
        const uint32_t type = onnx_type_of(dtype);
        assert_int_equal(onnx_dtype_of(type), dtype);
    }
    assert_int_equal(onnx_dtype_of(0), WEFT_DTYPES);
    assert_int_equal(onnx_dtype_of(14), WEFT_DTYPES); /* COMPLEX64 */
}

static void a_rank_that_is_not_said_may_be_any(ATTR_UNUSED void **state)
{
    onnx_write_same(fixture_path("any.onnx"), ONNX_FLOAT, 0, NULL);
    onnx_write_same(fixture_path("scalar.onnx"), ONNX_FLOAT, 0, (const int64_t[]){0});
    struct onnx_model *model = fixture_load("any.onnx", 0);
    assert_true(model->inputs.items[0].is_any_rank);
    assert_true(model->outputs.items[0].is_any_rank);
    assert_int_equal(model->inputs.items[0].rank, 1);
    assert_int_equal(model->inputs.items[0].shape[0], -1);
    assert_false(model->has_rows);
    onnx_model_unload(model);
    model = fixture_load("scalar.onnx", 0);
    assert_false(model->inputs.items[0].is_any_rank);
    assert_int_equal(model->inputs.items[0].rank, 0);
    onnx_model_unload(model);
}

static void maps_are_keys_and_values(ATTR_UNUSED void **state)
{
    onnx_write_zipmap(fixture_path("zipmap.onnx"), NULL);
    struct onnx_model *model = fixture_load("zipmap.onnx", 0);
    assert_int_equal(model->outputs.count, 2);
    assert_int_equal(model->outputs.source_count, 1);
    assert_string_equal(model->outputs.items[0].name, "z");
    assert_int_equal(model->outputs.items[0].dtype, WEFT_FP32);
    assert_int_equal(model->outputs.items[0].rank, 2);
    assert_string_equal(model->outputs.items[1].name, "z_keys");
    assert_int_equal(model->outputs.items[1].dtype, WEFT_INT64);
    assert_true(model->has_rows);
    onnx_model_unload(model);
}

static void what_cannot_be_loaded_says_why(ATTR_UNUSED void **state)
{
    struct onnx_model *model = NULL;
    struct weft_error error;
    struct onnx_writer writer;
    struct onnx_options options = {.path = fixture_path("absent.onnx"), .name = "m"};
    const struct ort *ort = fixture_ort();
    assert_int_equal(onnx_model_load(ort, &options, &model, &error), WEFT_IO);
    assert_non_null(strstr(error.message, "absent.onnx: No such file"));

    options.folder = fixture_path("cache-of-none");
    assert_int_equal(onnx_model_load(ort, &options, &model, &error), WEFT_IO);

    options.path = fixture_path("text.onnx");
    write_file(options.path, "This is no model.");
    assert_int_equal(onnx_model_load(ort, &options, &model, &error), WEFT_FAILED);
    assert_non_null(strstr(error.message, "model 'm': "));

    options.path = fixture_path("sequence.onnx");
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 1, (const int64_t[]){-1});
    onnx_writer_node(&writer, "SequenceConstruct", "x", NULL, "y");
    onnx_writer_sequence(&writer, "y");
    onnx_writer_finish(&writer, options.path);
    static const char cause[] = "output 'y' is a sequence, which cannot be passed: add a "
                                "ConcatFromSequence to the model";
    assert_int_equal(onnx_model_load(ort, &options, &model, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, cause));
    assert_int_equal(onnx_file_check(options.path, &error), WEFT_INVALID); /* It says the same. */
    assert_non_null(strstr(error.message, cause));
    assert_null(model);
}

/* Change one byte of the weights in @path, long ago. */
static void change_last_weight(const char *path)
{
    const struct timespec times[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -20000, SEEK_END), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
    assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void a_model_is_written_once_and_mapped(ATTR_UNUSED void **state)
{
    struct onnx_model *model = NULL;
    struct weft_error error;
    struct onnx_digest digest = {.bytes = 0};
    char first[512];
    char again[512];
    const struct ort *ort = fixture_ort();
    onnx_write_mlp(fixture_path("mlp.onnx"), 128, 4);
    const struct onnx_options options = {
        .path = fixture_path("mlp.onnx"),
        .name = "mlp",
        .folder = fixture_path("cache/of/models"),
        .digest = &digest};
    for (uint32_t round = 0; round < 3; round++) {
        assert_int_equal(onnx_model_load(ort, &options, &model, &error), WEFT_OK);
        assert_non_null(model->mapped);
        assert_true(model->mapped_bytes >= 4 * 128 * 128 * sizeof(float));
        assert_true(model->counted_bytes < 128 * 128 * sizeof(float)); /* Weights stay there. */
        assert_true(onnx_model_bytes(model) >= model->mapped_bytes);
        onnx_model_unload(model);
        /* The model, and its weights as they are packed. */
        assert_int_equal(count_files(options.folder, round == 0 ? first : again), 2);
    }
    assert_string_equal(first, again);
    assert_non_null(strstr(first, ort->version));

    onnx_write_mlp(fixture_path("mlp.onnx"), 128, 5); /* Other contents, another file. */
    assert_int_equal(onnx_model_load(ort, &options, &model, &error), WEFT_OK);
    onnx_model_unload(model);
    assert_int_equal(count_files(options.folder, again), 4);

    change_last_weight(options.path); /* As many bytes as before. */
    assert_int_equal(onnx_model_load(ort, &options, &model, &error), WEFT_OK);
    onnx_model_unload(model);
    assert_int_equal(count_files(options.folder, again), 6);
}

static void a_damaged_copy_is_replaced(ATTR_UNUSED void **state)
{
    struct onnx_model *model = NULL;
    struct weft_error error;
    char kept[512];
    const struct ort *ort = fixture_ort();
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    const struct onnx_options options = {
        .path = fixture_path("relu.onnx"), .name = "relu", .folder = fixture_path("damaged")};
    assert_int_equal(onnx_model_load(ort, &options, &model, &error), WEFT_OK);
    onnx_model_unload(model);
    assert_int_equal(count_files(options.folder, kept), 1);
    write_file(kept, "no longer what it was");
    assert_int_equal(onnx_model_load(ort, &options, &model, &error), WEFT_OK);
    assert_null(model->mapped);
    onnx_model_unload(model);
    assert_int_equal(onnx_model_load(ort, &options, &model, &error), WEFT_OK);
    assert_non_null(model->mapped);
    onnx_model_unload(model);
}

static void without_a_place_it_is_loaded_as_it_is(ATTR_UNUSED void **state)
{
    struct onnx_model *model = NULL;
    struct weft_error error;
    onnx_write_mlp(fixture_path("mlp.onnx"), 128, 4);
    write_file(fixture_path("occupied"), "a file, not a folder");
    const struct onnx_options options = {
        .path = fixture_path("mlp.onnx"),
        .name = "mlp",
        .folder = fixture_path("occupied"),
    };
    assert_int_equal(onnx_model_load(fixture_ort(), &options, &model, &error), WEFT_OK);
    assert_null(model->mapped);
    assert_true(model->counted_bytes >= 4 * 128 * 128 * sizeof(float)); /* The weights. */
    onnx_model_unload(model);
}

/* y = x + w, of one row of 4; w lies in the file "weights". */
static void write_external(const char *path)
{
    struct onnx_writer writer;
    const int64_t shape[2] = {1, 4};
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, shape);
    onnx_writer_external(&writer, "w", 2, shape, "weights");
    onnx_writer_node(&writer, "Add", "x", "w", "y");
    onnx_writer_output(&writer, "y", ONNX_FLOAT, 2, shape);
    onnx_writer_finish(&writer, path);
}

static void write_weights(const char *path, float value)
{
    const float values[4] = {value, value, value, value};
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(values, sizeof(values), 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

static float run_on_zeros(struct onnx_model *model)
{
    static const float zeros[4];
    const int64_t shape[2] = {1, 4};
    const struct weft_tensor x = fixture_floats("x", 2, shape, zeros);
    struct onnx_task task = {.inputs = &x, .input_count = 1};
    struct onnx_usage usage;
    onnx_run(model, NULL, &task, 1, &usage);
    assert_non_null(task.output);
    const float y = *(const float *)bundle_find(task.output, "y")->data;
    bundle_destroy(task.output);
    return y;
}

/* What runs is a copy of our own: the operator may do with the files as they please. */
static void weights_elsewhere_come_along(ATTR_UNUSED void **state)
{
    struct onnx_digest digest = {.bytes = 0};
    struct weft_error error;
    char weights[128];
    struct onnx_model *first = NULL;
    struct onnx_model *second = NULL;
    (void)snprintf(weights, sizeof(weights), "%s/external/weights", fixture_folder);
    assert_int_equal(mkdir(fixture_path("external"), 0700), 0);
    const struct onnx_options options = {
        .path = fixture_path("external/model.onnx"),
        .name = "external",
        .folder = fixture_path("external-cache"),
        .digest = &digest,
    };
    write_external(options.path);
    write_weights(weights, 3);
    assert_int_equal(onnx_model_load(fixture_ort(), &options, &first, &error), WEFT_OK);
    assert_true(digest.has_external);
    assert_non_null(first->mapped);
    assert_true(run_on_zeros(first) == 3);
    write_weights(weights, 50); /* In place, as cp does. */
    assert_true(run_on_zeros(first) == 3);
    assert_int_equal(onnx_model_load(fixture_ort(), &options, &second, &error), WEFT_OK);
    assert_true(run_on_zeros(second) == 50);
    assert_int_equal(truncate(weights, 0), 0);
    assert_true(run_on_zeros(first) == 3);
    assert_true(run_on_zeros(second) == 50);
    onnx_model_unload(first);
    onnx_model_unload(second);
}

/* Wherever in a file it says so. */
static void names_of_other_files_are_noticed(ATTR_UNUSED void **state)
{
    enum { BYTES = 3 << 20 };
    static const char mark[] = "\x0a\x08location\x12";
    uint8_t *bytes = calloc(BYTES, 1);
    assert_non_null(bytes);
    for (size_t at = 786400; at < 786450; at++) { /* Over the end of a block. */
        struct onnx_digest digest = {.bytes = 0};
        memset(bytes, 0, BYTES);
        memcpy(bytes + at, mark, sizeof(mark) - 1);
        FILE *file = fopen(fixture_path("marked.onnx"), "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, BYTES, 1, file), 1);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(onnx_digest_file(fixture_path("marked.onnx"), &digest, NULL), WEFT_OK);
        assert_true(digest.has_external);
    }
    free(bytes);
}

/* Cuts a file short and makes it long again, as cp does, until it is told to stop. */
struct cutter {
    pthread_t thread;
    atomic_bool is_over;
    char path[128];
};

static void *cut_again_and_again(void *context)
{
    enum { BYTES = 8 << 20 };
    struct cutter *cutter = context;
    while (!atomic_load(&cutter->is_over)) {
        assert_int_equal(truncate(cutter->path, 0), 0);
        assert_int_equal(truncate(cutter->path, BYTES), 0);
    }
    return NULL;
}

/* A mapped file would end the process with SIGBUS. */
static void a_file_may_be_replaced_while_it_is_read(ATTR_UNUSED void **state)
{
    struct cutter cutter;
    atomic_init(&cutter.is_over, false);
    (void)snprintf(cutter.path, sizeof(cutter.path), "%s", fixture_path("cut.onnx"));
    FILE *file = fopen(cutter.path, "wb");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(pthread_create(&cutter.thread, NULL, cut_again_and_again, &cutter), 0);
    for (uint32_t count = 0; count < 20;) { /* Times that it was not found empty. */
        struct onnx_digest digest = {.bytes = 0};
        count += onnx_digest_file(cutter.path, &digest, NULL) == WEFT_OK ? 1 : 0;
    }
    atomic_store(&cutter.is_over, true);
    assert_int_equal(pthread_join(cutter.thread, NULL), 0);
}

static void a_cache_of_others_is_not_used(ATTR_UNUSED void **state)
{
    struct onnx_digest digest = {.bytes = 0};
    struct weft_error error;
    char kept[ONNX_CACHE_PATH_BYTES];
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    assert_int_equal(onnx_digest_file(fixture_path("relu.onnx"), &digest, &error), WEFT_OK);
    assert_int_equal(mkdir(fixture_path("open-cache"), 0700), 0);
    assert_int_equal(chmod(fixture_path("open-cache"), 0777), 0);
    assert_int_equal(
        onnx_cache_path(
            fixture_ort(), fixture_path("open-cache"), fixture_path("relu.onnx"), &digest, kept,
            &error),
        WEFT_REFUSED);
}

static void the_cache_is_where_the_environment_says(ATTR_UNUSED void **state)
{
    char folder[ONNX_CACHE_PATH_BYTES];
    assert_int_equal(setenv("HOME", "/h", 1), 0);
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    assert_int_equal(unsetenv("WEFT_CACHE"), 0);
    assert_true(onnx_cache_default_folder(folder));
    assert_string_equal(folder, "/h/.cache/weft");
    assert_int_equal(setenv("XDG_CACHE_HOME", "/x", 1), 0);
    assert_true(onnx_cache_default_folder(folder));
    assert_string_equal(folder, "/x/weft");
    assert_int_equal(setenv("WEFT_CACHE", "/w", 1), 0);
    assert_true(onnx_cache_default_folder(folder));
    assert_string_equal(folder, "/w");
}

static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*u %llu", &pages), 1);
    assert_int_equal(fclose(file), 0);
    return pages * 4096;
}

static void loading_over_and_over_leaves_nothing(ATTR_UNUSED void **state)
{
    struct onnx_model *model = NULL;
    struct weft_error error;
    struct onnx_digest digest = {.bytes = 0};
    uint64_t before = 0;
    const struct ort *ort = fixture_ort();
    onnx_write_mlp(fixture_path("mlp.onnx"), 256, 4);
    const struct onnx_options options = {
        .path = fixture_path("mlp.onnx"),
        .name = "mlp",
        .folder = fixture_path("cycles"),
        .digest = &digest};
    for (uint32_t i = 0; i < 250; i++) {
        assert_int_equal(onnx_model_load(ort, &options, &model, &error), WEFT_OK);
        onnx_model_unload(model);
        if (i == 50) {
            ort_memory_trim();
            before = resident_bytes();
        }
    }
    ort_memory_trim();
    /* A sanitizer keeps what is freed; without one, one model of 1 MiB must not stay. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(resident_bytes() < before + (UINT64_C(1) << 20));
#else
    (void)before;
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_are_those_of_the_file),
        cmocka_unit_test(extents_of_two_names_may_be_rows),
        cmocka_unit_test(a_model_says_why_it_is_never_batched),
        cmocka_unit_test(types_go_both_ways),
        cmocka_unit_test(a_rank_that_is_not_said_may_be_any),
        cmocka_unit_test(maps_are_keys_and_values),
        cmocka_unit_test(what_cannot_be_loaded_says_why),
        cmocka_unit_test(a_model_is_written_once_and_mapped),
        cmocka_unit_test(a_damaged_copy_is_replaced),
        cmocka_unit_test(without_a_place_it_is_loaded_as_it_is),
        cmocka_unit_test(weights_elsewhere_come_along),
        cmocka_unit_test(names_of_other_files_are_noticed),
        cmocka_unit_test(a_file_may_be_replaced_while_it_is_read),
        cmocka_unit_test(a_cache_of_others_is_not_used),
        cmocka_unit_test(the_cache_is_where_the_environment_says),
        cmocka_unit_test(loading_over_and_over_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
