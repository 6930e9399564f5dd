/*
 * Placements on sites that have lost their machines: diamonds on six machines in three sites.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "mixture/draft.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "solver_case.h"

enum { TASKS = 4, SITES = 3 };

struct setting {
    struct solver_case plan;
    struct workload *workload;
    struct draft *draft;
};

static void begin(struct setting *setting)
{
    solver_case_open(&setting->plan, /* node_count */ 6, /* worker_count */ 1);
    solver_case_diamond(&setting->plan, 1, /* rate_per_s */ 20);
    assert_int_equal(workload_create(&setting->plan.input, 1, &setting->workload, NULL), WEFT_OK);
    struct sites *sites =
        sites_create(&setting->plan.input, &(struct sites_options){.parts = SITES});
    setting->draft = draft_create(setting->workload, sites);
}

static void end(struct setting *setting)
{
    draft_destroy(setting->draft);
    workload_destroy(setting->workload);
    solver_case_close(&setting->plan);
}

/* Sites 0 and 2 with so many machines, and none for site 1. */
static void empty_middle(struct setting *setting, double first, double last)
{
    sites_resize(setting->draft->sites, 0, first);
    sites_resize(setting->draft->sites, 1, SITE_EMPTY);
    sites_resize(setting->draft->sites, 2, last);
}

/* Two patterns with these shares. */
static void begin_two(
    struct setting *setting, const struct spot *one, const struct spot *two, double share)
{
    begin(setting);
    assert_int_equal(draft_add(setting->draft, 0, one), 0);
    assert_int_equal(draft_add(setting->draft, 0, two), 1);
    descent_admit(&setting->draft->descent, 1);
    setting->draft->descent.shares[0] = share;
    setting->draft->descent.shares[1] = 1 - share;
}

static struct spot spot_of(const struct setting *setting, uint32_t pattern, uint32_t task)
{
    const struct patterns *patterns = &setting->draft->patterns;
    return patterns->spots[patterns->items[pattern].spot_first + task];
}

static const struct spot on_first[TASKS] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
static const struct spot light_away[TASKS] = {{0, 0, 0}, {1, 0, 0}, {0, 0, 0}, {0, 0, 0}};
static const struct spot on_two[TASKS] = {{1, 0, 0}, {1, 1, 0}, {1, 0, 0}, {1, 0, 0}};

static void a_lost_machine_is_replaced_where_there_are_most(ATTR_UNUSED void **state)
{
    struct setting setting;
    begin_two(&setting, light_away, on_first, 0.9);
    empty_middle(&setting, 2, 4);
    draft_refit(setting.draft);
    assert_int_equal(setting.draft->descent.count, 3);
    assert_true(spot_equal(spot_of(&setting, 2, 0), on_first[0]));
    assert_true(spot_equal(spot_of(&setting, 2, 1), (struct spot){2, 0, 0}));
    assert_true(spot_equal(spot_of(&setting, 2, 3), on_first[0]));
    solver_case_near(setting.draft->descent.shares[2], 0.9, 1e-12);
    solver_case_near(setting.draft->descent.shares[1], 0.1, 1e-12);
    end(&setting);
}

static void two_lost_machines_stay_two(ATTR_UNUSED void **state)
{
    struct setting setting;
    begin_two(&setting, on_two, light_away, 0.6);
    empty_middle(&setting, 1, 5);
    draft_refit(setting.draft);
    assert_int_equal(setting.draft->descent.count, 4);
    assert_true(spot_equal(spot_of(&setting, 2, 0), (struct spot){2, 0, 0}));
    assert_true(spot_equal(spot_of(&setting, 2, 1), (struct spot){2, 1, 0}));
    assert_true(spot_equal(spot_of(&setting, 2, 2), (struct spot){2, 0, 0}));
    solver_case_near(setting.draft->descent.shares[2], 0.6, 1e-12);
    solver_case_near(setting.draft->descent.shares[3], 0.4, 1e-12);
    end(&setting);
}

static void what_is_left_of_a_stream_may_be_enough(ATTR_UNUSED void **state)
{
    struct setting setting;
    begin_two(&setting, light_away, on_first, 0.4);
    empty_middle(&setting, 2, 4);
    draft_refit(setting.draft);
    assert_int_equal(setting.draft->descent.count, 2);
    end(&setting);
}

static void where_nothing_is_free_nothing_is_added(ATTR_UNUSED void **state)
{
    struct setting setting;
    begin_two(&setting, light_away, on_first, 0.9);
    empty_middle(&setting, 1, SITE_EMPTY);
    draft_refit(setting.draft);
    assert_int_equal(setting.draft->descent.count, 2);
    solver_case_near(setting.draft->descent.shares[0], 0.9, 1e-12);
    end(&setting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_machine_is_replaced_where_there_are_most),
        cmocka_unit_test(two_lost_machines_stay_two),
        cmocka_unit_test(what_is_left_of_a_stream_may_be_enough),
        cmocka_unit_test(where_nothing_is_free_nothing_is_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
