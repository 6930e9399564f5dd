#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"

static void hashes_never_change(ATTR_UNUSED void **state)
{
    /* Stored traces are compared by these values. */
    assert_int_equal(hash_mix(0, 0), UINT64_C(0x3ba9a87a30442dfc));
    assert_int_equal(hash_mix(1, 2), UINT64_C(0x4871982fb00577be));
    const uint64_t six[6] = {1, 2, 3, 4, 5, 6};
    assert_int_equal(hash_mix_six(0, six), UINT64_C(0xb801e0ad7ee530bd));
    assert_int_equal(hash_text(""), UINT64_C(0xa1d287c0beb00200));
    assert_int_equal(hash_text("weft"), UINT64_C(0x2155059df3308db5));
    assert_int_equal(
        hash_text("\xc3\xa9"), UINT64_C(0x6ac0ade1651b288b)); /* Bytes above 127, signed or not. */
}

static void order_length_and_zeros_matter(ATTR_UNUSED void **state)
{
    assert_int_not_equal(hash_mix(1, 2), hash_mix(2, 1));
    assert_int_not_equal(hash_mix(hash_mix(0, 1), 2), hash_mix(hash_mix(0, 2), 1));
    assert_int_not_equal(hash_mix(0, 0), hash_mix(hash_mix(0, 0), 0));
    assert_int_not_equal(hash_text("ab"), hash_text("ba"));
    assert_int_not_equal(hash_text("a"), hash_text("aa"));
}

/* Flip each input bit in turn: about half of the output bits must follow. */
static void one_bit_in_changes_half_of_the_bits_out(ATTR_UNUSED void **state)
{
    enum { ROUNDS = 2000 };
    struct rng rng = rng_from_seed(1);

    for (uint32_t bit = 0; bit < 128; bit++) {
        const uint64_t flip_hash = bit < 64 ? UINT64_C(1) << bit : 0;
        const uint64_t flip_value = bit < 64 ? 0 : UINT64_C(1) << (bit - 64);
        uint32_t changed = 0;
        for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint64_t hash = rng_next(&rng);
            const uint64_t value = rng_next(&rng);
            /* A second value: only what has gone through the chain is fully mixed. */
            const uint64_t plain = hash_mix(hash_mix(hash, value), 0);
            const uint64_t flipped = hash_mix(hash_mix(hash ^ flip_hash, value ^ flip_value), 0);
            changed += (uint32_t)__builtin_popcountll(plain ^ flipped);
        }
        assert_in_range(changed / ROUNDS, 28, 36);
    }
}

static void six_words_at_once_are_mixed_as_well(ATTR_UNUSED void **state)
{
    enum { ROUNDS = 500 };
    struct rng rng = rng_from_seed(2);

    for (uint32_t bit = 0; bit < 6 * 64; bit++) {
        uint32_t changed = 0;
        for (uint32_t round = 0; round < ROUNDS; round++) {
            uint64_t words[6];
            for (uint32_t i = 0; i < 6; i++) {
                words[i] = rng_below(&rng, 100); /* Small numbers, as records have. */
            }
            const uint64_t plain = hash_mix(hash_mix_six(round, words), 0);
            words[bit / 64] ^= UINT64_C(1) << (bit % 64);
            const uint64_t flipped = hash_mix(hash_mix_six(round, words), 0);
            changed += (uint32_t)__builtin_popcountll(plain ^ flipped);
        }
        assert_in_range(changed / ROUNDS, 28, 36);
    }
}

static int compare_hashes(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void neighbouring_inputs_do_not_collide(ATTR_UNUSED void **state)
{
    enum { SIDE = 300 };
    static uint64_t hashes[SIDE * SIDE + 1000];
    uint32_t count = 0;

    for (uint64_t i = 0; i < SIDE; i++) {
        for (uint64_t j = 0; j < SIDE; j++) {
            hashes[count] = hash_mix(hash_mix(0, i), j << 32 | i);
            count++;
        }
    }
    for (uint32_t i = 0; i < 1000; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "task%u", i);
        hashes[count] = hash_text(name);
        count++;
    }
    qsort(hashes, count, sizeof(hashes[0]), compare_hashes);
    for (uint32_t i = 1; i < count; i++) {
        assert_true(hashes[i] != hashes[i - 1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_never_change),
        cmocka_unit_test(order_length_and_zeros_matter),
        cmocka_unit_test(one_bit_in_changes_half_of_the_bits_out),
        cmocka_unit_test(six_words_at_once_are_mixed_as_well),
        cmocka_unit_test(neighbouring_inputs_do_not_collide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
