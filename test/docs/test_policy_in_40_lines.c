/* The policy that docs/WRITING_POLICIES.md shows does what the page says. */
#include "unit/policy_fixture.h"

extern const struct policy policy_warm_first;

enum { WORKERS = 4 };

struct placed {
    int64_t queued_ns[WORKERS];
    uint32_t holders;  /* A bit for each worker that has the model, */
    uint32_t unusable; /* and one for each that takes no work. */
    uint32_t worker;
};

static const struct placed cases[] = {
    {{0, 0, 0, 0}, 0x0, 0x0, 0},             /* None holds it: all alike. */
    {{9, 8, 7, 8}, 0x0, 0x0, 2},             /* None holds it: least work. */
    {{0, 0, 0, 0}, 0x4, 0x0, 2},             /* Warm before lower. */
    {{0, 0, 900, 0}, 0x4, 0x0, 2},           /* Warm before idle. */
    {{0, 50, 40, 0}, 0x6, 0x0, 2},           /* Of the warm ones, the first free. */
    {{0, 50, 50, 0}, 0x6, 0x0, 1},           /* A tie. */
    {{0, 50, 40, 0}, 0x6, 0x4, 1},           /* A warm one that is not usable. */
    {{5, 50, 40, 3}, 0x6, 0x6, 3},           /* None of them is. */
    {{5, 50, 40, 3}, 0x6, 0xf, WORKER_NONE}, /* None is. */
};

static void it_places_where_the_models_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cluster cluster;
        cluster_init(&cluster, WORKERS, 1);
        cluster_load(&cluster, 0, 10);
        (void)cluster_task(&cluster, 0);
        cluster_seal(&cluster);
        for (uint32_t worker = 0; worker < WORKERS; worker++) {
            cluster_queue(&cluster, worker, cases[i].queued_ns[worker]);
            cluster_usable(&cluster, worker, (cases[i].unusable >> worker & 1) == 0);
            if ((cases[i].holders >> worker & 1) != 0) {
                cluster_hold(&cluster, worker, 0);
            }
        }
        policy_set_single(&policy_warm_first, &cluster.set);
        cluster_sit(&cluster, NULL);
        assert_int_equal(cluster_place(&cluster, 0, WORKER_NONE, 3), cases[i].worker);
        assert_int_equal(cluster.meter.decisions, 1);
        cluster_deinit(&cluster);
    }
}

static void it_fills_the_role_place_alone(void **state)
{
    (void)state;
    for (uint32_t role = 0; role < POLICY_ROLES; role++) {
        assert_int_equal(
            policy_fills(&policy_warm_first, (enum policy_role)role), role == ROLE_PLACE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_places_where_the_models_are),
        cmocka_unit_test(it_fills_the_role_place_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
