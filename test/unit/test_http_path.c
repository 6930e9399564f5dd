/* Covers: src/protocol/http_path.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "protocol/http_head.h"

/* The segments of @target, each in brackets; "bad" if it is refused. */
static const char *path(const char *target)
{
    static char out[256];
    struct http_path path;
    struct http_fault fault;
    if (http_path_read((struct http_span){target, strlen(target)}, &path, &fault) != HTTP_DONE) {
        assert_int_equal(fault.status, 400);
        return "bad";
    }
    out[0] = '\0';
    for (uint32_t i = 0; i < path.count; i++) {
        (void)snprintf(out + strlen(out), 64, "[%s]", path.segments[i]);
    }
    return out;
}

static void segments_are_decoded_once(ATTR_UNUSED void **state)
{
    assert_string_equal(path("/"), "[]");
    assert_string_equal(path("/v2/models/a%20b"), "[v2][models][a b]");
    assert_string_equal(path("/a%2541"), "[a%41]"); /* Not twice. */
    assert_string_equal(path("/v2/"), "[v2][]");
    assert_string_equal(path("//v2"), "[][v2]");
    assert_string_equal(path("/a?b=/../c"), "[a]");
    assert_string_equal(path("http://host:1/a/b"), "[a][b]");
    assert_string_equal(path("HTTPS://host"), "[]");
    assert_string_equal(path("/%C3%A4"), "[\xc3\xa4]");
}

static void tricks_are_refused(ATTR_UNUSED void **state)
{
    static const char *const tricks[] = {
        "",
        "a",
        "*",
        "/..",
        "/a/../b",
        "/a/./b",
        "/%2e%2E/x",
        "/%2e",
        "/a%2fb",
        "/a%5Cb",
        "/a%00b",
        "/a%0d",
        "/a%7f",
        "/a%",
        "/a%4",
        "/a%zz",
        "/1/2/3/4/5/6/7/8/9/10/11/12/13",
    };
    for (size_t i = 0; i < sizeof(tricks) / sizeof(tricks[0]); i++) {
        if (strcmp(path(tricks[i]), "bad") != 0) {
            fail_msg("%s", tricks[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_are_decoded_once),
        cmocka_unit_test(tricks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
