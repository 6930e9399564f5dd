/*
 * What models lay down for a function: read in place by both sides, written by one.
 *
 * Covers: src/function/shelf.c src/function/wire.c
 */
#include "function/shelf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "function/wire.h"

enum { BYTES = 5000, LIMIT = 1 << 20 };

static uint8_t data[BYTES];

static struct weft_tensor tensor_of(const char *name, void *at, uint64_t bytes)
{
    struct weft_tensor tensor = {.dtype = WEFT_UINT8, .rank = 1, .bytes = bytes, .data = at};
    memcpy(tensor.name, name, strlen(name) + 1);
    tensor.shape[0] = (int64_t)bytes;
    return tensor;
}

static void what_is_laid_down_is_seen_by_both(ATTR_UNUSED void **state)
{
    struct function_shelf here;
    struct function_shelf there;
    function_shelf_open(&here, &there);
    assert_true(here.room.bytes > 0);
    function_shelf_map(&there);
    memset(data, 3, sizeof(data));
    struct weft_tensor first = tensor_of("a", data, BYTES);
    struct weft_tensor second = tensor_of("b", data, BYTES);
    function_shelf_lay(&here, &first);
    function_shelf_lay(&here, &second);
    const uint64_t place = function_shelf_place(&here, &second);
    assert_int_equal(place, function_align(BYTES) + 1);
    assert_memory_equal(function_shelf_at(&there, place, BYTES), data, BYTES);
    function_shelf_clear(&here);
    first = tensor_of("a", data, BYTES);
    function_shelf_lay(&here, &first);
    assert_int_equal(function_shelf_place(&here, &first), 1);
    function_shelf_close(&here);
    function_shelf_close(&there);
}

static void the_function_can_only_read(ATTR_UNUSED void **state)
{
    struct function_shelf here;
    struct function_shelf there;
    function_shelf_open(&here, &there);
    function_shelf_map(&there);
    assert_int_equal(pwrite(there.file, "x", 1, 0), -1);
    assert_int_equal(ftruncate(there.file, 1), -1);
    assert_int_equal(mprotect(there.room.data, there.room.bytes, PROT_READ | PROT_WRITE), -1);
    assert_ptr_equal(
        mmap(NULL, there.room.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, there.file, 0),
        MAP_FAILED);
    function_shelf_close(&here);
    function_shelf_close(&there);
}

static void what_does_not_fit_stays(ATTR_UNUSED void **state)
{
    struct function_shelf here;
    struct function_shelf there;
    function_shelf_open(&here, &there);
    here.room.used = here.room.bytes - BYTES + 1;
    struct weft_tensor tensor = tensor_of("a", data, BYTES);
    function_shelf_lay(&here, &tensor);
    assert_ptr_equal(tensor.data, data);
    assert_int_equal(function_shelf_place(&here, &tensor), 0);
    const struct weft_tensor over = tensor_of("a", here.room.data + here.room.bytes - 1, 2);
    assert_int_equal(function_shelf_place(&here, &over), 0); /* Half of it is elsewhere. */
    assert_null(function_shelf_at(&here, 0, 1));
    assert_null(function_shelf_at(&here, here.room.bytes, 2));
    assert_null(function_shelf_at(&here, UINT64_MAX, 1));
    assert_null(function_shelf_at(&here, 1, UINT64_MAX));
    assert_non_null(function_shelf_at(&here, here.room.bytes, 1));
    function_shelf_close(&here);
    function_shelf_close(&there);
}

/* Open a pair whose shelf the function's end sees, with @tensor of 3s laid there. */
static struct function_channels lay_one(struct weft_tensor *tensor)
{
    struct function_channels pair;
    assert_true(function_channels_open(&pair, LIMIT));
    function_channel_map(&pair.there);
    memset(data, 3, sizeof(data));
    *tensor = tensor_of("a", data, BYTES);
    function_shelf_lay(&pair.here.shelf, tensor);
    return pair;
}

static void close_pair(struct function_channels *pair)
{
    function_channel_close(&pair->here);
    function_channel_close(&pair->there);
}

/* What a model made goes to the function and back to a model, beside a tensor of its own. */
static void results_go_there_and_back_without_a_copy(ATTR_UNUSED void **state)
{
    struct weft_tensor tensors[2];
    struct function_channels pair = lay_one(&tensors[0]);
    struct bundle *made = NULL;
    struct bundle *given = NULL;
    struct function_message message = {.kind = FUNCTION_RAN, .tensor_count = 1};
    assert_true(function_send(&pair.here, &message, tensors, 0));
    assert_int_equal(function_receive(&pair.there, &message, &made, LIMIT, 0), FUNCTION_RECEIVED);
    assert_ptr_equal(made->tensors[0].data, pair.there.shelf.room.data);
    assert_memory_equal(made->tensors[0].data, data, BYTES);

    memset(data, 4, sizeof(data));
    tensors[0] = made->tensors[0];
    tensors[1] = tensor_of("b", data, BYTES);
    message = (struct function_message){.kind = FUNCTION_RUN, .tensor_count = 2};
    assert_true(function_send(&pair.there, &message, tensors, 0));
    assert_int_equal(function_receive(&pair.here, &message, &given, LIMIT, 0), FUNCTION_RECEIVED);
    assert_ptr_equal(given->tensors[0].data, pair.here.shelf.room.data);
    assert_memory_equal(given->tensors[1].data, data, BYTES);
    bundle_destroy(made);
    bundle_destroy(given);
    close_pair(&pair);
}

static void an_end_that_cannot_map_it_reads_the_file(ATTR_UNUSED void **state)
{
    struct weft_tensor tensor;
    struct function_channels pair = lay_one(&tensor);
    struct bundle *made = NULL;
    struct function_message message = {.kind = FUNCTION_RAN, .tensor_count = 1};
    (void)munmap(pair.there.shelf.room.data, pair.there.shelf.room.bytes);
    pair.there.shelf.room = (struct function_room){.bytes = 0};
    assert_true(function_send(&pair.here, &message, &tensor, 0));
    assert_int_equal(function_receive(&pair.there, &message, &made, LIMIT, 0), FUNCTION_RECEIVED);
    assert_memory_equal(made->tensors[0].data, data, BYTES);
    bundle_destroy(made);
    close_pair(&pair);
}

static void a_place_that_is_not_on_the_shelf_is_nonsense(ATTR_UNUSED void **state)
{
    struct weft_tensor tensor;
    struct function_channels pair = lay_one(&tensor);
    const uint64_t bytes = pair.here.shelf.room.bytes;
    const uint64_t places[] = {bytes - BYTES + 2, bytes + 1, UINT64_MAX};
    const struct function_message message = {.kind = FUNCTION_RUN, .tensor_count = 1};
    for (uint32_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct function_message got;
        struct bundle *given = NULL;
        const struct function_tensor told = {.tensor = tensor_wire_of(&tensor), .place = places[i]};
        assert_int_equal(
            send(pair.there.socket, &message, sizeof(message), 0), (ssize_t)sizeof(message));
        assert_int_equal(send(pair.there.socket, &told, sizeof(told), 0), (ssize_t)sizeof(told));
        assert_int_equal(function_receive(&pair.here, &got, &given, LIMIT, 0), FUNCTION_NONSENSE);
    }
    close_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_laid_down_is_seen_by_both),
        cmocka_unit_test(the_function_can_only_read),
        cmocka_unit_test(what_does_not_fit_stays),
        cmocka_unit_test(results_go_there_and_back_without_a_copy),
        cmocka_unit_test(an_end_that_cannot_map_it_reads_the_file),
        cmocka_unit_test(a_place_that_is_not_on_the_shelf_is_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
