/* The search is exact: every path is tried beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "configs/search.h"

enum { STAGES = 4, CHOICES = 9, INSTANCES = 6000 };

struct instance {
    uint32_t stage_count;
    struct search_choice choices[STAGES][CHOICES];
    struct search_stage stages[STAGES];
};

/* Small numbers, so that ties of times, costs and sums are common. */
static void draw(struct rng *rng, struct instance *instance)
{
    const uint32_t spread = 1 + rng_below(rng, 40);
    instance->stage_count = 1 + rng_below(rng, STAGES);
    for (uint32_t stage = 0; stage < instance->stage_count; stage++) {
        const uint32_t count = 1 + rng_below(rng, CHOICES);
        for (uint32_t i = 0; i < count; i++) {
            struct search_choice *choice = &instance->choices[stage][i];
            choice->time_ns = 1 + rng_below(rng, spread);
            choice->cost = 1 + rng_below(rng, spread);
            choice->batch = 1 + rng_below(rng, 4);
            choice->front = 0;
        }
        instance->stages[stage] = (struct search_stage){
            .count = count,
            .choices = instance->choices[stage],
            .extra_ns = rng_below(rng, 3),
        };
    }
}

/* The best path of each first choice, by trying all: cost INT64_MAX if none is in time. */
static void try_all(
    const struct instance *instance, uint32_t stage, struct search_path path, int64_t target_ns,
    struct search_path *best)
{
    if (stage == instance->stage_count) {
        struct search_path *known = &best[path.first];
        const bool better =
            path.cost < known->cost || (path.cost == known->cost && path.time_ns < known->time_ns);
        if (path.time_ns <= target_ns && better) {
            *known = path;
        }
        return;
    }
    const struct search_stage *now = &instance->stages[stage];
    for (uint32_t i = 0; i < now->count; i++) {
        struct search_path longer = path;
        longer.first = stage == 0 ? i : path.first;
        longer.time_ns += now->choices[i].time_ns + now->extra_ns;
        longer.cost += now->choices[i].cost;
        try_all(instance, stage + 1, longer, target_ns, best);
    }
}

/* Of what is left in @best, the first by cost, time, index; and take it out. */
static struct search_path take_best(struct search_path *best, uint32_t count)
{
    uint32_t at = 0;
    for (uint32_t i = 1; i < count; i++) {
        const bool better = best[i].cost < best[at].cost ||
                            (best[i].cost == best[at].cost && best[i].time_ns < best[at].time_ns);
        at = better ? i : at;
    }
    const struct search_path path = best[at];
    best[at].cost = INT64_MAX;
    best[at].time_ns = INT64_MAX;
    return path;
}

static void expect_exact(
    const struct instance *instance, const struct search_query *query,
    const struct search_answer *answer)
{
    const struct search_stage *first = &instance->stages[0];
    struct search_path best[CHOICES];
    uint32_t met = 0;
    for (uint32_t i = 0; i < CHOICES; i++) {
        best[i] = (struct search_path){.cost = INT64_MAX, .time_ns = INT64_MAX};
    }
    try_all(instance, 0, (struct search_path){0}, query->target_ns, best);
    for (uint32_t i = 0; i < first->count; i++) {
        const uint32_t batch = first->choices[i].batch;
        if (batch < query->batch_min || batch > query->batch_max) {
            best[i].cost = INT64_MAX;
            best[i].time_ns = INT64_MAX;
        }
        met += best[i].cost != INT64_MAX ? 1 : 0;
    }
    if (met == 0) {
        assert_true(answer->rule != SEARCH_MET || answer->count == 0);
        return;
    }
    assert_int_equal(answer->rule, SEARCH_MET);
    assert_int_equal(answer->count, met < query->path_count ? met : query->path_count);
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct search_path path = take_best(best, first->count);
        assert_int_equal(answer->paths[i].first, path.first);
        assert_int_equal(answer->paths[i].cost, path.cost);
        assert_int_equal(answer->paths[i].time_ns, path.time_ns);
    }
}

static void finds_what_trying_every_path_finds(void **state)
{
    (void)state;
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    static const uint32_t path_counts[] = {1, 5, 3, SEARCH_PATHS_MAX};
    for (uint32_t i = 0; i < INSTANCES; i++) {
        struct instance instance;
        struct search_answer answer;
        draw(&rng, &instance);
        const struct search_query query = {
            .target_ns = 1 + rng_below(&rng, 60),
            .batch_min = rng_below(&rng, 3),
            .batch_max = 1 + rng_below(&rng, 5),
            .path_count = path_counts[i % 4],
        };
        search_run(instance.stages, instance.stage_count, &query, &answer, NULL);
        expect_exact(&instance, &query, &answer);
    }
}

static void what_is_made_ahead_answers_every_target(void **state)
{
    (void)state;
    struct rng rng = rng_stream(2, RNG_TEST, 0);
    for (uint32_t i = 0; i < INSTANCES / 10; i++) {
        struct instance instance;
        struct search_chain chain;
        struct arena arena;
        draw(&rng, &instance);
        arena_init(&arena);
        search_prepare(&arena, instance.stages, instance.stage_count, 60, &chain);
        for (uint32_t target = 1; target <= 60; target += 7) {
            const struct search_query query = {
                .target_ns = target, .batch_max = 1 + target % 4, .path_count = 5};
            struct search_answer answer;
            search_best(&instance.stages[0], &chain.fronts[1], &query, &answer);
            expect_exact(&instance, &query, &answer);
        }
        arena_deinit(&arena);
    }
}

/* What follows a choice may depend on it: the slow one is followed by what costs less. */
static void each_choice_is_followed_by_its_front(void **state)
{
    (void)state;
    const struct search_choice choices[] = {
        {.time_ns = 1, .cost = 5, .batch = 1, .front = 0},
        {.time_ns = 3, .cost = 6, .batch = 2, .front = 1},
    };
    const struct search_stage first = {.count = 2, .choices = choices};
    struct search_point dear = {.time_ns = 4, .cost = 9};
    struct search_point cheap = {.time_ns = 5, .cost = 2};
    const struct search_front rests[] = {
        {.count = 1, .points = &dear}, {.count = 1, .points = &cheap}};
    struct search_query query = {.target_ns = 8, .batch_max = 2, .path_count = 2};
    struct search_answer answer;
    search_best(&first, rests, &query, &answer);
    assert_int_equal(answer.count, 2);
    assert_int_equal(answer.paths[0].first, 1);
    assert_int_equal(answer.paths[0].cost, 8);
    assert_int_equal(answer.paths[1].cost, 14);
    query.target_ns = 7; /* Too early for the slow one and its front. */
    search_best(&first, rests, &query, &answer);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.paths[0].first, 0);
    query.target_ns = 4;
    assert_false(search_is_met(&first, rests, &query));
}

/* Fronts are made ahead; what follows may turn out to take longer or less. */
static void what_follows_may_take_another_time(void **state)
{
    (void)state;
    const struct search_choice choices[] = {
        {.time_ns = 300, .cost = 6, .batch = 1},
        {.time_ns = 600, .cost = 5, .batch = 1},
    };
    const struct search_stage first = {.count = 2, .choices = choices};
    struct search_point points[] = {{.time_ns = 300, .cost = 9}, {.time_ns = 510, .cost = 2}};
    const struct search_front rest = {.count = 2, .points = points};
    struct search_query query = {.target_ns = 1110, .batch_max = 1, .path_count = 1};
    struct search_answer answer;
    search_best(&first, &rest, &query, &answer);
    assert_int_equal(answer.paths[0].cost, 7);
    assert_int_equal(answer.paths[0].time_ns, 1110);
    query.rest = SEARCH_REST_ONE;
    search_best(&first, &rest, &query, &answer);
    assert_int_equal(answer.paths[0].time_ns, 1110);
    query.rest = SEARCH_REST_ONE * 3 / 2;
    search_best(&first, &rest, &query, &answer);
    assert_int_equal(answer.paths[0].cost, 8);
    assert_int_equal(answer.paths[0].time_ns, 300 + 765);
    query.rest = 3 * SEARCH_REST_ONE;
    assert_false(search_is_met(&first, &rest, &query));
}

/* Follow a path through the fronts: its choices must add up to what it promises. */
static void fronts_say_which_choices_they_are_made_of(void **state)
{
    (void)state;
    struct rng rng = rng_stream(3, RNG_TEST, 0);
    for (uint32_t i = 0; i < INSTANCES / 10; i++) {
        struct instance instance;
        struct search_chain chain;
        struct arena arena;
        draw(&rng, &instance);
        arena_init(&arena);
        search_prepare(&arena, instance.stages, instance.stage_count, INT64_MAX / 4, &chain);
        const struct search_front *front = &chain.fronts[0];
        for (uint32_t p = 0; p < front->count; p++) {
            struct search_point sum = {0};
            uint32_t at = p;
            for (uint32_t stage = 0; stage < instance.stage_count; stage++) {
                const struct search_point *point = &chain.fronts[stage].points[at];
                const struct search_stage *now = &instance.stages[stage];
                sum.time_ns += now->choices[point->choice].time_ns + now->extra_ns;
                sum.cost += now->choices[point->choice].cost;
                at = point->next;
            }
            assert_int_equal(sum.time_ns, front->points[p].time_ns);
            assert_int_equal(sum.cost, front->points[p].cost);
            assert_true(p == 0 || front->points[p - 1].time_ns < front->points[p].time_ns);
            assert_true(p == 0 || front->points[p - 1].cost > front->points[p].cost);
        }
        arena_deinit(&arena);
    }
}

static const struct search_choice three[] = {
    {.time_ns = 40, .cost = 10, .batch = 1},
    {.time_ns = 10, .cost = 90, .batch = 1},
    {.time_ns = 60, .cost = 5, .batch = 4},
};

static struct search_answer ask(int64_t target_ns, uint32_t batch_max)
{
    const struct search_stage stages[] = {{3, three, 0}, {3, three, 0}};
    const struct search_query query = {target_ns, 0, batch_max, 3, 0};
    struct search_answer answer;
    search_run(stages, 2, &query, &answer, NULL);
    return answer;
}

static void the_k_best_have_different_first_choices(void **state)
{
    (void)state;
    /* The three cheapest paths all begin with choice 2; the other two firsts are told anyway. */
    const struct search_answer answer = ask(120, 4);

    assert_int_equal(answer.count, 3);
    assert_int_equal(answer.paths[0].first, 2);
    assert_int_equal(answer.paths[0].cost, 10);
    assert_int_equal(answer.paths[1].first, 0);
    assert_int_equal(answer.paths[1].cost, 15);
    assert_int_equal(answer.paths[2].first, 1);
}

static void a_batch_that_the_queue_cannot_fill_is_left_out(void **state)
{
    (void)state;
    const struct search_answer answer = ask(120, 3);

    assert_int_equal(answer.count, 2);
    assert_int_equal(answer.paths[0].first, 0);
    assert_int_equal(ask(120, 0).count, 0);
}

static void with_too_little_time_the_fastest_comes_first(void **state)
{
    (void)state;
    const struct search_answer answer = ask(19, 4); /* Two stages take 20 at least. */

    assert_int_equal(answer.rule, SEARCH_LATE);
    assert_int_equal(answer.count, 3);
    assert_int_equal(answer.paths[0].first, 1);
    assert_int_equal(answer.paths[1].first, 0);
    assert_int_equal(ask(20, 4).rule, SEARCH_MET);
}

static void with_no_time_left_the_cheapest_comes_first(void **state)
{
    (void)state;
    const struct search_answer answer = ask(0, 4);

    assert_int_equal(answer.rule, SEARCH_LOST);
    assert_int_equal(answer.paths[0].first, 2);
    assert_int_equal(answer.paths[2].first, 1);
}

static void the_blades_spare_work(void **state)
{
    (void)state;
    struct rng rng = rng_stream(4, RNG_TEST, 0);
    struct search_choice choices[3][128];
    struct search_stage stages[3];
    struct search_answer answer;
    struct search_effort tight;
    struct search_effort loose;
    struct search_effort one;
    struct search_effort all;
    for (uint32_t stage = 0; stage < 3; stage++) {
        for (uint32_t i = 0; i < 128; i++) {
            choices[stage][i].time_ns = 1000 + rng_below(&rng, 100000);
            choices[stage][i].cost = 100000000 / choices[stage][i].time_ns;
            choices[stage][i].batch = 1;
            choices[stage][i].front = 0;
        }
        stages[stage] = (struct search_stage){128, choices[stage], 0};
    }
    search_run(stages, 3, &(struct search_query){40000, 1, 1, 5, 0}, &answer, &tight);
    search_run(stages, 3, &(struct search_query){200000, 1, 1, 5, 0}, &answer, &loose);
    stages[0].count = 4;
    search_run(stages, 3, &(struct search_query){200000, 1, 1, 1, 0}, &answer, &one);
    search_run(stages, 3, &(struct search_query){200000, 1, 1, 5, 0}, &answer, &all);

    /* Where only fast choices are in time, few slow ones are summed up at all. */
    assert_true(tight.points < loose.points / 2);
    /* Nothing is too dear while fewer first choices are known than were asked for. */
    assert_true(one.kept < all.kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_trying_every_path_finds),
        cmocka_unit_test(what_is_made_ahead_answers_every_target),
        cmocka_unit_test(each_choice_is_followed_by_its_front),
        cmocka_unit_test(what_follows_may_take_another_time),
        cmocka_unit_test(fronts_say_which_choices_they_are_made_of),
        cmocka_unit_test(the_k_best_have_different_first_choices),
        cmocka_unit_test(a_batch_that_the_queue_cannot_fill_is_left_out),
        cmocka_unit_test(with_too_little_time_the_fastest_comes_first),
        cmocka_unit_test(with_no_time_left_the_cheapest_comes_first),
        cmocka_unit_test(the_blades_spare_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
