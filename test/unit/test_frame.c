#include "console/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

static struct frame frame;
static FILE *file; /* No terminal: 100 columns and 40 rows. */

static int setup(ATTR_UNUSED void **state)
{
    file = tmpfile();
    frame_begin(&frame, file, /* is_coloured */ true, /* clears */ false);
    return file == NULL ? -1 : 0;
}

static int teardown(ATTR_UNUSED void **state)
{
    (void)fclose(file);
    return 0;
}

/* What has been written since the picture began. */
static const char *drawn(void)
{
    return frame.bytes + strlen("\033[H");
}

static void long_lines_are_cut_between_characters(ATTR_UNUSED void **state)
{
    char wide[400];
    memset(wide, 0, sizeof(wide));
    for (uint32_t i = 0; i < 120; i++) {
        memcpy(wide + 2 * i, "\xc3\xa9", 2); /* One column, two bytes. */
    }
    frame_put(&frame, "%s", wide);
    assert_int_equal(frame.column, 100);
    assert_int_equal(strlen(drawn()), 200);
    frame_put(&frame, "more");
    frame_line(&frame);
    /* The end of a full line is not erased: the cursor is still on it. */
    assert_string_equal(drawn() + 198, "\033[0m…\033[0m\n");
    const size_t before = strlen(drawn());
    frame_put(&frame, "short");
    frame_line(&frame);
    assert_string_equal(drawn() + before, "short\033[0m\033[K\n");
}

static void what_just_fits_has_no_sign(ATTR_UNUSED void **state)
{
    frame_begin(&frame, file, /* is_coloured */ false, /* clears */ false);
    frame_put(&frame, "%100s", "end");
    frame_put(&frame, "   "); /* Nothing is lost with these. */
    frame_line(&frame);
    assert_string_equal(drawn() + 97, "end\n");
}

static void a_part_of_a_line_is_cut_at_its_own_edge(ATTR_UNUSED void **state)
{
    frame_begin(&frame, file, /* is_coloured */ false, /* clears */ false);
    frame.is_ascii = true;
    frame_limit(&frame, 4);
    frame_put(&frame, "abcdef");
    frame_limit(&frame, 100);
    frame_indent(&frame, 6);
    frame_put(&frame, "gh");
    frame_line(&frame);
    assert_string_equal(drawn(), "abc>  gh\033[K\n");
}

static void rows_past_the_last_are_not_drawn(ATTR_UNUSED void **state)
{
    assert_int_equal(frame_room(&frame), 39);
    for (uint32_t i = 0; i < 60; i++) {
        frame_style(&frame, FRAME_RED);
        frame_put(&frame, "x");
        frame_indent(&frame, 5);
        frame_line(&frame);
    }
    assert_int_equal(frame_room(&frame), 0);
    uint32_t lines = 0;
    for (const char *c = drawn(); *c != '\0'; c++) {
        lines += *c == '\n';
    }
    assert_int_equal(lines, 39);
    assert_string_equal(drawn() + strlen(drawn()) - 8, "\033[0m\033[K\n");
}

static void without_colours_there_are_none(ATTR_UNUSED void **state)
{
    frame_begin(&frame, file, /* is_coloured */ false, /* clears */ false);
    frame_style(&frame, FRAME_YELLOW);
    frame_put(&frame, "%d of %d", 1, 2);
    frame_line(&frame);
    assert_string_equal(drawn(), "1 of 2\033[K\n");
}

static void a_picture_begins_where_the_last_one_did(ATTR_UNUSED void **state)
{
    char said[64] = {0};
    frame_begin(&frame, file, /* is_coloured */ true, /* clears */ true);
    frame_put(&frame, "a");
    frame_indent(&frame, 4);
    frame_put(&frame, "b");
    frame_line(&frame);
    frame_end(&frame, file);
    rewind(file);
    assert_true(fread(said, 1, sizeof(said) - 1, file) > 0);
    assert_string_equal(said, "\033[?25l\033[2J\033[Ha   b\033[0m\033[K\n\033[J");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(long_lines_are_cut_between_characters, setup, teardown),
        cmocka_unit_test_setup_teardown(what_just_fits_has_no_sign, setup, teardown),
        cmocka_unit_test_setup_teardown(a_part_of_a_line_is_cut_at_its_own_edge, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_past_the_last_are_not_drawn, setup, teardown),
        cmocka_unit_test_setup_teardown(without_colours_there_are_none, setup, teardown),
        cmocka_unit_test_setup_teardown(a_picture_begins_where_the_last_one_did, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
