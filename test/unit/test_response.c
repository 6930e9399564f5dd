/* Best responses against all placements there are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "mixture/congestion.h"
#include "mixture/response.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/contract.h"
#include "model/digraph.h"
#include "solver_case.h"

enum { TASKS_MAX = 5 };

struct setting {
    struct solver_case plan;
    struct workload *workload;
    struct sites *sites;
    struct patterns patterns;
    struct congestion congestion;
    struct response response;
};

static void begin(struct setting *setting, uint32_t parts)
{
    struct weft_error error;
    assert_int_equal(workload_create(&setting->plan.input, 1, &setting->workload, &error), WEFT_OK);
    setting->sites = sites_create(setting->plan.fleet, &(struct sites_options){.parts = parts});
    patterns_init(&setting->patterns);
    congestion_init(&setting->congestion, setting->workload, setting->sites, &setting->patterns);
    response_init(&setting->response, &setting->congestion);
    (void)congestion_evaluate(&setting->congestion, NULL);
    congestion_slopes(&setting->congestion);
}

static void end(struct setting *setting)
{
    response_deinit(&setting->response);
    congestion_deinit(&setting->congestion);
    patterns_deinit(&setting->patterns);
    sites_destroy(setting->sites);
    workload_destroy(setting->workload);
    solver_case_close(&setting->plan);
}

/* Every machine a site of its own, with waits and tolls as they may come. */
static void random_setting(struct setting *setting, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 0);
    solver_case_open(&setting->plan, /* node_count */ 3, /* worker_count */ 1);
    setting->plan.fleet->network.link_bytes_per_s = 500000000;
    solver_case_random(&setting->plan, &rng, 2 + rng_below(&rng, TASKS_MAX - 1), 0, 1);
    begin(setting, /* parts */ 3);
    for (uint32_t i = 0; i < setting->sites->queue_count; i++) {
        setting->congestion.prices[i] = 3e6 * rng_unit(&rng);
        setting->congestion.loads[i] = 0.1 + 0.6 * rng_unit(&rng);
        setting->congestion.tolls[i].work = rng_unit(&rng);
        setting->congestion.tolls[i].second = 1e-7 * rng_unit(&rng);
    }
}

/* The cheapest of all ways to put the units on three machines. */
static double cheapest(struct setting *setting)
{
    const struct stream *stream = &setting->workload->streams[0];
    double best = (double)INFINITY;
    uint32_t ways = 1;
    for (uint32_t i = 0; i < stream->units->graph->vertex_count; i++) {
        ways *= 3;
    }
    for (uint32_t way = 0; way < ways; way++) {
        struct spot spots[TASKS_MAX];
        for (uint32_t i = 0; i < stream->workflow->task_count; i++) {
            uint32_t rest = way;
            for (uint32_t unit = 0; unit < stream->units->group_of[i]; unit++) {
                rest /= 3;
            }
            spots[i] = (struct spot){.site = (uint16_t)(rest % 3)};
        }
        const double cost = response_cost(&setting->response, 0, spots);
        best = cost < best ? cost : best;
    }
    return best;
}

static void responses_are_nearly_always_the_best(ATTR_UNUSED void **state)
{
    uint32_t missed = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct setting setting;
        struct spot spots[TASKS_MAX];
        random_setting(&setting, seed);
        const double found = response_find(&setting.response, 0, RESPONSE_TOGETHER, spots);
        const double best = cheapest(&setting);
        solver_case_near(response_cost(&setting.response, 0, spots), found, 1e-9 * found);
        assert_true(found >= best * (1 - 1e-9));
        assert_true(found <= best * 1.15);
        missed += found > best * (1 + 1e-9) ? 1 : 0;
        end(&setting);
    }
    print_message("[response] %u of 200 are not the best\n", missed);
    assert_true(missed <= 16);
}

/* The heavy branch must stay, and the light one had better leave. */
static void an_idle_diamond_is_split_at_its_light_branch(ATTR_UNUSED void **state)
{
    struct setting setting;
    struct spot tasks[4];
    solver_case_open(&setting.plan, /* node_count */ 2, /* worker_count */ 1);
    setting.plan.fleet->network.link_bytes_per_s = 1000000000;
    solver_case_diamond(&setting.plan, /* scale */ 1, /* rate_per_s */ 1);
    begin(&setting, /* parts */ 2);
    solver_case_near(response_find(&setting.response, 0, RESPONSE_TOGETHER, tasks) / 1e6, 14, 1e-9);
    assert_true(spot_equal(tasks[0], tasks[2]));
    assert_true(spot_equal(tasks[0], tasks[3]));
    assert_false(spot_equal(tasks[0], tasks[1]));
    end(&setting);
}

/* What no worker can run alone begins where it can, unit by unit. */
static void tasks_of_two_kinds_begin_on_two_kinds(ATTR_UNUSED void **state)
{
    struct setting setting;
    struct spot tasks[2];
    solver_case_open(&setting.plan, /* node_count */ 2, /* worker_count */ 1);
    solver_case_add_kind(&setting.plan, "other", 1);
    solver_case_pair(&setting.plan, /* ms */ 4, /* bytes */ 100000, /* rate_per_s */ 1);
    profile_forget(setting.plan.profile, 0, 1);
    profile_forget(setting.plan.profile, 1, 0);
    begin(&setting, /* parts */ 3);
    solver_case_near(response_find(&setting.response, 0, RESPONSE_TOGETHER, tasks) / 1e6, 8, 1e-9);
    assert_int_equal(sites_device(setting.sites, tasks[0].site, tasks[0].slot), 0);
    assert_int_equal(sites_device(setting.sites, tasks[1].site, tasks[1].slot), 1);
    profile_forget(setting.plan.profile, 1, 1);
    end(&setting);
}

/* Several sources and sinks: none is tied to another. */
static void sources_are_placed_apart(ATTR_UNUSED void **state)
{
    struct setting setting;
    struct spot tasks[2];
    solver_case_open(&setting.plan, /* node_count */ 2, /* worker_count */ 1);
    (void)solver_case_model(&setting.plan, "a", 10);
    struct workflow *workflow = workflow_create("pair");
    for (uint32_t i = 0; i < 2; i++) {
        struct workflow_task task = {.name = "x", .run = 0};
        task.name[0] = (char)('x' + (int)i);
        uint32_t number;
        assert_int_equal(workflow_add_task(workflow, &task, &number), WEFT_OK);
    }
    struct weft_error error;
    assert_int_equal(workflow_seal(workflow, &error), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(setting.plan.catalogue, workflow), WEFT_OK);
    setting.plan.rates[0] = 1;
    setting.plan.input.rates_per_s = setting.plan.rates;
    begin(&setting, /* parts */ 2);
    setting.congestion.tolls[0].work = 3;
    setting.congestion.tolls[1].work = 0.5;
    (void)response_find(&setting.response, 0, RESPONSE_TOGETHER, tasks);
    assert_int_equal(tasks[0].site, 1);
    assert_int_equal(tasks[1].site, 1);
    setting.congestion.tolls[0].work = 1;
    solver_case_near(
        response_find(&setting.response, 0, RESPONSE_TOGETHER, tasks) / 1e6, 10 + 10 + 5, 1e-9);
    assert_true(tasks[0].site != tasks[1].site);
    end(&setting);
}

/* A site has room for as many machines as it has, and no more. */
static void copies_do_not_exceed_the_size(ATTR_UNUSED void **state)
{
    for (uint32_t nodes = 1; nodes <= 5; nodes++) {
        struct setting setting;
        struct spot spots[8];
        solver_case_open(&setting.plan, nodes, /* worker_count */ 1);
        (void)solver_case_model(&setting.plan, "a", 10);
        struct workflow *workflow = workflow_create("wide");
        for (uint32_t i = 0; i < 4; i++) {
            struct workflow_task task = {.name = "x", .run = 0};
            task.name[0] = (char)('a' + (int)i);
            uint32_t number;
            assert_int_equal(workflow_add_task(workflow, &task, &number), WEFT_OK);
        }
        struct weft_error error;
        assert_int_equal(workflow_seal(workflow, &error), WEFT_OK);
        assert_int_equal(catalogue_add_workflow(setting.plan.catalogue, workflow), WEFT_OK);
        setting.plan.rates[0] = 1;
        setting.plan.input.rates_per_s = setting.plan.rates;
        begin(&setting, /* parts */ 1);
        static const double expected_ms[] = {0, 40, 20, 20, 10, 10};
        solver_case_near(
            response_find(&setting.response, 0, RESPONSE_APART, spots) / 1e6, expected_ms[nodes],
            1e-9);
        for (uint32_t i = 0; i < 4; i++) {
            assert_true(spots[i].copy < nodes);
        }
        end(&setting);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(responses_are_nearly_always_the_best),
        cmocka_unit_test(an_idle_diamond_is_split_at_its_light_branch),
        cmocka_unit_test(tasks_of_two_kinds_begin_on_two_kinds),
        cmocka_unit_test(sources_are_placed_apart),
        cmocka_unit_test(copies_do_not_exceed_the_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
