/*
 * Engines that have no memory for a batch, or for what is to be said of it. malloc(), calloc() and
 * realloc() are replaced by ones that fail on demand: see --wrap in test/CMakeLists.txt.
 *
 * Covers: src/engine/engine.c src/process/process.c src/process/batch.c src/onnx/local.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "function/fork_server.h"
#include "onnx/local.h"
#include "process/child.h"
#include "process/process.h"
#include "unit/engine_fixture.h"

enum { NOTHING, INVERT };

/* Of the thread that tests, because engines have threads of their own. */
static _Thread_local bool is_limited;
static _Thread_local uint32_t blocks_left;
static _Thread_local uint32_t reallocs_left;

/* Under the names that the linker gives to what it has replaced. */
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

/* Whether a new block is to be refused. Compilers make one of these calls of another. */
static bool is_refused(void)
{
    if (is_limited && blocks_left-- == 0) {
        blocks_left = 0;
        return true;
    }
    return false;
}

void *__wrap_malloc(size_t bytes)
{
    return is_refused() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (memory == NULL) {
        return is_refused() ? NULL : __real_realloc(NULL, bytes);
    }
    if (is_limited && reallocs_left-- == 0) {
        reallocs_left = 0;
        return NULL;
    }
    return __real_realloc(memory, bytes);
}

/* From now on so many calls succeed, and none after them. */
static void limit(uint32_t blocks, uint32_t reallocs)
{
    is_limited = true;
    blocks_left = blocks;
    reallocs_left = reallocs;
}

static void unlimit(void)
{
    is_limited = false;
}

static void add_workflow(const char *name, uint32_t number)
{
    const uint32_t model = add_model(name, ARTIFACT_FUNCTION, SAMPLE);
    struct workflow *workflow = workflow_create(name);
    struct workflow_task task = {.run = model, .models = {model}, .model_count = 1};
    uint32_t index;
    assert_int_equal(model, number);
    (void)snprintf(task.name, sizeof(task.name), "%s", name);
    assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(world.catalogue, workflow), WEFT_OK);
}

static void add_workflows(void)
{
    world_open(64 << 20);
    add_workflow("nothing", NOTHING);
    add_workflow("invert", INVERT);
}

static void open_local(void)
{
    add_workflows();
    const struct engine_local_options options = {
        .fleet = world.fleet,
        .catalogue = world.catalogue,
        .artifacts = &world.artifacts,
        .loop = &world.loop,
        .host = {.done = on_done},
    };
    assert_int_equal(engine_local_create(&options, &world.engine, NULL), WEFT_OK);
}

/* What is there beside the world, for an engine of processes. */
static struct {
    struct process_child_options child;
    struct fork_server server;
    uint32_t ended;
} processes;

static void on_ended(
    ATTR_UNUSED void *context, ATTR_UNUSED uint32_t worker, ATTR_UNUSED const char *message)
{
    processes.ended++;
}

static void open_process(void)
{
    add_workflows();
    processes.ended = 0;
    processes.child = (struct process_child_options){
        .fleet = world.fleet, .catalogue = world.catalogue, .artifacts = &world.artifacts};
    const struct fork_options children = process_fork_options(&processes.child);
    assert_int_equal(fork_server_start(&processes.server, &children, NULL), WEFT_OK);
    const struct engine_process_options options = {
        .fleet = world.fleet,
        .catalogue = world.catalogue,
        .artifacts = &world.artifacts,
        .server = &processes.server,
        .loop = &world.loop,
        .host = {.done = on_done},
        .on_ended = on_ended,
    };
    assert_int_equal(engine_process_create(&options, &world.engine, NULL), WEFT_OK);
}

static void close_process(void)
{
    assert_int_equal(processes.ended, 0); /* No lack of memory has cost the process. */
    engine_destroy(world.engine);
    fork_server_stop(&processes.server);
    world_close();
}

/* A picture of one row of @columns. */
static struct bundle *picture(int64_t columns)
{
    struct bundle *bundle = bundle_create();
    const struct weft_tensor tensor = {
        .name = "x",
        .dtype = WEFT_UINT8,
        .rank = 2,
        .shape = {1, columns},
        .bytes = (uint64_t)columns,
    };
    memset(bundle_add(bundle, &tensor), 1, (size_t)columns);
    return bundle;
}

static enum weft_status launch(uint64_t batch, uint32_t workflow, const struct bundle *input)
{
    const struct engine_input inputs[1] = {{.contents = input, .bytes = input->bytes}};
    const struct engine_task tasks[1] = {{.items = 1, .input_count = 1, .inputs = inputs}};
    const struct engine_batch launched = {
        .batch = batch,
        .workflow = workflow,
        .items = 1,
        .task_count = 1,
        .tasks = tasks,
        .config = {.batch = 1, .gpu = 1},
    };
    return engine_launch(world.engine, &launched);
}

/* Launch a batch with memory for one allocation more each time, until @blocks of them are enough.
 */
static void launch_with_more_and_more(uint32_t blocks)
{
    struct bundle *input = picture(16);
    const uint32_t said_before = world.said_count;
    uint32_t refusals = 0;
    for (;;) {
        limit(/* blocks */ refusals, /* reallocs */ UINT32_MAX);
        const enum weft_status status = launch(refusals, NOTHING, input);
        unlimit();
        if (status == WEFT_OK) {
            break;
        }
        assert_int_equal(status, WEFT_NO_MEMORY);
        assert_int_equal(atomic_load(&input->references), 1);
        refusals++;
    }
    assert_int_equal(refusals, blocks);
    const struct said *said = settle();
    assert_int_equal(world.said_count, said_before + 1); /* Nothing of the others. */
    assert_int_equal(said->done.batch, refusals);
    assert_int_equal(said->done.status, WEFT_OK);
    assert_int_equal(atomic_load(&input->references), 1);
    bundle_destroy(input);
}

static void a_local_engine_refuses_a_batch(ATTR_UNUSED void **state)
{
    open_local();
    load(NOTHING);
    launch_with_more_and_more(4); /* It, its tasks, their inputs, what is said of them. */
    engine_destroy(world.engine);
    world_close();
}

static void an_engine_of_processes_refuses_a_batch(ATTR_UNUSED void **state)
{
    open_process();
    load(NOTHING);
    launch_with_more_and_more(3); /* It, its tasks, and their inputs. */
    close_process();
}

static void a_batch_that_cannot_be_sent_fails(ATTR_UNUSED void **state)
{
    struct bundle *input = picture(32768);
    open_process();
    load(NOTHING);
    limit(/* blocks */ UINT32_MAX, /* reallocs */ 0);
    assert_int_equal(launch(1, NOTHING, input), WEFT_OK);
    unlimit();
    const struct said *said = settle();
    assert_int_equal(said->done.status, WEFT_NO_MEMORY);
    assert_string_equal(said->message, "too large for a message to an engine, or no memory for it");
    assert_int_equal(launch(2, NOTHING, input), WEFT_OK);
    assert_int_equal(settle()->done.status, WEFT_OK);
    bundle_destroy(input);
    close_process();
}

static void outputs_that_cannot_be_taken_fail_their_batch(ATTR_UNUSED void **state)
{
    struct bundle *input = picture(16);
    open_process();
    load(NOTHING);
    assert_int_equal(launch(1, NOTHING, input), WEFT_OK);
    limit(/* blocks */ 0, /* reallocs */ UINT32_MAX);
    const struct said *said = settle();
    unlimit();
    assert_int_equal(said->done.status, WEFT_NO_MEMORY);
    assert_string_equal(said->message, "no memory for the outputs of a batch");
    assert_int_equal(launch(2, NOTHING, input), WEFT_OK);
    assert_int_equal(settle()->done.status, WEFT_OK);
    bundle_destroy(input);
    close_process();
}

static void telling_takes_no_memory(ATTR_UNUSED void **state)
{
    struct bundle *input = picture(16); /* Without what the function asks for. */
    open_process();
    load(INVERT);
    assert_int_equal(launch(1, INVERT, input), WEFT_OK);
    limit(/* blocks */ 0, /* reallocs */ UINT32_MAX);
    const struct said *said = settle();
    assert_int_equal(said->done.kind, ENGINE_RAN);
    assert_int_equal(said->done.status, WEFT_INVALID);
    engine_unload(world.engine, 0, INVERT);
    assert_int_equal(settle()->done.kind, ENGINE_UNLOADED);
    load(INVERT);
    unlimit();
    bundle_destroy(input);
    close_process();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_local_engine_refuses_a_batch),
        cmocka_unit_test(an_engine_of_processes_refuses_a_batch),
        cmocka_unit_test(a_batch_that_cannot_be_sent_fails),
        cmocka_unit_test(outputs_that_cannot_be_taken_fail_their_batch),
        cmocka_unit_test(telling_takes_no_memory),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
