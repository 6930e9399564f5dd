/* Covers: src/server/lobby.c src/server/metrics_process.c */
#include "server/lobby.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
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

static struct lobby *opened(const char *metrics)
{
    const struct lobby_options options = {.http = "127.0.0.1:0", .metrics = metrics};
    struct weft_error error = {.status = WEFT_OK};
    struct lobby *lobby = NULL;
    if (lobby_open(&options, &lobby, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    return lobby;
}

static int connect_to(const char *address)
{
    const char *colon = strrchr(address, ':');
    struct sockaddr_in to = {.sin_family = AF_INET};
    to.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(client >= 0);
    assert_int_equal(connect(client, (const struct sockaddr *)&to, sizeof(to)), 0);
    return client;
}

static void send_text(int client, const char *text)
{
    assert_int_equal(send(client, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* All that comes until the other end is closed. */
static const char *receive(int client)
{
    static char answer[16384];
    size_t length = 0;
    ssize_t got;
    while ((got = recv(client, answer + length, sizeof(answer) - 1 - length, 0)) > 0) {
        length += (size_t)got;
    }
    answer[length] = '\0';
    (void)close(client);
    return answer;
}

static const char *ask(const char *address, const char *text)
{
    const int client = connect_to(address);
    send_text(client, text);
    return receive(client); /* Ends although the client would keep the connection. */
}

#define END " HTTP/1.1\r\nHost: h\r\n\r\n"

static void it_is_live_but_not_ready(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        const char *status;
        const char *part;
    } cases[] = {
        {"GET /v2/health/live" END, "HTTP/1.1 200 ", "{\"live\":true}"},
        {"GET /v2/health/ready" END, "HTTP/1.1 503 ", "{\"ready\":false,\"error\":\"starting"},
        {"GET /v2/health/ready" END, "HTTP/1.1 503 ", "Retry-After: 1\r\n"},
        {"GET /v2/models/m" END, "HTTP/1.1 503 ", "Retry-After: 1\r\n"},
        {"POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
         "HTTP/1.1 503 ", "{\"error\":\"starting"},
        {"POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 500000000\r\n\r\n{",
         "HTTP/1.1 503 ", "Retry-After: 1\r\n"},
        {"GET /v2/../x" END, "HTTP/1.1 400 ", ""},
        {"nonsense\r\n\r\n", "HTTP/1.1 400 ", ""},
    };
    struct lobby *lobby = opened(/* metrics */ NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *answer = ask(lobby_http_address(lobby), cases[i].text);
        if (strncmp(answer, cases[i].status, strlen(cases[i].status)) != 0 ||
            strstr(answer, cases[i].part) == NULL) {
            fail_msg("%s: %s", cases[i].text, answer);
        }
    }
    lobby_destroy(lobby);
}

static void a_port_that_is_taken_is_found_at_once(ATTR_UNUSED void **state)
{
    struct weft_error error = {.status = WEFT_OK};
    struct lobby *lobby = opened(/* metrics */ NULL);
    struct lobby *second = NULL;
    struct lobby_options options = {.http = lobby_http_address(lobby)};
    assert_int_equal(lobby_open(&options, &second, &error), WEFT_IO);
    assert_non_null(strstr(error.message, "address already in use"));
    options = (struct lobby_options){.http = "127.0.0.1:0", .metrics = lobby_http_address(lobby)};
    assert_int_equal(lobby_open(&options, &second, &error), WEFT_IO);
    options =
        (struct lobby_options){.http = "127.0.0.1:0", .access = {.token_file = "no/such.token"}};
    assert_int_equal(lobby_open(&options, &second, &error), WEFT_IO);
    assert_null(second);
    lobby_destroy(lobby);
    lobby_destroy(NULL);
}

/* A client that connects after the lobby was left is served by what has its socket then. */
static void its_socket_goes_on(ATTR_UNUSED void **state)
{
    char address[64];
    struct lobby_sockets sockets = {.http = 0};
    struct lobby *lobby = opened("127.0.0.1:0");
    (void)snprintf(address, sizeof(address), "%s", lobby_http_address(lobby));
    lobby_leave(lobby, &sockets);
    assert_true(sockets.http > 2);
    assert_true(sockets.metrics > 2);
    lobby_destroy(lobby);
    const int client = connect_to(address);
    struct pollfd listener = {.fd = sockets.http, .events = POLLIN};
    assert_int_equal(poll(&listener, 1, 10000), 1);
    const int accepted = accept(sockets.http, NULL, NULL);
    assert_true(accepted >= 0);
    send_text(accepted, "hello");
    (void)close(accepted);
    assert_string_equal(receive(client), "hello");
    (void)close(sockets.http);
    (void)close(sockets.metrics);
}

/* What was begun is answered, and what never ends is cut off. */
static void leaving_waits_for_no_client_for_long(ATTR_UNUSED void **state)
{
    struct lobby_sockets sockets = {.http = 0};
    struct lobby *lobby = opened(/* metrics */ NULL);
    const int half = connect_to(lobby_http_address(lobby));
    send_text(half, "GET /v2");
    assert_non_null(
        strstr(ask(lobby_http_address(lobby), "GET /v2/health/live" END), "{\"live\":true}"));
    lobby_leave(lobby, &sockets);
    assert_int_equal(sockets.metrics, 0);
    (void)receive(half);
    (void)close(sockets.http);
    lobby_destroy(lobby);
}

static void the_process_is_measured_from_the_start(ATTR_UNUSED void **state)
{
    static const char *const names[] = {
        "\nprocess_cpu_seconds_total ",
        "\nprocess_resident_memory_bytes ",
        "\nprocess_virtual_memory_bytes ",
        "\nprocess_start_time_seconds ",
        "\nprocess_open_fds ",
        "\nprocess_max_fds ",
        "\nweft_build_info{version=\"",
        "\nweft_ready 0\n"};
    struct lobby *lobby = opened("127.0.0.1:0");
    const char *port = lobby_metrics_address(lobby);
    const char *text = ask(port, "GET /metrics" END);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strstr(text, names[i]) == NULL) {
            fail_msg("no %s in %s", names[i], text);
        }
    }
    assert_true(strtod(strstr(text, names[1]) + strlen(names[1]), NULL) > 1e5);
    assert_true(strtod(strstr(text, names[3]) + strlen(names[3]), NULL) > 1.7e9);
    assert_true(strtod(strstr(text, names[4]) + strlen(names[4]), NULL) >= 5);
    assert_non_null(strstr(ask(port, "GET /v2" END), "404"));
    lobby_destroy(lobby);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_live_but_not_ready),
        cmocka_unit_test(a_port_that_is_taken_is_found_at_once),
        cmocka_unit_test(its_socket_goes_on),
        cmocka_unit_test(leaving_waits_for_no_client_for_long),
        cmocka_unit_test(the_process_is_measured_from_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
