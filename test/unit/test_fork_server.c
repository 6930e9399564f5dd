/*
 * test_fork_server.c - children of children: what they print, and how they end.
 *
 * Covers: src/function/fork_server.c, src/function/fork_serving.c, src/function/fork_output.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "function/fork_output.h"
#include "function/fork_server.h"

static void be_inner(ATTR_UNUSED const void *context, const void *argument)
{
    (void)dprintf(STDERR_FILENO, "inner says %s\n", (const char *)argument);
    _exit(7);
}

static enum weft_status start_inner(struct fork_server *server)
{
    const struct fork_options options = {
        .run = be_inner, .name = "inner", .printed = "inner printed", .key = "of", .is_leaf = true};
    return fork_server_start(server, &options, NULL);
}

/* Prints, has a child that prints, and waits until its socket is closed. */
static void be_outer(ATTR_UNUSED const void *context, const void *argument)
{
    const struct fork_order order = {.argument = "b", .bytes = 2, .label = "two"};
    struct fork_server server;
    struct fork_child child;
    struct fork_ended ended;
    char byte;
    (void)dprintf(STDOUT_FILENO, "outer says %s\n", (const char *)argument);
    if (start_inner(&server) != WEFT_OK ||
        fork_server_fork(&server, &order, &child, NULL) != WEFT_OK) {
        _exit(EXIT_FAILURE);
    }
    (void)read(child.socket, &byte, 1); /* Until it has ended. */
    fork_server_end(&server, &child, &ended);
    fork_server_stop(&server);
    (void)send(FORK_FILE_FIRST, &ended.number, sizeof(ended.number), 0);
    (void)recv(FORK_FILE_FIRST, &byte, 1, 0);
}

static void what_is_printed_goes_to_the_log_once(ATTR_UNUSED void **state)
{
    const struct fork_options options = {
        .run = be_outer, .name = "outer", .printed = "outer printed", .key = "of"};
    const struct fork_order order = {.argument = "a", .bytes = 2, .label = "one"};
    struct fork_server server;
    struct fork_child child;
    struct fork_ended ended;
    char log[1024] = "";
    int ends[2];
    int number = 0;
    assert_int_equal(pipe(ends), 0);
    fork_output_set_log(ends[1]);
    assert_int_equal(fork_server_start(&server, &options, NULL), WEFT_OK);
    assert_int_equal(fork_server_fork(&server, &order, &child, NULL), WEFT_OK);
    assert_int_equal(recv(child.socket, &number, sizeof(number), 0), sizeof(number));
    assert_int_equal(number, 7); /* How the inner one ended. */
    fork_server_end(&server, &child, &ended);
    fork_server_stop(&server);
    (void)close(ends[1]);
    size_t used = 0;
    ssize_t count;
    while ((count = read(ends[0], log + used, sizeof(log) - 1 - used)) > 0) {
        used += (size_t)count;
    }
    assert_non_null(strstr(log, "outer printed"));
    assert_non_null(strstr(log, "of=one"));
    assert_non_null(strstr(log, "outer says a"));
    assert_non_null(strstr(log, "inner printed"));
    assert_non_null(strstr(log, "of=two"));
    assert_null(strstr(strstr(log, "outer printed") + 1, "outer printed"));
    (void)close(ends[0]);
    fork_output_set_log(STDERR_FILENO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed_goes_to_the_log_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
