/*
 * A runtime with an engine that runs something: on threads, with contents, and with failures.
 *
 * Covers: src/runtime/devices.c src/runtime/causes.c src/runtime/perform.c
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/bundle.h"
#include "engine/engine.h"
#include "model/builtin.h"
#include "parity/workload.h"
#include "profile/builtin.h"
#include "runtime/runtime.h"

enum { ADD, BROKEN, PASS };

enum { OPERATIONS_MAX = 64, INPUTS_MAX = 4, MESSAGE_BYTES = 256, ODD_ONE = 13, LOOKS_MAX = 1000 };

struct adder;

/* One thing that the engine was asked for. */
struct operation {
    uv_work_t request;
    struct adder *engine;
    bool used;
    bool cancelled;
    struct engine_done done;
    uint32_t task_count;
    int64_t sums[BATCH_TASKS_MAX];
    bool is_bad[BATCH_TASKS_MAX]; /* This task fails alone. */
    const struct bundle *inputs[BATCH_TASKS_MAX][INPUTS_MAX];
    uint32_t input_counts[BATCH_TASKS_MAX];
};

/* Adds the numbers of all its inputs, on another thread. */
struct adder {
    struct engine base;
    uv_loop_t *loop;
    struct operation operations[OPERATIONS_MAX];
    uint32_t open;
    bool destroyed;
    uint32_t *refusals; /* Of batches, for want of memory, that are still to come. */
    uint32_t *launched;
    uint32_t *looks;
};

struct world {
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct profile *profile;
    struct policy_set policies;
    struct runtime *runtime;
    bool no_engine;
    uint32_t answered;
    enum weft_status status;
    enum reason reason;
    char message[MESSAGE_BYTES];
    uint32_t output_count;
    int64_t sums[2];
    struct runtime_ran ran;
    uint32_t ran_count;
    uint32_t fresh_count; /* Over all runs. */
    struct runtime_loaded loaded;
    uint32_t loaded_count;
    uint32_t refusals;
    uint32_t launched;
    uint32_t looks; /* How often it was asked what it has already; it always says: something. */
    uint32_t idle;  /* Answers that were given while something waited and nothing ran. */
};

static struct bundle *number_bundle(int64_t number)
{
    const struct weft_tensor like = {.name = "y", .dtype = WEFT_INT64, .bytes = sizeof(number)};
    struct bundle *bundle = bundle_create();
    memcpy(bundle_add(bundle, &like), &number, sizeof(number));
    return bundle;
}

static int64_t bundle_number(const struct bundle *bundle)
{
    int64_t number;
    memcpy(&number, bundle_find(bundle, "y")->data, sizeof(number));
    return number;
}

static void work(uv_work_t *request)
{
    struct operation *operation = request->data;
    for (uint32_t i = 0; i < operation->task_count; i++) {
        for (uint32_t k = 0; k < operation->input_counts[i]; k++) {
            operation->sums[i] += bundle_number(operation->inputs[i][k]);
        }
    }
}

static void after(uv_work_t *request, int status)
{
    struct operation *operation = request->data;
    struct adder *engine = operation->engine;
    struct engine_output outputs[BATCH_TASKS_MAX];
    struct engine_done done = operation->done;
    (void)status;
    engine->open--;
    operation->used = false;
    for (uint32_t i = 0; i < operation->task_count && done.status == WEFT_OK; i++) {
        outputs[i] = (struct engine_output){.items = 1, .bytes = 8};
        if (operation->is_bad[i]) {
            outputs[i].status = WEFT_INVALID;
            outputs[i].message = "an odd number";
        } else if (!operation->cancelled) {
            outputs[i].contents = number_bundle(operation->sums[i]);
        }
    }
    done.output_count = done.status == WEFT_OK ? operation->task_count : 0;
    done.outputs = outputs;
    if (!operation->cancelled) {
        engine->base.host.done(engine->base.host.context, &done);
    } else if (engine->destroyed && engine->open == 0) {
        free(engine);
    }
}

static struct operation *begin(struct adder *engine, enum engine_done_kind kind, uint32_t worker)
{
    uint32_t i = 0;
    while (engine->operations[i].used) {
        i++;
    }
    assert_true(i < OPERATIONS_MAX);
    struct operation *operation = &engine->operations[i];
    *operation = (struct operation){
        .engine = engine, .used = true, .done = {.kind = kind, .worker = worker, .run_ns = 5}};
    operation->request.data = operation;
    engine->open++;
    return operation;
}

static void start(struct operation *operation)
{
    assert_int_equal(uv_queue_work(operation->engine->loop, &operation->request, work, after), 0);
}

static void adder_load(struct engine *base, uint32_t worker, uint32_t model)
{
    struct operation *operation = begin((struct adder *)base, ENGINE_LOADED, worker);
    operation->done.model = model;
    operation->done.bytes = 1000;
    if (model == BROKEN) {
        operation->done.status = WEFT_FAILED;
        operation->done.message = "the file is cut off";
    }
    start(operation);
}

static void cancel_where(
    struct adder *engine, enum engine_done_kind kind, uint32_t worker, uint64_t subject)
{
    for (uint32_t i = 0; i < OPERATIONS_MAX; i++) {
        struct operation *operation = &engine->operations[i];
        if (operation->used && operation->done.kind == kind &&
            (kind == ENGINE_RAN
                 ? operation->done.batch == subject
                 : operation->done.worker == worker && operation->done.model == subject)) {
            operation->cancelled = true;
        }
    }
}

static void adder_cancel_load(struct engine *base, uint32_t worker, uint32_t model)
{
    cancel_where((struct adder *)base, ENGINE_LOADED, worker, model);
}

static void adder_unload(struct engine *base, uint32_t worker, uint32_t model)
{
    struct operation *operation = begin((struct adder *)base, ENGINE_UNLOADED, worker);
    operation->done.model = model;
    start(operation);
}

static void adder_reshape(struct engine *base, uint32_t worker, uint32_t gpu)
{
    struct operation *operation = begin((struct adder *)base, ENGINE_SHAPED, worker);
    operation->done.gpu = gpu;
    start(operation);
}

static enum weft_status adder_launch(struct engine *base, const struct engine_batch *batch)
{
    uint32_t *refusals = ((struct adder *)base)->refusals;
    if (*refusals > 0) {
        (*refusals)--;
        return WEFT_NO_MEMORY;
    }
    struct operation *operation = begin((struct adder *)base, ENGINE_RAN, batch->worker);
    (*((struct adder *)base)->launched)++;
    operation->done.batch = batch->batch;
    operation->task_count = batch->task_count;
    for (uint32_t i = 0; i < batch->task_count; i++) {
        operation->input_counts[i] = batch->tasks[i].input_count;
        for (uint32_t k = 0; k < batch->tasks[i].input_count; k++) {
            operation->inputs[i][k] = batch->tasks[i].inputs[k].contents;
            const int64_t number = bundle_number(operation->inputs[i][k]);
            operation->is_bad[i] = operation->is_bad[i] || number == ODD_ONE;
            if (number < 0) {
                operation->done.status = WEFT_INVALID;
                operation->done.message = "a number below zero";
            }
        }
    }
    start(operation);
    return WEFT_OK;
}

static void adder_cancel(struct engine *base, uint64_t batch)
{
    cancel_where((struct adder *)base, ENGINE_RAN, /* worker */ 0, batch);
}

static bool adder_look(struct engine *base)
{
    uint32_t *looks = ((struct adder *)base)->looks;
    *looks += *looks < LOOKS_MAX ? 1 : 0;
    return *looks < LOOKS_MAX;
}

static void adder_destroy(struct engine *base)
{
    struct adder *engine = (struct adder *)base;
    engine->destroyed = true;
    for (uint32_t i = 0; i < OPERATIONS_MAX; i++) {
        engine->operations[i].cancelled = true;
    }
    if (engine->open == 0) {
        free(engine);
    }
}

static const struct engine_ops adder_ops = {
    .name = "adder",
    .load = adder_load,
    .cancel_load = adder_cancel_load,
    .unload = adder_unload,
    .reshape = adder_reshape,
    .launch = adder_launch,
    .cancel = adder_cancel,
    .look = adder_look,
    .destroy = adder_destroy,
};

static struct engine *make_adder(
    void *context, const struct engine_host *host, struct uv_loop_s *loop, struct weft_error *error)
{
    struct world *world = context;
    if (world->no_engine) {
        (void)error_set(error, WEFT_NOT_FOUND, "no such library");
        return NULL;
    }
    struct adder *engine = memory_zeroed(1, sizeof(*engine));
    engine->base.ops = &adder_ops;
    engine->base.host = *host;
    engine->loop = loop;
    engine->refusals = &world->refusals;
    engine->launched = &world->launched;
    engine->looks = &world->looks;
    return &engine->base;
}

static void add_task(struct workflow *workflow, const char *name, uint32_t model)
{
    struct workflow_task task = {.run = model, .model_count = model == PASS ? 0 : 1};
    uint32_t index;
    task.models[0] = model;
    (void)snprintf(task.name, sizeof(task.name), "%s", name);
    assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
}

static void add_edge(struct workflow *workflow, uint32_t from, uint32_t to)
{
    const struct workflow_edge edge = {.from = from, .to = to};
    assert_int_equal(workflow_add_edge(workflow, &edge), WEFT_OK);
}

static void note_ran(void *context, const struct runtime_ran *ran)
{
    struct world *world = context;
    world->ran = *ran;
    world->ran_count++;
    world->fresh_count += ran->fresh_count;
}

static void note_loaded(void *context, const struct runtime_loaded *loaded)
{
    struct world *world = context;
    world->loaded = *loaded;
    world->loaded_count++;
}

/*
 * sum:      a, then b = a + the request through weft.pass; c = a again, on to the client
 * broken:   a model that does not load
 * one:      a alone
 */
static void add_workflows(struct world *world)
{
    struct workflow *sum = workflow_create("sum");
    add_task(sum, "a", ADD);
    add_task(sum, "b", ADD);
    add_task(sum, "inputs", PASS);
    add_task(sum, "outputs.a", PASS);
    add_edge(sum, 0, 1);
    add_edge(sum, 2, 1);
    add_edge(sum, 0, 3);
    assert_int_equal(workflow_seal(sum, NULL), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(world->catalogue, sum), WEFT_OK);
    struct workflow *broken = workflow_create("broken");
    add_task(broken, "a", BROKEN);
    assert_int_equal(workflow_seal(broken, NULL), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(world->catalogue, broken), WEFT_OK);
    struct workflow *one = workflow_create("one");
    add_task(one, "a", ADD);
    assert_int_equal(workflow_seal(one, NULL), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(world->catalogue, one), WEFT_OK);
}

static enum weft_status open_machines(
    struct world *world, const char *policies, uint32_t machines, bool no_engine,
    struct weft_error *error)
{
    const struct fleet_worker device = {.memory_bytes = 1 << 20, .gpu_units = 1};
    *world = (struct world){.no_engine = no_engine};
    world->fleet = fleet_create();
    assert_int_equal(fleet_device(world->fleet, "cpu"), 0);
    for (uint32_t i = 0; i < machines; i++) {
        assert_true(fleet_add_machine(world->fleet, &device, /* devices */ 1, /* cpu */ 1));
    }
    world->catalogue = catalogue_create();
    assert_int_equal(catalogue_model(world->catalogue, "add"), ADD);
    assert_int_equal(catalogue_model(world->catalogue, "broken"), BROKEN);
    assert_int_equal(catalogue_model(world->catalogue, BUILTIN_PASS), PASS);
    add_workflows(world);
    world->profile = profile_create(world->catalogue->model_count);
    profile_add_builtin(world->profile, world->catalogue, /* device_count */ 1);
    assert_int_equal(policy_set_parse(policies, &world->policies, NULL), WEFT_OK);
    const struct runtime_options options = {
        .fleet = world->fleet,
        .catalogue = world->catalogue,
        .profile = world->profile,
        .policies = &world->policies,
        .row_load_ns = 10 * MS,
        .row_cache_ns = 50 * MS,
        .engine = {world, make_adder, note_ran, note_loaded},
    };
    return runtime_create(&options, &world->runtime, error);
}

static enum weft_status open_world(struct world *world, bool no_engine, struct weft_error *error)
{
    return open_machines(world, "least-work", /* machines */ 2, no_engine, error);
}

static void close_world(struct world *world)
{
    runtime_destroy(world->runtime);
    profile_destroy(world->profile);
    catalogue_destroy(world->catalogue);
    fleet_destroy(world->fleet);
}

static void stop(void *context)
{
    const struct world *world = context;
    runtime_stop(world->runtime);
}

static void note_answer(void *context, const struct runtime_answer *answer)
{
    struct world *world = context;
    /* What else is due by then is done before. Waiting for idleness would wait for audits. */
    runtime_call_at(
        world->runtime, runtime_now_ns(world->runtime) + MS, /* background */ true, stop, world);
    world->answered++;
    world->status = answer->status;
    world->reason = answer->reason;
    world->output_count = answer->output_count;
    (void)snprintf(
        world->message, sizeof(world->message), "%s",
        answer->message == NULL ? "" : answer->message);
    for (uint32_t i = 0; i < answer->output_count; i++) {
        uint64_t bytes;
        world->sums[i] =
            bundle_number(runtime_contents(world->runtime, answer->outputs[i], &bytes));
        runtime_release(world->runtime, answer->outputs[i]);
    }
}

static uint64_t ask_node(struct world *world, uint32_t node, uint32_t workflow, int64_t number)
{
    struct bundle *bundle = number_bundle(number);
    const struct runtime_request request = {
        .workflow = workflow,
        .inputs = runtime_tensor(world->runtime, bundle, bundle->bytes, bundle_destroy),
        .answered = note_answer,
        .context = world,
    };
    return runtime_request(world->runtime, node, &request);
}

static uint64_t ask(struct world *world, uint32_t workflow, int64_t number)
{
    return ask_node(world, /* node */ 1, workflow, number);
}

static void contents_flow_through_handles(ATTR_UNUSED void **state)
{
    struct world world;
    assert_int_equal(open_world(&world, /* no_engine */ false, NULL), WEFT_OK);
    (void)ask(&world, /* workflow */ 0, 21);
    runtime_run(world.runtime);
    assert_int_equal(world.answered, 1);
    assert_int_equal(world.status, WEFT_OK);
    assert_int_equal(world.output_count, 2);
    assert_int_equal(world.sums[0], 42); /* b has its producer and the request. */
    assert_int_equal(world.sums[1], 21); /* a reaches the client although b takes it too. */
    assert_int_equal(runtime_counts(world.runtime).tensors, 0);
    close_world(&world);
}

/* The loop has its turn, in which all else comes. */
static void an_engine_that_always_has_something_is_not_all(ATTR_UNUSED void **state)
{
    struct world world;
    assert_int_equal(open_world(&world, /* no_engine */ false, NULL), WEFT_OK);
    (void)ask(&world, /* workflow */ 2, 21);
    runtime_run(world.runtime);
    assert_int_equal(world.answered, 1);
    assert_in_range(world.looks, 1, LOOKS_MAX - 1);
    close_world(&world);
}

enum { REQUESTS = 4 };

static void note_one(void *context, const struct runtime_answer *answer)
{
    struct world *world = context;
    world->answered++;
    world->idle += world->launched < REQUESTS && world->launched == world->answered ? 1 : 0;
    runtime_release(world->runtime, answer->outputs[0]);
    if (world->answered == REQUESTS) {
        runtime_stop(world->runtime);
    }
}

static void ask_for_ones(struct world *world, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct bundle *bundle = number_bundle(1);
        const struct runtime_request request = {
            .workflow = 2,
            .inputs = runtime_tensor(world->runtime, bundle, bundle->bytes, bundle_destroy),
            .answered = note_one,
            .context = world,
        };
        (void)runtime_request(world->runtime, /* node */ 0, &request);
    }
}

/* Writing answers takes time, in which the worker has the next batch. */
static void what_waits_is_launched_before_clients_are_answered(ATTR_UNUSED void **state)
{
    struct world world;
    assert_int_equal(
        open_machines(&world, "least-work", /* machines */ 1, /* no_engine */ false, NULL),
        WEFT_OK);
    ask_for_ones(&world, REQUESTS);
    runtime_run(world.runtime);
    assert_int_equal(world.answered, REQUESTS);
    assert_int_equal(world.launched, REQUESTS); /* One by one. */
    assert_int_equal(world.idle, 0);
    close_world(&world);
}

static void requests_that_came_together_start_together(ATTR_UNUSED void **state)
{
    struct world world;
    assert_int_equal(
        open_machines(
            &world, "place=least-work,dispatch=first-fit:batch=8", /* machines */ 1,
            /* no_engine */ false, NULL),
        WEFT_OK);
    (void)ask_node(
        &world, /* node */ 0, /* workflow */ 2, 1); /* Its model is there from then on. */
    runtime_run(world.runtime);
    assert_int_equal(world.launched, 1);
    world.answered = 0;
    ask_for_ones(&world, REQUESTS);
    runtime_run(world.runtime);
    assert_int_equal(world.answered, REQUESTS);
    assert_int_equal(world.launched, 2);
    close_world(&world);
}

static void what_was_measured_is_told(ATTR_UNUSED void **state)
{
    struct world world;
    assert_int_equal(open_world(&world, /* no_engine */ false, NULL), WEFT_OK);
    (void)ask(&world, /* workflow */ 0, 1);
    runtime_run(world.runtime);
    assert_true(world.loaded_count >= 1);
    assert_int_equal(world.loaded.model, ADD);
    assert_int_equal(world.loaded.bytes, 1000);
    assert_true(world.loaded.load_ns > 0); /* Looked at when it ended, not when it was asked. */
    assert_int_equal(world.ran_count, 2);  /* a and b; what is passed on is no run. */
    assert_int_equal(world.ran.model, ADD);
    assert_int_equal(world.ran.items, 1);
    assert_int_equal(world.ran.run_ns, 5);
    assert_true(world.ran.took_ns > 5);                      /* Over to a thread and back. */
    assert_int_equal(world.fresh_count, world.loaded_count); /* A first run for each load. */
    assert_int_equal(world.ran.fresh_count, 0);              /* This was not one. */
    close_world(&world);
}

static void a_failed_batch_says_why(ATTR_UNUSED void **state)
{
    struct world world;
    assert_int_equal(open_world(&world, /* no_engine */ false, NULL), WEFT_OK);
    (void)ask(&world, /* workflow */ 0, -3);
    runtime_run(world.runtime);
    assert_int_equal(world.answered, 1);
    assert_int_equal(world.status, WEFT_INVALID);
    assert_string_equal(world.message, "task 'a': a number below zero");
    (void)ask(&world, /* workflow */ 0, 3); /* Nothing is left of it. */
    runtime_run(world.runtime);
    assert_int_equal(world.status, WEFT_OK);
    assert_string_equal(world.message, "");
    close_world(&world);
}

static void a_task_that_fails_alone_says_why(ATTR_UNUSED void **state)
{
    struct world world;
    assert_int_equal(open_world(&world, /* no_engine */ false, NULL), WEFT_OK);
    (void)ask(&world, /* workflow */ 0, ODD_ONE);
    runtime_run(world.runtime);
    assert_int_equal(world.status, WEFT_INVALID);
    assert_int_equal(world.reason, REASON_INVALID);
    assert_string_equal(world.message, "task 'a': an odd number");
    assert_int_equal(runtime_counts(world.runtime).tensors, 0);
    close_world(&world);
}

/* The engine had no memory for it. It is tried again, and says so if that does not help either. */
static void a_batch_that_was_not_taken_has_failed(ATTR_UNUSED void **state)
{
    struct world world;
    assert_int_equal(open_world(&world, /* no_engine */ false, NULL), WEFT_OK);
    world.refusals = 1;
    (void)ask(&world, /* workflow */ 0, 21);
    runtime_run(world.runtime);
    assert_int_equal(world.status, WEFT_OK);
    assert_int_equal(world.sums[0], 42);
    world.refusals = 1000;
    (void)ask(&world, /* workflow */ 0, 21);
    runtime_run(world.runtime);
    assert_int_equal(world.answered, 2);
    assert_int_equal(world.status, WEFT_FAILED);
    assert_string_equal(world.message, "task 'a': no memory for a batch");
    assert_int_equal(runtime_counts(world.runtime).tensors, 0);
    close_world(&world);
}

/* Its client leaves before the node has heard of it. */
static void a_batch_that_was_not_taken_can_be_cancelled(ATTR_UNUSED void **state)
{
    struct world world;
    assert_int_equal(open_world(&world, /* no_engine */ false, NULL), WEFT_OK);
    (void)ask(&world, /* workflow */ 0, 21); /* The model is loaded then. */
    runtime_run(world.runtime);
    world.refusals = 1;
    runtime_cancel(world.runtime, ask(&world, /* workflow */ 0, 21));
    runtime_run(world.runtime);
    assert_int_equal(world.refusals, 0);
    assert_int_equal(world.answered, 2);
    assert_int_equal(world.status, WEFT_CANCELLED);
    (void)ask(&world, /* workflow */ 0, 4);
    runtime_run(world.runtime);
    assert_int_equal(world.sums[0], 8);
    close_world(&world);
}

static void a_failed_load_says_why(ATTR_UNUSED void **state)
{
    struct world world;
    assert_int_equal(open_world(&world, /* no_engine */ false, NULL), WEFT_OK);
    (void)ask(&world, /* workflow */ 1, 3);
    runtime_run(world.runtime);
    assert_int_equal(world.answered, 1);
    assert_int_equal(world.status, WEFT_FAILED);
    assert_string_equal(world.message, "model 'broken': the file is cut off");
    close_world(&world);
}

static void without_an_engine_there_is_no_runtime(ATTR_UNUSED void **state)
{
    struct world world;
    struct weft_error error = {0};
    assert_int_equal(open_world(&world, /* no_engine */ true, &error), WEFT_NOT_FOUND);
    assert_string_equal(error.message, "no such library");
    close_world(&world);
}

static void it_can_be_destroyed_while_threads_run(ATTR_UNUSED void **state)
{
    struct world world;
    assert_int_equal(open_world(&world, /* no_engine */ false, NULL), WEFT_OK);
    for (int64_t i = 0; i < 8; i++) {
        (void)ask(&world, /* workflow */ 0, i);
    }
    close_world(&world);
    assert_int_equal(world.answered, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_flow_through_handles),
        cmocka_unit_test(an_engine_that_always_has_something_is_not_all),
        cmocka_unit_test(what_waits_is_launched_before_clients_are_answered),
        cmocka_unit_test(requests_that_came_together_start_together),
        cmocka_unit_test(what_was_measured_is_told),
        cmocka_unit_test(a_failed_batch_says_why),
        cmocka_unit_test(a_task_that_fails_alone_says_why),
        cmocka_unit_test(a_batch_that_was_not_taken_has_failed),
        cmocka_unit_test(a_batch_that_was_not_taken_can_be_cancelled),
        cmocka_unit_test(a_failed_load_says_why),
        cmocka_unit_test(without_an_engine_there_is_no_runtime),
        cmocka_unit_test(it_can_be_destroyed_while_threads_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
