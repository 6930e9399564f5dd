#include "server/access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "protocol/http_head.h"

static char client_path[] = "/tmp/weft-client-XXXXXX";
static char admin_path[] = "/tmp/weft-admin-XXXXXX";

static int put(char *path, const char *text)
{
    const int file = mkstemp(path);
    const size_t count = strlen(text);
    const bool is_good = file >= 0 && write(file, text, count) == (ssize_t)count;
    return is_good && close(file) == 0 ? 0 : 1;
}

static int set_up(void **state)
{
    (void)state;
    return put(client_path, "sesame\n") + put(admin_path, "rosebud\r\n");
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(client_path) + unlink(admin_path);
}

/* The head of a request with @headers, which end in CR LF each. Valid until the next one. */
static const struct http_head *head_with(const char *headers)
{
    static struct http_head head;
    static char text[512];
    struct http_fault fault;
    size_t scanned = 0;
    (void)snprintf(
        text, sizeof(text), "POST /v2/repository/models/m/load HTTP/1.1\r\nHost: h\r\n%s\r\n",
        headers);
    assert_int_equal(http_head_read(text, strlen(text), &scanned, &head, &fault), HTTP_DONE);
    return &head;
}

static struct access opened(const struct access_options *options)
{
    struct access access;
    struct weft_error error = {.status = WEFT_OK};
    assert_int_equal(access_open(options, &access, &error), WEFT_OK);
    return access;
}

static uint32_t change(const struct access *access, const char *headers, bool is_local)
{
    const char *cause = NULL;
    const uint32_t status = access_to_management(access, head_with(headers), is_local, &cause);
    assert_non_null(cause);
    return status;
}

#define CLIENT "Authorization: Bearer sesame\r\n"
#define ADMIN  "Authorization: Bearer rosebud\r\n"

static void without_tokens_all_may_ask_and_this_machine_may_change(ATTR_UNUSED void **state)
{
    const struct access_options options = {.token_file = NULL};
    const struct access access = opened(&options);
    assert_true(access_is_client(&access, head_with("")));
    assert_int_equal(change(&access, "", true), 200);
    assert_int_equal(change(&access, "", false), 403);
    assert_int_equal(change(&access, ADMIN, false), 403);
}

/* A proxy on this machine speaks for others, and so does a browser for the page it shows. */
static void what_is_passed_on_is_not_of_this_machine(ATTR_UNUSED void **state)
{
    static const char *const headers[] = {
        "X-Forwarded-For: 10.0.0.1\r\n", "Forwarded: for=10.0.0.1\r\n", "Via: 1.1 proxy\r\n",
        "X-Real-IP: 10.0.0.1\r\n", "Origin: https://example.org\r\n"};
    const struct access_options options = {.token_file = NULL};
    const struct access access = opened(&options);
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        assert_int_equal(change(&access, headers[i], true), 403);
    }
}

static void a_token_for_changes_is_its_own(ATTR_UNUSED void **state)
{
    const struct access_options options = {
        .token_file = client_path, .admin_token_file = admin_path};
    const struct access access = opened(&options);
    assert_false(access_is_client(&access, head_with("")));
    assert_true(access_is_client(&access, head_with(CLIENT)));
    assert_true(access_is_client(&access, head_with(ADMIN)));
    assert_false(access_is_client(&access, head_with("Authorization: Bearer rosebud2\r\n")));
    assert_int_equal(change(&access, "", true), 401);
    assert_int_equal(change(&access, CLIENT, true), 401);
    assert_int_equal(change(&access, ADMIN, false), 200);
    assert_int_equal(change(&access, ADMIN "Via: 1.1 proxy\r\n", true), 200);
}

static void management_can_be_off_or_open(ATTR_UNUSED void **state)
{
    struct access_options options = {.admin_token_file = admin_path, .management = ACCESS_NOBODY};
    struct access access = opened(&options);
    assert_int_equal(change(&access, ADMIN, true), 403);
    options = (struct access_options){.management = ACCESS_EVERYBODY};
    access = opened(&options);
    assert_int_equal(change(&access, "", false), 200);
    assert_int_equal(change(&access, "Via: 1.1 proxy\r\n", true), 200);
    options.admin_token_file = admin_path; /* Who sets one means it. */
    access = opened(&options);
    assert_int_equal(change(&access, "", true), 401);
}

static void files_must_hold_a_token(ATTR_UNUSED void **state)
{
    struct access access;
    struct weft_error error = {.status = WEFT_OK};
    const struct access_options absent = {.admin_token_file = "no/such.token"};
    assert_int_equal(access_open(&absent, &access, &error), WEFT_IO);
    assert_non_null(strstr(error.message, "no/such.token"));
    const struct access_options empty = {.token_file = "/dev/null"};
    assert_int_equal(access_open(&empty, &access, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, "a token has 1 to 511 bytes"));
    const struct access_options endless = {.token_file = "/dev/zero"};
    assert_int_equal(access_open(&endless, &access, &error), WEFT_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_tokens_all_may_ask_and_this_machine_may_change),
        cmocka_unit_test(what_is_passed_on_is_not_of_this_machine),
        cmocka_unit_test(a_token_for_changes_is_its_own),
        cmocka_unit_test(management_can_be_off_or_open),
        cmocka_unit_test(files_must_hold_a_token),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
