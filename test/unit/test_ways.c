/* The longest of the ways that are written out is the longest way through the graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "mixture/pattern.h"
#include "mixture/sites.h"
#include "mixture/ways.h"
#include "mixture/workload.h"
#include "solver_case.h"

enum { WORKFLOWS = 6, PATTERNS = 30, MACHINES = 4 };

static double longest(const struct ways *ways, struct way_range range, const double *prices)
{
    double longest_ns = -1;
    for (uint32_t i = 0; i < range.count; i++) {
        const struct written_way *way = &ways->items[range.first + i];
        double length_ns = way->fixed_ns;
        for (uint32_t k = 0; k < way->visit_count; k++) {
            const struct wait_term *visit = &ways->visits[way->visit_first + k];
            length_ns += visit->weight * prices[visit->price];
        }
        longest_ns = length_ns > longest_ns ? length_ns : longest_ns;
    }
    return longest_ns;
}

/* Returns how many of the patterns are written out. */
static uint32_t check(
    const struct ways *ways, const struct patterns *patterns, const double *prices)
{
    double starts[PATTERN_STEPS_MAX];
    uint32_t written = 0;
    assert_int_equal(ways->pattern_count, patterns->count);
    for (uint32_t i = 0; i < patterns->count; i++) {
        const double length_ns = pattern_length(patterns, i, prices, starts, NULL);
        if (ways->ranges[i].count > 0) {
            solver_case_near(longest(ways, ways->ranges[i], prices), length_ns, 1e-9 * length_ns);
            written++;
        }
    }
    return written;
}

static void the_longest_way_is_written_out(ATTR_UNUSED void **state)
{
    struct solver_case plan;
    struct workload *workload;
    struct weft_error error;
    struct patterns patterns;
    struct ways ways = {0};
    struct rng rng = rng_stream(4, RNG_TEST, 0);
    solver_case_open(&plan, MACHINES, /* worker_count */ 1);
    plan.fleet->network.link_bytes_per_s = 1000000000;
    for (uint32_t i = 0; i < WORKFLOWS; i++) {
        solver_case_random(&plan, &rng, /* task_count */ 2 + 2 * i, 100000, /* rate_per_s */ 1);
    }
    assert_int_equal(workload_create(&plan.input, 1, &workload, &error), WEFT_OK);
    struct sites *sites = sites_create(&plan.input, &(struct sites_options){.parts = MACHINES});
    double *prices = memory_zeroed(2 * (size_t)sites->queue_count, sizeof(*prices));
    patterns_init(&patterns);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < PATTERNS; i++) {
            const struct pattern_of of = {
                .sites = sites,
                .stream = &workload->streams[i % WORKFLOWS],
                .number = i % WORKFLOWS,
                .requeue = round == 1,
            };
            struct spot spots[2 * WORKFLOWS];
            for (uint32_t k = 0; k < of.stream->workflow->task_count; k++) {
                const uint32_t site = rng_below(&rng, MACHINES);
                spots[k] = (struct spot){.site = (uint16_t)site};
            }
            assert_int_not_equal(patterns_add(&patterns, &of, spots), UINT32_MAX);
        }
        for (uint32_t i = 0; i < 2 * sites->queue_count; i++) {
            prices[i] = 1e7 * rng_unit(&rng);
        }
        ways_follow(&ways, &patterns);
        const uint32_t written = check(&ways, &patterns, prices);
        assert_true(written > patterns.count / 3 && written < patterns.count);
        if (round == 1) { /* Others take their numbers. */
            patterns_clear(&patterns);
            ways_clear(&ways);
        }
    }
    ways_deinit(&ways);
    patterns_deinit(&patterns);
    free(prices);
    sites_destroy(sites);
    workload_destroy(workload);
    solver_case_close(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_longest_way_is_written_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
