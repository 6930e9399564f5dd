#include "console/whole_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"

enum { PATH_BYTES = 128 };

struct folder {
    char path[PATH_BYTES / 2];
    char file[PATH_BYTES];
    char link[PATH_BYTES];
};

static int begin(void **state)
{
    static struct folder folder;
    (void)snprintf(folder.path, sizeof(folder.path), "%s", "/tmp/weft_whole_file_XXXXXX");
    if (mkdtemp(folder.path) == NULL) {
        return -1;
    }
    (void)snprintf(folder.file, sizeof(folder.file), "%s/trace.txt", folder.path);
    (void)snprintf(folder.link, sizeof(folder.link), "%s/link", folder.path);
    *state = &folder;
    return 0;
}

static int end(void **state)
{
    const struct folder *folder = *state;
    (void)unlink(folder->file);
    (void)unlink(folder->link);
    return rmdir(folder->path); /* Fails if anything else was left. */
}

static uint32_t count_files(const struct folder *folder)
{
    DIR *directory = opendir(folder->path);
    uint32_t count = 0;
    assert_non_null(directory);
    for (const struct dirent *entry = readdir(directory); entry != NULL;
         entry = readdir(directory)) {
        count += entry->d_name[0] == '.' ? 0 : 1;
    }
    (void)closedir(directory);
    return count;
}

static void expect_text(const char *path, const char *expected)
{
    char text[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t length = fread(text, 1, sizeof(text) - 1, file);
    text[length] = '\0';
    (void)fclose(file);
    assert_string_equal(text, expected);
}

static void write_text(const char *path, const char *text)
{
    struct whole_file whole;
    assert_int_equal(whole_file_open(&whole, path, NULL), WEFT_OK);
    (void)fputs(text, whole.stream);
    assert_int_equal(whole_file_commit(&whole, NULL), WEFT_OK);
}

static void it_appears_when_it_is_whole(void **state)
{
    const struct folder *folder = *state;
    struct whole_file whole;
    assert_int_equal(whole_file_open(&whole, folder->file, NULL), WEFT_OK);
    (void)fputs("one\n", whole.stream);
    assert_int_not_equal(access(folder->file, F_OK), 0);
    assert_int_equal(whole_file_commit(&whole, NULL), WEFT_OK);
    expect_text(folder->file, "one\n");
    assert_int_equal(count_files(folder), 1);
    struct stat what;
    assert_int_equal(stat(folder->file, &what), 0);
    const mode_t mask = umask(0);
    (void)umask(mask);
    assert_int_equal(what.st_mode & 0777, 0666 & ~mask);
}

static void what_was_there_stays_until_then(void **state)
{
    const struct folder *folder = *state;
    struct whole_file whole;
    write_text(folder->file, "old\n");
    assert_int_equal(whole_file_open(&whole, folder->file, NULL), WEFT_OK);
    (void)fputs("new\n", whole.stream);
    assert_int_equal(fflush(whole.stream), 0);
    expect_text(folder->file, "old\n");
    whole_file_discard(&whole);
    expect_text(folder->file, "old\n");
    assert_int_equal(count_files(folder), 1);
    whole_file_discard(&whole); /* Nothing is left to discard. */
    write_text(folder->file, "new\n");
    expect_text(folder->file, "new\n");
}

static void a_link_stays_a_link(void **state)
{
    const struct folder *folder = *state;
    write_text(folder->file, "old\n");
    assert_int_equal(symlink(folder->file, folder->link), 0);
    write_text(folder->link, "new\n");
    struct stat what;
    assert_int_equal(lstat(folder->link, &what), 0);
    assert_true(S_ISLNK(what.st_mode));
    expect_text(folder->file, "new\n");
}

/* A pipe stands for every device: a broken check must not cost the machine a real one. */
static void a_pipe_is_written_and_not_replaced(void **state)
{
    const struct folder *folder = *state;
    char text[16] = "";
    struct stat what;
    assert_int_equal(mkfifo(folder->file, 0600), 0);
    const int reader = open(folder->file, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    write_text(folder->file, "through\n");
    assert_int_equal(read(reader, text, sizeof(text) - 1), 8);
    assert_string_equal(text, "through\n");
    (void)close(reader);
    assert_int_equal(stat(folder->file, &what), 0);
    assert_true(S_ISFIFO(what.st_mode));
}

static void what_cannot_be_written_is_said(void **state)
{
    const struct folder *folder = *state;
    struct whole_file whole;
    struct weft_error error;
    char path[2 * PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/no/such", folder->path);
    assert_int_equal(whole_file_open(&whole, path, &error), WEFT_IO);
    assert_non_null(strstr(error.message, "/no/such: No such file or directory"));
    assert_int_equal(whole_file_open(&whole, folder->path, &error), WEFT_IO);
    assert_non_null(strstr(error.message, "Is a directory"));
}

static void a_full_disk_leaves_what_was_there(void **state)
{
    const struct folder *folder = *state;
    struct rlimit before;
    struct whole_file whole;
    struct weft_error error;
    write_text(folder->file, "old\n");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {.rlim_cur = 8, .rlim_max = before.rlim_max};
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(whole_file_open(&whole, folder->file, NULL), WEFT_OK);
    (void)fputs("more than fits\n", whole.stream);
    const enum weft_status status = whole_file_commit(&whole, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, WEFT_IO);
    assert_non_null(strstr(error.message, "trace.txt: File too large"));
    expect_text(folder->file, "old\n");
    assert_int_equal(count_files(folder), 1);
}

/* Whatever is left in the buffer when it is closed, the cause is that of the first failure. */
static void the_first_failure_is_the_cause(void **state)
{
    const struct folder *folder = *state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {.rlim_cur = 4096, .rlim_max = before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (uint32_t lines = 100; lines < 200; lines++) {
        struct whole_file whole;
        struct weft_error error = {0};
        char line[64];
        memset(line, 'x', sizeof(line));
        assert_int_equal(whole_file_open(&whole, folder->file, &error), WEFT_OK);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        for (uint32_t i = 0; i < lines; i++) {
            whole_file_write(&whole, line, sizeof(line));
        }
        assert_int_equal(whole_file_commit(&whole, &error), WEFT_IO);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_non_null(strstr(error.message, strerror(EFBIG)));
    }
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(count_files(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_appears_when_it_is_whole, begin, end),
        cmocka_unit_test_setup_teardown(what_was_there_stays_until_then, begin, end),
        cmocka_unit_test_setup_teardown(a_link_stays_a_link, begin, end),
        cmocka_unit_test_setup_teardown(a_pipe_is_written_and_not_replaced, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_said, begin, end),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_what_was_there, begin, end),
        cmocka_unit_test_setup_teardown(the_first_failure_is_the_cause, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
