/* Encrypted bytes between OpenSSL and a socket: all are taken, and none is lost or out of order. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/bio.h>
#include <cmocka.h>

#include "fabric/sealed.h"

enum { RECORD = 16406, RECORDS = 60 }; /* More than the socket has room for. */

struct pair {
    int sockets[2];
    struct sealed *sealed; /* At the first of them. */
    BIO *bio;
};

static struct pair open_pair(void)
{
    struct pair pair = {.sockets = {-1, -1}};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.sockets), 0);
    pair.sealed = sealed_create(pair.sockets[0]);
    assert_non_null(pair.sealed);
    pair.bio = sealed_bio(pair.sealed);
    assert_non_null(pair.bio);
    return pair;
}

static void close_pair(struct pair *pair)
{
    (void)BIO_free(pair->bio);
    sealed_destroy(pair->sealed);
    (void)close(pair->sockets[0]);
    if (pair->sockets[1] >= 0) {
        (void)close(pair->sockets[1]);
    }
}

static uint8_t byte_at(size_t at)
{
    return (uint8_t)(at * 7 + at / 251);
}

static void fill(uint8_t *bytes, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = byte_at(first + i);
    }
}

static void check(const uint8_t *bytes, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(bytes[i], byte_at(first + i));
    }
}

static void what_does_not_fit_the_socket_waits(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    static uint8_t record[RECORD];
    for (size_t i = 0; i < RECORDS; i++) {
        fill(record, i * RECORD, RECORD);
        sealed_expect_more(pair.sealed, i % 2 == 0);
        assert_int_equal(BIO_write(pair.bio, record, RECORD), RECORD);
    }
    assert_int_equal(BIO_flush(pair.bio), 1);
    assert_false(sealed_is_sent(pair.sealed));
    assert_true(sealed_flush(pair.sealed)); /* There is still no room, which is not an error. */
    assert_false(sealed_is_sent(pair.sealed));
    for (size_t at = 0; at < (size_t)RECORD * RECORDS;) {
        const ssize_t got = recv(pair.sockets[1], record, sizeof(record), MSG_DONTWAIT);
        if (got < 0) {
            assert_int_equal(errno, EAGAIN);
            assert_true(sealed_flush(pair.sealed));
            continue;
        }
        check(record, at, (size_t)got);
        at += (size_t)got;
    }
    assert_true(sealed_is_sent(pair.sealed));
    close_pair(&pair);
}

static void what_is_read_is_handed_on_as_it_is_asked_for(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    static uint8_t sent[3 * RECORD];
    static uint8_t got[3 * RECORD];
    fill(sent, 0, sizeof(sent));
    assert_int_equal(BIO_read(pair.bio, got, 5), -1);
    assert_true(BIO_should_retry(pair.bio));
    assert_int_equal(send(pair.sockets[1], sent, sizeof(sent), 0), sizeof(sent));
    assert_int_equal(BIO_read(pair.bio, got, 5), 5);
    assert_true(sealed_has_bytes(pair.sealed));
    assert_true(sealed_was_short(pair.sealed));
    size_t at = 5;
    while (at < sizeof(sent)) { /* A record, as far as it is there, then the head of the next. */
        const int asked = at % 2 == 0 ? 5 : RECORD - 5;
        const int some = BIO_read(pair.bio, got + at, asked);
        assert_in_range(some, 1, asked);
        at += (size_t)some;
    }
    check(got, 0, sizeof(got));
    assert_false(sealed_has_bytes(pair.sealed));
    assert_int_equal(BIO_read(pair.bio, got, 5), -1);
    assert_true(BIO_should_retry(pair.bio));
    (void)close(pair.sockets[1]);
    pair.sockets[1] = -1;
    assert_int_equal(BIO_read(pair.bio, got, 5), 0); /* The end, not an error. */
    assert_false(BIO_should_retry(pair.bio));
    close_pair(&pair);
}

static void a_broken_socket_is_an_error(void **state)
{
    (void)state;
    struct pair pair = open_pair();
    static uint8_t record[RECORD];
    while (sealed_is_sent(pair.sealed)) {
        assert_int_equal(BIO_write(pair.bio, record, RECORD), RECORD);
    }
    (void)close(pair.sockets[1]);
    pair.sockets[1] = -1;
    assert_false(sealed_flush(pair.sealed));
    assert_int_equal(errno, EPIPE);
    close_pair(&pair);
    pair = open_pair();
    (void)close(pair.sockets[1]);
    pair.sockets[1] = -1;
    assert_int_equal(BIO_write(pair.bio, record, RECORD), -1);
    assert_false(BIO_should_retry(pair.bio));
    close_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_the_socket_waits),
        cmocka_unit_test(what_is_read_is_handed_on_as_it_is_asked_for),
        cmocka_unit_test(a_broken_socket_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
