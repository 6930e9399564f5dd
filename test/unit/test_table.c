/* Covers: src/console/table.c, src/console/style.c */
#include "console/table.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct table_column columns[] = {{"NAME", false}, {"TIME", true}, {"", false}};

static void expect(const struct table *table, const char *expected)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    table_print(table, file);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void columns_are_as_wide_as_their_widest_cell(ATTR_UNUSED void **state)
{
    struct table table;
    table_init(&table, columns, 3);
    table_add(&table, "%s", "a longer name");
    table_add(&table, "%.1f", 1.5);
    table_add(&table, "first");
    table_add(&table, "b");
    table_add(&table, "%d", 12345678);
    table_add(&table, "%s", "");
    expect(
        &table, "NAME               TIME\n"
                "a longer name       1.5  first\n"
                "b              12345678\n");
    table_deinit(&table);
}

static void a_number_that_is_none_is_a_dash(ATTR_UNUSED void **state)
{
    struct table table;
    table_init(&table, columns, 2);
    table_add_number(&table, 0, 2.4);
    table_add_number(&table, 2, 2.456);
    table_add_number(&table, 0, (double)NAN);
    table_add_number(&table, 2, (double)NAN);
    expect(
        &table, "NAME  TIME\n"
                "2     2.46\n"
                "-        -\n");
    table_deinit(&table);
}

static void an_empty_table_is_its_titles(ATTR_UNUSED void **state)
{
    struct table table;
    table_init(&table, columns, 2);
    expect(&table, "NAME  TIME\n");
    table_deinit(&table);
}

static void characters_are_counted_and_not_bytes(ATTR_UNUSED void **state)
{
    struct table table;
    table_init(&table, columns, 2);
    table_add(&table, "é");
    table_add(&table, "1.5 ± 0.5");
    table_add(&table, "ab");
    table_add(&table, "1");
    expect(
        &table, "NAME       TIME\n"
                "é     1.5 ± 0.5\n"
                "ab            1\n");
    table_deinit(&table);
}

static void many_rows_and_long_cells_fit(ATTR_UNUSED void **state)
{
    struct table table;
    char wide[2 * TABLE_CELL_BYTES_MAX];
    memset(wide, 'x', sizeof(wide) - 1);
    wide[sizeof(wide) - 1] = '\0';
    table_init(&table, columns, 1);
    for (uint32_t i = 0; i < 1000; i++) {
        table_add(&table, "%u", i);
    }
    table_add(&table, "%s", wide);
    assert_int_equal(table.cell_count, 1002); /* With the title. */
    assert_string_equal(table.cells[1000].text, "999");
    assert_int_equal(strlen(table.cells[1001].text), TABLE_CELL_BYTES_MAX - 1);
    table_deinit(&table);
}

/* What a terminal gets of a table with a good, a bad and a faint cell. */
static void on_terminal(char *shown, size_t bytes)
{
    struct table table;
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    FILE *file = fopen(ptsname(master), "w");
    assert_non_null(file);
    table_init(&table, columns, 2);
    table_add(&table, "a");
    table_add(&table, "1");
    table_style(&table, STYLE_GOOD);
    table_add(&table, "b");
    table_add(&table, "2");
    table_style_row(&table, STYLE_FAINT);
    table_print(&table, file);
    table_deinit(&table);
    assert_int_equal(fflush(file), 0);
    size_t count = 0;
    for (uint32_t lines = 0; lines < 3;) { /* A terminal may hand them over one by one. */
        assert_int_equal(read(master, shown + count, 1), 1);
        lines += shown[count] == '\n' ? 1 : 0;
        count++;
        assert_true(count < bytes);
    }
    shown[count] = '\0';
    (void)fclose(file);
    (void)close(master);
}

static void a_terminal_shows_styles(ATTR_UNUSED void **state)
{
    char shown[512];
    assert_int_equal(setenv("TERM", "xterm", /* overwrite */ 1), 0);
    assert_int_equal(unsetenv("NO_COLOR"), 0);
    on_terminal(shown, sizeof(shown));
    assert_string_equal(
        shown, "\x1b[1mNAME\x1b[0m  \x1b[1mTIME\x1b[0m\r\n"
               "a        \x1b[32m1\x1b[0m\r\n"
               "\x1b[90mb\x1b[0m        \x1b[90m2\x1b[0m\r\n");
}

static void colours_can_be_declined(ATTR_UNUSED void **state)
{
    static const char plain[] = "NAME  TIME\r\na        1\r\nb        2\r\n";
    char shown[512];
    assert_int_equal(setenv("TERM", "xterm", /* overwrite */ 1), 0);
    assert_int_equal(setenv("NO_COLOR", "1", /* overwrite */ 1), 0);
    on_terminal(shown, sizeof(shown));
    assert_string_equal(shown, plain);
    assert_int_equal(unsetenv("NO_COLOR"), 0);
    assert_int_equal(setenv("TERM", "dumb", /* overwrite */ 1), 0);
    on_terminal(shown, sizeof(shown));
    assert_string_equal(shown, plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(a_number_that_is_none_is_a_dash),
        cmocka_unit_test(an_empty_table_is_its_titles),
        cmocka_unit_test(characters_are_counted_and_not_bytes),
        cmocka_unit_test(many_rows_and_long_cells_fit),
        cmocka_unit_test(a_terminal_shows_styles),
        cmocka_unit_test(colours_can_be_declined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
