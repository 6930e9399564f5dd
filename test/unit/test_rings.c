/* Covers: src/fabric/rings.c */
#include "fabric/rings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "unit/rings_file.h"

enum {
    WRITTEN_AT = 64, /* Of the ring that goes forth, in the shared memory. */
    TAKEN_AT = 128,
    BACK_AT = 256, /* The other ring, after this one. */
    CHUNK_BYTES = 100000,
    TOTAL_BYTES = 5000000,
};

static int sockets[2];
static struct rings *maker;
static struct rings *other;

static int setup(ATTR_UNUSED void **state)
{
    const char *cause = NULL;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    assert_null(rings_accept(sockets[1], &cause)); /* Nothing has come yet. */
    assert_null(cause);
    maker = rings_create(sockets[0]);
    assert_non_null(maker);
    other = rings_accept(sockets[1], &cause);
    assert_non_null(other);
    return 0;
}

static void close_sockets(void)
{
    (void)close(sockets[0]);
    (void)close(sockets[1]);
}

static int teardown(ATTR_UNUSED void **state)
{
    rings_destroy(maker);
    rings_destroy(other);
    close_sockets();
    return 0;
}

static ptrdiff_t write_bytes(struct rings *rings, const void *bytes, size_t count)
{
    const struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
    return rings_write(rings, &part, 1, /* is_quiet */ false);
}

/* Wake-ups that wait in @socket. */
static size_t wake_count(int socket)
{
    char bytes[64];
    const ssize_t got = recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_PEEK);
    return got < 0 ? 0 : (size_t)got;
}

static uint8_t byte_at(size_t index)
{
    return (uint8_t)(index * 31 + (index >> 13));
}

static void pass_all(struct rings *from, struct rings *to)
{
    static uint8_t sent_bytes[CHUNK_BYTES];
    static uint8_t bytes[CHUNK_BYTES];
    size_t sent = 0;
    size_t came = 0;
    while (came < TOTAL_BYTES) {
        for (size_t i = 0; i < CHUNK_BYTES; i++) {
            sent_bytes[i] = byte_at(sent + i);
        }
        const size_t left = TOTAL_BYTES - sent;
        const ptrdiff_t wrote =
            left == 0 ? 0 : write_bytes(from, sent_bytes, left < CHUNK_BYTES ? left : CHUNK_BYTES);
        assert_true(wrote >= 0);
        sent += (size_t)wrote;
        const ptrdiff_t got = rings_read(to, bytes, CHUNK_BYTES - sent % 7777);
        assert_true(got >= 0);
        for (size_t i = 0; i < (size_t)got; i++) {
            assert_int_equal(bytes[i], byte_at(came + i));
        }
        came += (size_t)got;
    }
    assert_int_equal(rings_read(to, bytes, sizeof(bytes)), 0);
}

static void bytes_come_in_order_both_ways(ATTR_UNUSED void **state)
{
    pass_all(maker, other);
    pass_all(other, maker);
}

static void parts_are_written_one_after_the_other(ATTR_UNUSED void **state)
{
    char text[] = "abcdef";
    char bytes[16] = "";
    const struct iovec parts[] = {
        {.iov_base = text, .iov_len = 3},
        {.iov_base = NULL, .iov_len = 0},
        {.iov_base = text + 3, .iov_len = 3},
    };
    assert_int_equal(rings_write(maker, parts, 3, /* is_quiet */ false), 6);
    assert_int_equal(rings_read(other, bytes, 4), 4);
    assert_int_equal(rings_read(other, bytes + 4, sizeof(bytes) - 4), 2);
    assert_string_equal(bytes, "abcdef");
}

static void a_reader_is_woken_once(ATTR_UNUSED void **state)
{
    char bytes[8];
    assert_int_equal(write_bytes(maker, "a", 1), 1);
    assert_int_equal(wake_count(sockets[1]), 0); /* It has not said that it sleeps. */
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 1);
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 0);
    assert_int_equal(write_bytes(maker, "b", 1), 1);
    assert_int_equal(write_bytes(maker, "c", 1), 1);
    assert_int_equal(wake_count(sockets[1]), 1);
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 2);
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 0);
    assert_int_equal(wake_count(sockets[1]), 0);
}

static void a_writer_is_woken_when_half_is_free(ATTR_UNUSED void **state)
{
    uint8_t *bytes = calloc(1, RINGS_FORTH_BYTES + 1);
    assert_int_equal(write_bytes(maker, bytes, RINGS_FORTH_BYTES + 1), RINGS_FORTH_BYTES);
    assert_int_equal(write_bytes(maker, bytes, 1), 0);
    assert_int_equal(rings_read(other, bytes, 1), 1);
    assert_int_equal(wake_count(sockets[0]), 0); /* For a byte it is not worth it. */
    assert_int_equal(rings_read(other, bytes, RINGS_FORTH_BYTES / 2), RINGS_FORTH_BYTES / 2);
    assert_int_equal(wake_count(sockets[0]), 1);
    assert_int_equal(write_bytes(maker, bytes, RINGS_FORTH_BYTES), RINGS_FORTH_BYTES / 2 + 1);
    free(bytes);
}

static ptrdiff_t write_quietly(struct rings *rings, const void *bytes, size_t count)
{
    const struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
    return rings_write(rings, &part, 1, /* is_quiet */ true);
}

static void quiet_bytes_wake_only_a_reader_that_attends(ATTR_UNUSED void **state)
{
    char bytes[8];
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 0);
    assert_int_equal(write_quietly(maker, "a", 1), 1);
    assert_int_equal(wake_count(sockets[1]), 1); /* At first it does. */
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 1);
    assert_false(rings_attend(other, false));
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 0);
    assert_int_equal(write_quietly(maker, "b", 1), 1);
    assert_int_equal(wake_count(sockets[1]), 0);
    assert_true(rings_has_bytes(other));
    assert_int_equal(write_bytes(maker, "c", 1), 1); /* It finds both. */
    assert_int_equal(wake_count(sockets[1]), 1);
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 2);
    assert_false(rings_has_bytes(other));
}

static void a_reader_that_sleeps_can_attend(ATTR_UNUSED void **state)
{
    char bytes[8];
    assert_false(rings_attend(other, false));
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 0);
    assert_false(rings_attend(other, true));
    assert_int_equal(write_quietly(maker, "a", 1), 1);
    assert_int_equal(wake_count(sockets[1]), 1);
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 1);
    assert_false(rings_attend(other, false));
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 0);
    assert_int_equal(write_quietly(maker, "b", 1), 1);
    assert_true(rings_attend(other, true)); /* What came before is there to be read. */
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 1);
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 0);
    assert_false(rings_attend(other, false)); /* Though it sleeps lightly. */
    assert_int_equal(write_quietly(maker, "c", 1), 1);
    assert_int_equal(wake_count(sockets[1]), 0);
}

/* Else both would sleep for good. */
static void a_reader_is_woken_when_quiet_bytes_leave_no_room(ATTR_UNUSED void **state)
{
    uint8_t *bytes = calloc(1, RINGS_FORTH_BYTES + 1);
    assert_false(rings_attend(other, false));
    for (size_t more = 0; more < 2; more++) {
        assert_int_equal(rings_read(other, bytes, RINGS_FORTH_BYTES), 0);
        assert_int_equal(write_quietly(maker, bytes, RINGS_FORTH_BYTES + more), RINGS_FORTH_BYTES);
        assert_int_equal(wake_count(sockets[1]), more);
        assert_int_equal(write_quietly(maker, bytes, 1), 0);
        assert_int_equal(wake_count(sockets[1]), 1);
        assert_int_equal(rings_read(other, bytes, RINGS_FORTH_BYTES), RINGS_FORTH_BYTES);
    }
    free(bytes);
}

static void the_end_comes_after_the_last_byte(ATTR_UNUSED void **state)
{
    char bytes[8];
    assert_int_equal(write_bytes(maker, "last", 4), 4);
    (void)shutdown(sockets[0], SHUT_RDWR);
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 4);
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), -1);
    assert_string_equal(rings_cause(other), "closed by the peer");
}

/* Accept rings whose contents this process can write: the memory. */
static uint8_t *accept_lying(void)
{
    int lying[2];
    const char *cause = NULL;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, lying), 0);
    struct rings *model = rings_create(lying[0]);
    const int file = rings_file_receive(lying[1]);
    void *memory = mmap(NULL, RINGS_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_true(memory != MAP_FAILED);
    rings_destroy(other);
    assert_true(rings_file_pass(sockets[0], &file, 1));
    other = rings_accept(sockets[1], &cause);
    assert_non_null(other);
    rings_destroy(model);
    (void)close(file);
    (void)close(lying[0]);
    (void)close(lying[1]);
    return memory;
}

static void set_position(uint8_t *memory, size_t at, uint64_t value)
{
    memcpy(memory + at, &value, sizeof(value));
}

static void impossible_positions_end_it(ATTR_UNUSED void **state)
{
    static const uint64_t lies[] = {RINGS_FORTH_BYTES + 1, UINT64_MAX, UINT64_C(1) << 63};
    char bytes[8];
    uint8_t *memory = accept_lying();
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        set_position(memory, WRITTEN_AT, lies[i]);
        assert_int_equal(rings_read(other, bytes, sizeof(bytes)), -1);
        set_position(memory, WRITTEN_AT, 0);
        set_position(memory, BACK_AT + TAKEN_AT, lies[i] / 2); /* Was never written. */
        assert_int_equal(write_bytes(other, "a", 1), -1);
        assert_string_equal(rings_cause(other), "an impossible position in shared memory");
        set_position(memory, BACK_AT + TAKEN_AT, 0);
    }
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 0);
    assert_int_equal(write_bytes(other, "a", 1), 1);
    (void)munmap(memory, RINGS_FILE_BYTES);
}

/* A peer that rewrites what only this side should write: it hurts itself. */
static void own_positions_are_not_read_back(ATTR_UNUSED void **state)
{
    char bytes[8] = "";
    uint8_t *memory = accept_lying();
    memcpy(memory + RINGS_CONTROL_BYTES, "abcd", 4);
    set_position(memory, WRITTEN_AT, 2);
    assert_int_equal(rings_read(other, bytes, sizeof(bytes)), 2);
    set_position(memory, TAKEN_AT, UINT64_MAX - 5);
    set_position(memory, WRITTEN_AT, 4);
    assert_int_equal(rings_read(other, bytes + 2, sizeof(bytes) - 2), 2);
    assert_string_equal(bytes, "abcd");
    (void)munmap(memory, RINGS_FILE_BYTES);
}

/* What rings_accept() says of the first @count of @files. */
static const char *refusal(const int *files, size_t count)
{
    const char *cause = NULL;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    assert_true(rings_file_pass(sockets[0], files, count));
    assert_null(rings_accept(sockets[1], &cause));
    close_sockets();
    return cause;
}

static void other_files_are_refused(ATTR_UNUSED void **state)
{
    const int zero = rings_file(RINGS_FILE_BYTES, /* is_sealed */ true);
    const int loose = rings_file(RINGS_FILE_BYTES, /* is_sealed */ false);
    const int small = rings_file(4096, /* is_sealed */ true);
    int pipes[2];
    assert_true(zero >= 0 && loose >= 0 && small >= 0 && pipe(pipes) == 0);
    assert_string_equal(refusal(NULL, 0), "no shared memory was passed");
    assert_string_equal(refusal(&zero, 1), "shared memory of another version");
    assert_string_equal(refusal(&loose, 1), "not the shared memory of a node");
    assert_string_equal(refusal(&small, 1), "not the shared memory of a node");
    assert_string_equal(refusal(&pipes[0], 1), "not the shared memory of a node");
    (void)close(zero);
    (void)close(loose);
    (void)close(small);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

static void files_that_were_not_asked_for_are_closed(ATTR_UNUSED void **state)
{
    int files[8];
    for (size_t i = 0; i < 8; i++) {
        files[i] = rings_file(4096, /* is_sealed */ true);
    }
    const int before = dup(files[0]);
    (void)refusal(files, 8);
    const int after = dup(files[0]);
    assert_int_equal(after, before + 1);
    (void)close(before);
    (void)close(after);
    for (size_t i = 0; i < 8; i++) {
        (void)close(files[i]);
    }
}

#define OPEN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN(bytes_come_in_order_both_ways),
        OPEN(parts_are_written_one_after_the_other),
        OPEN(a_reader_is_woken_once),
        OPEN(a_writer_is_woken_when_half_is_free),
        OPEN(quiet_bytes_wake_only_a_reader_that_attends),
        OPEN(a_reader_that_sleeps_can_attend),
        OPEN(a_reader_is_woken_when_quiet_bytes_leave_no_room),
        OPEN(the_end_comes_after_the_last_byte),
        OPEN(impossible_positions_end_it),
        OPEN(own_positions_are_not_read_back),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(files_that_were_not_asked_for_are_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
