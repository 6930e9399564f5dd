#include "policy/demand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"

enum { A, B, C, MODELS };

#define LOAD_NS INT64_C(1000000)
#define MS      INT64_C(1000000)

static struct demand demand;
static struct profile *profile;
static const struct fleet_worker worker = {.gpu_units = 1};

static int setup(ATTR_UNUSED void **state)
{
    demand = (struct demand){0};
    profile = profile_create(MODELS);
    for (uint32_t model = 0; model < MODELS; model++) {
        profile->models[model].load_fixed_ns = LOAD_NS;
    }
    return 0;
}

static int teardown(ATTR_UNUSED void **state)
{
    profile_destroy(profile);
    return 0;
}

/* Jobs that need @model, every @gap_ns until @until_ns. */
static void ask_for(uint32_t model, int64_t gap_ns, int64_t until_ns)
{
    struct workflow *graph = workflow_create("one");
    const struct workflow_task task = {
        .name = "one", .run = model, .models = {model}, .model_count = 1};
    uint32_t index;
    assert_int_equal(workflow_add_task(graph, &task, &index), WEFT_OK);
    for (int64_t at_ns = gap_ns; at_ns <= until_ns; at_ns += gap_ns) {
        demand_note_job(&demand, graph, at_ns);
    }
    workflow_destroy(graph);
}

static void load_every(int64_t gap_ns, int64_t until_ns)
{
    for (int64_t at_ns = gap_ns; at_ns <= until_ns; at_ns += gap_ns) {
        demand_note_load(&demand, at_ns);
    }
}

/* What is lost at @now_ns where A and B are held, or only @alone. */
static int64_t loss_ns(uint32_t alone, int64_t now_ns)
{
    static const struct workflow_task kind = {.run = C, .models = {C}, .model_count = 1};
    struct model_set held = {{0}};
    for (uint32_t model = A; model <= B; model++) {
        if (alone == MODELS || alone == model) {
            model_set_add(&held, model);
        }
    }
    const struct demand_place place = {
        .profile = profile,
        .worker = &worker,
        .held = &held,
        .kind = &kind,
        .memory_count = 2,
        .now_ns = now_ns,
    };
    return demand_least_loss_ns(&demand, &place);
}

static void the_model_that_is_used_least_counts(ATTR_UNUSED void **state)
{
    ask_for(A, 10 * MS, 1000 * MS);
    ask_for(B, 100 * MS, 1000 * MS);
    load_every(50 * MS, 1000 * MS);
    /* Two workers with a model each: in 100 ms its memory is needed. B is used then, A ten times.
     */
    assert_in_range(loss_ns(A, 1000 * MS), LOAD_NS * 10 / 11 - 1000, LOAD_NS * 10 / 11);
    assert_in_range(loss_ns(B, 1000 * MS), LOAD_NS / 2 - 1000, LOAD_NS / 2);
    assert_in_range(loss_ns(MODELS, 1000 * MS), LOAD_NS * 2 / 3 - 1000, LOAD_NS * 2 / 3);
}

static void what_is_idle_for_long_is_worth_less(ATTR_UNUSED void **state)
{
    ask_for(A, 10 * MS, 1000 * MS);
    load_every(50 * MS, 1000 * MS);
    const int64_t before_ns = loss_ns(A, 1000 * MS);
    load_every(50 * MS, 9000 * MS);
    assert_true(loss_ns(A, 9000 * MS) < before_ns / 4);
}

static void what_takes_long_to_bring_back_is_worth_more(ATTR_UNUSED void **state)
{
    ask_for(A, 100 * MS, 1000 * MS);
    load_every(50 * MS, 1000 * MS);
    const int64_t before_ns = loss_ns(A, 1000 * MS);
    profile->models[A].curves[0].first_run_ns = 2 * LOAD_NS;
    assert_in_range(loss_ns(A, 1000 * MS), 3 * before_ns - 3, 3 * before_ns + 3);
}

static void what_was_never_asked_for_twice_is_worth_nothing(ATTR_UNUSED void **state)
{
    load_every(50 * MS, 1000 * MS);
    assert_in_range(loss_ns(A, 1000 * MS), 0, LOAD_NS / 1000);
    demand = (struct demand){0};
    ask_for(A, 10 * MS, 1000 * MS); /* Nothing was loaded yet: memory is left alone. */
    assert_in_range(loss_ns(A, 1000 * MS), LOAD_NS - 1000, LOAD_NS);
}

static void models_of_the_task_itself_stay(ATTR_UNUSED void **state)
{
    static const struct workflow_task kind = {.run = A, .models = {A}, .model_count = 1};
    struct model_set held = {{0}};
    model_set_add(&held, A);
    const struct demand_place place = {
        .profile = profile, .worker = &worker, .held = &held, .kind = &kind, .memory_count = 1};
    assert_int_equal(demand_least_loss_ns(&demand, &place), 0); /* There is none that could go. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_model_that_is_used_least_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_idle_for_long_is_worth_less, setup, teardown),
        cmocka_unit_test_setup_teardown(
            what_takes_long_to_bring_back_is_worth_more, setup, teardown),
        cmocka_unit_test_setup_teardown(
            what_was_never_asked_for_twice_is_worth_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(models_of_the_task_itself_stay, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
