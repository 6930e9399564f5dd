#include "service/listen_limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "console/arguments.h"
#include "server/http.h"

static void every_limit_has_its_unit(ATTR_UNUSED void **state)
{
    const struct argument_list given = {
        .count = 10,
        .items =
            {"connections=100", "address-connections=50", "in-flight=2GiB",
             "address-in-flight=500MB", "body=1KiB", "head-time=5s", "idle-time=1m",
             "grace-time=250ms", "answer-time=1h", "bandwidth=10KB/s"},
    };
    struct http_limits limits = {.connections_max = 7};
    assert_int_equal(listen_limits_read(&given, &limits, NULL), WEFT_OK);
    assert_int_equal(limits.connections_max, 100);
    assert_int_equal(limits.address_connections_max, 50);
    assert_true(limits.held_bytes_max == UINT64_C(2) << 30);
    assert_int_equal(limits.address_held_bytes_max, 500000000);
    assert_int_equal(limits.body_bytes_max, 1024);
    assert_int_equal(limits.head_ms, 5000);
    assert_int_equal(limits.idle_ms, 60000);
    assert_int_equal(limits.grace_ms, 250);
    assert_int_equal(limits.answer_ms, 3600000);
    assert_int_equal(limits.bytes_per_s_min, 10000);
}

static void what_is_wrong_changes_nothing(ATTR_UNUSED void **state)
{
    static const struct {
        const char *given;
        const char *part;
    } cases[] = {
        {"connexions=5", "limits are connections, address-connections,"},
        {"connections", "limits are"},
        {"=5", "limits are"},
        {"connections=", "connections takes"},
        {"connections=0", "connections takes"},
        {"connections=-1", "connections takes"},
        {"connections=4294967296", "connections takes"},
        {"connections=5s", "connections takes"},
        {"in-flight=5s", "in-flight takes"},
        {"in-flight=1e30", "in-flight takes"},
        {"head-time=1us", "head-time takes"},
        {"head-time=5", "head-time takes"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct argument_list given = {
            .count = 2, .items = {"connections=100", cases[i].given}};
        struct http_limits limits = {.connections_max = 7};
        struct weft_error error;
        assert_int_equal(listen_limits_read(&given, &limits, &error), WEFT_INVALID);
        if (strstr(error.message, cases[i].part) == NULL) {
            fail_msg("%s: %s", cases[i].given, error.message);
        }
        assert_int_equal(limits.connections_max, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_limit_has_its_unit),
        cmocka_unit_test(what_is_wrong_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
