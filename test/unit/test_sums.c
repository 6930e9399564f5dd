/* Files are those that were exported, or it is said which one is not. */
#include "service/sums.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <unistd.h>
#include <cmocka.h>

#include "base/attributes.h"

static char folder[] = "/tmp/weft-sums-XXXXXX";

static const char *cache; /* Where is noted what was right. NULL: nothing is. */

static void put(const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The sums say @text: what is the matter, behind the folder. */
static void expect(const char *text, enum weft_status status, const char *cause)
{
    struct weft_error error = {.message = ""};
    put("sha256", text);
    assert_int_equal(sums_check(folder, cache, &error), status);
    assert_string_equal(status == WEFT_OK ? error.message : error.message + strlen(folder), cause);
}

/* Of "abc" and of nothing: FIPS 180-2. */
#define ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void sums_are_compared(ATTR_UNUSED void **state)
{
    put("a", "abc");
    put("b", "");
    expect(ABC "  a\n" EMPTY "  b\n", WEFT_OK, "");
    expect(ABC "  a\n" ABC "  b\n", WEFT_INVALID, "/b: its contents differ from what was exported");
    expect(ABC "  c\n", WEFT_IO, "/c: No such file or directory");
}

static void nonsense_is_refused(ATTR_UNUSED void **state)
{
    put("a", "abc");
    expect("hello\n", WEFT_INVALID, "/sha256: cannot read 'hello'");
    expect(ABC "\n", WEFT_INVALID, "/sha256: cannot read '" ABC "'");
    expect(ABC "  ../a\n", WEFT_INVALID, "/sha256: cannot read '" ABC "  ../a'");
    expect(ABC "  /etc/passwd\n", WEFT_INVALID, "/sha256: cannot read '" ABC "  /etc/passwd'");
}

static void a_list_is_needed(ATTR_UNUSED void **state)
{
    struct weft_error error;
    assert_int_equal(sums_check("/nowhere", NULL, &error), WEFT_IO);
    assert_string_equal(error.message, "/nowhere/sha256: No such file or directory");
}

/* What was right once is believed until the file changes. */
static void sums_are_noted(ATTR_UNUSED void **state)
{
    char seen[256];
    char line[256];
    cache = folder;
    (void)snprintf(seen, sizeof(seen), "%s/sums", folder);
    put("a", "abc");
    expect(ABC "  a\n", WEFT_OK, "");
    assert_int_equal(access(seen, F_OK), -1); /* It may change again without a trace. */
    const struct timespec second = {.tv_sec = 1, .tv_nsec = 100000000};
    assert_int_equal(nanosleep(&second, NULL), 0);
    expect(ABC "  a\n", WEFT_OK, "");
    FILE *file = fopen(seen, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    assert_int_equal(fclose(file), 0);
    assert_memory_equal(line, ABC " ", strlen(ABC) + 1);
    expect(EMPTY "  a\n", WEFT_INVALID, "/a: its contents differ from what was exported");
    memcpy(line, EMPTY, strlen(EMPTY)); /* As if the file had had that sum. */
    put("sums", line);
    expect(EMPTY "  a\n", WEFT_OK, "");
    put("a", "abd");
    expect(EMPTY "  a\n", WEFT_INVALID, "/a: its contents differ from what was exported");
    cache = NULL;
}

static int set_up(ATTR_UNUSED void **state)
{
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int tear_down(ATTR_UNUSED void **state)
{
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command); /* NOLINT: a folder of our own. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_compared),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(a_list_is_needed),
        cmocka_unit_test(sums_are_noted),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
