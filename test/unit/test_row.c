#include "wire/row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "dies.h"

static uint8_t encoded[ROW_BYTES_MAX];
static uint8_t encoded_again[ROW_BYTES_MAX];

static void draw_row(struct rng *rng, uint32_t parts, struct row *row_out)
{
    *row_out = (struct row){.parts = parts};
    row_out->worker = rng_below(rng, WORKERS_MAX);
    row_out->load.at_ns = (int64_t)rng_next(rng);
    row_out->load.queued_ns = (int64_t)(rng_next(rng) >> 2);
    row_out->load.run_ns = (int64_t)(rng_next(rng) >> 2);
    row_out->load.sequence = rng_next(rng);
    row_out->load.queued_items = (uint16_t)rng_next(rng);
    row_out->load.gpu_free = (uint8_t)rng_next(rng);
    row_out->load.cpu_free = (uint16_t)rng_next(rng);
    row_out->load.layout = (uint32_t)rng_next(rng);
    row_out->load.urgency = (uint16_t)rng_next(rng);
    row_out->load.wanted = (uint16_t)rng_next(rng);
    row_out->load.put_off = (uint8_t)rng_next(rng);
    row_out->load.accepting = (uint8_t)rng_below(rng, 2);
    row_out->load.waits_steps = (uint32_t)rng_next(rng);
    row_out->load.first_steps = (int32_t)rng_next(rng);
    row_out->load.last_steps = (int32_t)rng_next(rng);
    row_out->load.incarnation = (uint32_t)rng_next(rng);
    row_out->cache.incarnation = row_out->load.incarnation;
    row_out->cache.at_ns = (int64_t)rng_next(rng);
    row_out->cache.sequence = rng_next(rng);
    row_out->cache.free_bytes = rng_next(rng);
    for (uint32_t i = 0; i < MODEL_SET_WORDS; i++) {
        row_out->cache.resident.words[i] = rng_next(rng);
        row_out->cache.loading.words[i] = rng_next(rng);
    }
}

static void a_row_is_read_as_it_was_written_but_for_its_times(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(81);
    struct row row;
    struct row decoded;

    for (uint32_t i = 0; i < 10000; i++) {
        draw_row(&rng, ROW_LOAD + i % 3, &row);
        const size_t count = row_encode(&row, encoded, sizeof(encoded));
        assert_int_equal(row_decode(encoded, count, &decoded), WEFT_OK);
        row.load.at_ns = 0;
        row.cache.at_ns = 0;
        if ((row.parts & ROW_LOAD) == 0) {
            row.load = (struct row_load){0};
        }
        if ((row.parts & ROW_CACHE) == 0) {
            row.cache = (struct row_cache){0};
        }
        assert_int_equal(decoded.worker, row.worker);
        assert_int_equal(decoded.parts, row.parts);
        assert_memory_equal(&decoded.load, &row.load, sizeof(row.load));
        assert_memory_equal(&decoded.cache, &row.cache, sizeof(row.cache));
    }
}

static void the_bytes_of_a_row_are_written_down(ATTR_UNUSED void **state)
{
    static const char expected[] = "\x0f\x03\x02\x01\0\0" /* version, parts, worker */
                                   "\x07\0\0\0"           /* incarnation */
                                   "\x03\0\0\0\0\0\0\0"   /* queued_ns */
                                   "\x02\0\0\0\0\0\0\0"   /* run_ns */
                                   "\x04\0\0\0\0\0\0\0"   /* sequence */
                                   "\x05\0\x06"           /* queued_items, gpu_free */
                                   "\x0a\0\x0b\0\0\0"     /* cpu_free, layout */
                                   "\x0c\0\x0d\0\x10\x01" /* urgency, wanted, put_off, accepting */
                                   "\x0e\0\0\0"           /* waits_steps */
                                   "\xfe\xff\xff\xff"     /* first_steps */
                                   "\x0f\0\0\0"           /* last_steps */
                                   "\x08\0\0\0\0\0\0\0"   /* sequence */
                                   "\x09\0\0\0\0\0\0\0"   /* free_bytes */
                                   "\x01\0\0\0\0\0\0\0"   /* resident: 0 */
                                   "\x02\0\0\0\0\0\0\0"   /* 65 */
                                   "\0\0\0\0\0\0\0\0"
                                   "\0\0\0\0\0\0\0\0"
                                   "\0\0\0\0\0\0\0\0" /* loading: */
                                   "\0\0\0\0\0\0\0\0"
                                   "\0\0\0\0\0\0\0\0"
                                   "\0\0\0\0\0\0\0\x80"; /* 255 */
    const size_t expected_count = sizeof(expected) - 1;
    struct row row = {
        .worker = 0x0102,
        .parts = ROW_BOTH,
        .load =
            {
                .queued_ns = 3,
                .run_ns = 2,
                .sequence = 4,
                .queued_items = 5,
                .gpu_free = 6,
                .cpu_free = 10,
                .layout = 11,
                .urgency = 12,
                .wanted = 13,
                .put_off = 16,
                .accepting = 1,
                .waits_steps = 14,
                .first_steps = -2,
                .last_steps = 15,
                .incarnation = 7,
            },
        .cache = {.sequence = 8, .free_bytes = 9, .incarnation = 7},
    };
    model_set_add(&row.cache.resident, 0);
    model_set_add(&row.cache.resident, 65);
    model_set_add(&row.cache.loading, 255);

    assert_int_equal(row_encode(&row, encoded, sizeof(encoded)), expected_count);
    assert_memory_equal(encoded, expected, expected_count);
    assert_int_equal(row_encode(&row, encoded, expected_count - 1), 0);
}

/* The bytes in a block of their own size, so that a sanitizer sees one byte too many. */
static enum weft_status decode_exact(size_t count, struct row *row_out)
{
    uint8_t *exact = malloc(count > 0 ? count : 1);
    assert_non_null(exact);
    memcpy(exact, encoded, count);
    const enum weft_status status = row_decode(exact, count, row_out);
    free(exact);
    return status;
}

static void every_other_length_is_refused(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(82);
    struct row row;
    struct row decoded;

    for (uint32_t parts = ROW_LOAD; parts <= ROW_BOTH; parts++) {
        draw_row(&rng, parts, &row);
        const size_t count = row_encode(&row, encoded, sizeof(encoded));
        for (size_t other = 0; other <= ROW_BYTES_MAX; other++) {
            const enum weft_status expected = other == count ? WEFT_OK : WEFT_INVALID;
            assert_int_equal(decode_exact(other, &decoded), expected);
        }
    }
}

static void a_corrupted_byte_is_refused_or_gives_another_good_row(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(83);
    struct row row;
    struct row decoded;
    uint32_t refused = 0;

    for (uint32_t i = 0; i < 12; i++) {
        draw_row(&rng, ROW_LOAD + i % 3, &row);
        const size_t count = row_encode(&row, encoded, sizeof(encoded));
        for (size_t at = 0; at < count; at++) {
            for (uint32_t change = 1; change < 256; change++) {
                encoded[at] ^= (uint8_t)change;
                if (decode_exact(count, &decoded) == WEFT_OK) {
                    assert_int_equal(
                        row_encode(&decoded, encoded_again, sizeof(encoded_again)), count);
                    assert_memory_equal(encoded_again, encoded, count);
                } else {
                    refused++;
                }
                encoded[at] ^= (uint8_t)change;
            }
        }
    }
    assert_true(refused > 1000);
}

static void numbers_out_of_range_are_refused(ATTR_UNUSED void **state)
{
    static const struct {
        size_t at;
        uint8_t byte;
    } changes[] = {
        {0, 0},     {0, 1},     /* version */
        {1, 0},     {1, 4},     /* parts */
        {1, 5},     {1, 0x81},  /* unknown parts, beside one */
        {3, 0x40},  {5, 1},     /* worker: 0x4000 is WORKERS_MAX */
        {17, 0x80}, {25, 0x80}, /* queued_ns, run_ns: negative */
    };
    const struct row row = {.parts = ROW_LOAD};
    struct row decoded;
    struct row before;

    memset(&decoded, 0x5a, sizeof(decoded));
    memcpy(&before, &decoded, sizeof(before));
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        const size_t count = row_encode(&row, encoded, sizeof(encoded));
        encoded[changes[i].at] = changes[i].byte;
        assert_int_equal(decode_exact(count, &decoded), WEFT_INVALID);
        assert_memory_equal(&decoded, &before, sizeof(before)); /* And nothing is written. */
    }
}

static void encode(void *row)
{
    (void)row_encode(row, encoded, sizeof(encoded));
}

static void a_row_that_could_not_be_read_is_not_written(ATTR_UNUSED void **state)
{
    struct row nothing = {.parts = 0};
    struct row stranger = {.parts = ROW_BOTH, .worker = WORKERS_MAX};

    assert_true(dies(encode, &nothing));
    assert_true(dies(encode, &stranger));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_read_as_it_was_written_but_for_its_times),
        cmocka_unit_test(the_bytes_of_a_row_are_written_down),
        cmocka_unit_test(every_other_length_is_refused),
        cmocka_unit_test(a_corrupted_byte_is_refused_or_gives_another_good_row),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(a_row_that_could_not_be_read_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
