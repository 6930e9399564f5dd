/*
 * Engine processes that run what comes next before they are told to, and that share a processor
 * with the loop while there is little to do. All runs count as short here, and all pauses.
 *
 * Covers: src/process/ahead.c, src/process/near.c, src/process/spin.c, src/engine/near.c
 */
#include "process/ahead.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uv.h>

#include "base/attributes.h"
#include "engine/near.h"
#include "engine/tray.h"
#include "engine/waker.h"
#include "process/child.h"
#include "process/inside.h"
#include "process/process.h"
#include "unit/engine_fixture.h"
#include "unit/process_seen.h"
#include "unit/thread_seen.h"

enum { PAIR, DIVIDE, HALVE, MODELS };    /* Models. */
enum { CHAIN, FORK };                    /* Workflows. */
enum { FIRST, SECOND, THIRD };           /* Tasks of the chain. */
enum { LEARN_RUNS = 6, ALONE_MIN = 40 }; /* Until models are known; and more than it takes. */

#define SHORT_NS INT64_C(1000000000000)

static struct process_child_options child;
static struct fork_server server;
static uint64_t last_batch;

/* Outputs have the same names everywhere: what is given to a wrong task would run there, too. */
static void write_model(uint32_t model, const char *kind)
{
    static const char *const inputs[] = {"x", "y"};
    struct onnx_writer writer;
    const int64_t shape[2] = {-1, 1};
    char path[64];
    char name[16];
    onnx_writer_start(&writer);
    for (uint32_t i = 0; i < 2; i++) {
        onnx_writer_input(&writer, inputs[i], ONNX_INT64, 2, shape);
    }
    if (strcmp(kind, "Identity") == 0) {
        onnx_writer_node(&writer, kind, "x", NULL, "a");
        onnx_writer_node(&writer, kind, "y", NULL, "b");
    } else {
        onnx_writer_node(&writer, kind, "x", "y", "a");
        onnx_writer_node(&writer, "Identity", "y", NULL, "b");
    }
    onnx_writer_output(&writer, "a", ONNX_INT64, 2, shape);
    onnx_writer_output(&writer, "b", ONNX_INT64, 2, shape);
    (void)snprintf(name, sizeof(name), "model%u", model);
    (void)snprintf(path, sizeof(path), "%s.onnx", name);
    onnx_writer_finish(&writer, fixture_path(path));
    assert_int_equal(add_model(name, ARTIFACT_ONNX, fixture_path(path)), model);
}

static uint32_t add_task(struct workflow *workflow, const char *name, uint32_t model)
{
    struct workflow_task task = {.run = model, .models = {model}, .model_count = 1};
    uint32_t index;
    (void)snprintf(task.name, sizeof(task.name), "%s", name);
    assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
    return index;
}

static void add_edge(struct workflow *workflow, uint32_t from, uint32_t to)
{
    const struct workflow_edge edge = {.from = from, .to = to, .bytes = 16};
    assert_int_equal(workflow_add_edge(workflow, &edge), WEFT_OK);
}

static void finish_workflow(struct workflow *workflow)
{
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(world.catalogue, workflow), WEFT_OK);
}

/* A chain: x and y, x / y and y, that / y and y. And one task with two after it. */
static void world_init(void)
{
    struct weft_error error;
    world_open(64 << 20);
    last_batch = 0;
    write_model(PAIR, "Identity");
    write_model(DIVIDE, "Div");
    write_model(HALVE, "Div");
    struct workflow *chain = workflow_create("chain");
    const uint32_t tasks[3] = {
        add_task(chain, "first", PAIR),
        add_task(chain, "second", DIVIDE),
        add_task(chain, "third", HALVE),
    };
    add_edge(chain, tasks[0], tasks[1]);
    add_edge(chain, tasks[1], tasks[2]);
    static const struct workflow_port ports[] = {
        {.task = SECOND, .from = FIRST, .name = "x", .output = "a"},
        {.task = SECOND, .from = FIRST, .name = "y", .output = "b"},
        {.task = THIRD, .from = SECOND, .name = "x", .output = "a"},
        {.task = THIRD, .from = SECOND, .name = "y", .output = "b"},
    };
    for (uint32_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
        assert_int_equal(workflow_add_port(chain, &ports[i]), WEFT_OK);
    }
    finish_workflow(chain);
    struct workflow *fork = workflow_create("fork");
    const uint32_t first = add_task(fork, "first", PAIR);
    add_edge(fork, first, add_task(fork, "left", PAIR));
    add_edge(fork, first, add_task(fork, "right", PAIR));
    finish_workflow(fork);
    child = (struct process_child_options){
        .fleet = world.fleet,
        .catalogue = world.catalogue,
        .artifacts = &world.artifacts,
        .local = {.cache = fixture_folder},
        .short_ns = SHORT_NS,
    };
    const struct engine_process_options options = {
        .fleet = world.fleet,
        .catalogue = world.catalogue,
        .artifacts = &world.artifacts,
        .server = &server,
        .loop = &world.loop,
        .short_ns = SHORT_NS,
        .host = {.done = on_done},
    };
    const struct fork_options children = process_fork_options(&child);
    if (fork_server_start(&server, &children, &error) != WEFT_OK ||
        engine_process_create(&options, &world.engine, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    for (uint32_t i = 0; i < MODELS; i++) {
        load(i);
    }
}

static void world_deinit(void)
{
    engine_destroy(world.engine);
    fork_server_stop(&server);
    world_close();
}

static struct bundle *pair(int64_t x, int64_t y)
{
    struct bundle *bundle = bundle_create();
    struct weft_tensor tensor = {
        .dtype = WEFT_INT64, .rank = 2, .shape = {1, 1}, .bytes = sizeof(x), .name = "x"};
    memcpy(bundle_add(bundle, &tensor), &x, sizeof(x));
    (void)snprintf(tensor.name, sizeof(tensor.name), "y");
    memcpy(bundle_add(bundle, &tensor), &y, sizeof(y));
    return bundle;
}

/* Launch a batch of @task with @inputs, one a task. */
static void launch(uint32_t workflow, uint32_t task, uint32_t count, struct bundle *const *bundles)
{
    struct engine_task tasks[TASKS_MAX];
    struct engine_input inputs[TASKS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        inputs[i] = (struct engine_input){.contents = bundles[i], .bytes = bundles[i]->bytes};
        tasks[i] = (struct engine_task){.items = 1, .input_count = 1, .inputs = &inputs[i]};
    }
    const struct engine_batch batch = {
        .batch = ++last_batch,
        .workflow = workflow,
        .task = task,
        .items = count,
        .task_count = count,
        .tasks = tasks,
        .config = {.batch = count, .gpu = 1},
    };
    assert_int_equal(engine_launch(world.engine, &batch), WEFT_OK);
}

/* The same, until it has ended, which must be well. */
static const struct said *run(
    uint32_t workflow, uint32_t task, uint32_t count, struct bundle *const *bundles)
{
    launch(workflow, task, count, bundles);
    const struct said *said = settle();
    assert_string_equal(said->message, "");
    assert_int_equal(said->done.batch, last_batch);
    assert_int_equal(said->done.status, WEFT_OK);
    assert_int_equal(said->done.output_count, count);
    return said;
}

static struct bundle *made(const struct said *said, uint32_t task)
{
    assert_int_equal(said->outputs[task].status, WEFT_OK);
    assert_non_null(said->outputs[task].contents);
    return said->outputs[task].contents;
}

static int64_t value_of(const struct said *said, uint32_t task, const char *name)
{
    const struct weft_tensor *found = bundle_find(made(said, task), name);
    assert_non_null(found);
    return *(const int64_t *)found->data;
}

/* Run the chain for one request. */
static const struct said *run_chain(int64_t x, int64_t y)
{
    struct bundle *input = pair(x, y);
    const struct said *said = run(CHAIN, FIRST, 1, &input);
    bundle_destroy(input);
    input = made(said, 0);
    said = run(CHAIN, SECOND, 1, &input);
    assert_int_equal(value_of(said, 0, "a"), x / y);
    input = made(said, 0);
    said = run(CHAIN, THIRD, 1, &input);
    assert_int_equal(value_of(said, 0, "a"), x / y / y);
    return said;
}

/* Run the chain until all of its models are known to be short. */
static void learn(void)
{
    for (uint32_t i = 0; i < LEARN_RUNS; i++) {
        (void)run_chain(8, 2);
    }
    assert_int_equal(engine_process_counts(world.engine).ahead, 0);
}

static void what_comes_next_has_been_run_when_it_is_launched(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init();
    learn();
    for (uint32_t i = 1; i <= 3; i++) {
        (void)run_chain(36 * i, 3);
        assert_int_equal(engine_process_counts(world.engine).ahead, 2 * i);
    }
    assert_int_equal(engine_process_counts(world.engine).missed, 0);
    world_deinit();
}

static void tasks_of_a_batch_go_ahead_together(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init();
    learn();
    struct bundle *inputs[3] = {pair(8, 2), pair(27, 3), pair(64, 4)};
    const struct said *said = run(CHAIN, FIRST, 3, inputs);
    for (uint32_t i = 0; i < 3; i++) {
        bundle_destroy(inputs[i]);
        inputs[i] = made(said, 2 - i); /* In another order. */
    }
    said = run(CHAIN, SECOND, 3, inputs);
    assert_int_equal(engine_process_counts(world.engine).ahead, 1);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(value_of(said, i, "b"), 4 - i);
        assert_int_equal(value_of(said, i, "a"), (4 - i) * (4 - i));
    }
    world_deinit();
}

static void tasks_that_went_ahead_together_may_be_launched_apart(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init();
    learn();
    struct bundle *inputs[2] = {pair(8, 2), pair(27, 3)};
    const struct said *said = run(CHAIN, FIRST, 2, inputs);
    for (uint32_t i = 0; i < 2; i++) {
        bundle_destroy(inputs[i]);
        inputs[i] = made(said, i);
    }
    for (uint32_t i = 0; i < 2; i++) {
        said = run(CHAIN, SECOND, 1, &inputs[i]);
        assert_int_equal(value_of(said, 0, "a"), i == 0 ? 4 : 9);
        assert_int_equal(engine_process_counts(world.engine).ahead, i + 1);
    }
    world_deinit();
}

static void what_is_launched_with_others_runs_as_it_is_launched(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init();
    learn();
    struct bundle *inputs[2] = {pair(8, 2), pair(27, 3)};
    const struct said *said = run(CHAIN, FIRST, 1, inputs);
    /* The other is no output, and has other names than one: it fails. */
    struct bundle *both[2] = {made(said, 0), inputs[1]};
    launch(CHAIN, SECOND, 2, both);
    said = settle();
    assert_int_equal(value_of(said, 0, "a"), 4);
    assert_int_not_equal(said->outputs[1].status, WEFT_OK);
    assert_int_equal(engine_process_counts(world.engine).ahead, 0);
    bundle_destroy(inputs[0]);
    bundle_destroy(inputs[1]);
    world_deinit();
}

static void where_it_is_in_vain_nothing_is_run_ahead(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init();
    learn();
    for (uint32_t i = 0; i < 100; i++) {
        struct bundle *input = pair(8, 2);
        (void)run(CHAIN, FIRST, 1, &input);
        bundle_destroy(input);
    }
    const uint64_t missed = engine_process_counts(world.engine).missed;
    assert_true(missed >= 8);
    assert_true(missed < 40); /* Of 200 that could have been. */
    world_deinit();
}

static void a_task_with_two_after_it_is_followed_by_none(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init();
    learn();
    for (uint32_t i = 0; i < 8; i++) {
        struct bundle *input = pair(8, 2);
        const struct said *said = run(FORK, 0, 1, &input);
        bundle_destroy(input);
        input = pair(value_of(said, 0, "a"), 2);
        (void)run(FORK, 1, 1, &input);
        bundle_destroy(input);
    }
    assert_int_equal(engine_process_counts(world.engine).ahead, 0);
    assert_int_equal(engine_process_counts(world.engine).missed, 0);
    world_deinit();
}

/* The second task ends its process, before it was asked for: the first is not to blame. */
static void a_crash_ahead_is_blamed_on_its_own_task(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init();
    learn();
    struct bundle *input = pair(INT64_MIN, -1);
    const struct said *said = run(CHAIN, FIRST, 1, &input);
    assert_int_equal(value_of(said, 0, "a"), INT64_MIN);
    assert_int_equal(engine_process_counts(world.engine).crashes, 1);
    bundle_destroy(input);
    input = made(said, 0);
    launch(CHAIN, SECOND, 1, &input);
    said = settle();
    assert_int_equal(said->done.status, WEFT_CRASHED);
    (void)run_chain(8, 2);
    world_deinit();
}

static void what_is_cancelled_goes_nowhere(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init();
    learn();
    for (uint32_t i = 0; i < 50; i++) {
        struct bundle *input = pair(8, 2);
        launch(CHAIN, FIRST, 1, &input);
        if (i % 2 == 0) {
            uv_sleep(1); /* Its report, and those that follow, may have come, and not been read. */
        }
        engine_cancel(world.engine, last_batch);
        bundle_destroy(input);
        (void)run_chain(8, 2);
    }
    assert_int_equal(engine_process_counts(world.engine).kills, 0);
    world_deinit();
}

/* Two processors that this thread may use; false if there is only one. */
static bool has_two(cpu_set_t *allowed_out)
{
    assert_int_equal(sched_getaffinity(0, sizeof(*allowed_out), allowed_out), 0);
    return CPU_COUNT(allowed_out) > 1;
}

static uint32_t processor_count(void)
{
    cpu_set_t now;
    assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
    return (uint32_t)CPU_COUNT(&now);
}

static void run_alone(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct bundle *input = pair(8, 2);
        (void)run(FORK, 0, 1, &input);
        bundle_destroy(input);
        forget();
    }
}

/* Run batches alone until the loop stays on one processor. On a busy machine one may take so long
 * that the loop counts as idle and leaves it, until the next. */
static void stay(uint32_t count)
{
    run_alone(count);
    for (uint32_t tries = 0; tries < 1000 && processor_count() != 1; tries++) {
        run_alone(1);
    }
    assert_int_equal(processor_count(), 1);
}

static void short_runs_that_are_alone_stay_on_one_processor(ATTR_UNUSED void **state)
{
    cpu_set_t allowed;
    (void)fixture_ort();
    if (!has_two(&allowed)) {
        skip();
    }
    world_init();
    waker_expect(false);
    stay(ALONE_MIN);
    assert_int_equal(near_where(), near_here());
    const pid_t waker = thread_called("weft-waker");
    assert_true(waker > 0);
    const long sleeps = thread_sleeps(waker);
    waker_expect(true); /* Whether that pays is tried now: its processor is woken ahead. */
    while (thread_sleeps(waker) == sleeps) {
        run_alone(1);
    }
    waker_expect(false);
    struct bundle *inputs[2] = {pair(8, 2), pair(9, 3)};
    launch(FORK, 0, 1, &inputs[0]);
    launch(FORK, 0, 1, &inputs[1]); /* Beside the other: there is more to do. */
    assert_int_equal(processor_count(), CPU_COUNT(&allowed));
    (void)settle();
    bundle_destroy(inputs[0]);
    bundle_destroy(inputs[1]);
    stay(3 * ALONE_MIN);
    world_deinit(); /* Whoever comes next may go anywhere. */
    assert_int_equal(processor_count(), CPU_COUNT(&allowed));
    assert_true(thread_has_gone("weft-waker"));
}

static void find_idle(uv_handle_t *handle, void *is_found)
{
    if (handle->type == UV_IDLE && uv_is_active(handle)) {
        *(bool *)is_found = true;
    }
}

/* Whether the loop looks for what comes next, instead of sleeping. */
static bool is_awake(void)
{
    bool is_found = false;
    uv_walk(&world.loop, find_idle, &is_found);
    return is_found;
}

static void after_short_runs_that_are_alone_the_loop_stays_awake(ATTR_UNUSED void **state)
{
    cpu_set_t allowed;
    (void)fixture_ort();
    if (!has_two(&allowed)) {
        skip();
    }
    world_init();
    run_alone(1);
    assert_false(is_awake());
    stay(3 * ALONE_MIN);
    while (!is_awake()) {
        run_alone(1); /* Whether that pays is tried as well. */
    }
    struct bundle *inputs[2] = {pair(8, 2), pair(9, 3)};
    launch(FORK, 0, 1, &inputs[0]);
    launch(FORK, 0, 1, &inputs[1]);
    (void)settle();
    assert_false(is_awake());
    bundle_destroy(inputs[0]);
    bundle_destroy(inputs[1]);
    world_deinit();
}

/* A batch that is near has run before the loop goes on: it need not ask for its report. */
static void what_is_near_is_looked_at_before_the_loop(ATTR_UNUSED void **state)
{
    cpu_set_t allowed;
    (void)fixture_ort();
    if (!has_two(&allowed)) {
        skip();
    }
    world_init();
    assert_false(engine_look(world.engine));
    stay(ALONE_MIN);
    struct bundle *input = pair(8, 2);
    launch(FORK, 0, 1, &input);
    (void)usleep(100000);
    assert_int_equal(world.said_count, 0);
    assert_true(engine_look(world.engine));
    assert_int_equal(world.said_count, 1);
    assert_int_equal(world.said[0].done.kind, ENGINE_RAN);
    assert_false(engine_look(world.engine));
    bundle_destroy(input);
    world_deinit();
}

/* The tray of the only worker. */
static struct tray *tray_of_worker(void)
{
    struct process_worker *worker = ((struct engine_process *)world.engine)->workers;
    assert_non_null(worker->tray);
    return worker->tray;
}

/* The same while the loop waits: what lies in the tray is looked at, and what is still to come is
 * sent. */
static void whoever_does_not_look_is_told_all_the_same(ATTR_UNUSED void **state)
{
    cpu_set_t allowed;
    (void)fixture_ort();
    if (!has_two(&allowed)) {
        skip();
    }
    world_init();
    for (uint32_t i = 0; i < 2; i++) {
        stay(ALONE_MIN);
        const pid_t engine = process_child_of(server.first.process);
        struct bundle *input = pair(8, 2);
        assert_true(i == 0 || process_stop(engine));
        launch(FORK, 0, 1, &input);
        (void)usleep(100000);
        if (i == 0) {
            assert_int_equal(tray_close(tray_of_worker()), TRAY_FULL);
        } else {
            assert_false(engine_look(world.engine));
            assert_int_equal(tray_close(tray_of_worker()), TRAY_CLOSED);
            assert_int_equal(kill(engine, SIGCONT), 0);
        }
        const struct said *said = settle();
        assert_int_equal(said->done.batch, last_batch);
        assert_int_equal(said->done.status, WEFT_OK);
        bundle_destroy(input);
        forget();
    }
    world_deinit();
}

/* A process that ends while its tray is open leaves it to none: the next one has its own. */
static void a_tray_goes_with_its_process(ATTR_UNUSED void **state)
{
    cpu_set_t allowed;
    (void)fixture_ort();
    if (!has_two(&allowed)) {
        skip();
    }
    world_init();
    stay(ALONE_MIN);
    const pid_t engine = process_child_of(server.first.process);
    struct bundle *input = pair(8, 2);
    assert_true(process_stop(engine));
    launch(FORK, 0, 1, &input);
    assert_int_equal(kill(engine, SIGKILL), 0);
    const struct said *said = settle();
    assert_int_equal(said->done.status, WEFT_OK); /* It has run again. */
    assert_int_equal(engine_process_counts(world.engine).crashes, 1);
    forget();
    stay(3 * ALONE_MIN);
    launch(FORK, 0, 1, &input);
    (void)usleep(100000);
    assert_int_equal(tray_close(tray_of_worker()), TRAY_FULL);
    assert_true(engine_look(world.engine));
    bundle_destroy(input);
    world_deinit();
}

/* Whether @thread, 0 for this one, takes turns of 0.1 ms. */
static bool is_hurried(long thread)
{
    uint64_t words[7] = {0}; /* struct sched_attr; the fourth is how long a turn is. */
    return syscall(SYS_sched_getattr, thread, words, sizeof(words), 0) == 0 && words[3] == 100000;
}

/* How many threads of @process do. */
static uint32_t hurried_of(pid_t process)
{
    char path[64];
    uint32_t count = 0;
    const struct dirent *entry;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    DIR *folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const long thread = strtol(entry->d_name, NULL, 10);
        count += thread > 0 && is_hurried(thread) ? 1 : 0;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return count;
}

static void a_thread_hurries_until_it_is_told_otherwise(ATTR_UNUSED void **state)
{
    int status = -1;
    assert_false(is_hurried(0));
    near_hurry(true);
    const bool is_known = is_hurried(0);
    const pid_t process = fork();
    if (process == 0) {
        near_forked();
        _exit(is_hurried(0) ? 1 : 0);
    }
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_int_equal(status, 0);
    assert_true(is_hurried(0) == is_known);
    near_hurry(false);
    near_hurry(false);
    assert_false(is_hurried(0));
    if (!is_known) {
        skip(); /* Linux before 6.12 knows no turns. */
    }
}

static void who_runs_what_is_near_hurries(ATTR_UNUSED void **state)
{
    cpu_set_t allowed;
    near_hurry(true);
    const bool is_known = is_hurried(0);
    near_hurry(false);
    (void)fixture_ort();
    if (!has_two(&allowed) || !is_known) {
        skip();
    }
    world_init();
    const pid_t engine = process_child_of(server.first.process);
    run_alone(1);
    assert_int_equal(hurried_of(engine), 0);
    stay(ALONE_MIN);
    run_alone(1); /* Its threads are told by a launch where they are to wait for the next. */
    assert_true(hurried_of(engine) > 0);
    struct bundle *inputs[2] = {pair(8, 2), pair(9, 3)};
    for (uint32_t tries = 0; tries < 1000 && hurried_of(engine) > 0; tries++) {
        launch(FORK, 0, 1, &inputs[0]);
        launch(FORK, 0, 1, &inputs[1]); /* Each thread is told by a launch of its own. */
        (void)settle();
        forget();
    }
    assert_int_equal(hurried_of(engine), 0);
    bundle_destroy(inputs[0]);
    bundle_destroy(inputs[1]);
    world_deinit();
}

static void a_processor_that_is_not_allowed_is_not_used(ATTR_UNUSED void **state)
{
    cpu_set_t allowed;
    cpu_set_t one;
    if (!has_two(&allowed)) {
        skip();
    }
    const uint32_t here = near_here();
    CPU_ZERO(&one);
    CPU_SET(here - 1, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    uint32_t other = 1;
    while (other == here || !CPU_ISSET(other - 1, &allowed)) {
        other++;
    }
    assert_false(near_stay(other));
    assert_int_equal(near_where(), 0);
    assert_true(near_stay(here));
    assert_true(near_stay(0));
    assert_int_equal(processor_count(), 1); /* As before. */
    assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
}

static void what_is_forked_may_go_anywhere(ATTR_UNUSED void **state)
{
    cpu_set_t allowed;
    int status = -1;
    if (!has_two(&allowed)) {
        skip();
    }
    assert_true(near_stay(near_here()));
    const pid_t process = fork();
    if (process == 0) {
        cpu_set_t now;
        near_forked();
        (void)sched_getaffinity(0, sizeof(now), &now);
        _exit(CPU_EQUAL(&now, &allowed) && near_where() == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_int_equal(status, 0);
    assert_int_equal(processor_count(), 1); /* Here nothing has changed. */
    assert_true(near_stay(0));
    assert_int_equal(processor_count(), CPU_COUNT(&allowed));
}

static void who_moves_a_thread_meanwhile_has_the_last_word(ATTR_UNUSED void **state)
{
    cpu_set_t allowed;
    if (!has_two(&allowed)) {
        skip();
    }
    assert_true(near_stay(near_here()));
    assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
    cpu_set_t fewer = allowed;
    uint32_t last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &fewer)) {
        last--;
    }
    CPU_ZERO(&fewer);
    CPU_SET(last, &fewer);
    const bool was_there = near_where() == last + 1;
    assert_int_equal(sched_setaffinity(0, sizeof(fewer), &fewer), 0);
    assert_true(near_stay(0));
    assert_int_equal(processor_count(), was_there ? CPU_COUNT(&allowed) : 1);
    assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_next_has_been_run_when_it_is_launched),
        cmocka_unit_test(tasks_of_a_batch_go_ahead_together),
        cmocka_unit_test(tasks_that_went_ahead_together_may_be_launched_apart),
        cmocka_unit_test(what_is_launched_with_others_runs_as_it_is_launched),
        cmocka_unit_test(where_it_is_in_vain_nothing_is_run_ahead),
        cmocka_unit_test(a_task_with_two_after_it_is_followed_by_none),
        cmocka_unit_test(a_crash_ahead_is_blamed_on_its_own_task),
        cmocka_unit_test(what_is_cancelled_goes_nowhere),
        cmocka_unit_test(short_runs_that_are_alone_stay_on_one_processor),
        cmocka_unit_test(after_short_runs_that_are_alone_the_loop_stays_awake),
        cmocka_unit_test(what_is_near_is_looked_at_before_the_loop),
        cmocka_unit_test(whoever_does_not_look_is_told_all_the_same),
        cmocka_unit_test(a_tray_goes_with_its_process),
        cmocka_unit_test(a_thread_hurries_until_it_is_told_otherwise),
        cmocka_unit_test(who_runs_what_is_near_hurries),
        cmocka_unit_test(a_processor_that_is_not_allowed_is_not_used),
        cmocka_unit_test(what_is_forked_may_go_anywhere),
        cmocka_unit_test(who_moves_a_thread_meanwhile_has_the_last_word),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
