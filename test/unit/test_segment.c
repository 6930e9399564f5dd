/*
 * Segments and their lenders: used again, sealed, mapped once, freed through the ledger.
 *
 * Covers: src/engine/segment.c, src/engine/lender.c
 */
#include "engine/segment.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "engine/lender.h"

enum { BYTES = 100000 };

static int setup(ATTR_UNUSED void **state)
{
    segments_trim();
    return 0;
}

static void a_segment_is_used_again(ATTR_UNUSED void **state)
{
    struct segment *first = segment_take(BYTES);
    struct segment *second = segment_take(BYTES);
    assert_non_null(first);
    assert_non_null(second);
    assert_true(first->bytes >= BYTES && first->bytes <= BYTES * 5 / 4 + 4096);
    assert_true(first->slot != second->slot && first->key != second->key);
    memset(first->data, 1, BYTES);
    segment_give(first);
    assert_ptr_equal(segment_take(BYTES - 10), first);
    segment_give(second);
    struct segment *small = segment_take(BYTES / 3); /* A whole one would be a waste. */
    assert_ptr_not_equal(small, second);
    segment_give(first);
    segment_give(small);
}

static void no_other_process_can_write_to_it_or_shrink_it(ATTR_UNUSED void **state)
{
    struct segment *segment = segment_take(BYTES);
    assert_int_equal(ftruncate(segment->file, 0), -1);
    assert_ptr_equal(
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, segment->file, 0), MAP_FAILED);
    assert_int_equal(pwrite(segment->file, "x", 1, 0), -1);
    memset(segment->data, 7, BYTES); /* But we can. */
    segment_give(segment);
}

static void few_free_segments_are_kept(ATTR_UNUSED void **state)
{
    enum { LARGE = 48 << 20, COUNT = 6 };
    struct segment *segments[COUNT];
    int files[COUNT];
    uint32_t open = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        segments[i] = segment_take(LARGE);
        assert_non_null(segments[i]);
        files[i] = segments[i]->file;
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        segment_give(segments[i]);
    }
    struct segment *other = segment_take(BYTES);
    for (uint32_t i = 0; i < COUNT; i++) {
        open += fcntl(files[i], F_GETFD) >= 0 && files[i] != other->file ? 1 : 0;
    }
    assert_true((uint64_t)open * LARGE <= SEGMENTS_KEPT_MAX);
    assert_true(open > 0);
    segment_give(other);
    segments_trim();
}

static void too_much_is_not_there(ATTR_UNUSED void **state)
{
    assert_null(segment_take(0));
    assert_null(segment_take(SIZE_MAX / 2));
    assert_null(segment_take((size_t)1 << 60));
}

/* What the borrower does in another process: here it is the same, with its own mapping. */
static void what_was_lent_comes_back_by_the_ledger(ATTR_UNUSED void **state)
{
    struct segment *segment = segment_take(BYTES);
    struct lender *lender = lender_create(segment_ledger_file());
    assert_non_null(lender);
    memset(segment->data, 5, BYTES);
    segment_lend(segment);
    struct mapping *mapping = lender_map(lender, segment->key, dup(segment->file), BYTES);
    assert_non_null(mapping);
    assert_int_equal(((const uint8_t *)mapping->data)[BYTES - 1], 5);
    assert_ptr_not_equal(segment_take(BYTES), segment); /* It is not free yet. */
    lender_unmap(lender, mapping);
    lender_free(lender, segment->slot);
    assert_ptr_equal(segment_take(BYTES), segment);
    /* The same again: it is still mapped. */
    struct mapping *again = lender_map(lender, segment->key, dup(segment->file), BYTES);
    assert_ptr_equal(again, mapping);
    lender_unmap(lender, again);
    lender_release(lender);
    segments_trim();
}

static void mappings_are_bounded(ATTR_UNUSED void **state)
{
    struct lender *lender = lender_create(-1);
    struct segment *segment = segment_take(BYTES);
    struct mapping *used[LENDER_MAPPINGS_MAX];
    for (uint32_t i = 0; i < LENDER_MAPPINGS_MAX; i++) {
        used[i] = lender_map(lender, 1000 + i, dup(segment->file), BYTES);
        assert_non_null(used[i]);
    }
    const int file = dup(segment->file);
    assert_null(lender_map(lender, 5000, file, BYTES)); /* All are in use. */
    lender_unmap(lender, used[3]);
    struct mapping *more = lender_map(lender, 5000, file, BYTES);
    assert_non_null(more);
    lender_unmap(lender, more);
    for (uint32_t i = 0; i < LENDER_MAPPINGS_MAX; i++) {
        if (i != 3) {
            lender_unmap(lender, used[i]);
        }
    }
    lender_release(lender);
    segment_give(segment);
}

static void files_that_could_shrink_are_not_mapped(ATTR_UNUSED void **state)
{
    struct lender *lender = lender_create(-1);
    const int file = memfd_create("test", MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(file, BYTES), 0);
    assert_null(lender_map(lender, 1, file, BYTES));
    assert_null(lender_create(file));
    assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    assert_null(lender_map(lender, 1, file, BYTES + 1)); /* Shorter than it is said to be. */
    assert_non_null(lender_map(lender, 1, file, BYTES)); /* Unmapped with the lender. */
    assert_null(lender_map(lender, 2, 0, 1));            /* No file in memory. */
    lender_release(lender);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_segment_is_used_again, setup),
        cmocka_unit_test_setup(no_other_process_can_write_to_it_or_shrink_it, setup),
        cmocka_unit_test_setup(few_free_segments_are_kept, setup),
        cmocka_unit_test_setup(too_much_is_not_there, setup),
        cmocka_unit_test_setup(what_was_lent_comes_back_by_the_ledger, setup),
        cmocka_unit_test_setup(mappings_are_bounded, setup),
        cmocka_unit_test_setup(files_that_could_shrink_are_not_mapped, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
