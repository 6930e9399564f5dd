/*
 * Packed weights are kept in a file, leave memory, and come back as they were.
 *
 * Covers: src/onnx/image.c, src/onnx/local_sleep.c, src/onnx/model.c,
 * src/onnx/ort_memory.c
 */
#include "onnx/local_inside.h" /* First: cmocka has a macro called fail. */

#include <sys/stat.h>

#include "base/attributes.h"
#include "onnx/ort_memory.h"
#include "unit/onnx_fixture.h"

enum { WIDTH = 128, LAYERS = 4, MANY = 48, ROWS = 3 };

static struct onnx_options options_with(const char *file, const char *folder, uint32_t layers)
{
    onnx_write_mlp(fixture_path(file), WIDTH, layers);
    return (struct onnx_options){
        .path = fixture_path(file), .name = "mlp", .folder = fixture_path(folder)};
}

static struct onnx_options options_of(const char *file, const char *folder)
{
    return options_with(file, folder, LAYERS);
}

static struct onnx_model *load(const struct onnx_options *options)
{
    struct onnx_model *model = NULL;
    struct weft_error error;
    if (onnx_model_load(fixture_ort(), options, &model, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    return model;
}

/* What @model makes of a few rows. */
static void run(struct onnx_model *model, float out[ROWS * WIDTH])
{
    const int64_t shape[2] = {ROWS, WIDTH};
    float data[ROWS * WIDTH];
    struct onnx_usage usage;
    for (uint32_t i = 0; i < ROWS * WIDTH; i++) {
        data[i] = (float)(i % 7) - 3;
    }
    const struct weft_tensor input = fixture_floats("x", 2, shape, data);
    struct onnx_task task = {.inputs = &input, .input_count = 1};
    onnx_run(model, NULL, &task, 1, &usage);
    assert_non_null(task.output);
    assert_int_equal(task.output->tensors[0].bytes, ROWS * WIDTH * sizeof(float));
    memcpy(out, task.output->tensors[0].data, ROWS * WIDTH * sizeof(float));
    bundle_destroy(task.output);
}

/* The packed file in @folder. */
static void find_packed(const char *folder, char path_out[256], struct stat *stat_out)
{
    char command[256];
    (void)snprintf(command, sizeof(command), "ls -d %s/*.packed", folder);
    FILE *listing = popen(command, "r");
    assert_non_null(listing);
    assert_non_null(fgets(path_out, 256, listing));
    assert_null(fgets(command, sizeof(command), listing)); /* There is one. */
    assert_int_equal(pclose(listing), 0);
    path_out[strcspn(path_out, "\n")] = '\0';
    assert_int_equal(stat(path_out, stat_out), 0);
}

static void packed_weights_are_written_once(ATTR_UNUSED void **state)
{
    const struct onnx_options options = options_of("once.onnx", "once");
    char path[256];
    struct stat first;
    struct stat second;
    for (uint32_t i = 0; i < 2; i++) {
        struct onnx_model *model = load(&options);
        assert_true(model->image.is_kept);
        assert_true(model->image.memory.room >= LAYERS * WIDTH * WIDTH * sizeof(float));
        assert_true(onnx_model_bytes(model) < 2 * model->mapped_bytes); /* Not both files. */
        onnx_model_unload(model);
        find_packed(options.folder, path, i == 0 ? &first : &second);
    }
    assert_int_equal(first.st_ino, second.st_ino);
}

static void a_model_wakes_as_it_fell_asleep(ATTR_UNUSED void **state)
{
    const struct onnx_options options = options_of("sleeps.onnx", "sleeps");
    float before[ROWS * WIDTH];
    float after[ROWS * WIDTH];
    struct onnx_model *model = load(&options);
    run(model, before);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(onnx_model_sleep(model));
        onnx_model_wake(model);
        run(model, after);
        assert_memory_equal(before, after, sizeof(before));
    }
    onnx_model_unload(model);
}

/* Weights of more than a huge page leave the cache of files once, and are read anew. */
static void large_weights_come_back_as_they_were(ATTR_UNUSED void **state)
{
    const struct onnx_options options = options_with("large.onnx", "large", MANY);
    float results[3][ROWS * WIDTH];
    for (uint32_t i = 0; i < 2; i++) { /* Written, and found. */
        struct onnx_model *model = load(&options);
        assert_true(model->image.is_kept);
        assert_true(model->image.memory.room > 1 << 21);
        run(model, results[i]);
        assert_true(onnx_model_sleep(model));
        onnx_model_wake(model);
        run(model, results[2]);
        assert_memory_equal(results[i], results[2], sizeof(results[2]));
        onnx_model_unload(model);
    }
    assert_memory_equal(results[0], results[1], sizeof(results[0]));
}

static void packing_changes_no_results(ATTR_UNUSED void **state)
{
    struct onnx_options options = options_of("same.onnx", "same");
    float packed[ROWS * WIDTH];
    float plain[ROWS * WIDTH];
    struct onnx_model *model = load(&options);
    run(model, packed);
    onnx_model_unload(model);
    options.is_unpacked = true;
    model = load(&options);
    assert_int_equal(model->image.memory.room, 0);
    run(model, plain);
    onnx_model_unload(model);
    for (uint32_t i = 0; i < ROWS * WIDTH; i++) {
        const float difference = packed[i] - plain[i];
        assert_true(difference * difference < 1e-6F * (1 + plain[i] * plain[i]));
    }
}

static void a_file_with_other_contents_is_replaced(ATTR_UNUSED void **state)
{
    const struct onnx_options options = options_of("other.onnx", "other");
    float before[ROWS * WIDTH];
    float after[ROWS * WIDTH];
    char path[256];
    struct stat stat_of;
    struct onnx_model *model = load(&options);
    run(model, before);
    onnx_model_unload(model);
    find_packed(options.folder, path, &stat_of);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)stat_of.st_size / 2, SEEK_SET), 0);
    assert_int_equal(fwrite("damaged", 7, 1, file), 1);
    assert_int_equal(fclose(file), 0);

    model = load(&options);
    assert_true(onnx_model_sleep(model)); /* From here on the file is what is read. */
    onnx_model_wake(model);
    run(model, after);
    assert_memory_equal(before, after, sizeof(before));
    onnx_model_unload(model);
}

static void what_is_not_in_files_does_not_sleep(ATTR_UNUSED void **state)
{
    const struct onnx_options options = options_of("private.onnx", "private");
    struct onnx_model *model = fixture_load("private.onnx", 0);
    float out[ROWS * WIDTH];
    assert_false(onnx_model_sleep(model));
    run(model, out);
    onnx_model_unload(model);

    model = load(&options);
    model->image.is_kept = false; /* As if it could not be written. */
    assert_false(onnx_model_sleep(model));
    onnx_model_unload(model);
}

static void an_image_that_is_full_is_no_limit(ATTR_UNUSED void **state)
{
    struct OrtAllocator *allocator = ort_memory_allocator(fixture_ort()->memory);
    struct onnx_image image;
    struct ort_meter meter;
    onnx_image_reserve(&image, 8192);
    ort_meter_start_load(&meter, &image.memory);
    uint8_t *inside = allocator->Alloc(allocator, 5000);
    uint8_t *outside = allocator->Alloc(allocator, 5000);
    uint8_t *small = allocator->Alloc(allocator, 100);
    ort_meter_stop();
    assert_ptr_equal(inside, image.memory.start + 64);
    assert_true(outside < image.memory.start || outside >= image.memory.start + 8192);
    assert_true(small < image.memory.start || small >= image.memory.start + 8192);
    assert_true(meter.now_bytes >= 5100 && meter.now_bytes < 10000); /* What is not in it. */
    const uint64_t kept_bytes = ort_memory_kept_bytes();
    allocator->Free(allocator, inside);
    assert_int_equal(ort_memory_kept_bytes(), kept_bytes); /* It ends with the image. */
    allocator->Free(allocator, outside);
    allocator->Free(allocator, small);
    onnx_image_release(&image);
}

static void sleepers_are_found_by_their_contents(ATTR_UNUSED void **state)
{
    const struct onnx_options options = options_of("found.onnx", "found");
    const struct artifacts artifacts = {.count = 1};
    struct engine_local engine = {.artifacts = &artifacts};
    struct onnx_model *asleep[ARTIFACT_VERSIONS_MAX] = {NULL};
    struct local_worker worker = {.engine = &engine, .asleep = asleep};
    struct onnx_model *model = load(&options);
    struct onnx_digest digest = model->digest;
    (void)pthread_mutex_init(&engine.sleep_lock, NULL);
    local_sleep(&worker, 1, model);
    assert_null(local_wake(&worker, 0, &digest));
    assert_ptr_equal(local_wake(&worker, 1, &digest), model);
    assert_null(local_wake(&worker, 1, &digest)); /* It is awake. */

    local_sleep(&worker, 1, model);
    digest.hash[1]++; /* The file has changed since. */
    assert_null(local_wake(&worker, 1, &digest));
    assert_null(asleep[1]);
    (void)pthread_mutex_destroy(&engine.sleep_lock);
}

static void those_that_slept_longest_end(ATTR_UNUSED void **state)
{
    const struct onnx_options options = options_of("longest.onnx", "longest");
    const struct artifacts artifacts = {.count = 1};
    struct engine_local engine = {.artifacts = &artifacts};
    struct onnx_model *asleep[ARTIFACT_VERSIONS_MAX] = {NULL};
    struct local_worker worker = {.engine = &engine, .asleep = asleep};
    (void)pthread_mutex_init(&engine.sleep_lock, NULL);
    for (uint32_t i = 0; i < 3; i++) {
        struct onnx_model *model = load(&options);
        model->heap_bytes = UINT64_C(30) << 20;
        local_sleep(&worker, 2 - i, model);
    }
    assert_null(asleep[2]);
    assert_non_null(asleep[1]);
    assert_non_null(asleep[0]);
    local_end_sleepers(&worker);
    assert_null(asleep[0]);
    assert_null(asleep[1]);
    (void)pthread_mutex_destroy(&engine.sleep_lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_weights_are_written_once),
        cmocka_unit_test(a_model_wakes_as_it_fell_asleep),
        cmocka_unit_test(large_weights_come_back_as_they_were),
        cmocka_unit_test(packing_changes_no_results),
        cmocka_unit_test(a_file_with_other_contents_is_replaced),
        cmocka_unit_test(what_is_not_in_files_does_not_sleep),
        cmocka_unit_test(an_image_that_is_full_is_no_limit),
        cmocka_unit_test(sleepers_are_found_by_their_contents),
        cmocka_unit_test(those_that_slept_longest_end),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
