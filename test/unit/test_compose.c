/* Defaults, checks, counts, times and state of a composition. */
#include "dies.h"
#include "policy_fixture.h"

/*
 * What the policies of this test answer next. They are no proper policies: they would
 * have to be pure.
 */
static struct {
    struct admission admission;
    uint16_t placement;
    uint32_t worker;
    struct dispatch_answer dispatch;
    uint32_t index;
    uint32_t init_count;
    uint32_t tick_count;
    uint64_t solved;
    const struct policy_input *input;
} next;

static void probe_init(const struct policy_input *input)
{
    next.init_count++;
    for (size_t i = 0; i < 24; i++) {
        assert_int_equal(((const uint8_t *)input->state)[i], 0);
    }
    memset(input->state, 0xa5, 24);
}

static struct admission probe_admit(const struct policy_input *input, const struct job_facts *job)
{
    (void)job;
    next.input = input;
    return next.admission;
}

static void probe_place_job(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    next.input = input;
    for (uint32_t task = 0; task < job->graph->task_count; task++) {
        assert_int_equal(placement_out[task], PLACEMENT_UNBOUND);
    }
    placement_out[0] = next.placement;
}

static uint32_t probe_place_task(const struct policy_input *input, const struct task_facts *task)
{
    (void)task;
    next.input = input;
    return next.worker;
}

static int64_t probe_order(const struct policy_input *input, const struct ready_facts *task)
{
    (void)task;
    next.input = input;
    return 77;
}

static void probe_dispatch(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)queue;
    next.input = input;
    *answer_out = next.dispatch;
}

static uint32_t probe_steal(const struct policy_input *input, uint32_t worker)
{
    (void)worker;
    next.input = input;
    return next.worker;
}

static uint32_t probe_cache(const struct policy_input *input, const struct cache_facts *cache)
{
    (void)cache;
    next.input = input;
    return next.index;
}

static void probe_tick(const struct policy_input *input, struct tick_answer *answer_out)
{
    next.input = input;
    next.tick_count++;
    *answer_out = (struct tick_answer){.solve = true, .problem = 5};
}

static void probe_question(const struct policy_input *input, uint64_t problem, void *question_out)
{
    const uint64_t question = problem + 100;
    next.input = input;
    memcpy(question_out, &question, sizeof(question));
}

/* Finds itself, for want of anything better. */
static void *probe_solve(
    const struct plan_input *input, const void *plan, uint64_t problem, const void *question)
{
    uint64_t asked;
    assert_non_null(input->options);
    assert_null(plan);
    memcpy(&asked, question, sizeof(asked));
    next.solved = asked + problem;
    return &next;
}

static void probe_solved(const struct policy_input *input, uint64_t problem, const void *result)
{
    next.input = input;
    next.solved = problem + *(const uint64_t *)result;
}

static const struct policy_option probe_options[] = {
    {"a", 3, -100, 100, false, ""}, {"b", 4, -100, 100, false, ""}, {.name = NULL}};

static const struct policy probe = {
    .name = "probe",
    .state_bytes = 24,
    .options = probe_options,
    .init = probe_init,
    .admit = probe_admit,
    .place_job = probe_place_job,
    .place_task = probe_place_task,
    .order = probe_order,
    .dispatch = probe_dispatch,
    .steal = probe_steal,
    .victim = probe_cache,
    .prefetch = probe_cache,
    .tick_ns = 1000,
    .tick = probe_tick,
    .solve = probe_solve,
    .question_bytes = sizeof(uint64_t),
    .question = probe_question,
    .solved = probe_solved,
};

/* The other halves of the pairs are left to the defaults. */
static const struct policy half = {
    .name = "half", .state_bytes = 8, .place_job = probe_place_job, .victim = probe_cache};
static const struct policy other_half = {
    .name = "other-half", .place_task = probe_place_task, .prefetch = probe_cache};

static _Alignas(16) uint8_t memory[256];

/* Three nodes with one worker each and a graph of two tasks; @policy NULL: all defaults. */
static void init(struct cluster *cluster, const struct policy *policy)
{
    memset(&next, 0, sizeof(next));
    memset(memory, 0, sizeof(memory));
    cluster_init(cluster, 3, 1);
    (void)cluster_task(cluster, 0);
    (void)cluster_task(cluster, 1);
    cluster_seal(cluster);
    if (policy != NULL) {
        policy_set_single(policy, &cluster->set);
    }
    cluster_sit(cluster, memory);
}

static void without_policies_the_defaults_answer(void **state)
{
    (void)state;
    struct cluster cluster;
    uint16_t placement[2] = {1, 1};
    const struct queue_facts queue = {.waiting = 3, .items = 12, .head_items = 4};
    struct dispatch_answer answer;
    memset(&answer, 0x5a, sizeof(answer));
    init(&cluster, NULL);
    assert_int_equal(policy_set_state_bytes(&cluster.set), 0);
    assert_true(policy_admit(&cluster.seat, &cluster.job).admitted);
    cluster_place_job(&cluster, placement);
    assert_int_equal(placement[0], PLACEMENT_UNBOUND);
    assert_int_equal(placement[1], PLACEMENT_UNBOUND);
    assert_false(cluster.seat.places_tasks);
    assert_int_equal(cluster_order(&cluster, 5, 6), CLUSTER_NOW_NS);
    policy_dispatch(&cluster.seat, &queue, &answer);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.configs[0].batch, 4);
    assert_int_equal(answer.configs[0].cpu, 0);
    assert_int_equal(answer.configs[0].gpu, 0);
    assert_int_equal(policy_steal(&cluster.seat, 1), WORKER_NONE);
    assert_int_equal(policy_tick_ns(&cluster.seat), 0);
    assert_false(policy_tick(&cluster.seat).solve);
    policy_solved(&cluster.seat, 1, NULL);
    assert_int_equal(cluster.meter.decisions, 0);
    cluster_deinit(&cluster);
}

static void a_task_is_by_default_where_it_was_planned(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, NULL);
    assert_int_equal(cluster_place(&cluster, 0, 2, 1), 2);
    assert_int_equal(cluster_place(&cluster, 0, WORKER_NONE, 1), 1);
    assert_int_equal(cluster_place(&cluster, 0, WORKER_NONE, WORKER_NONE), 0);
    cluster_usable(&cluster, 2, false);
    assert_int_equal(cluster_place(&cluster, 0, 2, 1), 1);
    cluster_usable(&cluster, 0, false);
    assert_int_equal(cluster_place(&cluster, 0, 2, 0), 1);
    assert_int_equal(cluster_place(&cluster, 0, 2, WORKER_NONE), 1);
    cluster_usable(&cluster, 1, false);
    assert_int_equal(cluster_place(&cluster, 0, 2, 1), WORKER_NONE);
    assert_int_equal(cluster.meter.decisions, 0);
    cluster_deinit(&cluster);
}

static void the_default_cache_is_lru_with_prefetch(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, NULL);
    const struct cache_entry entries[] = {
        {.bytes = 50, .used_ns = 3},
        {.bytes = 40, .used_ns = 1},
        {.bytes = 40, .used_ns = 1},
    };
    struct cache_facts facts = {.free_bytes = 40, .count = 3, .entries = entries};
    assert_int_equal(policy_victim(&cluster.seat, &facts), 1);
    assert_int_equal(policy_prefetch(&cluster.seat, &facts), 1);
    facts.free_bytes = 50;
    assert_int_equal(policy_prefetch(&cluster.seat, &facts), 0);
    facts.free_bytes = 39;
    assert_int_equal(policy_prefetch(&cluster.seat, &facts), UINT32_MAX);
    facts.count = 0;
    assert_int_equal(policy_prefetch(&cluster.seat, &facts), UINT32_MAX);
    assert_int_equal(cluster.meter.decisions, 0);
    cluster_deinit(&cluster);
}

static void every_question_reaches_its_policy_and_is_counted(void **state)
{
    (void)state;
    struct cluster cluster;
    uint16_t placement[2];
    const struct queue_facts queue = {.head_items = 4, .worker = 1};
    const struct cache_entry entries[2] = {{.bytes = 1}, {.bytes = 1}};
    const struct cache_facts cache = {.free_bytes = 1, .count = 2, .entries = entries};
    struct dispatch_answer answer;
    const uint64_t result = 10;
    init(&cluster, &probe);

    next.admission = (struct admission){.admitted = false, .retry_after_ns = 9};
    assert_int_equal(policy_admit(&cluster.seat, &cluster.job).retry_after_ns, 9);
    assert_ptr_equal(next.input, &cluster.seat.inputs[ROLE_ADMIT]);
    next.placement = 2;
    cluster_place_job(&cluster, placement);
    assert_int_equal(placement[0], 2);
    assert_int_equal(placement[1], PLACEMENT_UNBOUND);
    next.worker = 1;
    assert_int_equal(cluster_place(&cluster, 0, 0, 0), 1);
    assert_ptr_equal(next.input, &cluster.seat.inputs[ROLE_PLACE]);
    next.dispatch = (struct dispatch_answer){.count = 1, .configs = {{.batch = 3, .gpu = 4}}};
    policy_dispatch(&cluster.seat, &queue, &answer);
    assert_int_equal(answer.configs[0].batch, 3);
    assert_ptr_equal(next.input, &cluster.seat.inputs[ROLE_DISPATCH]);
    assert_int_equal(policy_steal(&cluster.seat, 0), 1);
    assert_ptr_equal(next.input, &cluster.seat.inputs[ROLE_STEAL]);
    next.index = 1;
    assert_int_equal(policy_victim(&cluster.seat, &cache), 1);
    assert_int_equal(policy_prefetch(&cluster.seat, &cache), 1);
    assert_ptr_equal(next.input, &cluster.seat.inputs[ROLE_CACHE]);
    assert_int_equal(policy_tick_ns(&cluster.seat), 1000);
    assert_int_equal(policy_tick(&cluster.seat).problem, 5);
    assert_int_equal(cluster.meter.decisions, 8);

    /* Asked too often, or no decisions. */
    assert_int_equal(cluster_order(&cluster, 5, 6), 77);
    assert_ptr_equal(next.input, &cluster.seat.inputs[ROLE_ORDER]);
    uint64_t question = 0;
    assert_int_equal(policy_set_question_bytes(&cluster.set), sizeof(question));
    policy_question(&cluster.seat, 5, &question);
    assert_int_equal(question, 105);
    const struct plan_input known = {.fleet = cluster.fleet};
    assert_ptr_equal(policy_set_solve(&cluster.set, &known, 6, &question), &next);
    assert_int_equal(next.solved, 111);
    policy_solved(&cluster.seat, 5, &result);
    assert_int_equal(next.solved, 15);
    assert_int_equal(cluster.meter.decisions, 8);
    cluster_deinit(&cluster);
}

static void half_a_role_leaves_the_other_half_to_the_default(void **state)
{
    (void)state;
    struct cluster cluster;
    uint16_t placement[2];
    const struct cache_entry entries[2] = {{.bytes = 9, .used_ns = 2}, {.bytes = 5, .used_ns = 1}};
    const struct cache_facts cache = {.free_bytes = 5, .count = 2, .entries = entries};
    init(&cluster, &half);
    assert_false(cluster.seat.places_tasks);
    assert_int_equal(cluster_place(&cluster, 0, 2, 1), 2);
    assert_int_equal(policy_prefetch(&cluster.seat, &cache), 1);
    assert_int_equal(cluster.meter.decisions, 0);
    assert_int_equal(policy_victim(&cluster.seat, &cache), 0);
    assert_int_equal(cluster.meter.decisions, 1);
    cluster_deinit(&cluster);

    init(&cluster, &other_half);
    assert_true(cluster.seat.places_tasks);
    cluster_place_job(&cluster, placement);
    assert_int_equal(placement[0], PLACEMENT_UNBOUND);
    assert_int_equal(policy_victim(&cluster.seat, &cache), 1);
    assert_int_equal(cluster.meter.decisions, 0);
    next.index = UINT32_MAX; /* The default would load the second. */
    assert_int_equal(policy_prefetch(&cluster.seat, &cache), UINT32_MAX);
    assert_int_equal(cluster.meter.decisions, 1);
    cluster_deinit(&cluster);
}

static void roles_are_named_and_known(void **state)
{
    (void)state;
    static const char *const names[] = {"admit", "place", "order", "dispatch",
                                        "steal", "cache", "tick"};
    for (uint32_t role = 0; role < POLICY_ROLES; role++) {
        assert_string_equal(policy_role_name((enum policy_role)role), names[role]);
        assert_true(policy_fills(&probe, (enum policy_role)role));
        const bool filled = role == ROLE_PLACE || role == ROLE_CACHE;
        assert_int_equal(policy_fills(&half, (enum policy_role)role), filled);
        assert_int_equal(policy_fills(&other_half, (enum policy_role)role), filled);
    }
}

static void a_policy_has_one_state_for_all_its_roles(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, &probe);
    assert_string_equal(cluster.set.text, "probe");
    assert_int_equal(policy_set_state_bytes(&cluster.set), 32);
    assert_int_equal(next.init_count, 1);
    for (uint32_t role = 0; role < POLICY_ROLES; role++) {
        assert_ptr_equal(cluster.seat.inputs[role].state, memory);
        assert_ptr_equal(cluster.seat.inputs[role].rng, &cluster.seat.rng);
        assert_ptr_equal(cluster.seat.inputs[role].view, &cluster.view);
        assert_true(cluster.seat.inputs[role].options[0] == 3);
        assert_true(cluster.seat.inputs[role].options[1] == 4);
    }
    cluster_deinit(&cluster);
}

static void different_policies_have_states_of_their_own(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, NULL);
    cluster.set.roles[ROLE_PLACE].policy = &half;
    cluster.set.roles[ROLE_STEAL].policy = &probe;
    cluster.set.roles[ROLE_STEAL].options[0] = 1;
    cluster.set.roles[ROLE_CACHE].policy = &half;
    cluster.set.roles[ROLE_TICK].policy = &probe;
    cluster.set.roles[ROLE_TICK].options[0] = 2;
    assert_int_equal(policy_set_state_bytes(&cluster.set), 16 + 32);
    cluster_sit(&cluster, memory);
    const struct policy_input *inputs = cluster.seat.inputs;
    assert_ptr_equal(inputs[ROLE_ADMIT].state, NULL);
    assert_ptr_equal(inputs[ROLE_PLACE].state, memory);
    assert_ptr_equal(inputs[ROLE_CACHE].state, memory);
    assert_ptr_equal(inputs[ROLE_STEAL].state, memory + 16);
    assert_ptr_equal(inputs[ROLE_TICK].state, memory + 16);
    assert_int_equal(next.init_count, 1);
    assert_int_equal(memory[7], 0); /* The state of half is not what probe_init filled. */
    assert_int_equal(memory[16], 0xa5);
    assert_true(inputs[ROLE_STEAL].options[0] == 1); /* Options belong to the role. */
    assert_true(inputs[ROLE_TICK].options[0] == 2);
    cluster_deinit(&cluster);
}

static uint64_t watch_ns;

static uint64_t read_watch(void)
{
    return watch_ns += 100;
}

/* Two questions in turn, 16 in a cycle: the first one must not be the only one timed. */
static void one_decision_in_sixteen_is_timed(void **state)
{
    (void)state;
    static struct histogram times;
    struct cluster cluster;
    uint32_t timed_first = 0;
    init(&cluster, &probe);
    histogram_init(&times);
    cluster.meter.stopwatch_ns = read_watch;
    cluster.meter.times = &times;
    next.worker = 1;
    next.admission.admitted = true;
    for (uint32_t i = 0; i < 16000; i++) {
        const uint64_t before = histogram_count(&times);
        if (i % 16 == 0) {
            (void)policy_admit(&cluster.seat, &cluster.job);
            timed_first += histogram_count(&times) > before ? 1 : 0;
        } else {
            (void)cluster_place(&cluster, 0, 0, 0);
        }
    }
    assert_int_equal(cluster.meter.decisions, 16000);
    assert_in_range(histogram_count(&times), 998, 1002);
    assert_in_range(timed_first, 55, 70); /* A sixteenth of its thousand. */
    assert_int_equal(histogram_min(&times), 100);
    assert_int_equal(histogram_max(&times), 100);
    cluster_deinit(&cluster);
}

/* What a wrong answer does: each case sets up `next` and asks. */
enum question { PLACE_JOB, PLACE_TASK, DISPATCH, STEAL, VICTIM, PREFETCH, ADMIT };

struct wrong {
    enum question question;
    uint32_t worker; /* Or index. */
    struct dispatch_answer dispatch;
    bool dies;
};

static void ask(void *argument)
{
    const struct wrong *wrong = argument;
    struct cluster cluster;
    uint16_t placement[2];
    struct dispatch_answer answer;
    const struct queue_facts queue = {.head_items = 1};
    const struct cache_entry entries[2] = {{.bytes = 10}, {.bytes = 11}};
    const struct cache_facts cache = {.free_bytes = 10, .count = 2, .entries = entries};
    init(&cluster, &probe);
    cluster_usable(&cluster, 2, false);
    next.placement = (uint16_t)wrong->worker;
    next.worker = wrong->worker;
    next.index = wrong->worker;
    next.dispatch = wrong->dispatch;
    next.admission.retry_after_ns = -1;
    switch (wrong->question) {
    case PLACE_JOB:
        cluster_place_job(&cluster, placement);
        break;
    case PLACE_TASK:
        (void)cluster_place(&cluster, 0, 0, 0);
        break;
    case DISPATCH:
        policy_dispatch(&cluster.seat, &queue, &answer);
        break;
    case STEAL:
        (void)policy_steal(&cluster.seat, 1);
        break;
    case VICTIM:
        (void)policy_victim(&cluster.seat, &cache);
        break;
    case PREFETCH:
        (void)policy_prefetch(&cluster.seat, &cache);
        break;
    case ADMIT:
        (void)policy_admit(&cluster.seat, &cluster.job);
        break;
    }
    cluster_deinit(&cluster);
}

static void nonsense_stops_the_program(void **state)
{
    (void)state;
    static const struct wrong cases[] = {
        {.question = PLACE_JOB, .worker = 1},
        {.question = PLACE_JOB, .worker = PLACEMENT_UNBOUND},
        {.question = PLACE_JOB, .worker = 2, .dies = true}, /* Not usable. */
        {.question = PLACE_JOB, .worker = 3, .dies = true},
        {.question = PLACE_TASK, .worker = 1},
        {.question = PLACE_TASK, .worker = 2, .dies = true},
        {.question = PLACE_TASK, .worker = 3, .dies = true},
        {.question = PLACE_TASK, .worker = WORKER_NONE, .dies = true}, /* Some are usable. */
        {.question = DISPATCH,
         .dispatch = {.count = 1, .configs = {{.batch = 1, .cpu = 8, .gpu = 4}}}},
        {.question = DISPATCH, .dispatch = {.wake_at_ns = CLUSTER_NOW_NS + 1}},
        {.question = DISPATCH, .dispatch = {.wake_at_ns = CLUSTER_NOW_NS}, .dies = true},
        {.question = DISPATCH, .dispatch = {.count = 0}, .dies = true},
        {.question = DISPATCH, .dispatch = {.count = 9}, .dies = true},
        {.question = DISPATCH, .dispatch = {.count = 1, .configs = {{.batch = 0}}}, .dies = true},
        {.question = DISPATCH,
         .dispatch = {.count = 1, .configs = {{.batch = 1, .gpu = 5}}},
         .dies = true},
        {.question = DISPATCH,
         .dispatch = {.count = 1, .configs = {{.batch = 1, .cpu = 9}}},
         .dies = true},
        {.question = DISPATCH,
         .dispatch = {.count = 2, .configs = {{.batch = 1}, {.batch = 0}}},
         .dies = true},
        {.question = STEAL, .worker = 2}, /* One that drains is glad to give. */
        {.question = STEAL, .worker = WORKER_NONE},
        {.question = STEAL, .worker = 1, .dies = true}, /* From itself. */
        {.question = STEAL, .worker = 3, .dies = true},
        {.question = VICTIM, .worker = 1},
        {.question = VICTIM, .worker = 2, .dies = true},
        {.question = VICTIM, .worker = UINT32_MAX, .dies = true},
        {.question = PREFETCH, .worker = 0},
        {.question = PREFETCH, .worker = UINT32_MAX},
        {.question = PREFETCH, .worker = 1, .dies = true}, /* Does not fit. */
        {.question = PREFETCH, .worker = 2, .dies = true},
        {.question = ADMIT, .dies = true}, /* To come back in the past. */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wrong wrong = cases[i];
        if (dies(ask, &wrong) != cases[i].dies) {
            fail_msg("case %zu", i);
        }
    }
}

static void a_policy_may_keep_a_planned_worker_that_is_not_usable(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, &probe);
    cluster_usable(&cluster, 2, false);
    next.worker = 2;
    assert_int_equal(cluster_place(&cluster, 0, 2, 0), 2);
    for (uint32_t worker = 0; worker < 3; worker++) {
        cluster_usable(&cluster, worker, false);
    }
    next.worker = WORKER_NONE;
    assert_int_equal(cluster_place(&cluster, 0, 2, 0), WORKER_NONE);
    cluster_deinit(&cluster);
}

static uint32_t plans;

static const void *probe_plan(struct arena *arena, const struct plan_input *input)
{
    double *plan = arena_alloc(arena, sizeof(*plan));
    *plan = input->options[0];
    plans++;
    return plan;
}

static void a_policy_is_planned_once_for_equal_options(void **state)
{
    (void)state;
    static const struct policy_option options[] = {{"x", 7, 0, 9, true, "any"}, {.name = NULL}};
    struct policy planned = probe;
    planned.plan = probe_plan;
    planned.options = options;
    struct cluster cluster;
    init(&cluster, &planned);
    const struct plan_input input = {.fleet = cluster.fleet, .profile = cluster.profile};

    plans = 0;
    policy_set_plan(&cluster.set, &cluster.arena, &input);
    assert_int_equal(plans, 1);
    cluster.set.roles[ROLE_CACHE].options[0] = 9;
    policy_set_plan(&cluster.set, &cluster.arena, &input);
    assert_int_equal(plans, 3);
    memset(memory, 0, sizeof(memory)); /* States begin as zeros. */
    cluster_sit(&cluster, memory);
    assert_true(*(const double *)cluster.seat.inputs[ROLE_PLACE].plan == 7);
    assert_true(*(const double *)cluster.seat.inputs[ROLE_CACHE].plan == 9);
    assert_ptr_equal(cluster.seat.inputs[ROLE_PLACE].plan, cluster.seat.inputs[ROLE_DISPATCH].plan);
    cluster_deinit(&cluster);
}

static void home_queues_need_a_policy_that_binds_and_none_that_places(void **state)
{
    (void)state;
    struct policy binding = {.name = "binding", .dispatch = probe.dispatch, .binds = true};
    struct cluster cluster;
    init(&cluster, &binding);
    assert_true(cluster.seat.binds);
    const struct queue_facts home = {.worker = WORKER_NONE, .waiting = 1, .items = 1};
    struct dispatch_answer answer;
    next.dispatch =
        (struct dispatch_answer){.count = 1, .configs = {{.batch = 1, .gpu = 4}}, .workers = {2}};
    policy_dispatch(&cluster.seat, &home, &answer);
    assert_int_equal(answer.workers[0], 2);
    cluster_deinit(&cluster);

    binding.place_task = probe_place_task;
    init(&cluster, &binding);
    assert_false(cluster.seat.binds);
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_policies_the_defaults_answer),
        cmocka_unit_test(a_policy_is_planned_once_for_equal_options),
        cmocka_unit_test(home_queues_need_a_policy_that_binds_and_none_that_places),
        cmocka_unit_test(a_task_is_by_default_where_it_was_planned),
        cmocka_unit_test(the_default_cache_is_lru_with_prefetch),
        cmocka_unit_test(every_question_reaches_its_policy_and_is_counted),
        cmocka_unit_test(half_a_role_leaves_the_other_half_to_the_default),
        cmocka_unit_test(roles_are_named_and_known),
        cmocka_unit_test(a_policy_has_one_state_for_all_its_roles),
        cmocka_unit_test(different_policies_have_states_of_their_own),
        cmocka_unit_test(one_decision_in_sixteen_is_timed),
        cmocka_unit_test(nonsense_stops_the_program),
        cmocka_unit_test(a_policy_may_keep_a_planned_worker_that_is_not_usable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
