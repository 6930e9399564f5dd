/* Patterns by their spots: every one is found, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "mixture/pattern.h"
#include "mixture/pattern_index.h"

enum { PATTERNS = 600, STREAMS = 3, TASKS_MAX = 3, SITES = 5 };

/* Patterns of which only streams and spots are filled in. */
struct setting {
    struct pattern items[PATTERNS];
    struct spot spots[PATTERNS * TASKS_MAX];
    struct patterns patterns;
};

/* Jobs of stream 0 have one task, those of stream 1 two, and so on. */
static uint32_t draw(struct rng *rng, uint32_t *stream_out, struct spot *spots_out)
{
    *stream_out = rng_below(rng, STREAMS);
    for (uint32_t i = 0; i <= *stream_out; i++) {
        const uint32_t site = rng_below(rng, SITES);
        const uint32_t copy = rng_below(rng, 2);
        const uint32_t slot = rng_below(rng, 2);
        spots_out[i] = (struct spot){(uint16_t)site, (uint16_t)copy, (uint16_t)slot};
    }
    return *stream_out + 1;
}

static uint32_t find_slowly(
    const struct patterns *patterns, uint32_t stream, const struct spot *spots, uint32_t count)
{
    for (uint32_t i = 0; i < patterns->count; i++) {
        const struct spot *known = patterns->spots + patterns->items[i].spot_first;
        if (patterns->items[i].stream == stream &&
            memcmp(known, spots, count * sizeof(*spots)) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

static void add(struct patterns *patterns, uint32_t stream, const struct spot *spots)
{
    patterns->items[patterns->count++] =
        (struct pattern){.stream = stream, .spot_first = patterns->spot_count};
    for (uint32_t i = 0; i <= stream; i++) {
        patterns->spots[patterns->spot_count++] = spots[i];
    }
}

static void every_pattern_is_found(ATTR_UNUSED void **state)
{
    static struct setting setting;
    struct pattern_index index = {0};
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    struct spot spots[TASKS_MAX];
    uint32_t stream;
    uint32_t known = 0;
    setting.patterns = (struct patterns){.items = setting.items, .spots = setting.spots};
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 2 * PATTERNS && setting.patterns.count < PATTERNS; i++) {
            const uint32_t count = draw(&rng, &stream, spots);
            const uint32_t found =
                pattern_index_find(&index, &setting.patterns, stream, spots, count);
            assert_int_equal(found, find_slowly(&setting.patterns, stream, spots, count));
            known += found != UINT32_MAX ? 1 : 0;
            if (found == UINT32_MAX) {
                add(&setting.patterns, stream, spots);
            }
        }
        assert_true(setting.patterns.count > 100 && known > 100);
        setting.patterns.count = 0; /* All are taken away, and others come. */
        setting.patterns.spot_count = 0;
        pattern_index_clear(&index);
        known = 0;
    }
    pattern_index_deinit(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_pattern_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
