/*
 * Packets and the channels that carry them: order, files, splits, and nonsense from outside.
 *
 * Covers: src/engine/packet.c, src/engine/channel.c
 */
#include "engine/channel.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "engine/tray.h"
#include "unit/thread_seen.h"

struct pair {
    struct channel here;
    struct channel there;
};

static void pair_init(struct pair *pair)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    channel_init(&pair->here, ends[0]);
    channel_init(&pair->there, ends[1]);
}

static void pair_deinit(struct pair *pair)
{
    channel_deinit(&pair->here);
    channel_deinit(&pair->there);
}

static void put(struct packet *packet, uint32_t kind, const char *text)
{
    packet_start(packet, kind);
    packet_put(packet, text, strlen(text) + 1);
}

static void packets_come_whole_and_in_order(ATTR_UNUSED void **state)
{
    struct pair pair;
    struct packet packet = {.kind = 0};
    struct received *received;
    pair_init(&pair);
    assert_int_equal(channel_receive(&pair.there, false, &received), CHANNEL_EMPTY);
    for (uint32_t i = 0; i < 3; i++) {
        put(&packet, i, i == 1 ? "" : "some text");
        assert_true(channel_send(&pair.here, &packet));
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(channel_receive(&pair.there, false, &received), CHANNEL_RECEIVED);
        assert_int_equal(received->kind, i);
        assert_string_equal((const char *)received->bytes, i == 1 ? "" : "some text");
        assert_int_equal(received->file_count, 0);
    }
    assert_int_equal(channel_receive(&pair.there, false, &received), CHANNEL_EMPTY);
    packet_deinit(&packet);
    pair_deinit(&pair);
}

static void what_is_held_goes_with_the_next(ATTR_UNUSED void **state)
{
    struct pair pair;
    struct packet packet = {.kind = 0};
    struct received *received;
    uint32_t place;
    pair_init(&pair);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 2; i++) {
            put(&packet, i, "held");
            assert_true(packet_hold(&packet));
            assert_int_equal(channel_receive(&pair.there, false, &received), CHANNEL_EMPTY);
        }
        put(&packet, 2, "the last");
        assert_true(packet_put_file(&packet, STDIN_FILENO, /* is_owned */ false, &place));
        assert_true(channel_send(&pair.here, &packet));
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(channel_receive(&pair.there, false, &received), CHANNEL_RECEIVED);
            assert_int_equal(received->kind, i);
            assert_string_equal((const char *)received->bytes, i == 2 ? "the last" : "held");
            assert_int_equal(received->file_count, i == 2 ? 1 : 0);
        }
    }
    packet_deinit(&packet);
    pair_deinit(&pair);
}

/* More than the socket takes at once waits, with its files, and nothing overtakes it. */
static void what_the_socket_does_not_take_is_sent_later(ATTR_UNUSED void **state)
{
    enum { BYTES = 3 << 20, PACKETS = 5 };
    struct pair pair;
    struct packet packet = {.kind = 0};
    struct received *received;
    uint8_t *large = malloc(BYTES);
    uint32_t taken = 0;
    pair_init(&pair);
    for (uint32_t i = 0; i < PACKETS; i++) {
        uint32_t place;
        memset(large, (int)i, BYTES);
        packet_start(&packet, i);
        packet_put(&packet, large, BYTES);
        FILE *file = tmpfile();
        assert_int_equal(fprintf(file, "%u", i), 1);
        assert_int_equal(fflush(file), 0);
        assert_true(packet_put_file(&packet, fileno(file), /* is_owned */ false, &place));
        assert_true(channel_send(&pair.here, &packet));
        assert_int_equal(fclose(file), 0); /* The channel has a file of its own by now. */
    }
    assert_true(channel_is_blocked(&pair.here));
    while (taken < PACKETS) {
        assert_true(channel_flush(&pair.here));
        if (channel_receive(&pair.there, false, &received) != CHANNEL_RECEIVED) {
            continue;
        }
        char text[2] = "";
        assert_int_equal(received->kind, taken);
        assert_int_equal(received->count, BYTES);
        assert_int_equal(received->bytes[0], taken);
        assert_int_equal(received->bytes[BYTES - 1], taken);
        assert_int_equal(received->file_count, 1);
        assert_int_equal(pread(received->files[0], text, 1, 0), 1);
        assert_int_equal(text[0], '0' + (int)taken);
        taken++;
    }
    assert_false(channel_is_blocked(&pair.here));
    free(large);
    packet_deinit(&packet);
    pair_deinit(&pair);
}

static void files_that_are_not_taken_are_closed(ATTR_UNUSED void **state)
{
    struct pair pair;
    struct packet packet = {.kind = 0};
    struct received *received;
    struct stat stat;
    uint32_t place;
    pair_init(&pair);
    put(&packet, 1, "with two files");
    assert_true(packet_put_file(&packet, dup(0), /* is_owned */ true, &place));
    assert_true(packet_put_file(&packet, dup(0), /* is_owned */ true, &place));
    assert_true(channel_send(&pair.here, &packet));
    assert_int_equal(channel_receive(&pair.there, false, &received), CHANNEL_RECEIVED);
    const int kept = received->files[0];
    const int left = received->files[1];
    received->files[0] = -1;
    assert_int_equal(channel_receive(&pair.there, false, &received), CHANNEL_EMPTY);
    assert_int_equal(fstat(kept, &stat), 0);
    assert_int_equal(fstat(left, &stat), -1);
    assert_int_equal(close(kept), 0);
    packet_deinit(&packet);
    pair_deinit(&pair);
}

/* Lengths and counts of files that are not there. */
static void nonsense_is_called_so(ATTR_UNUSED void **state)
{
    static const struct packet_head heads[] = {
        {.kind = 1, .bytes = PACKET_BYTES_MAX + 1},
        {.kind = 1, .bytes = UINT64_MAX},
        {.kind = 1, .bytes = UINT64_MAX - 8, .file_count = 1},
        {.kind = 1, .file_count = 1},
        {.kind = 1, .file_count = PACKET_FILES_MAX + 1},
        {.kind = 1, .file_count = UINT32_MAX},
    };
    for (uint32_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        struct pair pair;
        struct received *received;
        pair_init(&pair);
        assert_int_equal(
            write(pair.here.socket, &heads[i], sizeof(heads[i])), (ssize_t)sizeof(heads[i]));
        assert_int_equal(channel_receive(&pair.there, false, &received), CHANNEL_NONSENSE);
        pair_deinit(&pair);
    }
}

static void a_packet_that_ends_early_never_comes(ATTR_UNUSED void **state)
{
    const struct packet_head head = {.kind = 1, .bytes = 100};
    struct pair pair;
    struct received *received;
    pair_init(&pair);
    assert_int_equal(write(pair.here.socket, &head, sizeof(head)), (ssize_t)sizeof(head));
    assert_int_equal(write(pair.here.socket, "half", 4), 4);
    assert_int_equal(channel_receive(&pair.there, false, &received), CHANNEL_EMPTY);
    assert_int_equal(close(pair.here.socket), 0);
    pair.here.socket = -1;
    assert_int_equal(channel_receive(&pair.there, false, &received), CHANNEL_GONE);
    struct packet packet = {.kind = 0};
    put(&packet, 1, "no reader");
    assert_false(channel_send(&pair.there, &packet));
    packet_deinit(&packet);
    pair_deinit(&pair);
}

static void a_reader_never_leaves_its_packet(ATTR_UNUSED void **state)
{
    static const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const struct received received = {.bytes = bytes, .count = sizeof(bytes)};
    struct packet_reader reader;
    uint32_t value;
    uint64_t large = 1;
    reader_init(&reader, &received);
    reader_take(&reader, &value, sizeof(value));
    assert_int_equal(value, 0x04030201);
    reader_take(&reader, &large, sizeof(large));
    assert_true(reader.is_bad);
    assert_int_equal(large, 0);
    reader_take(&reader, &value, sizeof(value)); /* It would have fitted. */
    assert_int_equal(value, 0);
    reader_init(&reader, &received);
    assert_null(reader_skip(&reader, SIZE_MAX));
    assert_true(reader.is_bad);
}

static void a_packet_has_bounds(ATTR_UNUSED void **state)
{
    struct pair pair;
    struct packet packet = {.kind = 0};
    uint32_t place;
    pair_init(&pair);
    packet_start(&packet, 1);
    packet_put(&packet, "", SIZE_MAX / 2); /* Is never read. */
    assert_true(packet.is_short);
    assert_false(channel_send(&pair.here, &packet));
    packet_start(&packet, 1);
    for (uint32_t i = 0; i < PACKET_FILES_MAX; i++) {
        assert_true(packet_put_file(&packet, 0, /* is_owned */ false, &place));
        assert_int_equal(place, i);
    }
    assert_false(packet_put_file(&packet, 0, /* is_owned */ false, &place));
    packet_deinit(&packet);
    pair_deinit(&pair);
}

/* A thread that waits for a packet. */
struct waiter {
    struct channel *channel;
    _Atomic pid_t thread;
    enum channel_receipt receipt;
    uint32_t kind;
    long sleeps;
};

static void *wait_for_packet(void *context)
{
    struct waiter *waiter = context;
    struct received *received;
    struct rusage before;
    struct rusage after;
    (void)getrusage(RUSAGE_THREAD, &before);
    waiter->thread = gettid();
    waiter->receipt = channel_await(waiter->channel, &received);
    waiter->kind = waiter->receipt == CHANNEL_RECEIVED ? received->kind : 0;
    (void)getrusage(RUSAGE_THREAD, &after);
    waiter->sleeps = after.ru_nvcsw - before.ru_nvcsw;
    return NULL;
}

static void let_sleep(const struct waiter *waiter)
{
    while (waiter->thread == 0 || !thread_is_asleep(waiter->thread)) {
        (void)sched_yield();
    }
}

/* Reports go out over the channel that a thread waits at for orders. */
static void what_others_send_does_not_wake_one_that_waits(ATTR_UNUSED void **state)
{
    enum { SENT = 64 };
    struct pair pair;
    struct packet packet = {.kind = 0};
    struct received *received;
    pthread_t thread;
    pair_init(&pair);
    struct waiter waiter = {.channel = &pair.here};
    assert_int_equal(pthread_create(&thread, NULL, wait_for_packet, &waiter), 0);
    for (uint32_t i = 0; i < SENT; i++) {
        let_sleep(&waiter);
        put(&packet, i, "a report");
        assert_true(channel_send(&pair.here, &packet));
        assert_int_equal(channel_receive(&pair.there, true, &received), CHANNEL_RECEIVED);
    }
    put(&packet, 7, "an order");
    assert_true(channel_send(&pair.there, &packet));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(waiter.receipt, CHANNEL_RECEIVED);
    assert_int_equal(waiter.kind, 7);
    assert_in_range(waiter.sleeps, 1, SENT / 2); /* Not once for each of them. */
    packet_deinit(&packet);
    pair_deinit(&pair);
}

/* Two packets in one message: the second is there without another look at the socket. */
static void one_that_waits_takes_what_has_come(ATTR_UNUSED void **state)
{
    struct pair pair;
    struct packet packet = {.kind = 0};
    struct received *received;
    pair_init(&pair);
    put(&packet, 1, "held");
    assert_true(packet_hold(&packet));
    put(&packet, 2, "sent");
    assert_true(channel_send(&pair.there, &packet));
    assert_int_equal(channel_await(&pair.here, &received), CHANNEL_RECEIVED);
    assert_int_equal(received->kind, 1);
    assert_int_equal(channel_await(&pair.here, &received), CHANNEL_RECEIVED);
    assert_int_equal(received->kind, 2);
    channel_deinit(&pair.there);
    assert_int_equal(channel_await(&pair.here, &received), CHANNEL_GONE);
    packet_deinit(&packet);
    channel_deinit(&pair.here);
}

/* What fits goes by the tray while that is open, and all else over the socket. */
static void an_open_tray_is_used_before_the_socket(ATTR_UNUSED void **state)
{
    static uint8_t large[TRAY_BYTES_MAX];
    struct pair pair;
    struct packet packet = {.kind = 0};
    struct received *received;
    uint32_t place;
    int file = -1;
    char byte;
    pair_init(&pair);
    pair.there.tray_in = tray_create(&file);
    pair.here.tray_out = tray_attach(file);
    tray_open(pair.there.tray_in);
    put(&packet, 1, "held");
    assert_true(packet_hold(&packet));
    put(&packet, 2, "in the tray");
    assert_true(channel_send(&pair.here, &packet));
    assert_int_equal(recv(pair.there.socket, &byte, 1, MSG_DONTWAIT), -1);
    put(&packet, 3, "over the socket");
    assert_true(channel_send(&pair.here, &packet));
    for (uint32_t i = 1; i <= 2; i++) {
        assert_int_equal(channel_receive(&pair.there, false, &received), CHANNEL_RECEIVED);
        assert_int_equal(received->kind, i);
        assert_string_equal((const char *)received->bytes, i == 1 ? "held" : "in the tray");
    }
    /* The socket is not asked: it says itself that there is something. */
    assert_int_equal(channel_receive(&pair.there, false, &received), CHANNEL_EMPTY);
    assert_int_equal(channel_receive(&pair.there, false, &received), CHANNEL_RECEIVED);
    assert_int_equal(received->kind, 3);
    for (uint32_t i = 0; i < 2; i++) { /* What has a file, or is too large. */
        tray_open(pair.there.tray_in);
        packet_start(&packet, 4);
        packet_put(&packet, large, i == 0 ? 1 : sizeof(large));
        assert_true(i == 1 || packet_put_file(&packet, STDIN_FILENO, false, &place));
        assert_true(channel_send(&pair.here, &packet));
        assert_int_equal(tray_close(pair.there.tray_in), i == 0 ? TRAY_OPEN : TRAY_CLOSED);
        assert_int_equal(channel_receive(&pair.there, true, &received), CHANNEL_RECEIVED);
        assert_int_equal(received->kind, 4);
        assert_int_equal(received->file_count, 1 - i);
    }
    packet_deinit(&packet);
    tray_destroy(pair.there.tray_in);
    tray_destroy(pair.here.tray_out);
    pair_deinit(&pair);
}

/* A packet has come in part over the socket, and another one lies in the tray. */
static void the_rest_of_a_packet_comes_before_the_tray(ATTR_UNUSED void **state)
{
    struct pair pair;
    struct packet packet = {.kind = 0};
    struct received *received;
    int file = -1;
    pair_init(&pair);
    pair.there.tray_in = tray_create(&file);
    pair.here.tray_out = tray_attach(file);
    put(&packet, 1, "in two parts");
    assert_true(packet_end(&packet));
    assert_int_equal(send(pair.here.socket, packet.bytes, 20, 0), 20);
    assert_int_equal(channel_receive(&pair.there, false, &received), CHANNEL_EMPTY);
    const ssize_t rest = (ssize_t)packet.used - 20;
    assert_int_equal(send(pair.here.socket, packet.bytes + 20, (size_t)rest, 0), rest);
    packet_clear(&packet);
    tray_open(pair.there.tray_in);
    put(&packet, 2, "in the tray");
    assert_true(channel_send(&pair.here, &packet));
    for (uint32_t kind = 1; kind <= 2; kind++) {
        while (channel_receive(&pair.there, false, &received) != CHANNEL_RECEIVED) {
        }
        assert_int_equal(received->kind, kind);
    }
    packet_deinit(&packet);
    tray_destroy(pair.there.tray_in);
    tray_destroy(pair.here.tray_out);
    pair_deinit(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_come_whole_and_in_order),
        cmocka_unit_test(what_is_held_goes_with_the_next),
        cmocka_unit_test(what_the_socket_does_not_take_is_sent_later),
        cmocka_unit_test(files_that_are_not_taken_are_closed),
        cmocka_unit_test(nonsense_is_called_so),
        cmocka_unit_test(a_packet_that_ends_early_never_comes),
        cmocka_unit_test(a_reader_never_leaves_its_packet),
        cmocka_unit_test(a_packet_has_bounds),
        cmocka_unit_test(what_others_send_does_not_wake_one_that_waits),
        cmocka_unit_test(one_that_waits_takes_what_has_come),
        cmocka_unit_test(an_open_tray_is_used_before_the_socket),
        cmocka_unit_test(the_rest_of_a_packet_comes_before_the_tray),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
