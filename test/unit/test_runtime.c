/* Covers: src/runtime/runtime.c src/runtime/due.c src/runtime/perform.c src/runtime/player.c */
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/attributes.h"
#include "parity/workload.h"
#include "policy/policy.h"
#include "runtime/player.h"

enum { NODES = 3 };

/* A cluster, and what was heard from it. */
struct world {
    struct workload workload;
    struct policy_set policies;
    struct runtime *runtime;
    uint32_t answered;
    struct runtime_answer last;
    uint32_t kinds[RECORD_KIND_COUNT];
    uint32_t arrived_then; /* Of arrivals, when note_arrived() was called. */
    uint32_t again;        /* Requests to make from inside the next answers. */
};

static void note_record(void *context, const struct record *record)
{
    struct world *world = context;
    world->kinds[record->kind]++;
}

static void start(struct world *world, const char *policy, struct runtime_options options)
{
    const struct workload_options cluster = {
        .node_count = NODES, .workers_per_node = 1, .run_ns = 2 * MS};
    *world = (struct world){.answered = 0};
    workload_init(&world->workload, &cluster);
    if (policy != NULL) {
        assert_int_equal(policy_set_parse(policy, &world->policies, NULL), WEFT_OK);
    }
    options.fleet = world->workload.fleet;
    options.catalogue = world->workload.catalogue;
    options.profile = world->workload.profile;
    if (options.policies == NULL) {
        options.policies = &world->policies;
    }
    options.row_load_ns = 10 * MS;
    options.row_cache_ns = 50 * MS;
    options.verdict_ns = 10 * MS;
    options.on_record = note_record;
    options.context = world;
    assert_int_equal(runtime_create(&options, &world->runtime, NULL), WEFT_OK);
}

static void finish(struct world *world)
{
    assert_int_equal(runtime_counts(world->runtime).tensors, 0);
    runtime_destroy(world->runtime);
    workload_deinit(&world->workload);
}

static void note_answer(void *context, const struct runtime_answer *answer);

static uint64_t ask(struct world *world, uint32_t node, uint32_t workflow)
{
    const struct runtime_request request = {
        .workflow = workflow,
        .inputs = runtime_tensor(world->runtime, NULL, 10, NULL),
        .answered = note_answer,
        .context = world,
    };
    return runtime_request(world->runtime, node, &request);
}

static void note_answer(void *context, const struct runtime_answer *answer)
{
    struct world *world = context;
    world->answered++;
    world->last = *answer;
    for (uint32_t i = 0; i < answer->output_count; i++) {
        uint64_t bytes;
        (void)runtime_contents(world->runtime, answer->outputs[i], &bytes);
        runtime_release(world->runtime, answer->outputs[i]);
    }
    if (world->again > 0) {
        world->again--;
        (void)ask(world, /* node */ 1, /* workflow */ 0);
    }
}

static const struct runtime_options manual = {.clock = CLOCK_KIND_MANUAL};

static void a_request_is_answered_once_with_an_output_a_sink(ATTR_UNUSED void **state)
{
    struct world world;
    start(&world, "jit", manual);
    const uint64_t client = ask(&world, /* node */ 1, /* workflow */ 2);
    assert_int_equal(world.kinds[RECORD_ARRIVED], 0); /* No node has seen it yet. */
    runtime_run_manual(world.runtime);
    assert_int_equal(world.answered, 1);
    assert_int_equal(world.last.client, client);
    assert_int_equal(world.last.status, WEFT_OK);
    assert_int_equal(world.last.output_count, 2);
    assert_int_equal(world.last.job.node, 1);
    assert_true(world.last.latency_ns > 5 * MS);
    finish(&world);
}

static void note_arrived(void *context)
{
    struct world *world = context;
    world->arrived_then = world->kinds[RECORD_ARRIVED];
}

static void a_request_is_refused_later_but_before_what_is_due(ATTR_UNUSED void **state)
{
    struct world world;
    start(&world, "jit", manual);
    for (uint32_t node = 0; node < NODES; node++) {
        runtime_lose_node(world.runtime, node);
    }
    (void)ask(&world, /* node */ 0, /* workflow */ 0);
    assert_int_equal(world.answered, 0); /* Although no node is left to ask. */
    runtime_run_manual(world.runtime);
    assert_int_equal(world.answered, 1);
    assert_int_equal(world.last.reason, REASON_NO_WORKER);
    finish(&world);
    start(&world, "jit", manual);
    runtime_call_at(world.runtime, /* at_ns */ 0, /* background */ false, note_arrived, &world);
    (void)ask(&world, /* node */ 0, /* workflow */ 0);
    runtime_run_manual(world.runtime);
    assert_int_equal(world.arrived_then, 1);
    finish(&world);
}

static void requests_may_be_made_from_inside_an_answer(ATTR_UNUSED void **state)
{
    struct world world;
    start(&world, "heft", manual);
    world.again = 5;
    (void)ask(&world, /* node */ 0, /* workflow */ 1);
    runtime_run_manual(world.runtime);
    assert_int_equal(world.answered, 6);
    assert_int_equal(runtime_counts(world.runtime).requested, 6);
    finish(&world);
}

static void a_cancelled_request_is_answered_at_once(ATTR_UNUSED void **state)
{
    struct world world;
    start(&world, "jit", manual);
    const uint64_t client = ask(&world, /* node */ 2, /* workflow */ 0);
    runtime_cancel(world.runtime, client);
    runtime_cancel(world.runtime, client); /* The second finds nothing. */
    runtime_run_manual(world.runtime);
    assert_int_equal(world.answered, 1);
    assert_int_equal(world.last.status, WEFT_CANCELLED);
    assert_int_equal(world.last.latency_ns, 0);
    runtime_cancel(world.runtime, client);
    runtime_run_manual(world.runtime);
    assert_int_equal(world.answered, 1);
    finish(&world);
}

struct later {
    struct world *world;
    uint64_t client;
};

static void cancel_later(void *context)
{
    const struct later *later = context;
    runtime_cancel(later->world->runtime, later->client);
}

/* At every stage: on the way, while loading, while running. */
static void a_request_can_be_cancelled_at_any_time(ATTR_UNUSED void **state)
{
    for (int64_t at_ns = 0; at_ns < 60 * MS; at_ns += 700001) {
        struct world world;
        start(&world, at_ns % 2 == 0 ? "hash" : "heft", manual);
        struct later later = {.world = &world};
        later.client = ask(&world, /* node */ 0, /* workflow */ 1);
        (void)ask(&world, /* node */ 1, /* workflow */ 1);
        runtime_call_at(world.runtime, at_ns, /* background */ false, cancel_later, &later);
        runtime_run_manual(world.runtime);
        assert_int_equal(world.answered, 2);
        finish(&world);
    }
}

static void a_drained_runtime_refuses(ATTR_UNUSED void **state)
{
    struct world world;
    start(&world, "jit", manual);
    runtime_drain(world.runtime);
    runtime_run_manual(world.runtime);
    assert_int_equal(world.kinds[RECORD_DRAINED], NODES);
    (void)ask(&world, /* node */ 0, /* workflow */ 0);
    runtime_run_manual(world.runtime);
    assert_int_equal(world.answered, 1);
    assert_int_equal(world.last.status, WEFT_REFUSED);
    assert_int_equal(world.last.reason, REASON_DRAIN);
    finish(&world);
}

static void a_model_that_has_gone_is_refused_until_it_is_back(ATTR_UNUSED void **state)
{
    struct world world;
    start(&world, "jit", manual);
    const uint32_t model = world.workload.catalogue->workflows[0]->tasks[0].models[0];
    (void)ask(&world, /* node */ 0, /* workflow */ 0);
    runtime_run_manual(world.runtime);
    assert_int_equal(world.last.status, WEFT_OK);
    const uint32_t evicted = world.kinds[RECORD_EVICTED];
    runtime_set_available(world.runtime, model, /* is_available */ false);
    runtime_run_manual(world.runtime);
    assert_true(world.kinds[RECORD_EVICTED] > evicted);
    (void)ask(&world, /* node */ 1, /* workflow */ 0);
    runtime_run_manual(world.runtime);
    assert_int_equal(world.last.reason, REASON_UNAVAILABLE);

    const uint32_t loading = world.kinds[RECORD_LOADING];
    runtime_set_available(world.runtime, model, /* is_available */ true);
    runtime_run_manual(world.runtime);
    assert_int_equal(world.kinds[RECORD_LOADING], loading + NODES); /* Before any task asks. */
    (void)ask(&world, /* node */ 1, /* workflow */ 0);
    runtime_run_manual(world.runtime);
    assert_int_equal(world.last.status, WEFT_OK);
    finish(&world);
}

static void lose_first(void *context)
{
    runtime_lose_node(((struct world *)context)->runtime, /* node */ 0);
}

static void clients_of_a_lost_node_are_told_and_others_are_served(ATTR_UNUSED void **state)
{
    struct world world;
    start(&world, "hash", manual);
    for (uint32_t i = 0; i < 30; i++) {
        (void)ask(&world, i % NODES, i % 3);
    }
    runtime_call_at(world.runtime, 20 * MS, /* background */ false, lose_first, &world);
    runtime_run_manual(world.runtime);
    assert_int_equal(world.answered, 30);
    assert_int_equal(world.kinds[RECORD_NODE_LOST], NODES - 1);
    assert_null(runtime_node(world.runtime, 0));
    assert_non_null(runtime_node(world.runtime, 1));

    (void)ask(&world, /* node */ 0, /* workflow */ 0); /* Goes to the next one. */
    runtime_run_manual(world.runtime);
    assert_int_equal(world.answered, 31);
    assert_int_equal(world.last.status, WEFT_OK);
    assert_int_equal(world.last.job.node, 1);
    finish(&world);
}

static void without_nodes_everything_is_refused(ATTR_UNUSED void **state)
{
    struct world world;
    start(&world, "hash", manual);
    for (uint32_t node = 0; node < NODES; node++) {
        runtime_lose_node(world.runtime, node);
        runtime_lose_node(world.runtime, node);
    }
    (void)ask(&world, /* node */ 1, /* workflow */ 0);
    runtime_run_manual(world.runtime);
    assert_int_equal(world.last.status, WEFT_REFUSED);
    finish(&world);
}

static void jobs_past_the_maximum_are_refused(ATTR_UNUSED void **state)
{
    struct world world;
    struct runtime_options options = manual;
    options.jobs_max = 4;
    start(&world, "jit", options);
    for (uint32_t i = 0; i < 6; i++) {
        (void)ask(&world, /* node */ 0, /* workflow */ 0);
    }
    runtime_call_at(world.runtime, /* at_ns */ 0, /* background */ false, note_arrived, &world);
    runtime_run_manual(world.runtime);
    assert_int_equal(world.arrived_then, 4);
    assert_int_equal(world.kinds[RECORD_REFUSED], 2);
    assert_int_equal(world.answered, 6);
    finish(&world);
}

/* A policy that has something searched for at every tick, and counts what was found. */
struct seeker {
    uint64_t asked;
    uint64_t found;
};

static void seeker_tick(const struct policy_input *input, struct tick_answer *answer_out)
{
    struct seeker *seeker = input->state;
    seeker->asked++;
    answer_out->solve = true;
    answer_out->problem = seeker->asked;
}

static void seeker_question(const struct policy_input *input, uint64_t problem, void *question_out)
{
    const uint64_t question = problem + input->view->node;
    memcpy(question_out, &question, sizeof(question));
}

static void *seeker_solve(
    const struct plan_input *input, const void *plan, uint64_t problem, const void *question)
{
    uint64_t asked;
    assert_non_null(input->fleet);
    assert_null(plan);
    memcpy(&asked, question, sizeof(asked));
    if (problem > 7) {
        return NULL; /* Nothing found: what was found before stays. */
    }
    uint64_t *result = malloc(sizeof(*result));
    assert_non_null(result);
    *result = problem * asked;
    return result;
}

static uint64_t found_count;
static const uint64_t *last_found[NODES];

static void seeker_solved(const struct policy_input *input, uint64_t problem, const void *result)
{
    const uint32_t node = input->view->node;
    if (result != NULL) {
        last_found[node] = result;
        found_count += *last_found[node] == problem * (problem + node) ? 1 : 0;
    } else {
        assert_int_equal(*last_found[node], 7 * (7 + node)); /* It is still there. */
    }
}

static const struct policy seeker = {
    .name = "seeker",
    .summary = "asks for a search at every tick",
    .state_bytes = sizeof(struct seeker),
    .tick_ns = 10 * MS,
    .tick = seeker_tick,
    .solve = seeker_solve,
    .question_bytes = sizeof(uint64_t),
    .question = seeker_question,
    .solved = seeker_solved,
};

static void nothing(void *context)
{
    (void)context;
}

static void searches_run_elsewhere_and_come_back(ATTR_UNUSED void **state)
{
    struct policy_set set;
    struct world world;
    struct runtime_options options = manual;
    policy_set_single(&seeker, &set);
    options.policies = &set;
    found_count = 0;
    start(&world, NULL, options);
    runtime_call_at(world.runtime, 95 * MS, /* background */ false, nothing, NULL);
    runtime_run_manual(world.runtime);
    assert_int_equal(world.kinds[RECORD_SOLVED], 9 * NODES);
    assert_int_equal(found_count, 7 * NODES);
    finish(&world);

    static const struct policy idle = {
        .name = "idle",
        .tick_ns = 10 * MS,
        .state_bytes = sizeof(struct seeker),
        .tick = seeker_tick};
    policy_set_single(&idle, &set); /* Unknown searches find nothing, but end. */
    start(&world, NULL, options);
    runtime_call_at(world.runtime, 95 * MS, /* background */ false, nothing, NULL);
    runtime_run_manual(world.runtime);
    assert_int_equal(world.kinds[RECORD_SOLVED], 9 * NODES);
    finish(&world);
}

/* Searches that read the profile, the first of them only after the host has changed it. */
static atomic_bool is_changed;
static bool is_asked;
static int64_t run_found_ns;

static void reader_tick(const struct policy_input *input, struct tick_answer *answer_out)
{
    struct seeker *asked = input->state;
    answer_out->solve = asked->asked == 0 && input->view->node == 0;
    is_asked = is_asked || answer_out->solve;
    asked->asked++;
}

/* Relaxed: what the flag says must not be what orders the reads after the writes. */
static void *reader_solve(
    const struct plan_input *input, ATTR_UNUSED const void *plan, ATTR_UNUSED uint64_t problem,
    ATTR_UNUSED const void *question)
{
    while (!atomic_load_explicit(&is_changed, memory_order_relaxed)) {
        const struct timespec pause = {.tv_nsec = 100000};
        (void)nanosleep(&pause, NULL);
    }
    int64_t *result = malloc(sizeof(*result));
    assert_non_null(result);
    *result = profile_run_one_ns(input->profile, 0, 0);
    return result;
}

static void reader_solved(
    ATTR_UNUSED const struct policy_input *input, ATTR_UNUSED uint64_t problem, const void *result)
{
    run_found_ns = *(const int64_t *)result;
}

static const struct policy reader = {
    .name = "reader",
    .summary = "asks for one search that reads the profile",
    .state_bytes = sizeof(struct seeker),
    .tick_ns = 10 * MS,
    .tick = reader_tick,
    .solve = reader_solve,
    .solved = reader_solved,
};

/* As a host does that follows run times: on the thread of the loop, while others search. */
static void change_profile(void *context)
{
    const struct world *world = context;
    const struct profile_point point = {.items = 1, .run_ns = 777 * MS};
    profile_forget(world->workload.profile, 0, 0);
    profile_put_point(world->workload.profile, 0, 0, &point);
    atomic_store_explicit(&is_changed, true, memory_order_relaxed);
}

/* Between steps: what was asked for in one has been handed over. */
static void stop_when_found(void *context)
{
    struct world *world = context;
    if (run_found_ns != 0) {
        runtime_stop(world->runtime);
        return;
    }
    if (is_asked && !is_changed) {
        change_profile(world);
    }
    const int64_t next_ns = runtime_now_ns(world->runtime) + MS;
    runtime_call_at(world->runtime, next_ns, /* background */ false, stop_when_found, world);
}

static void searches_see_the_profile_as_it_was(ATTR_UNUSED void **state)
{
    struct world world;
    struct policy_set set;
    struct runtime_options options = {.clock = CLOCK_KIND_REAL};
    policy_set_single(&reader, &set);
    options.policies = &set;
    start(&world, NULL, options);
    const int64_t before_ns = profile_run_one_ns(world.workload.profile, 0, 0);
    runtime_call_at(world.runtime, MS, /* background */ false, stop_when_found, &world);
    runtime_run(world.runtime);
    assert_int_equal(profile_run_one_ns(world.workload.profile, 0, 0), 777 * MS);
    assert_int_equal(run_found_ns, before_ns);
    finish(&world);
}

static void *stop_soon(void *runtime)
{
    const struct timespec pause = {.tv_nsec = 30000000};
    (void)nanosleep(&pause, NULL);
    runtime_stop(runtime);
    return NULL;
}

static void another_thread_may_stop_it(ATTR_UNUSED void **state)
{
    struct world world;
    struct policy_set set;
    pthread_t thread;
    struct runtime_options options = {.clock = CLOCK_KIND_REAL};
    policy_set_single(&seeker, &set);
    options.policies = &set;
    start(&world, NULL, options);
    runtime_call_at(world.runtime, 3600000 * MS, /* background */ false, nothing, NULL);
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, world.runtime), 0);
    runtime_run(world.runtime);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(runtime_now_ns(world.runtime) < 60000 * MS);
    finish(&world);
}

static void it_can_be_destroyed_in_the_middle(ATTR_UNUSED void **state)
{
    struct world world;
    start(&world, "jit", manual);
    for (uint32_t i = 0; i < 10; i++) {
        (void)ask(&world, i % NODES, i % 3);
    }
    runtime_destroy(world.runtime);
    workload_deinit(&world.workload);
    assert_int_equal(world.answered, 0);
    runtime_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_answered_once_with_an_output_a_sink),
        cmocka_unit_test(a_request_is_refused_later_but_before_what_is_due),
        cmocka_unit_test(requests_may_be_made_from_inside_an_answer),
        cmocka_unit_test(a_cancelled_request_is_answered_at_once),
        cmocka_unit_test(a_request_can_be_cancelled_at_any_time),
        cmocka_unit_test(a_drained_runtime_refuses),
        cmocka_unit_test(a_model_that_has_gone_is_refused_until_it_is_back),
        cmocka_unit_test(clients_of_a_lost_node_are_told_and_others_are_served),
        cmocka_unit_test(without_nodes_everything_is_refused),
        cmocka_unit_test(jobs_past_the_maximum_are_refused),
        cmocka_unit_test(searches_run_elsewhere_and_come_back),
        cmocka_unit_test(searches_see_the_profile_as_it_was),
        cmocka_unit_test(another_thread_may_stop_it),
        cmocka_unit_test(it_can_be_destroyed_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
