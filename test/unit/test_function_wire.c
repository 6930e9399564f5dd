/*
 * Messages between a node and the processes of functions: what is read is copied and checked.
 */
#include "function/wire.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "engine/tensor_wire.h"

enum { LARGE = 200000 }; /* More than a socket holds. */

static uint8_t large[LARGE];

static struct weft_tensor large_tensor(uint64_t bytes)
{
    struct weft_tensor tensor = {.name = "x", .dtype = WEFT_UINT8, .rank = 1, .data = large};
    tensor.bytes = bytes;
    tensor.shape[0] = (int64_t)bytes;
    return tensor;
}

static struct function_channels open_pair(void)
{
    struct function_channels pair;
    assert_true(function_channels_open(&pair, LARGE));
    return pair;
}

static void close_pair(struct function_channels *pair)
{
    function_channel_close(&pair->here);
    function_channel_close(&pair->there);
}

static void sizes_are_checked(ATTR_UNUSED void **state)
{
    struct function_channels pair = open_pair();
    struct bundle *bundle = NULL;
    uint8_t data[16] = {0};
    struct weft_tensor tensor = {
        .name = "x", .dtype = WEFT_UINT8, .rank = 1, .shape = {16}, .bytes = 16, .data = data};
    struct function_message message = {.kind = FUNCTION_RETURN, .tensor_count = 1};

    assert_true(function_send(&pair.there, &message, &tensor, 0));
    assert_int_equal(function_receive(&pair.here, &message, &bundle, 16, 0), FUNCTION_RECEIVED);
    assert_int_equal(bundle->bytes, 16);
    bundle_destroy(bundle);

    tensor.bytes = 12; /* Not what its shape says. */
    assert_true(function_send(&pair.there, &message, &tensor, 0));
    assert_int_equal(function_receive(&pair.here, &message, &bundle, 16, 0), FUNCTION_NONSENSE);
    assert_int_equal(recv(pair.here.socket, data, 12, 0), 12);

    tensor.bytes = 16;
    assert_true(function_send(&pair.there, &message, &tensor, 0));
    assert_int_equal(function_receive(&pair.here, &message, &bundle, 15, 0), FUNCTION_NONSENSE);
    assert_int_equal(recv(pair.here.socket, data, 16, 0), 16);

    message.tensor_count = BUNDLE_TENSORS_MAX + 1;
    assert_int_equal(
        send(pair.there.socket, &message, sizeof(message), 0), (ssize_t)sizeof(message));
    assert_int_equal(function_receive(&pair.here, &message, &bundle, 16, 0), FUNCTION_NONSENSE);
    close_pair(&pair);
}

static void large_data_lies_in_a_file(ATTR_UNUSED void **state)
{
    struct function_channels pair = open_pair();
    struct bundle *bundle = NULL;
    struct function_message message = {.kind = FUNCTION_CALL, .tensor_count = 1};
    for (uint8_t i = 1; i < 7; i++) { /* The files are used again, for less each time. */
        const struct function_channel *from = i % 2 == 0 ? &pair.there : &pair.here;
        const struct function_channel *to = i % 2 == 0 ? &pair.here : &pair.there;
        const struct weft_tensor tensor = large_tensor(LARGE - i);
        memset(large, i, sizeof(large));
        assert_true(function_send(from, &message, &tensor, 0));
        assert_int_equal(function_receive(to, &message, &bundle, LARGE, 0), FUNCTION_RECEIVED);
        assert_true(message.has_file != 0);
        assert_int_equal(bundle->bytes, tensor.bytes);
        assert_memory_equal(bundle->tensors[0].data, large, tensor.bytes);
        bundle_destroy(bundle);
    }
    close_pair(&pair);
}

/* The function's end has the files mapped: what it is sent and what it makes lies there. */
static void a_mapped_end_copies_nothing(ATTR_UNUSED void **state)
{
    struct function_channels pair = open_pair();
    struct bundle *bundle = NULL;
    struct function_message message = {.kind = FUNCTION_CALL, .tensor_count = 2};
    struct weft_tensor tensors[2] = {large_tensor(1001), large_tensor(LARGE / 2)};
    (void)snprintf(tensors[1].name, sizeof(tensors[1].name), "y");
    function_channel_map(&pair.there);
    memset(large, 7, sizeof(large));
    assert_true(function_send(&pair.here, &message, tensors, 0));
    assert_int_equal(function_receive(&pair.there, &message, &bundle, LARGE, 0), FUNCTION_RECEIVED);
    const uint8_t *given = bundle->tensors[1].data;
    assert_ptr_equal(given, pair.there.given.data + function_align(1001));
    assert_memory_equal(given, large, tensors[1].bytes);
    bundle_destroy(bundle);

    message = (struct function_message){.kind = FUNCTION_RETURN, .tensor_count = 2};
    memset(large, 8, sizeof(large));
    tensors[1].data = pair.there.made.data + function_align(1001); /* The first is not there. */
    memset(tensors[1].data, 9, tensors[1].bytes);
    assert_true(function_send(&pair.there, &message, tensors, 0));
    assert_int_equal(function_receive(&pair.here, &message, &bundle, LARGE, 0), FUNCTION_RECEIVED);
    memset(tensors[1].data, 10, tensors[1].bytes); /* Too late: this side has copied it. */
    assert_memory_equal(bundle->tensors[0].data, large, 1001);
    memset(large, 9, sizeof(large));
    assert_memory_equal(bundle->tensors[1].data, large, tensors[1].bytes);
    bundle_destroy(bundle);
    close_pair(&pair);
}

/* Data that begins later in the file leaves alone what lies before. */
static void data_can_begin_behind_other_data(ATTR_UNUSED void **state)
{
    struct function_channels pair = open_pair();
    struct bundle *bundle = NULL;
    const struct weft_tensor tensor = large_tensor(LARGE / 2);
    struct function_message message = {
        .kind = FUNCTION_RUN, .tensor_count = 1, .file_at = LARGE / 4};
    function_channel_map(&pair.there);
    memset(large, 3, sizeof(large));
    memset(pair.there.made.data, 4, LARGE / 4);
    assert_true(function_send(&pair.there, &message, &tensor, 0));
    assert_int_equal(function_receive(&pair.here, &message, &bundle, LARGE, 0), FUNCTION_RECEIVED);
    assert_memory_equal(bundle->tensors[0].data, large, tensor.bytes);
    assert_int_equal(pair.there.made.data[LARGE / 4 - 1], 4);
    bundle_destroy(bundle);

    message.file_at = LARGE; /* No such place: the other side lies. */
    message.has_file = 1;
    assert_int_equal(
        send(pair.there.socket, &message, sizeof(message), 0), (ssize_t)sizeof(message));
    const struct function_tensor wire = {.tensor = tensor_wire_of(&tensor)};
    assert_int_equal(send(pair.there.socket, &wire, sizeof(wire), 0), (ssize_t)sizeof(wire));
    assert_int_equal(function_receive(&pair.here, &message, &bundle, LARGE, 0), FUNCTION_NONSENSE);
    close_pair(&pair);
}

static void without_a_file_none_is_believed(ATTR_UNUSED void **state)
{
    struct function_channels pair = open_pair();
    struct bundle *bundle = NULL;
    struct function_message message = {.kind = FUNCTION_RETURN, .has_file = 1};
    struct function_channel bare = {.socket = pair.here.socket, .to_there = -1, .from_there = -1};
    assert_int_equal(
        send(pair.there.socket, &message, sizeof(message), 0), (ssize_t)sizeof(message));
    assert_int_equal(function_receive(&bare, &message, &bundle, 16, 0), FUNCTION_NONSENSE);
    close_pair(&pair);
}

static void a_file_keeps_its_size(ATTR_UNUSED void **state)
{
    struct function_channels pair = open_pair();
    struct stat about;
    assert_int_equal(ftruncate(pair.there.to_there, 0), -1);
    assert_int_equal(ftruncate(pair.there.to_there, 2 * LARGE), -1);
    assert_int_equal(pwrite(pair.there.to_there, "x", 1, LARGE), -1);
    assert_int_equal(pwrite(pair.there.from_there, "x", 1, 0), -1); /* That one is only read. */
    assert_int_equal(ftruncate(pair.here.to_there, 1), 0);
    assert_int_equal(ftruncate(pair.here.to_there, 0), -1);
    assert_int_equal(fstat(pair.here.from_there, &about), 0);
    assert_int_equal(about.st_size, LARGE);
    close_pair(&pair);
}

static void pages_of_large_messages_are_given_back(ATTR_UNUSED void **state)
{
    enum { HUGE_BYTES = 80 << 20 };
    struct function_channels pair;
    struct stat about;
    assert_true(function_channels_open(&pair, HUGE_BYTES));
    for (uint64_t at = 0; at < HUGE_BYTES; at += 4096) {
        assert_int_equal(pwrite(pair.there.to_there, "x", 1, (off_t)at), 1);
    }
    function_channel_trim(&pair.here);
    assert_int_equal(fstat(pair.here.from_there, &about), 0);
    assert_true(about.st_blocks * 512 <= 64 << 20);
    assert_int_equal(about.st_size, HUGE_BYTES);
    close_pair(&pair);
}

static uint32_t count_descriptors(void)
{
    uint32_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    (void)closedir(folder);
    return count;
}

/* Send @bytes with two descriptors, as no function of ours would. */
static void send_with_descriptors(int socket, const void *data, size_t bytes)
{
    union {
        char bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } room;
    struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = bytes};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = room.bytes,
        .msg_controllen = sizeof(room.bytes)};
    const int passed[2] = {STDIN_FILENO, STDOUT_FILENO};
    memset(&room, 0, sizeof(room));
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(passed));
    memcpy(CMSG_DATA(head), passed, sizeof(passed));
    assert_int_equal(sendmsg(socket, &message, 0), (ssize_t)bytes);
}

static void descriptors_that_come_along_are_closed(ATTR_UNUSED void **state)
{
    struct function_channels pair = open_pair();
    struct function_message message = {.kind = FUNCTION_RETURN};
    const uint32_t before = count_descriptors();
    for (uint32_t i = 0; i < 10; i++) {
        struct bundle *bundle = NULL;
        send_with_descriptors(pair.there.socket, &message, sizeof(message));
        assert_int_equal(function_receive(&pair.here, &message, &bundle, 16, 0), FUNCTION_RECEIVED);
        bundle_destroy(bundle);
    }
    assert_int_equal(count_descriptors(), before);
    close_pair(&pair);
}

static void nothing_of_memory_is_told(ATTR_UNUSED void **state)
{
    static uint8_t read_back[4096];
    struct function_channels pair = open_pair();
    struct weft_tensor tensor = large_tensor(4);
    struct function_message message = {.kind = FUNCTION_CALL, .tensor_count = 1};
    memset(tensor.name + 2, 0xa5, sizeof(tensor.name) - 2);
    memset(tensor.shape + 1, 0xa5, sizeof(tensor.shape) - sizeof(tensor.shape[0]));
    memset(large, 0, 4);
    assert_true(function_send(&pair.here, &message, &tensor, 0));
    const ssize_t bytes = recv(pair.there.socket, read_back, sizeof(read_back), 0);
    assert_true(bytes > (ssize_t)sizeof(message));
    for (ssize_t i = 0; i < bytes; i++) {
        assert_int_not_equal(read_back[i], 0xa5);
    }
    const void *pointer = large;
    for (size_t i = 0; i + sizeof(pointer) <= (size_t)bytes; i++) {
        assert_memory_not_equal(read_back + i, &pointer, sizeof(pointer));
    }
    close_pair(&pair);
}

static int64_t monotonic_ns(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void sending_ends_at_its_deadline(ATTR_UNUSED void **state)
{
    struct function_channels pair = open_pair();
    const struct weft_tensor tensor = large_tensor(60000); /* Through the socket. */
    const struct function_message message = {.kind = FUNCTION_CALL, .tensor_count = 1};
    const int64_t deadline_ns = monotonic_ns() + 50000000;
    uint32_t sent = 0;
    while (function_send(&pair.here, &message, &tensor, deadline_ns)) {
        sent++; /* No process reads. */
        assert_true(sent < 1000);
    }
    assert_true(monotonic_ns() >= deadline_ns);
    close_pair(&pair);
}

static void receiving_ends_too(ATTR_UNUSED void **state)
{
    struct function_channels pair = open_pair();
    struct function_message message = {.kind = FUNCTION_RETURN};
    struct bundle *bundle = NULL;
    assert_int_equal(function_receive(&pair.here, &message, &bundle, 16, 1), FUNCTION_LATE);
    assert_int_equal(send(pair.there.socket, &message, 10, 0), 10); /* The rest never comes. */
    assert_int_equal(function_receive(&pair.here, &message, &bundle, 16, 1), FUNCTION_LATE);
    function_channel_close(&pair.there);
    assert_int_equal(function_receive(&pair.here, &message, &bundle, 16, 0), FUNCTION_GONE);
    message.tensor_count = 0;
    assert_false(function_send(&pair.here, &message, NULL, 0));
    close_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(large_data_lies_in_a_file),
        cmocka_unit_test(a_mapped_end_copies_nothing),
        cmocka_unit_test(data_can_begin_behind_other_data),
        cmocka_unit_test(without_a_file_none_is_believed),
        cmocka_unit_test(a_file_keeps_its_size),
        cmocka_unit_test(pages_of_large_messages_are_given_back),
        cmocka_unit_test(descriptors_that_come_along_are_closed),
        cmocka_unit_test(nothing_of_memory_is_told),
        cmocka_unit_test(sending_ends_at_its_deadline),
        cmocka_unit_test(receiving_ends_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
