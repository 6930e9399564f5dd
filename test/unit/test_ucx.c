/*
 * Bytes by UCX, between two workers of one process. Skipped where there is no UCX. Runs a second
 * time with fakes/fake_ucx.c, which ends the process where UCX may be used wrongly.
 *
 * Covers: src/fabric/ucx.c src/fabric/ucx_library.c
 */
#include "fabric/ucx.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include <uv.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "fabric/ucx_library.h"

#define FAKE WEFT_TEST_FAKES "/fake_ucx.so"

enum { SENDER, RECEIVER, SIDES, ROUNDS_MAX = 20000, TOTAL_BYTES = 20 << 20, CHUNK_BYTES = 300000 };

static uv_loop_t loops[SIDES];
static struct ucx *sides[SIDES];
static struct ucx_inlet *inlet;
static struct ucx_outlet *outlet;
static uint8_t bytes[CHUNK_BYTES];

static void on_ready(void *context)
{
    *(uint32_t *)context += 1;
}

static uint32_t ready_counts[SIDES];

static struct ucx_outlet *make_outlet(const uint8_t *token)
{
    uint8_t address[UCX_ADDRESS_BYTES_MAX];
    assert_true(ucx_address(sides[RECEIVER], address) > 0);
    return ucx_outlet_create(sides[SENDER], address, token, on_ready, &ready_counts[SENDER]);
}

static int setup(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < SIDES; i++) {
        assert_int_equal(uv_loop_init(&loops[i]), 0);
        assert_int_equal(ucx_create(&loops[i], "127.0.0.1", &sides[i], NULL), WEFT_OK);
    }
    inlet = ucx_inlet_create(sides[RECEIVER], on_ready, &ready_counts[RECEIVER]);
    assert_non_null(inlet);
    outlet = make_outlet(ucx_inlet_token(inlet));
    assert_non_null(outlet);
    return 0;
}

static void close_side(uint32_t side)
{
    ucx_destroy(sides[side]);
    sides[side] = NULL;
    (void)uv_run(&loops[side], UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loops[side]), 0);
}

static int teardown(ATTR_UNUSED void **state)
{
    ucx_outlet_destroy(outlet);
    ucx_inlet_destroy(inlet);
    inlet = NULL;
    outlet = NULL;
    for (uint32_t i = 0; i < SIDES; i++) {
        if (sides[i] != NULL) {
            close_side(i);
        }
    }
    return 0;
}

static void run(uint32_t side)
{
    if (sides[side] != NULL) {
        (void)uv_run(&loops[side], UV_RUN_NOWAIT);
    }
}

static uint8_t byte_at(size_t index)
{
    return (uint8_t)(index * 13 + (index >> 11));
}

/* Write what comes after @sent bytes: how many. */
static ptrdiff_t write_some(struct ucx_outlet *to, size_t sent)
{
    const struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = byte_at(sent + i);
    }
    return ucx_outlet_write(to, &part, 1);
}

static void bytes_come_in_order(ATTR_UNUSED void **state)
{
    size_t sent = 0;
    size_t came = 0;
    for (uint32_t i = 0; i < ROUNDS_MAX && came < TOTAL_BYTES; i++) {
        const ptrdiff_t wrote = write_some(outlet, sent);
        assert_true(wrote >= 0);
        sent += (size_t)wrote;
        run(SENDER);
        run(RECEIVER);
        const ptrdiff_t got = ucx_inlet_read(inlet, bytes, sizeof(bytes) - i % 1000);
        assert_true(got >= 0);
        for (size_t k = 0; k < (size_t)got; k++) {
            assert_int_equal(bytes[k], byte_at(came + k));
        }
        came += (size_t)got;
    }
    assert_true(came >= TOTAL_BYTES);
    assert_true(ready_counts[RECEIVER] > 0);
}

/* UCX alone would queue without bound. */
static void a_receiver_that_stands_still_stops_the_sender(ATTR_UNUSED void **state)
{
    size_t sent = 0;
    uint32_t stuck = 0;
    for (uint32_t i = 0; i < ROUNDS_MAX && stuck < 200; i++) {
        const ptrdiff_t wrote = write_some(outlet, sent);
        assert_true(wrote >= 0);
        sent += (size_t)wrote;
        stuck = wrote == 0 ? stuck + 1 : 0;
        run(SENDER);
    }
    assert_int_equal(stuck, 200);
    assert_true(sent < 64 << 20);
}

/* What a receiver has not read is bounded, too. */
static void what_is_not_read_is_left_in_the_network(ATTR_UNUSED void **state)
{
    size_t sent = 0;
    uint32_t stuck = 0;
    for (uint32_t i = 0; i < ROUNDS_MAX && stuck < 200; i++) {
        const ptrdiff_t wrote = write_some(outlet, sent);
        assert_true(wrote >= 0);
        sent += (size_t)wrote;
        stuck = wrote == 0 ? stuck + 1 : 0;
        run(SENDER);
        run(RECEIVER);
    }
    assert_int_equal(stuck, 200);
    assert_true(sent < 64 << 20);
}

/* Let what was sent arrive. */
static void settle(void)
{
    for (uint32_t i = 0; i < 500; i++) {
        run(SENDER);
        run(RECEIVER);
    }
}

/* Read what comes next, however long a busy machine takes to bring it. */
static ptrdiff_t read_next(void)
{
    ptrdiff_t got = 0;
    for (uint32_t i = 0; i < ROUNDS_MAX && got == 0; i++) {
        run(SENDER);
        run(RECEIVER);
        got = ucx_inlet_read(inlet, bytes, sizeof(bytes));
        uv_sleep(got == 0 ? 1 : 0);
    }
    return got;
}

/* At the end it goes away while it connects: UCX 1.13 ended the process, in one of ten runs. */
static void what_has_no_token_is_dropped(ATTR_UNUSED void **state)
{
    const uint8_t guess[UCX_TOKEN_BYTES] = {1, 2, 3};
    struct ucx_outlet *stranger = make_outlet(guess);
    assert_true(write_some(stranger, 0) > 0);
    settle();
    assert_int_equal(ucx_inlet_read(inlet, bytes, sizeof(bytes)), 0);
    assert_true(write_some(outlet, 0) > 0);
    assert_true(read_next() > 0);
    ucx_outlet_destroy(stranger);
}

static void a_missing_message_ends_it(ATTR_UNUSED void **state)
{
    assert_true(write_some(outlet, 0) > 0);
    assert_true(read_next() > 0);
    struct ucx_outlet *second = make_outlet(ucx_inlet_token(inlet)); /* Which counts from 0. */
    assert_true(write_some(second, 0) > 0);
    ptrdiff_t got = 1;
    while (got > 0) {
        got = read_next();
    }
    assert_int_equal(got, -1);
    ucx_outlet_destroy(second);
}

static void a_receiver_that_is_gone_breaks_its_outlet(ATTR_UNUSED void **state)
{
    ptrdiff_t wrote = write_some(outlet, 0);
    assert_true(wrote > 0);
    settle();
    ucx_inlet_destroy(inlet);
    inlet = NULL;
    close_side(RECEIVER);
    for (uint32_t i = 0; i < ROUNDS_MAX && wrote >= 0; i++) {
        wrote = write_some(outlet, 0);
        run(SENDER);
    }
    assert_int_equal(wrote, -1);
}

static void what_is_under_way_may_be_given_up(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < 100; i++) {
        (void)write_some(outlet, 0);
    }
    run(RECEIVER);
    ucx_outlet_destroy(outlet);
    outlet = NULL;
    settle();
    ucx_inlet_destroy(inlet);
    inlet = NULL;
}

static char wanted[256]; /* What the environment says of the library. "": nothing. */

static bool is_fake(void)
{
    return strcmp(wanted, FAKE) == 0;
}

static void name_library(void)
{
    assert_int_equal(wanted[0] == '\0' ? unsetenv("WEFT_UCX") : setenv("WEFT_UCX", wanted, 1), 0);
}

static void on_time(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

/* Nothing but the message itself ends the wait. */
static void a_loop_that_sleeps_is_woken(ATTR_UNUSED void **state)
{
    const struct iovec part = {.iov_base = bytes, .iov_len = 100};
    uv_timer_t timer;
    assert_int_equal(ucx_outlet_write(outlet, &part, 1), 100);
    assert_int_equal(read_next(), 100); /* They are connected. */
    for (uint32_t i = 0; i < 20; i++) {
        bool is_late = false;
        ptrdiff_t got = 0;
        settle(); /* Both have nothing to do. */
        assert_int_equal(uv_timer_init(&loops[RECEIVER], &timer), 0);
        timer.data = &is_late;
        assert_int_equal(uv_timer_start(&timer, on_time, 10000, 0), 0);
        assert_int_equal(ucx_outlet_write(outlet, &part, 1), 100);
        run(SENDER);
        while (got == 0 && !is_late) {
            (void)uv_run(&loops[RECEIVER], UV_RUN_ONCE);
            got = ucx_inlet_read(inlet, bytes, sizeof(bytes));
        }
        uv_close((uv_handle_t *)&timer, NULL);
        run(RECEIVER);
        assert_int_equal(got, 100);
    }
}

static void on_signal(int number)
{
    (void)number;
}

/* The first test: the library is opened once. */
static void a_library_that_is_not_there_is_said_in_a_line(ATTR_UNUSED void **state)
{
    const struct ucx_library *library;
    struct weft_error error;
    assert_int_equal(setenv("WEFT_UCX", "/no/libucp.so", 1), 0);
    assert_int_equal(ucx_library_open("127.0.0.1", &library, &error), WEFT_NOT_FOUND);
    assert_non_null(strstr(error.message, "UCX cannot be opened (see tools/fetch.sh): /no/"));
    assert_null(strchr(error.message, '\n'));
    assert_int_equal(setenv("WEFT_UCX", "libm.so.6", 1), 0);
    assert_int_equal(ucx_library_open("127.0.0.1", &library, &error), WEFT_NOT_FOUND);
    assert_string_equal(error.message, "UCX has no ucp_get_version()");
    assert_int_equal(setenv("WEFT_UCX", WEFT_TEST_FAKES "/fake_old_ucx.so", 1), 0);
    assert_int_equal(ucx_library_open("127.0.0.1", &library, &error), WEFT_NOT_FOUND);
    assert_string_equal(error.message, "UCX 1.13 is too old: 1.14 or newer is needed (WEFT_UCX)");
    name_library();
}

static void the_process_stays_as_it_was(ATTR_UNUSED void **state)
{
    const struct ucx_library *library;
    const struct sigaction own = {.sa_handler = on_signal};
    struct sigaction found;
    assert_int_equal(sigaction(SIGSEGV, &own, NULL), 0);
    if (ucx_library_open("127.0.0.1", &library, NULL) != WEFT_OK) {
        skip();
    }
    assert_int_equal(sigaction(SIGSEGV, NULL, &found), 0);
    assert_true(found.sa_handler == on_signal);
    assert_int_equal(signal(SIGSEGV, SIG_DFL) == SIG_ERR, 0);
    assert_non_null(getenv("UCX_TCP_CONN_NB"));
    assert_string_equal(getenv("UCX_TCP_CONN_NB"), "y"); /* Else a black hole blocks the loop. */
    assert_non_null(getenv("UCX_NET_DEVICES"));
    assert_string_equal(getenv("UCX_NET_DEVICES"), "lo"); /* Else it listens everywhere. */
}

/* One that knows the address and speaks UCX, but is no node. */
struct stranger {
    const struct ucx_library *library;
    void *context;
    void *worker;
    void *endpoint;
};

static void open_stranger(struct stranger *stranger)
{
    const struct ucx_params params = {.mask = UCX_PARAMS_FEATURES, .features = UCX_FEATURE_AM};
    const struct ucx_worker_params worker_params = {
        .mask = UCX_WORKER_THREAD_MODE, .thread_mode = UCX_THREAD_SINGLE};
    uint8_t address[UCX_ADDRESS_BYTES_MAX];
    const struct ucx_endpoint_params endpoint = {.mask = UCX_EP_ADDRESS, .address = address};
    void *config = NULL;
    assert_int_equal(ucx_library_open("127.0.0.1", &stranger->library, NULL), WEFT_OK);
    assert_true(ucx_address(sides[RECEIVER], address) > 0);
    assert_int_equal(stranger->library->config_read(NULL, NULL, &config), UCX_OK);
    assert_int_equal(
        stranger->library->init_version(
            UCX_API_MAJOR, UCX_API_MINOR, &params, config, &stranger->context),
        UCX_OK);
    stranger->library->config_release(config);
    assert_int_equal(
        stranger->library->worker_create(stranger->context, &worker_params, &stranger->worker),
        UCX_OK);
    assert_int_equal(
        stranger->library->ep_create(stranger->worker, &endpoint, &stranger->endpoint), UCX_OK);
}

static void close_stranger(const struct stranger *stranger)
{
    const struct ucx_request_params force = {
        .mask = UCX_REQUEST_FLAGS, .flags = UCX_EP_CLOSE_FORCE};
    void *request = stranger->library->ep_close_nbx(stranger->endpoint, &force);
    if (ucx_is_request(request)) {
        stranger->library->request_free(request);
    }
    stranger->library->worker_destroy(stranger->worker);
    stranger->library->cleanup(stranger->context);
}

/* UCX 1.13 read behind the end of its handlers then, and died. */
static void a_message_that_no_handler_is_for_harms_nothing(ATTR_UNUSED void **state)
{
    static const unsigned ids[] = {1, 2, 31, 200, 65535};
    static uint8_t text[100];
    struct stranger stranger;
    if (is_fake()) {
        skip(); /* It ends the process. */
    }
    open_stranger(&stranger);
    for (uint32_t i = 0; i < 500; i++) {
        const struct ucx_request_params params = {
            .mask = UCX_REQUEST_FLAGS, .flags = UCX_SEND_EAGER};
        void *request = stranger.library->am_send_nbx(
            stranger.endpoint, ids[i % 5], text, 32, text, sizeof(text), &params);
        assert_true(request == NULL || ucx_is_request(request));
        if (request != NULL) {
            stranger.library->request_free(request);
        }
        (void)stranger.library->worker_progress(stranger.worker);
        run(RECEIVER);
    }
    bytes_come_in_order(NULL); /* Between those that know each other. */
    close_stranger(&stranger);
}

#define OPEN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static const struct CMUnitTest tests_of_library[] = {
    cmocka_unit_test(a_library_that_is_not_there_is_said_in_a_line),
    cmocka_unit_test(the_process_stays_as_it_was),
};

static const struct CMUnitTest tests[] = {
    OPEN(bytes_come_in_order),
    OPEN(a_loop_that_sleeps_is_woken),
    OPEN(a_receiver_that_stands_still_stops_the_sender),
    OPEN(what_is_not_read_is_left_in_the_network),
    OPEN(what_has_no_token_is_dropped),
    OPEN(a_message_that_no_handler_is_for_harms_nothing),
    OPEN(a_missing_message_ends_it),
    OPEN(a_receiver_that_is_gone_breaks_its_outlet),
    OPEN(what_is_under_way_may_be_given_up),
};

int main(void)
{
    const struct ucx_library *library;
    const char *given = getenv("WEFT_UCX");
    (void)snprintf(wanted, sizeof(wanted), "%s", given == NULL ? "" : given);
    const int failures = cmocka_run_group_tests(tests_of_library, NULL, NULL);
    if (ucx_library_open("127.0.0.1", &library, NULL) != WEFT_OK) {
        (void)fprintf(stderr, "skipped: there is no UCX; see tools/fetch.sh\n");
        return failures;
    }
    return failures + cmocka_run_group_tests(tests, NULL, NULL);
}
