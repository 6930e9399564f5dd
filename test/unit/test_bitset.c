#include "base/bitset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "dies.h"

static void words_are_enough_and_no_more(ATTR_UNUSED void **state)
{
    assert_int_equal(bitset_words(0), 0);
    assert_int_equal(bitset_words(1), 1);
    assert_int_equal(bitset_words(64), 1);
    assert_int_equal(bitset_words(65), 2);
    assert_int_equal(bitset_words(UINT32_MAX), UINT32_C(1) << 26);
}

static void random_use_agrees_with_an_array_of_bools(ATTR_UNUSED void **state)
{
    enum { BITS = 300, WORDS = 5 };
    struct rng rng = rng_from_seed(1);
    uint64_t words[WORDS] = {0};
    bool shadow[BITS] = {false};

    for (uint32_t step = 0; step < 5000; step++) {
        const uint32_t bit = rng_below(&rng, BITS);
        const bool add = rng_below(&rng, 2) == 0;
        if (add) {
            bitset_add(words, bit);
        } else {
            bitset_remove(words, bit);
        }
        shadow[bit] = add;
        uint32_t count = 0;
        for (uint32_t i = 0; i < BITS; i++) {
            assert_int_equal(bitset_has(words, i), shadow[i]);
            count += shadow[i] ? 1 : 0;
        }
        assert_int_equal(bitset_count(words, WORDS), count);
    }
}

static void a_model_set_holds_every_model(ATTR_UNUSED void **state)
{
    struct model_set set = {0};
    assert_true(model_set_is_empty(&set));

    for (uint32_t model = 0; model < MODELS_MAX; model++) {
        assert_false(model_set_has(&set, model));
        model_set_add(&set, model);
        model_set_add(&set, model);
        assert_true(model_set_has(&set, model));
        assert_int_equal(model_set_count(&set), model + 1);
        assert_false(model_set_is_empty(&set));
    }
    for (uint32_t model = 0; model < MODELS_MAX; model++) {
        assert_false(model_set_is_empty(&set)); /* Whichever word the last ones are in. */
        model_set_remove(&set, model);
        model_set_remove(&set, model);
        assert_false(model_set_has(&set, model));
        assert_int_equal(model_set_count(&set), MODELS_MAX - 1 - model);
    }
    assert_true(model_set_is_empty(&set));
}

static void a_union_has_what_either_has(ATTR_UNUSED void **state)
{
    struct model_set left = {0};
    struct model_set right = {0};
    for (uint32_t model = 0; model < MODELS_MAX; model++) {
        if (model % 3 == 0) {
            model_set_add(&left, model);
        }
        if (model % 5 == 0) {
            model_set_add(&right, model);
        }
    }

    const struct model_set both = model_set_union(&left, &right);

    for (uint32_t model = 0; model < MODELS_MAX; model++) {
        assert_int_equal(model_set_has(&both, model), model % 3 == 0 || model % 5 == 0);
    }
}

static void ask_past_the_end(void *argument)
{
    (void)model_set_has(argument, MODELS_MAX);
}

static void add_past_the_end(void *argument)
{
    model_set_add(argument, MODELS_MAX);
}

static void remove_past_the_end(void *argument)
{
    model_set_remove(argument, MODELS_MAX);
}

static void a_model_past_the_end_stops_the_program(ATTR_UNUSED void **state)
{
    struct model_set set[2] = {{{0}}, {{0}}}; /* The second is there to be hit by mistake. */
    assert_true(dies(ask_past_the_end, set));
    assert_true(dies(add_past_the_end, set));
    assert_true(dies(remove_past_the_end, set));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_enough_and_no_more),
        cmocka_unit_test(random_use_agrees_with_an_array_of_bools),
        cmocka_unit_test(a_model_set_holds_every_model),
        cmocka_unit_test(a_union_has_what_either_has),
        cmocka_unit_test(a_model_past_the_end_stops_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
