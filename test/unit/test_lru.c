/* lru: evicts what was used longest ago, loads nothing ahead. */
#include "policy_fixture.h"

static void the_victim_was_used_longest_ago(void **state)
{
    (void)state;
    static const struct {
        uint32_t count;
        int64_t used_ns[4];
        uint32_t victim;
    } cases[] = {
        {1, {9}, 0},          {4, {1, 2, 3, 4}, 0}, {4, {4, 3, 2, 1}, 3},
        {4, {4, 1, 3, 1}, 1}, {3, {5, 5, 5, 1}, 0}, {4, {7, 8, 6, 9}, 2},
    };
    struct cluster cluster;
    cluster_init(&cluster, 1, 1);
    cluster_seat(&cluster, "lru");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cache_entry entries[4];
        for (uint32_t k = 0; k < 4; k++) {
            /* What a smarter rule would look at says the opposite. */
            entries[k] = (struct cache_entry){
                .model = 3 - k,
                .next_use = k == cases[i].victim ? 0 : NEXT_USE_NEVER,
                .bytes = k == cases[i].victim ? 1 : 1000,
                .used_ns = cases[i].used_ns[k],
                .load_ns = k == cases[i].victim ? 1000000 : 1,
            };
        }
        const struct cache_facts facts = {
            .wanted_bytes = 500, .count = cases[i].count, .entries = entries};
        assert_int_equal(policy_victim(&cluster.seat, &facts), cases[i].victim);
    }
    assert_int_equal(cluster.meter.decisions, sizeof(cases) / sizeof(cases[0]));
    cluster_deinit(&cluster);
}

static void nothing_is_loaded_ahead(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 1, 1);
    cluster_seat(&cluster, "lru");
    const struct cache_entry wanted = {.model = 1, .bytes = 10};
    const struct cache_facts facts = {.free_bytes = 1000, .count = 1, .entries = &wanted};
    assert_int_equal(policy_prefetch(&cluster.seat, &facts), UINT32_MAX);
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_victim_was_used_longest_ago),
        cmocka_unit_test(nothing_is_loaded_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
