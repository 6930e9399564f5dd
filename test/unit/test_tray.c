#include "engine/tray.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"

/* Both sides, with a mapping each. */
struct sides {
    struct tray *receiver;
    struct tray *sender;
};

static struct sides sides_open(void)
{
    int file = -1;
    struct sides sides = {.receiver = tray_create(&file)};
    assert_non_null(sides.receiver);
    assert_true(file >= 0);
    sides.sender = tray_attach(file);
    assert_non_null(sides.sender);
    assert_int_equal(fcntl(file, F_GETFD), -1);
    return sides;
}

static void sides_close(struct sides *sides)
{
    tray_destroy(sides->receiver);
    tray_destroy(sides->sender);
}

static void a_message_is_left_in_an_open_tray_once(ATTR_UNUSED void **state)
{
    struct sides sides = sides_open();
    char text[8];
    assert_false(tray_put(sides.sender, "one", 4));
    assert_int_equal(tray_take(sides.receiver, text, sizeof(text)), 0);
    tray_open(sides.receiver);
    assert_int_equal(tray_take(sides.receiver, text, sizeof(text)), 0);
    assert_true(tray_put(sides.sender, "two", 4));
    assert_false(tray_put(sides.sender, "three", 6));
    tray_open(sides.receiver); /* What is in it stays. */
    assert_false(tray_put(sides.sender, "four", 5));
    assert_int_equal(tray_take(sides.receiver, text, sizeof(text)), 4);
    assert_string_equal(text, "two");
    assert_int_equal(tray_take(sides.receiver, text, sizeof(text)), 0);
    assert_false(tray_put(sides.sender, "five", 5)); /* It is closed until it is opened again. */
    tray_open(sides.receiver);
    assert_true(tray_put(sides.sender, "six", 4));
    sides_close(&sides);
    tray_destroy(NULL);
}

static void who_closes_it_learns_what_it_was(ATTR_UNUSED void **state)
{
    struct sides sides = sides_open();
    char text[8];
    assert_int_equal(tray_close(sides.receiver), TRAY_CLOSED);
    tray_open(sides.receiver);
    assert_int_equal(tray_close(sides.receiver), TRAY_OPEN);
    assert_int_equal(tray_close(sides.receiver), TRAY_CLOSED);
    assert_false(tray_put(sides.sender, "late", 5));
    tray_open(sides.receiver);
    assert_true(tray_put(sides.sender, "soon", 5));
    assert_int_equal(tray_close(sides.receiver), TRAY_FULL);
    assert_int_equal(tray_close(sides.receiver), TRAY_FULL); /* It is still to be taken. */
    assert_int_equal(tray_take(sides.receiver, text, sizeof(text)), 5);
    sides_close(&sides);
}

static void what_is_too_large_closes_it(ATTR_UNUSED void **state)
{
    static uint8_t bytes[TRAY_BYTES_MAX + 1];
    static uint8_t taken[TRAY_BYTES_MAX];
    struct sides sides = sides_open();
    tray_open(sides.receiver);
    assert_false(tray_put(sides.sender, bytes, sizeof(bytes)));
    assert_int_equal(tray_close(sides.receiver), TRAY_CLOSED);
    memset(bytes, 7, sizeof(bytes));
    tray_open(sides.receiver);
    assert_true(tray_put(sides.sender, bytes, TRAY_BYTES_MAX));
    assert_int_equal(tray_take(sides.receiver, taken, sizeof(taken)), TRAY_BYTES_MAX);
    assert_memory_equal(taken, bytes, TRAY_BYTES_MAX);
    sides_close(&sides);
}

/* The sender writes to the memory itself: nothing beyond the message, or the room, is read. */
static void a_mad_sender_is_not_believed(ATTR_UNUSED void **state)
{
    int file = -1;
    struct tray *tray = tray_create(&file);
    static uint8_t taken[2 * TRAY_BYTES_MAX];
    assert_non_null(tray);
    uint32_t *words = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_ptr_not_equal(words, MAP_FAILED);
    words[0] = TRAY_FULL;
    words[1] = UINT32_MAX;
    assert_int_equal(tray_take(tray, taken, sizeof(taken)), TRAY_BYTES_MAX);
    words[0] = TRAY_FULL;
    assert_int_equal(tray_take(tray, taken, 10), 10);
    words[0] = 77;
    assert_int_equal(tray_close(tray), TRAY_CLOSED);
    assert_int_equal(tray_take(tray, taken, sizeof(taken)), 0);
    assert_int_equal(ftruncate(file, 0), -1);
    assert_int_equal(munmap(words, 16384), 0);
    assert_int_equal(close(file), 0);
    tray_destroy(tray);
}

static void what_could_shrink_is_no_tray(ATTR_UNUSED void **state)
{
    const int file = memfd_create("no-tray", MFD_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, 65536), 0);
    assert_null(tray_attach(file));
    assert_int_equal(fcntl(file, F_GETFD), -1);
}

enum { ROUNDS = 100000, LATER_MAX = 2048, WORDS = TRAY_BYTES_MAX / 4 };

struct race {
    struct sides sides;
    atomic_uint sent;    /* Over the other way. */
    atomic_uint started; /* Rounds that the receiver has begun, */
    atomic_uint ended;   /* and the sender has ended. */
};

static void *send_all(void *context)
{
    static uint32_t words[WORDS]; /* So many that it takes a while to leave them. */
    struct race *race = context;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        while (atomic_load(&race->started) < round) {
            (void)sched_yield();
        }
        words[0] = round;
        words[WORDS - 1] = round;
        if (!tray_put(race->sides.sender, words, sizeof(words))) {
            atomic_store(&race->sent, round);
        }
        atomic_store(&race->ended, round);
    }
    return NULL;
}

/* Each message goes one way, and what the receiver is told when it closes says which may be. */
static void no_message_is_lost_between_two_threads(ATTR_UNUSED void **state)
{
    static uint32_t taken[WORDS];
    static struct race race; /* A sender that goes on after a failure finds it. */
    pthread_t sender;
    race.sides = sides_open();
    assert_int_equal(pthread_create(&sender, NULL, send_all, &race), 0);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        tray_open(race.sides.receiver);
        atomic_store(&race.started, round);
        for (uint32_t i = 0; i < round % LATER_MAX; i++) {
            (void)atomic_load(&race.started); /* A little later each time. */
        }
        const enum tray_state was = tray_close(race.sides.receiver);
        assert_int_not_equal(was, TRAY_CLOSED);
        if (was == TRAY_FULL) {
            const size_t count = tray_take(race.sides.receiver, taken, sizeof(taken));
            assert_int_equal(count, sizeof(taken));
            assert_int_equal(taken[0], round);
            assert_int_equal(taken[WORDS - 1], round);
        }
        while (atomic_load(&race.ended) < round) {
            (void)sched_yield();
        }
        assert_int_equal(atomic_load(&race.sent) == round, was == TRAY_OPEN);
    }
    assert_int_equal(pthread_join(sender, NULL), 0);
    sides_close(&race.sides);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_left_in_an_open_tray_once),
        cmocka_unit_test(who_closes_it_learns_what_it_was),
        cmocka_unit_test(what_is_too_large_closes_it),
        cmocka_unit_test(a_mad_sender_is_not_believed),
        cmocka_unit_test(what_could_shrink_is_no_tray),
        cmocka_unit_test(no_message_is_lost_between_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
