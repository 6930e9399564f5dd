/* The arena: budgets, and memory that stays with the share that had it. */
#include "cuda/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "cuda/driver.h"

enum { MIB = 1 << 20 };

static uint64_t take(uint64_t bytes)
{
    void *memory;
    return cudaMalloc(&memory, bytes) == CUDA_SUCCESS ? (uint64_t)(uintptr_t)memory : 0;
}

static void give(uint64_t address)
{
    assert_int_equal(cudaFree((void *)(uintptr_t)address), CUDA_SUCCESS);
}

static void without_a_block_there_is_nothing(ATTR_UNUSED void **state)
{
    assert_int_equal(take(1), 0);
    assert_int_equal(cuda_arena_use(CUDA_OWNER_COMMON).denied_bytes, 1);
    assert_int_equal(cuda_arena_use(CUDA_OWNER_COMMON).denied_bytes, 0);
}

static void an_owner_has_a_budget(ATTR_UNUSED void **state)
{
    cuda_arena_start(/* base */ 1 << 30, /* bytes */ 16 * MIB, /* budget */ 6 * MIB);
    cuda_arena_enter(1);
    assert_int_equal(take(3 * MIB), 1 << 30); /* Two and a half grains: four MiB. */
    assert_int_equal(take(3 * MIB), 0);
    assert_int_equal(cuda_arena_use(1).denied_bytes, 3 * MIB);
    assert_int_not_equal(take(2 * MIB), 0);
    assert_int_equal(cuda_arena_use(1).held_bytes, 6 * MIB);
    cuda_arena_enter(2);
    assert_int_not_equal(take(6 * MIB), 0);
    cuda_arena_enter(3);
    assert_int_equal(take(6 * MIB), 0); /* Of its budget, but the block has no more. */
    assert_int_not_equal(take(4 * MIB), 0);
    cuda_arena_stop();
    cuda_arena_enter(CUDA_OWNER_COMMON);
}

static void what_comes_back_stays_the_owners(ATTR_UNUSED void **state)
{
    cuda_arena_start(/* base */ 1 << 30, /* bytes */ 16 * MIB, /* budget */ 8 * MIB);
    cuda_arena_enter(1);
    const uint64_t large = take(6 * MIB);
    const uint64_t small = take(2 * MIB);
    give(large);
    give(small);
    assert_int_equal(cuda_arena_use(1).used_bytes, 0);
    assert_int_equal(cuda_arena_use(1).held_bytes, 8 * MIB);
    cuda_arena_enter(2);
    const uint64_t other = take(2 * MIB);
    assert_int_not_equal(other, small); /* A graph of the first may still use that. */
    assert_int_not_equal(other, large);
    cuda_arena_enter(1);
    assert_int_equal(take(2 * MIB), small); /* The smallest that is large enough. */
    assert_int_equal(take(5 * MIB), large);
    cuda_arena_stop();
    cuda_arena_enter(CUDA_OWNER_COMMON);
}

static uint32_t forwarded;

static int library_free(ATTR_UNUSED void *memory)
{
    forwarded++;
    return 7;
}

static void what_is_not_ours_goes_to_the_library(ATTR_UNUSED void **state)
{
    assert_int_equal(cudaFree(NULL), CUDA_SUCCESS);
    cuda_arena_set_free(library_free);
    assert_int_equal(cudaFree(NULL), 7);
    assert_int_equal(cudaFree((void *)(uintptr_t)64), 7);
    assert_int_equal(forwarded, 2);
    cuda_arena_set_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_block_there_is_nothing),
        cmocka_unit_test(an_owner_has_a_budget),
        cmocka_unit_test(what_comes_back_stays_the_owners),
        cmocka_unit_test(what_is_not_ours_goes_to_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
