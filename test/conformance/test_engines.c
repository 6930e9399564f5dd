/*
 * Every engine keeps the contract of engine.h. To add one, add a row to the table.
 *
 * Covers: src/engine/engine.c
 */
#include <dirent.h>

#include "base/attributes.h"
#include "conformance/engine_host.h"
#include "model/items.h"
#include "process/child.h"
#include "process/process.h"
#include "unit/cuda_fixture.h"
#include "unit/onnx_fixture.h"

static struct engine *create_emulated(struct host *host, const struct engine_host *port)
{
    const struct engine_emulated_options options = {
        .fleet = host->fleet,
        .catalogue = host->catalogue,
        .profile = host->profile,
        .host = *port,
    };
    return engine_emulated_create(&options);
}

static struct engine *create_local(
    struct host *host, const struct engine_host *port, const struct artifact *file, bool isolate)
{
    struct engine *engine = NULL;
    struct weft_error error;
    for (uint32_t i = 0; i < HOST_MODELS; i++) {
        host->files[i] = *file;
    }
    host->input = host_input();
    const struct engine_local_options options = {
        .fleet = host->fleet,
        .catalogue = host->catalogue,
        .artifacts = &host->artifacts,
        .loop = &host->loop,
        .cache = fixture_folder,
        .isolate = isolate,
        .host = *port,
    };
    if (engine_local_create(&options, &engine, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    return engine;
}

static const struct artifact function_file = {
    .kind = ARTIFACT_FUNCTION,
    .path = (char[]){WEFT_TEST_FUNCTIONS "/functions_sample.so"},
    .function = "nothing",
};

static struct engine *create_functions(struct host *host, const struct engine_host *port)
{
    return create_local(host, port, &function_file, /* isolate */ false);
}

static struct engine *create_isolated(struct host *host, const struct engine_host *port)
{
    return create_local(host, port, &function_file, /* isolate */ true);
}

static char model_path[128];
static char gpu_path[128];

static struct engine *create_models(struct host *host, const struct engine_host *port)
{
    const struct artifact file = {.kind = ARTIFACT_ONNX, .path = model_path};
    return create_local(host, port, &file, /* isolate */ false);
}

static struct fork_server fork_server;
static struct process_child_options child_options;

/* The workers of @host as processes that run @file; on GPUs if @cuda is not NULL. */
static struct engine *create_process(
    struct host *host, const struct engine_host *port, const struct artifact *file, bool isolate,
    const struct engine_cuda_options *cuda)
{
    struct engine *engine = NULL;
    struct weft_error error;
    for (uint32_t i = 0; i < HOST_MODELS; i++) {
        host->files[i] = *file;
    }
    host->input = host_input();
    child_options = (struct process_child_options){
        .fleet = host->fleet,
        .catalogue = host->catalogue,
        .artifacts = &host->artifacts,
        .local = {.cache = fixture_folder, .isolate = isolate},
        .cuda = cuda,
    };
    const struct engine_process_options options = {
        .fleet = host->fleet,
        .catalogue = host->catalogue,
        .artifacts = &host->artifacts,
        .server = &fork_server,
        .loop = &host->loop,
        .keeps_weights = cuda != NULL,
        .host = *port,
    };
    const struct fork_options children = process_fork_options(&child_options);
    if (fork_server_start(&fork_server, &children, &error) != WEFT_OK ||
        engine_process_create(&options, &engine, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    host->stop = &fork_server;
    return engine;
}

static struct engine *create_process_models(struct host *host, const struct engine_host *port)
{
    const struct artifact file = {.kind = ARTIFACT_ONNX, .path = model_path};
    return create_process(host, port, &file, /* isolate */ false, /* cuda */ NULL);
}

static struct engine *create_process_functions(struct host *host, const struct engine_host *port)
{
    return create_process(host, port, &function_file, /* isolate */ true, /* cuda */ NULL);
}

static struct engine *create_cuda(struct host *host, const struct engine_host *port)
{
    static const struct engine_cuda_options cuda = {
        .driver = FAKE_CUDA, .torch = WEFT_TEST_FAKES, .arena_bytes = 64 << 20};
    const struct artifact file = {.cuda = gpu_path};
    for (uint32_t i = 0; i < HOST_WORKERS; i++) {
        host->fleet->workers[i].sharing = SHARES_SM;
    }
    return create_process(host, port, &file, /* isolate */ false, &cuda);
}

/* Those that need ONNX Runtime come last. */
static const host_engine engines[] = {
    create_emulated, create_functions, create_isolated,       create_process_functions,
    create_cuda,     create_models,    create_process_models,
};

static uint32_t engine_count = sizeof(engines) / sizeof(engines[0]);

static struct host host; /* Large: not on the stack. */

static void a_load_ends_once_and_later(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < engine_count; i++) {
        host_init(&host, engines[i]);
        host_load(&host, 1, 2);
        assert_int_equal(host.done_count, 0);
        host_run(&host);
        assert_int_equal(host.done_count, 1);
        assert_int_equal(host.done[0].done.kind, ENGINE_LOADED);
        assert_int_equal(host.done[0].done.status, WEFT_OK);
        assert_int_equal(host.done[0].done.worker, 1);
        assert_int_equal(host.done[0].done.model, 2);
        host_deinit(&host);
    }
}

static void a_cancelled_load_says_nothing_and_leaves_room(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < engine_count; i++) {
        host_init(&host, engines[i]);
        for (uint32_t tries = 0; tries < 10; tries++) {
            host_load(&host, 0, 1);
            engine_cancel_load(host.engine, 0, 1);
        }
        host_run(&host);
        assert_int_equal(host.done_count, 0);
        for (uint32_t model = 0; model < HOST_MODELS; model++) {
            host_load(&host, 0, model); /* All three fit only if nothing is left of it. */
        }
        host_run(&host);
        assert_int_equal(host.done_count, 3);
        host_deinit(&host);
    }
}

static void an_unloaded_model_can_be_loaded_again(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < engine_count; i++) {
        host_init(&host, engines[i]);
        for (uint32_t round = 0; round < 5; round++) {
            host_load(&host, 0, 1);
            host_run(&host);
            host.in_operation = true;
            engine_unload(host.engine, 0, 1);
            host.in_operation = false;
            host_run(&host);
        }
        assert_int_equal(host.done_count, 10);
        assert_int_equal(host.done[9].done.kind, ENGINE_UNLOADED);
        assert_int_equal(host.done[9].done.model, 1);
        host_deinit(&host);
    }
}

static void a_batch_gives_an_output_a_task_in_order(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < engine_count; i++) {
        host_init(&host, engines[i]);
        const struct workflow *workflow = host.catalogue->workflows[0];
        host_load(&host, 0, 0);
        host_run(&host);
        host_launch(&host, /* worker */ 0, /* batch */ 42, /* task */ 0, /* task_count */ 8);
        assert_int_equal(host.done_count, 1);
        host_run(&host);
        const struct host_done *ran = &host.done[1];
        assert_int_equal(ran->done.kind, ENGINE_RAN);
        assert_int_equal(ran->done.batch, 42);
        assert_string_equal(ran->message, "");
        assert_int_equal(ran->done.status, WEFT_OK);
        assert_int_equal(ran->done.output_count, 8);
        assert_true(ran->done.run_ns > 0);
        for (uint32_t k = 0; k < 8; k++) {
            const struct job_id job = {.node = 0, .number = k + 1};
            const uint32_t items = items_given(&workflow->tasks[0], job, 0, 1);
            const struct bundle *made = ran->outputs[k].contents;
            assert_int_equal(ran->outputs[k].status, WEFT_OK);
            if (host.input == NULL) {
                assert_null(made);
                assert_int_equal(ran->outputs[k].items, items);
                assert_int_equal(ran->outputs[k].bytes, 10 * items + 7);
            } else {
                assert_int_equal(ran->outputs[k].items, made->items);
                assert_int_equal(ran->outputs[k].bytes, made->bytes);
            }
        }
        host_deinit(&host);
    }
}

static void a_cancelled_batch_says_nothing_and_its_number_is_free(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < engine_count; i++) {
        host_init(&host, engines[i]);
        host_load(&host, 0, 1);
        host_run(&host);
        for (uint32_t tries = 0; tries < 3; tries++) {
            host_launch(&host, 0, /* batch */ 7, /* task */ 1, /* task_count */ 1);
            engine_cancel(host.engine, 7);
        }
        host_launch(&host, 0, /* batch */ 7, /* task */ 1, /* task_count */ 2);
        host_run(&host);
        assert_int_equal(host.done_count, 2);
        assert_int_equal(host.done[1].done.output_count, 2);
        host_deinit(&host);
    }
}

static void a_share_becomes_ready(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < engine_count; i++) {
        host_init(&host, engines[i]);
        host.in_operation = true;
        engine_reshape(host.engine, 1, 2);
        host.in_operation = false;
        host_run(&host);
        assert_int_equal(host.done_count, 1);
        assert_int_equal(host.done[0].done.kind, ENGINE_SHAPED);
        assert_int_equal(host.done[0].done.worker, 1);
        assert_int_equal(host.done[0].done.gpu, 2);
        host_deinit(&host);
    }
}

static void an_engine_can_be_destroyed_while_it_works(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < engine_count; i++) {
        host_init(&host, engines[i]);
        host_load(&host, 0, 0);
        host_run(&host);
        host_load(&host, 0, 1);
        host_launch(&host, 0, /* batch */ 1, /* task */ 0, /* task_count */ 4);
        host_deinit(&host);
        assert_int_equal(host.done_count, 1);
    }
    engine_destroy(NULL);
}

/* Threads of this process. */
static uint32_t thread_count(void)
{
    uint32_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *at = readdir(tasks); at != NULL; at = readdir(tasks)) {
        count += at->d_name[0] == '.' ? 0 : 1;
    }
    assert_int_equal(closedir(tasks), 0);
    return count;
}

/* Threads and processes that engine @index has for @hosted. */
static uint32_t effort_of(uint32_t index, struct engine_workers hosted)
{
    struct engine_counts counts;
    const uint32_t before = thread_count();
    host_init_part(&host, engines[index], hosted);
    const uint32_t threads = thread_count() - before;
    host_load(&host, 1, 2);
    host_run(&host);
    assert_int_equal(host.done_count, 1);
    assert_int_equal(host.done[0].done.status, WEFT_OK);
    engine_get_counts(host.engine, &counts);
    host_deinit(&host);
    return threads + (uint32_t)counts.engine_starts;
}

static void workers_of_other_hosts_cost_nothing(ATTR_UNUSED void **state)
{
    const struct engine_workers all = {0};
    const struct engine_workers last = {.first = 1, .end = 2};
    for (uint32_t i = 1; i < engine_count; i++) { /* One that pretends costs nothing anyway. */
        const uint32_t both = effort_of(i, all);
        assert_true(both > 0);
        assert_true(effort_of(i, last) < both);
    }
}

/* Without the library, there is one engine less. */
static int setup(void **state)
{
    const struct ort *ort;
    if (fixture_setup(state) != 0) {
        return -1;
    }
    (void)snprintf(model_path, sizeof(model_path), "%s", fixture_path("relu.onnx"));
    onnx_write_relu(model_path, -1);
    (void)snprintf(gpu_path, sizeof(gpu_path), "%s", cuda_make_model("gpu", 2, 1, 1 << 20));
    if (ort_open(&ort, NULL) != WEFT_OK) {
        print_message("skipped: models, for want of a library\n");
        engine_count -= 2;
    }
    return 0;
}

static int teardown(void **state)
{
    cuda_remove_folder();
    return fixture_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_ends_once_and_later),
        cmocka_unit_test(a_cancelled_load_says_nothing_and_leaves_room),
        cmocka_unit_test(an_unloaded_model_can_be_loaded_again),
        cmocka_unit_test(a_batch_gives_an_output_a_task_in_order),
        cmocka_unit_test(a_cancelled_batch_says_nothing_and_its_number_is_free),
        cmocka_unit_test(a_share_becomes_ready),
        cmocka_unit_test(an_engine_can_be_destroyed_while_it_works),
        cmocka_unit_test(workers_of_other_hosts_cost_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
