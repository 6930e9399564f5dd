/*
 * nona: draws from what was solved for ahead, and notices when that is no longer true.
 *
 * On scenarios/nona/one-link.yaml: diamonds a -> {b, c} -> d on 80 workers.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/bitset.h"
#include "document/scenario.h"
#include "mixture/mixture.h"
#include "policy/compose.h"

enum { TASKS = 4, JOBS = 20000, TICK_NS = 1000000000 };

/* One node of the scenario's cluster, and its policy. */
struct bed {
    struct scenario *scenario;
    struct arena arena;
    struct pool pool;
    struct board board;
    struct view view;
    struct policy_set set;
    struct policy_meter meter;
    struct policy_seat seat;
    struct plan_input known;
    double rates[WORKFLOWS_MAX];
    struct mixture *mixture;
    struct job_facts job;
};

static void sit(struct bed *bed)
{
    const struct policy_input input = {
        .view = &bed->view,
        .profile = bed->scenario->profile,
        .catalogue = bed->scenario->catalogue,
    };
    void *state = arena_alloc(&bed->arena, policy_set_state_bytes(&bed->set));
    policy_seat_init(
        &bed->seat, &bed->set, &input, state, rng_stream(7, RNG_POLICY, 0), &bed->meter);
}

static void open_bed(struct bed *bed, const char *policy, struct mixture *mixture)
{
    struct weft_error error = {0};
    *bed = (struct bed){.mixture = mixture};
    if (scenario_load("scenarios/nona/one-link.yaml", &bed->scenario, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    struct scenario *scenario = bed->scenario;
    arena_init(&bed->arena);
    pool_init(&bed->pool, sizeof(struct reservation), 16, 64);
    board_init(&bed->board, &bed->arena, scenario->fleet->worker_count, /* delay_ns */ 0);
    bed->view = (struct view){
        .now_ns = 1000, .worker_count = 1, .fleet = scenario->fleet, .board = &bed->board};
    reservations_init(&bed->view.reservations, &bed->pool);
    assert_true(arrivals_rates(&scenario->arrivals, scenario->catalogue, bed->rates));
    bed->known = (struct plan_input){
        .fleet = scenario->fleet,
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
        .mixture = mixture,
        .rates = bed->rates,
        .seed = 1,
    };
    assert_int_equal(policy_set_parse(policy, &bed->set, &error), WEFT_OK);
    policy_set_plan(&bed->set, &bed->arena, &bed->known);
    sit(bed);
    bed->job = (struct job_facts){
        .id = {.number = 1}, .graph = scenario->catalogue->workflows[0], .items = 1};
}

static void close_bed(struct bed *bed)
{
    mixture_destroy(bed->mixture);
    scenario_destroy(bed->scenario);
    pool_deinit(&bed->pool);
    arena_deinit(&bed->arena);
}

/* Three patterns, each with workers of its own. */
static struct mixture *three_patterns(void)
{
    static const uint16_t patterns[3][TASKS] = {{1, 2, 1, 1}, {3, 3, 3, 3}, {4, 5, 6, 4}};
    static const double weights[] = {5, 3, 2};
    struct mixture *mixture = mixture_create(/* workflows */ 1, /* workers */ 80, /* links */ 161);
    mixture_set_workflow(mixture, 0, TASKS, /* rate_per_s */ 600);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(mixture_add_pattern(mixture, 0, patterns[i], weights[i]), WEFT_OK);
    }
    assert_int_equal(mixture_seal(mixture, NULL), WEFT_OK);
    return mixture;
}

static void place(struct bed *bed, uint16_t *placement_out)
{
    for (uint32_t i = 0; i < TASKS; i++) {
        placement_out[i] = PLACEMENT_UNBOUND;
    }
    bed->job.id.number++;
    policy_arrived(&bed->seat, &bed->job);
    policy_place_job(&bed->seat, &bed->job, placement_out);
}

static void set_usable(struct bed *bed, uint32_t worker, bool usable)
{
    struct row *live = &bed->board.entries[worker].live;
    struct row row = {.worker = worker, .parts = ROW_BOTH};
    row.load.accepting = usable ? 1 : 0;
    row.load.sequence = live->load.sequence + 1;
    row.cache.sequence = row.load.sequence;
    *live = row;
    assert_true(board_publish(&bed->board, &row));
}

static void jobs_follow_the_weights(ATTR_UNUSED void **state)
{
    struct bed bed;
    uint32_t counts[80] = {0};
    open_bed(&bed, "nona", three_patterns());
    for (uint32_t i = 0; i < JOBS; i++) {
        uint16_t placement[TASKS];
        place(&bed, placement);
        counts[placement[0]]++;
        /* All tasks of a job are of one pattern. */
        assert_int_equal(placement[1], placement[0] == 1 ? 2 : placement[0] == 3 ? 3 : 5);
        assert_int_equal(placement[2], placement[0] == 4 ? 6 : placement[0]);
        assert_int_equal(placement[3], placement[0]);
    }
    assert_int_equal(counts[1] + counts[3] + counts[4], JOBS);
    assert_true(fabs(counts[1] / (double)JOBS - 0.5) < 0.015); /* Four deviations. */
    assert_true(fabs(counts[3] / (double)JOBS - 0.3) < 0.013);
    close_bed(&bed);
}

static void others_stand_in_for_workers_that_are_not_usable(ATTR_UNUSED void **state)
{
    struct bed bed;
    uint32_t whole = 0;
    uint32_t elsewhere = 0;
    open_bed(&bed, "nona", three_patterns());
    set_usable(&bed, 1, false);
    set_usable(&bed, 4, false);
    for (uint32_t i = 0; i < 4000; i++) {
        uint16_t placement[TASKS];
        place(&bed, placement);
        for (uint32_t task = 0; task < TASKS; task++) {
            assert_true(placement[task] != 1 && placement[task] != 4);
        }
        assert_int_equal(placement[3], placement[0]); /* What was together stays together. */
        whole += placement[0] == 3 ? 1 : 0;
        elsewhere += placement[0] > 6 ? 1 : 0;
    }
    /* Four draws: all three tenths of them do not hit a pattern that is whole: 0.7^4. */
    assert_true(fabs(whole / 4000.0 - 0.76) < 0.03);
    assert_true(elsewhere > 4000 * 0.2);
    for (uint32_t worker = 0; worker < 80; worker++) {
        set_usable(&bed, worker, false);
    }
    uint16_t placement[TASKS];
    place(&bed, placement);
    assert_int_equal(placement[0], PLACEMENT_UNBOUND);
    close_bed(&bed);
}

static void without_a_mixture_jobs_stay_whole(ATTR_UNUSED void **state)
{
    struct bed bed;
    uint8_t seen[80] = {0};
    uint32_t count = 0;
    open_bed(&bed, "nona", three_patterns());
    policy_set_single(bed.set.roles[ROLE_PLACE].policy, &bed.set); /* Forgets the plan. */
    sit(&bed);
    for (uint32_t i = 0; i < 2000; i++) {
        uint16_t placement[TASKS];
        place(&bed, placement);
        assert_int_equal(placement[1], placement[0]);
        assert_int_equal(placement[2], placement[0]);
        assert_int_equal(placement[3], placement[0]);
        count += seen[placement[0]] == 0 ? 1 : 0;
        seen[placement[0]] = 1;
    }
    assert_int_equal(count, 80);
    close_bed(&bed);
}

static void what_continues_comes_first_then_who_came_first(ATTR_UNUSED void **state)
{
    struct bed bed;
    open_bed(&bed, "nona", three_patterns());
    struct ready_facts ready = {.job = &bed.job, .items = 1};
    const int64_t early = policy_order(&bed.seat, &ready);
    bed.view.now_ns += 5;
    const int64_t late = policy_order(&bed.seat, &ready);
    ready.continues = true;
    const int64_t next = policy_order(&bed.seat, &ready);
    assert_true(early < late);
    assert_true(next < early);
    close_bed(&bed);
}

/* The mean of what is drawn at @rate in a second. */
static uint32_t arrivals_at(struct rng *rng, double rate)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        count += rng_unit(rng) < rate / 1000 ? 1 : 0;
    }
    return count;
}

/* Let a second pass in which this node gets its part of @rate. True: it asked for a search. */
static bool pass(struct bed *bed, struct rng *rng, double rate)
{
    const uint32_t count = arrivals_at(rng, rate / bed->view.fleet->node_count);
    uint16_t placement[TASKS];
    for (uint32_t i = 0; i < count; i++) {
        place(bed, placement);
    }
    bed->view.now_ns += TICK_NS;
    return policy_tick(&bed->seat).solve;
}

/* What the node asks: a rate for each workflow first, then a bit for each machine that is away. */
static double *ask(struct bed *bed)
{
    double *question = arena_alloc(&bed->arena, policy_set_question_bytes(&bed->set));
    policy_question(&bed->seat, 0, question);
    return question;
}

static double question_rate(struct bed *bed)
{
    return ask(bed)[0];
}

/* A question about all machines. */
static double *question_of(struct bed *bed, double rate_per_s)
{
    double *question = arena_alloc(&bed->arena, policy_set_question_bytes(&bed->set));
    memset(question, 0, policy_set_question_bytes(&bed->set));
    question[0] = rate_per_s;
    return question;
}

static void chance_is_no_drift(ATTR_UNUSED void **state)
{
    struct bed bed;
    struct rng rng = rng_from_seed(5);
    open_bed(&bed, "nona", three_patterns()); /* Solved for 600/s: 7.5/s at each node. */
    for (uint32_t second = 0; second < 2000; second++) {
        assert_false(pass(&bed, &rng, 600));
    }
    for (uint32_t second = 0; second < 500; second++) {
        assert_false(pass(&bed, &rng, 700)); /* 17 % more is not worth it. */
    }
    close_bed(&bed);
}

static void drift_is_noticed_and_a_new_mixture_is_drawn_from(ATTR_UNUSED void **state)
{
    struct bed bed;
    struct rng rng = rng_from_seed(6);
    uint32_t seconds = 0;
    open_bed(&bed, "nona", three_patterns());
    while (!pass(&bed, &rng, 1800)) {
        seconds++;
        assert_true(seconds < 60);
    }
    assert_true(seconds > 1);
    assert_false(pass(&bed, &rng, 1800)); /* One search at a time. */
    for (uint32_t second = 0; second < 100; second++) {
        assert_false(pass(&bed, &rng, 1800));
    }
    const double rate = question_rate(&bed);
    assert_true(fabs(log2(rate / 1800)) < 0.3);
    const double steps = 4 * log2(rate); /* Nodes that measure about the same ask the same. */
    assert_true(fabs(steps - round(steps)) < 1e-9);

    /* Nothing found: the old one stays. */
    uint16_t placement[TASKS];
    policy_solved(&bed.seat, 0, NULL);
    for (uint32_t i = 0; i < 50; i++) {
        place(&bed, placement);
        assert_true(placement[0] <= 4);
    }
    /* Found: it is drawn from at once. */
    double *question = question_of(&bed, rate);
    struct mixture *solved = policy_set_solve(&bed.set, &bed.known, 0, question);
    assert_non_null(solved);
    assert_true(solved->workflows[0].rate_per_s == rate);
    policy_solved(&bed.seat, 0, solved);
    uint32_t far = 0;
    for (uint32_t i = 0; i < 400; i++) {
        place(&bed, placement);
        far += placement[0] > 6 ? 1 : 0;
    }
    assert_true(far > 300);
    for (uint32_t second = 0; second < 300; second++) {
        assert_false(pass(&bed, &rng, 1800)); /* It has been solved for. */
    }
    free(solved);
    close_bed(&bed);
}

static void drift_can_be_left_alone(ATTR_UNUSED void **state)
{
    struct bed bed;
    struct rng rng = rng_from_seed(6);
    open_bed(&bed, "nona:drift=0", three_patterns());
    for (uint32_t second = 0; second < 100; second++) {
        assert_false(pass(&bed, &rng, 6000));
    }
    close_bed(&bed);
}

/* Let the machines of @away be no members from now on: of the first 64. */
static void set_away(struct bed *bed, uint64_t away)
{
    static uint64_t up[2];
    static uint64_t since[80];
    static struct members members;
    up[0] = ~away;
    up[1] = 0xffff;
    members = (struct members){
        .epoch = members.epoch + 1,
        .node_count = 80,
        .up_count = bitset_count(up, 2),
        .up = up,
        .since = since,
    };
    bed->view.members = &members;
}

/* Whether any job of @mixture has a task on a machine of @away. */
static bool uses_any(const struct mixture *mixture, uint64_t away)
{
    const struct mixture_workflow *mixed = &mixture->workflows[0];
    for (uint32_t i = 0; i < mixed->pattern_count * mixed->task_count; i++) {
        if (mixed->placements[i] < 64 && (away >> mixed->placements[i] & 1) != 0) {
            return true;
        }
    }
    return false;
}

static void members_that_go_and_come_are_solved_for(ATTR_UNUSED void **state)
{
    const uint64_t away = 0xffff2;
    struct bed bed;
    struct bed other;
    struct rng rng = rng_from_seed(8);
    open_bed(&bed, "nona", NULL);
    open_bed(&other, "nona", NULL);
    const struct mixture *plan = bed.set.roles[ROLE_PLACE].plan;
    assert_true(uses_any(plan, away));
    assert_false(pass(&bed, &rng, 600));
    set_away(&bed, away);
    set_away(&other, away);
    assert_true(pass(&bed, &rng, 600));
    assert_false(pass(&bed, &rng, 600)); /* One search at a time. */
    assert_true(pass(&other, &rng, 400));
    const double *question = ask(&bed);
    assert_true(question[0] == 600); /* As before, not as one node has measured it. */
    assert_memory_equal(question, ask(&other), policy_set_question_bytes(&bed.set));
    struct mixture *without = policy_set_solve(&bed.set, &bed.known, 0, question);
    assert_false(uses_any(without, away));
    policy_solved(&bed.seat, 0, without);
    for (uint32_t i = 0; i < 1000; i++) {
        uint16_t placement[TASKS];
        place(&bed, placement);
        assert_true(placement[0] >= 64 || (away >> placement[0] & 1) == 0);
    }
    assert_false(policy_tick(&bed.seat).solve && question_rate(&bed) == 600);
    close_bed(&other);

    /* All are back: what was planned, and nothing else. */
    policy_solved(&bed.seat, 0, without);
    set_away(&bed, 0);
    struct policy_set *set = &bed.set;
    struct mixture *again = policy_set_solve(set, &bed.known, 0, question_of(&bed, 600));
    assert_true(again->mean_ns == plan->mean_ns);
    assert_int_equal(again->workflows[0].pattern_count, plan->workflows[0].pattern_count);
    assert_true(policy_tick(&bed.seat).solve);
    free(again);
    free(without);
    close_bed(&bed);
}

/* Half of the machines go, and twice as much comes to each of the others: that is no drift. */
static void rates_of_the_cluster_stay_when_members_go(ATTR_UNUSED void **state)
{
    struct bed bed;
    struct rng rng = rng_from_seed(9);
    open_bed(&bed, "nona", three_patterns());
    set_away(&bed, 0xffffffffff);
    assert_true(pass(&bed, &rng, 600));
    assert_true(question_rate(&bed) == 600);
    policy_solved(&bed.seat, 0, NULL);
    for (uint32_t second = 0; second < 200; second++) {
        assert_false(pass(&bed, &rng, /* of 40 nodes */ 1200));
    }
    close_bed(&bed);
}

static void members_can_be_left_alone(ATTR_UNUSED void **state)
{
    struct bed bed;
    struct rng rng = rng_from_seed(6);
    open_bed(&bed, "nona:drift=0", three_patterns());
    set_away(&bed, 6);
    assert_false(pass(&bed, &rng, 600));
    close_bed(&bed);
}

/* The part of the jobs that is on more than one worker. */
static double split_part(const struct mixture *mixture)
{
    const struct mixture_workflow *mixed = &mixture->workflows[0];
    double part = 0;
    for (uint32_t i = 0; i < mixed->pattern_count; i++) {
        const uint16_t *placement = mixture_placement(mixture, 0, i);
        part += placement[0] == placement[1] ? 0 : mixed->weights[i];
    }
    return part;
}

static void a_plan_is_solved_for_the_rates(ATTR_UNUSED void **state)
{
    struct bed bed;
    open_bed(&bed, "nona", NULL);
    const struct mixture *plan = bed.set.roles[ROLE_PLACE].plan;
    assert_ptr_equal(bed.set.roles[ROLE_TICK].plan, plan);
    /* 1 / (3 * 0.6) if servers never were busy (Nona, 3.3), and a little less as they are. */
    assert_true(fabs(split_part(plan) - 0.556) < 0.02);
    close_bed(&bed);

    struct mixture *given = three_patterns();
    open_bed(&bed, "nona", given);
    assert_ptr_equal(bed.set.roles[ROLE_PLACE].plan, given);
    close_bed(&bed);
}

/* More than all can serve is solved for as far as it goes. */
static void too_much_is_solved_for_in_part(ATTR_UNUSED void **state)
{
    struct bed bed;
    open_bed(&bed, "nona", NULL);
    double *question = question_of(&bed, 5000); /* 22 ms each on 80 workers: 3636/s. */
    struct mixture *solved = policy_set_solve(&bed.set, &bed.known, 0, question);
    assert_non_null(solved);
    assert_true(solved->workflows[0].rate_per_s < 3636);
    assert_true(solved->workflows[0].rate_per_s > 3000);
    free(solved);
    question[0] = 0; /* No job comes. */
    assert_null(policy_set_solve(&bed.set, &bed.known, 0, question));
    close_bed(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_follow_the_weights),
        cmocka_unit_test(others_stand_in_for_workers_that_are_not_usable),
        cmocka_unit_test(without_a_mixture_jobs_stay_whole),
        cmocka_unit_test(what_continues_comes_first_then_who_came_first),
        cmocka_unit_test(chance_is_no_drift),
        cmocka_unit_test(drift_is_noticed_and_a_new_mixture_is_drawn_from),
        cmocka_unit_test(drift_can_be_left_alone),
        cmocka_unit_test(members_that_go_and_come_are_solved_for),
        cmocka_unit_test(rates_of_the_cluster_stay_when_members_go),
        cmocka_unit_test(members_can_be_left_alone),
        cmocka_unit_test(a_plan_is_solved_for_the_rates),
        cmocka_unit_test(too_much_is_solved_for_in_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
