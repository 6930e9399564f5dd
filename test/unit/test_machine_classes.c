/* Which machines are one class. Covers: src/mixture/background.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "mixture/background.h"
#include "mixture/sites.h"
#include "solver_case.h"

enum { MACHINES = 24 };

struct setting {
    struct solver_case plan;
    struct program_background workers[MACHINES];
    struct program_background links[2 * MACHINES];
    uint32_t uses[MACHINES];
};

/* Few different values, so that many machines are alike. */
static void open(struct setting *setting, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 0);
    *setting = (struct setting){0};
    solver_case_open(&setting->plan, MACHINES / 2, /* worker_count */ 1);
    for (uint32_t i = MACHINES / 2; i < MACHINES; i++) {
        solver_case_add_kind(&setting->plan, i % 2 == 0 ? "plain" : "slow", i % 2 == 0 ? 1 : 2);
    }
    setting->plan.fleet->network.link_bytes_per_s = 1000000000;
    for (uint32_t i = 0; i < MACHINES; i++) {
        setting->workers[i].load = 0.25 * rng_below(&rng, 3);
        setting->workers[i].residual_ns = setting->workers[i].load * 1e6;
        setting->links[i].load = 0.25 * rng_below(&rng, 2);
        setting->uses[i] = rng_below(&rng, 2);
    }
    setting->plan.input.workers = setting->workers;
    setting->plan.input.links = setting->links;
}

static bool is_alike(
    const struct setting *setting, const struct sites_options *options, uint32_t a, uint32_t b)
{
    const struct fleet *fleet = setting->plan.fleet;
    return fleet->workers[a].device == fleet->workers[b].device &&
           setting->links[a].load == setting->links[b].load &&
           (options->average || setting->workers[a].load == setting->workers[b].load) &&
           (options->uses == NULL || setting->uses[a] == setting->uses[b]);
}

static void machines_that_are_alike_are_one_class(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < 12; i++) {
        struct setting setting;
        uint32_t class_of[MACHINES];
        open(&setting, i);
        const struct sites_options options = {
            .uses = i % 2 == 0 ? setting.uses : NULL, .average = i % 3 == 0};
        struct sites *sites = sites_create(&setting.plan.input, &options);
        uint32_t count = 0;
        for (uint32_t group = 0; group < sites->class_count; group++) {
            for (uint32_t k = 0; k < sites->classes[group].node_count; k++) {
                class_of[sites->classes[group].nodes[k]] = group;
                count++;
            }
        }
        assert_int_equal(count, MACHINES);
        for (uint32_t a = 0; a < MACHINES; a++) {
            for (uint32_t b = 0; b < MACHINES; b++) {
                assert_int_equal(class_of[a] == class_of[b], is_alike(&setting, &options, a, b));
            }
        }
        assert_int_equal(class_of[0], 0); /* In the order of their first machines. */
        sites_destroy(sites);
        solver_case_close(&setting.plan);
    }
}

static void racks_and_zeros(ATTR_UNUSED void **state)
{
    struct setting setting;
    open(&setting, 1);
    for (uint32_t i = 0; i < MACHINES; i++) {
        setting.workers[i] = (struct program_background){i % 2 == 0 ? 0.0 : -0.0, 0};
        setting.links[i].load = 0;
    }
    struct fleet *fleet = setting.plan.fleet;
    for (uint32_t racks = 0; racks < 2; racks++) {
        fleet->network.kind = racks == 1 ? NETWORK_TWO_TIER : NETWORK_STAR;
        fleet->network.rack_count = 2;
        setting.plan.input.links = NULL;
        struct sites *sites =
            sites_create(&setting.plan.input, &(struct sites_options){.parts = 1});
        assert_int_equal(sites->class_count, racks == 1 ? 3 : 2);
        sites_destroy(sites);
    }
    solver_case_close(&setting.plan);
}

static void what_others_put_on_a_link(ATTR_UNUSED void **state)
{
    struct setting setting;
    open(&setting, 1);
    struct program_input *input = &setting.plan.input;
    struct network_background *others = &setting.plan.fleet->network.background;
    setting.links[3] = (struct program_background){0.5, 7};
    solver_case_near(background_of_link(input, 3, 1000).residual_ns, 7, 0);
    input->links = NULL;
    solver_case_near(background_of_link(input, 3, 1000).load, 0, 0);
    *others = (struct network_background){.bytes = 1000, .load = 0.25};
    solver_case_near(background_of_link(input, 3, 1000000).load, 0.25, 1e-12);
    solver_case_near(background_of_link(input, 3, 1000000).residual_ns, 0.25 * 1e6, 1e-6);
    *others = (struct network_background){.bytes = 1000, .rate_per_s = 100, .exponential = true};
    solver_case_near(background_of_link(input, 3, 1000000).load, 0.1, 1e-12);
    solver_case_near(background_of_link(input, 3, 1000000).residual_ns, 2 * 0.1 * 1e6, 1e-6);
    solver_case_near(background_of_link(input, 3, 0).load, 0, 0);
    input->workers = NULL;
    solver_case_near(background_of_worker(input, 3).load, 0, 0);
    solver_case_close(&setting.plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_that_are_alike_are_one_class),
        cmocka_unit_test(racks_and_zeros),
        cmocka_unit_test(what_others_put_on_a_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
