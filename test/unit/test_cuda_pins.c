/* What is mapped of another process can be read by the GPU, as long as it is mapped. */
#include "cuda/pins.h"

#include "engine/segment.h"
#include "unit/cuda_fixture.h"

enum { BYTES = 100000 };

static void what_is_mapped_is_registered(ATTR_UNUSED void **state)
{
    struct cuda_world world;
    struct cuda_pins pins;
    struct lender *lender = lender_create(/* ledger_file */ -1);
    struct segment *segments[3] = {segment_take(BYTES), segment_take(BYTES), segment_take(BYTES)};
    struct mapping *mappings[3];
    cuda_world_open(&world);
    cuda_pins_open(&pins, &world.driver, lender);
    for (uint32_t i = 0; i < 3; i++) {
        if (i == 1) {
            world.cause(FAKE_NO_REGISTER, 1);
        }
        mappings[i] = lender_map(lender, segments[i]->key, dup(segments[i]->file), BYTES);
        assert_non_null(mappings[i]);
    }
    const uint8_t *data = mappings[0]->data;
    assert_true(cuda_pins_have(&pins, data, BYTES));
    assert_true(cuda_pins_have(&pins, data + BYTES - 1, 1));
    assert_false(cuda_pins_have(&pins, data + 1, mappings[0]->bytes));
    assert_false(cuda_pins_have(&pins, mappings[1]->data, 1)); /* The driver did not want it. */
    assert_true(cuda_pins_have(&pins, mappings[2]->data, BYTES));
    assert_false(cuda_pins_have(&pins, &pins, 1));
    for (uint32_t i = 0; i < 3; i++) {
        lender_unmap(lender, mappings[i]);
    }
    assert_true(cuda_pins_have(&pins, data, BYTES)); /* It stays mapped for the next time. */
    lender_release(lender);
    assert_int_equal(pins.count, 0);
    pins.lender = NULL;
    cuda_pins_close(&pins);
    for (uint32_t i = 0; i < 3; i++) {
        segment_give(segments[i]);
    }
    cuda_world_close(&world);
}

static void what_is_left_is_given_back(ATTR_UNUSED void **state)
{
    struct cuda_world world;
    struct cuda_pins pins;
    struct lender *lender = lender_create(/* ledger_file */ -1);
    struct segment *segment = segment_take(BYTES);
    cuda_world_open(&world);
    cuda_pins_open(&pins, &world.driver, lender);
    struct mapping *mapping = lender_map(lender, segment->key, dup(segment->file), BYTES);
    assert_non_null(mapping);
    cuda_pins_close(&pins);
    lender_unmap(lender, mapping);
    lender_release(lender);
    segment_give(segment);
    cuda_world_close(&world); /* Registered memory would be found here. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_mapped_is_registered),
        cmocka_unit_test(what_is_left_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
