/*
 * Covers: src/sim/searches.c
 *
 * Searches of policies in virtual time: what was asked, when it is told, how often it is made.
 */
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "sim/stage.h"

enum { NODES = 3 };

/* What the search was made of, and when it was told. */
struct found {
    uint64_t sum;
    double rate;
};

static uint32_t made;
static uint32_t told;
static int64_t told_ns[NODES][2];
static const struct found *kept[NODES];

static void tick(const struct policy_input *input, struct tick_answer *answer_out)
{
    answer_out->solve = input->view->now_ns <= MS(200);
    answer_out->problem = input->view->now_ns == MS(100) ? 1 : 2;
}

/* Nodes 0 and 2 ask the same, node 1 something else. */
static void question(
    const struct policy_input *input, ATTR_UNUSED uint64_t problem, void *question_out)
{
    const uint64_t asked = input->view->node % 2;
    memcpy(question_out, &asked, sizeof(asked));
}

static void *solve(
    const struct plan_input *input, const void *plan, uint64_t problem, const void *asked)
{
    struct found *found = malloc(sizeof(*found));
    assert_non_null(found);
    assert_null(plan);
    memcpy(&found->sum, asked, sizeof(found->sum));
    found->sum += 1000 * problem;
    found->rate = input->rates == NULL ? 0 : input->rates[0];
    made++;
    return found;
}

static void solved(const struct policy_input *input, uint64_t problem, const void *result)
{
    const uint32_t node = input->view->node;
    if (problem == 2) { /* What was found before stays where it is until now. */
        assert_int_equal(kept[node]->sum, 1000 + node % 2);
    }
    kept[node] = result;
    told_ns[node][problem - 1] = input->view->now_ns;
    told++;
}

static const struct policy searching = {
    .name = "searching",
    .tick_ns = MS(100),
    .tick = tick,
    .question_bytes = sizeof(uint64_t),
    .question = question,
    .solve = solve,
    .solved = solved,
};

static void nodes_that_ask_the_same_are_told_the_same_later(ATTR_UNUSED void **state)
{
    struct stage stage;
    struct policy_set set;
    const struct arrivals arrivals = {.kind = ARRIVALS_POISSON, .rate_per_s = 40};
    policy_set_single(&searching, &set);
    stage_open(&stage, NODES, MB(200));
    (void)stage_model(&stage, "a", 0, MS(10));
    (void)stage_chain(&stage, "chain", "a");
    stage.options.policies = &set;
    stage.options.arrivals = &arrivals;
    stage.options.fleet = stage.fleet;
    stage.options.catalogue = stage.catalogue;
    stage.options.profile = stage.profile;
    stage.options.solve_ns = MS(25);
    stage.options.jobs = 20;
    struct sim *sim = sim_create(&stage.options);
    sim_run(sim);              /* Though the policy ticks for ever, this ends: with the jobs. */
    assert_int_equal(made, 4); /* Two questions of two problems, for three nodes. */
    assert_int_equal(told, 2 * NODES);
    for (uint32_t node = 0; node < NODES; node++) {
        assert_int_equal(told_ns[node][0], MS(125));
        assert_int_equal(told_ns[node][1], MS(225));
        assert_int_equal(kept[node]->sum, 2000 + node % 2);
        assert_true(kept[node]->rate == 40);
    }
    assert_ptr_equal(kept[0], kept[2]);
    sim_destroy(sim);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_that_ask_the_same_are_told_the_same_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
