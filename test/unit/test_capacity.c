/*
 * What a cluster of emulated workers can carry: six seconds of real time.
 */
#include "service/capacity.h"

#include <math.h>

#include "base/attributes.h"
#include "parity/workload.h"

enum { CHAIN, DIAMOND, SPREAD, WORKFLOWS };

static struct workload workload;
static struct scenario scenario;
static struct policy_set policies;

static int setup(ATTR_UNUSED void **state)
{
    const struct workload_options options = {
        .node_count = 2, .workers_per_node = 1, .run_ns = 5 * MS};
    workload_init(&workload, &options);
    scenario = (struct scenario){
        .fleet = workload.fleet,
        .catalogue = workload.catalogue,
        .profile = workload.profile,
        .arrivals = {.kind = ARRIVALS_POISSON, .rate_per_s = 1},
        .rows = {.load_ns = 10 * MS, .cache_ns = 100 * MS},
    };
    return 0;
}

static int teardown(ATTR_UNUSED void **state)
{
    workload_deinit(&workload);
    return 0;
}

static enum weft_status measure(struct capacity *capacity_out, struct weft_error *error)
{
    /* An admission that would refuse nearly everything. */
    assert_int_equal(
        policy_set_parse(
            "place=least-work,cache=lru,admit=deadline:strict=1:margin=0.9", &policies, NULL),
        WEFT_OK);
    const struct service_options options = {
        .scenario = &scenario, .policies = &policies, .seed = 1, .silent = true};
    return capacity_measure(&options, capacity_out, error);
}

static void all_workers_are_kept_busy_and_nothing_is_refused(ATTR_UNUSED void **state)
{
    struct capacity capacity;
    scenario.arrivals.mix[CHAIN] = 1;
    assert_int_equal(measure(&capacity, NULL), WEFT_OK);
    /* The four tasks of a chain take 38 ms together; two workers cannot do more than that. */
    assert_true(capacity.per_s <= 2 / 0.038);
    assert_true(capacity.answered >= 4);
    assert_true(capacity.seconds >= 6);
    assert_true(fabs(capacity.per_s * capacity.seconds - capacity.answered) < 1e-6);
    assert_non_null(policies.roles[ROLE_ADMIT].policy); /* Of those who asked, it is not taken. */
}

static void without_requests_there_is_nothing_to_measure(ATTR_UNUSED void **state)
{
    struct capacity capacity;
    struct weft_error error = {0};
    scenario.arrivals.rate_per_s = 0;
    assert_int_equal(measure(&capacity, &error), WEFT_INVALID);
    assert_string_equal(error.message, "there is no workflow to measure");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            all_workers_are_kept_busy_and_nothing_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(
            without_requests_there_is_nothing_to_measure, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
