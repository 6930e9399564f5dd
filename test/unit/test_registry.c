/*
 * The registry, and what every policy in it must keep: only usable workers that can run the
 * task, the same answer to the same question, the lowest index among workers that are alike.
 */
#include "policy_fixture.h"

enum { SEEDS = 400, SEEDS_PLANNED = 4, QUESTIONS = 8, TASKS = 8 };

static void names_find_their_policies(void **state)
{
    (void)state;
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        assert_ptr_equal(policy_find(policy_registry[i]->name), policy_registry[i]);
    }
    assert_ptr_equal(policy_find("hash"), &policy_hash);
    assert_ptr_equal(policy_find("least-work"), &policy_least_work);
    assert_ptr_equal(policy_find("least_work"), NULL);
    assert_ptr_equal(policy_find("hashed"), NULL);
    assert_ptr_equal(policy_find(""), NULL);
}

static void every_policy_describes_itself(void **state)
{
    (void)state;
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        const struct policy *policy = policy_registry[i];
        assert_true(policy->summary != NULL && strlen(policy->summary) <= 80);
        assert_true(policy->source != NULL && policy->ignores != NULL);
        assert_null(strpbrk(policy->name, ",:= "));
        assert_int_equal(policy->tick_ns > 0, policy->tick != NULL);
        uint32_t roles = 0;
        for (uint32_t role = 0; role < POLICY_ROLES; role++) {
            roles += policy_fills(policy, (enum policy_role)role) ? 1 : 0;
        }
        assert_true(roles > 0);
        uint32_t options = 0;
        while (policy->options != NULL && policy->options[options].name != NULL) {
            assert_non_null(policy->options[options].help);
            options++;
        }
        assert_true(options <= POLICY_OPTIONS_MAX);
    }
}

/* A cluster drawn from a seed, with everything a view may show. */
struct drawn {
    struct cluster cluster;
    struct rng rng;
    uint64_t up;
    uint64_t since[8];
    struct members members;
    uint64_t suspects; /* As bits. */
    void *state;
    void *state_before;
    size_t state_bytes;
    struct rng rng_before;
};

static uint32_t below(struct drawn *drawn, uint32_t bound)
{
    return rng_below(&drawn->rng, bound);
}

static void draw_graph(struct drawn *drawn)
{
    struct cluster *cluster = &drawn->cluster;
    const uint32_t task_count = 1 + below(drawn, TASKS);
    for (uint32_t task = 0; task < task_count; task++) {
        const uint32_t model = below(drawn, 4);
        (void)cluster_task(cluster, model);
        for (uint32_t from = 0; from < task; from++) {
            const uint64_t bytes = 10 * below(drawn, 20);
            if (below(drawn, 3) == 0) {
                cluster_edge(cluster, from, task, bytes);
            }
        }
    }
    cluster_seal(cluster);
}

static void draw_rows(struct drawn *drawn)
{
    struct cluster *cluster = &drawn->cluster;
    const uint32_t usable_of_4 = below(drawn, 5);
    for (uint32_t worker = 0; worker < cluster->fleet->worker_count; worker++) {
        cluster->fleet->workers[worker].device = below(drawn, 4) == 0 ? 1 : 0;
        const int64_t queued_ns = 50 * (int64_t)below(drawn, 3);
        cluster_queue(cluster, worker, queued_ns);
        cluster_usable(cluster, worker, below(drawn, 4) < usable_of_4);
        for (uint32_t model = 0; model < 4; model++) {
            if (below(drawn, 3) == 0) {
                cluster_hold(cluster, worker, model);
            }
        }
    }
}

static void draw(struct drawn *drawn, uint64_t seed, const struct policy *policy)
{
    struct cluster *cluster = &drawn->cluster;
    drawn->rng = rng_stream(seed, RNG_TEST, 0);
    const uint32_t node_count = 1 + below(drawn, 6);
    const uint32_t worker_count = 1 + below(drawn, 3);
    cluster_init(cluster, node_count, worker_count);
    for (uint32_t model = 0; model < 4; model++) {
        cluster_load(cluster, model, 30 * (int64_t)model);
        const uint32_t kinds = below(drawn, 5); /* Mostly both, or never measured at all. */
        if (kinds != 0 && kinds != 1) {
            cluster_run(cluster, model, 0, 1, 100);
        }
        if (kinds != 0 && kinds != 2) {
            cluster_run(cluster, model, 1, 1, 40);
        }
    }
    draw_graph(drawn);
    draw_rows(drawn);
    drawn->up = below(drawn, 2) == 0 ? 0xff : below(drawn, 256);
    drawn->members = (struct members){
        .node_count = 8,
        .up_count = (uint32_t)__builtin_popcountll(drawn->up),
        .up = &drawn->up,
        .since = drawn->since,
    };
    cluster->view.members = &drawn->members;
    if (below(drawn, 4) == 0) {
        drawn->suspects = 0;
        cluster->view.suspects.bits = &drawn->suspects;
        suspects_add(&cluster->view.suspects, below(drawn, node_count));
    }
    const uint32_t promised_to = below(drawn, cluster->fleet->worker_count);
    (void)reservations_add(&cluster->view.reservations, promised_to, 50);
    policy_set_single(policy, &cluster->set);
    drawn->state_bytes = policy_set_state_bytes(&cluster->set);
    drawn->state = arena_alloc(&cluster->arena, drawn->state_bytes);
    drawn->state_before = arena_alloc(&cluster->arena, drawn->state_bytes);
    cluster_sit(cluster, drawn->state);
}

static void remember(struct drawn *drawn)
{
    memcpy(drawn->state_before, drawn->state, drawn->state_bytes);
    drawn->rng_before = drawn->cluster.seat.rng;
}

static void rewind_seat(struct drawn *drawn)
{
    memcpy(drawn->state, drawn->state_before, drawn->state_bytes);
    drawn->cluster.seat.rng = drawn->rng_before;
}

/* Written again: the tests do not ask the function that the policies ask. */
static bool may_take(const struct drawn *drawn, uint32_t task, uint32_t worker)
{
    const struct cluster *cluster = &drawn->cluster;
    const struct profile_curve *curves =
        cluster->profile->models[cluster->graph->tasks[task].run].curves;
    const uint32_t device = cluster->fleet->workers[worker].device;
    if (curves[device].point_count == 0 && curves[1 - device].point_count > 0) {
        return false;
    }
    const uint32_t node = cluster->fleet->workers[worker].node;
    const bool is_suspect = cluster->view.suspects.count > 0 && (drawn->suspects >> node & 1) != 0;
    return !is_suspect && (drawn->up >> node & 1) != 0 &&
           cluster->board.entries[worker].live.load.accepting != 0;
}

static void check_place_job(struct drawn *drawn)
{
    struct cluster *cluster = &drawn->cluster;
    uint16_t first[TASKS];
    uint16_t second[TASKS];
    cluster->job.id.number++;
    cluster->job.ingress = below(drawn, cluster->view.worker_count);
    remember(drawn);
    cluster_place_job(cluster, first);
    rewind_seat(drawn);
    cluster_place_job(cluster, second);
    for (uint32_t task = 0; task < cluster->graph->task_count; task++) {
        assert_int_equal(first[task], second[task]);
        assert_true(first[task] == PLACEMENT_UNBOUND || may_take(drawn, task, first[task]));
    }
}

static bool are_alike(const struct drawn *drawn, uint32_t left, uint32_t right)
{
    const struct cluster *cluster = &drawn->cluster;
    const struct row *a = &cluster->board.entries[left].live;
    const struct row *b = &cluster->board.entries[right].live;
    const struct fleet_worker *workers = cluster->fleet->workers;
    return workers[left].node == workers[right].node &&
           workers[left].device == workers[right].device &&
           view_free_at_ns(&cluster->view, left) == view_free_at_ns(&cluster->view, right) &&
           memcmp(&a->cache.resident, &b->cache.resident, sizeof(a->cache.resident)) == 0;
}

/* Nothing tells @worker from a usable one before it: the other should have been taken. */
static void check_no_lower_twin(const struct drawn *drawn, uint32_t task, uint32_t worker)
{
    for (uint32_t lower = 0; lower < worker; lower++) {
        assert_false(may_take(drawn, task, lower) && are_alike(drawn, lower, worker));
    }
}

static void check_place_task(struct drawn *drawn)
{
    struct cluster *cluster = &drawn->cluster;
    const uint32_t worker_count = cluster->fleet->worker_count;
    const uint32_t task = below(drawn, cluster->graph->task_count);
    uint32_t planned = below(drawn, worker_count + 1);
    planned = planned == worker_count ? WORKER_NONE : planned;
    const uint32_t here = below(drawn, cluster->view.worker_count);
    remember(drawn);
    const uint32_t worker = cluster_place(cluster, task, planned, here);
    const bool is_random = cluster->seat.rng.state != drawn->rng_before.state;
    rewind_seat(drawn);
    assert_int_equal(cluster_place(cluster, task, planned, here), worker);
    if (worker == WORKER_NONE) {
        for (uint32_t i = 0; i < worker_count; i++) {
            assert_false(may_take(drawn, task, i));
        }
        return;
    }
    assert_true(worker == planned || may_take(drawn, task, worker));
    if (worker != planned && worker != here && !is_random) {
        check_no_lower_twin(drawn, task, worker);
    }
}

static void check_order(struct drawn *drawn)
{
    struct cluster *cluster = &drawn->cluster;
    const int64_t arrived_ns = below(drawn, 1000);
    const int64_t deadline_ns = below(drawn, 2) == 0 ? INT64_MAX : arrived_ns + 10;
    remember(drawn);
    const int64_t key = cluster_order(cluster, arrived_ns, deadline_ns);
    rewind_seat(drawn);
    assert_int_equal(cluster_order(cluster, arrived_ns, deadline_ns), key);
}

static void check_cache(struct drawn *drawn)
{
    struct cluster *cluster = &drawn->cluster;
    struct cache_entry entries[8];
    const uint32_t count = 1 + below(drawn, 8);
    for (uint32_t i = 0; i < count; i++) {
        entries[i] = (struct cache_entry){.model = i, .next_use = i, .load_ns = 10};
        entries[i].bytes = below(drawn, 4);
        entries[i].used_ns = below(drawn, 4);
    }
    const struct cache_facts facts = {
        .free_bytes = below(drawn, 4), .wanted_bytes = 1, .count = count, .entries = entries};
    remember(drawn);
    const uint32_t victim = policy_victim(&cluster->seat, &facts);
    const uint32_t prefetch = policy_prefetch(&cluster->seat, &facts);
    rewind_seat(drawn);
    assert_int_equal(policy_victim(&cluster->seat, &facts), victim);
    assert_int_equal(policy_prefetch(&cluster->seat, &facts), prefetch);
    assert_true(victim < count);
    assert_true(prefetch == UINT32_MAX || entries[prefetch].bytes <= facts.free_bytes);
}

static void every_policy_keeps_the_contract(void **state)
{
    (void)state;
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        /* What searches before the first job takes a while to seat. */
        const uint64_t seeds = policy_registry[i]->plan == NULL ? SEEDS : SEEDS_PLANNED;
        for (uint64_t seed = 0; seed < seeds; seed++) {
            struct drawn drawn;
            memset(&drawn, 0, sizeof(drawn));
            draw(&drawn, seed, policy_registry[i]);
            for (uint32_t k = 0; k < QUESTIONS; k++) {
                check_place_job(&drawn);
                check_place_task(&drawn);
                check_order(&drawn);
                check_cache(&drawn);
            }
            (void)policy_steal(&drawn.cluster.seat, 0);
            (void)policy_admit(&drawn.cluster.seat, &drawn.cluster.job);
            cluster_deinit(&drawn.cluster);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_find_their_policies),
        cmocka_unit_test(every_policy_describes_itself),
        cmocka_unit_test(every_policy_keeps_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
