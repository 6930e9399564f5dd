#include "server/cause.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

static const struct {
    const char *text;
    const char *told;
} cases[] = {
    {"", ""},
    {"no face", "no face"},
    {"kein Gesicht für Zoë \xe2\x82\xac \xf0\x9f\x98\x80",
     "kein Gesicht für Zoë \xe2\x82\xac \xf0\x9f\x98\x80"},
    {"a\nb\tc\x1b[31m\x7f", "a?b?c?[31m?"},
    {"c1: \xc2\x80\xc2\x9f\xc2\xa0", "c1: ??\xc2\xa0"},
    {"\xff\xfe no \xc0\xaf \xed\xa0\x80", "?? no ?? ???"},
    {"cut: \xe2\x82", "cut: "},
    {"cut: \xf0\x9f\x98", "cut: "},
    {"\"quoted\"", "\"quoted\""},
    /* Files of this machine. */
    {"/tmp/models/x/1/model.onnx: cannot be read", "model.onnx: cannot be read"},
    {"Load model from /tmp/a.onnx failed:/usr/lib/b.so:12",
     "Load model from a.onnx failed:b.so:12"},
    {"'/tmp/a/b'", "'b'"},
    {"(/tmp/a/)", "()"},
    {"file=/tmp/a", "file=a"},
    {"/tmp", "/tmp"},
    {"the protocol is under /v2", "the protocol is under /v2"},
    {"and/or /v2/models/a", "and/or /v2/models/a"},
    /* Names of tensors are none. */
    {"node '/no-such-folder/layer/Add'", "node '/no-such-folder/layer/Add'"},
    {"a//tmp/x", "a//tmp/x"},
    {"//tmp/x", "//tmp/x"},
    {"/", "/"},
    {"//", "//"},
};

static void only_what_clients_may_know_is_told(ATTR_UNUSED void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[CAUSE_BYTES_MAX];
        cause_write(cases[i].text, out);
        assert_string_equal(out, cases[i].told);
    }
}

static void long_texts_are_cut_between_characters(ATTR_UNUSED void **state)
{
    for (size_t shift = 0; shift < 4; shift++) {
        char text[2 * CAUSE_BYTES_MAX] = "abc";
        char out[CAUSE_BYTES_MAX];
        for (size_t at = shift; at + 4 < sizeof(text); at += 3) {
            (void)memcpy(text + at, "\xe2\x82\xac", 4);
        }
        cause_write(text, out);
        assert_true(strlen(out) >= CAUSE_BYTES_MAX - 4);
        assert_memory_equal(out, text, strlen(out));
        assert_memory_equal(out + strlen(out) - 3, "\xe2\x82\xac", 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_clients_may_know_is_told),
        cmocka_unit_test(long_texts_are_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
