/*
 * What a function in a process of its own does wrong, on purpose or not, stays there.
 *
 * Covers: src/function/sandbox.c, src/function/filter.c,
 * src/function/landlock.c, src/function/usage.c,
 * src/function/fork_output.c
 */
#include "function/pool.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
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
#include "base/error.h"
#include "base/units.h"
#include "function/sandbox.h"

#define BAD WEFT_TEST_FUNCTIONS "/functions_bad.so"

#define MIB (UINT64_C(1) << 20)

static struct function_slot slot;

static struct function_pool *pool_of(const struct function_limits *limits)
{
    struct function_pool *pool = NULL;
    assert_int_equal(function_pool_create(limits, &pool, NULL), WEFT_OK);
    return pool;
}

static const char *library = BAD;

/* Run @name; the caller releases the output. */
static struct function_task run(
    struct function_pool *pool, const char *name, const struct weft_tensor *input)
{
    const struct function_host host = {.context = NULL};
    struct function_task task = {.inputs = input, .input_count = input == NULL ? 0 : 1, .items = 1};
    function_pool_run(pool, library, name, &host, &slot, &task);
    return task;
}

static int64_t number_of(struct function_pool *pool, const char *name)
{
    struct function_task task = run(pool, name, NULL);
    if (task.error.status != WEFT_OK) {
        fail_msg("%s", task.error.message);
    }
    const int64_t number = *(const int64_t *)bundle_find(task.output, "number")->data;
    bundle_destroy(task.output);
    return number;
}

/* The text that @name gives, as a C string that is to be freed. */
static char *text_of(struct function_pool *pool, const char *name, const struct weft_tensor *input)
{
    struct function_task task = run(pool, name, input);
    if (task.error.status != WEFT_OK) {
        fail_msg("%s", task.error.message);
    }
    const struct weft_tensor *text = bundle_find(task.output, "text");
    char *copy = calloc(1, text->bytes);
    assert_non_null(copy);
    memcpy(copy, (const char *)text->data + 4, text->bytes - 4);
    bundle_destroy(task.output);
    return copy;
}

static void nothing_of_the_machine_is_within_reach(ATTR_UNUSED void **state)
{
    struct function_pool *pool = pool_of(NULL);
    char *possible = text_of(pool, "try", NULL);
    assert_string_equal(possible, "");
    free(possible);
    assert_int_equal(number_of(pool, "loaded"), -1); /* Nor was it while it was loaded. */
#ifndef WEFT_SANITIZED
    assert_true(geteuid() != 0 || number_of(pool, "user") != 0);
#endif
    function_pool_destroy(pool);
}

static void where_only_root_can_read_it_has_no_rights(ATTR_UNUSED void **state)
{
    char folder[] = "/tmp/weft-isolation-XXXXXX"; /* For its owner alone. */
    char path[64];
    char command[1024];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/functions_bad.so", folder);
    (void)snprintf(command, sizeof(command), "cp %s %s", BAD, path);
    assert_int_equal(system(command), 0);
    struct function_pool *pool = pool_of(NULL);
    library = path;
    assert_int_equal(number_of(pool, "rights"), 0);
    assert_int_equal(number_of(pool, "use_libraries"), 4);
    char *possible = text_of(pool, "try", NULL);
    assert_string_equal(possible, "");
    free(possible);
    library = BAD;
    assert_int_equal(number_of(pool, "rights"), 0);
    function_pool_destroy(pool);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void what_libraries_need_is(ATTR_UNUSED void **state)
{
    struct function_pool *pool = pool_of(NULL);
    assert_int_equal(number_of(pool, "use_libraries"), 4);
    function_pool_destroy(pool);
}

static void a_function_that_is_trusted_is_not_shut_in(ATTR_UNUSED void **state)
{
    const struct function_limits limits = {.no_sandbox = true};
    struct function_pool *pool = pool_of(&limits);
    char *possible = text_of(pool, "try_harmless", NULL);
    assert_non_null(strstr(possible, "socket "));
    assert_non_null(strstr(possible, "passwd "));
    assert_non_null(strstr(possible, "fork "));
    free(possible);
    assert_int_equal(number_of(pool, "use_libraries"), 4);
    assert_int_equal(number_of(pool, "user"), getuid());
    function_pool_destroy(pool);
}

static void memory_has_a_limit(ATTR_UNUSED void **state)
{
#ifdef WEFT_SANITIZED
    skip();
#endif
    const struct function_limits limits = {.memory_bytes_max = 256 * MIB};
    struct function_pool *pool = pool_of(&limits);
    const int64_t mib = number_of(pool, "allocate");
    assert_true(mib > 100 && mib <= 256);
    function_pool_destroy(pool);
}

static void the_rest_has_limits_too(ATTR_UNUSED void **state)
{
    const struct function_limits limits = {.run_ns_max = 9000 * NS_PER_MS};
    struct function_pool *pool = pool_of(&limits);
    const unsigned long long most[] = {
        0, 2 * 10 * (unsigned long long)sysconf(_SC_NPROCESSORS_ONLN) + 60, 1 << 30, 256, 4096};
    char *text = text_of(pool, "limits", NULL);
    char *at = text;
    for (uint32_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
        assert_true(strtoull(at, &at, 10) <= most[i]); /* Or less, if there was less. */
    }
    free(text);
    function_pool_destroy(pool);
}

static void a_process_that_grows_is_replaced(ATTR_UNUSED void **state)
{
    const struct function_limits limits = {.memory_bytes_max = 400 * MIB}; /* 100 may be kept. */
    struct function_pool *pool = pool_of(&limits);
    struct function_counts counts;
    int64_t processes = 0;
    int64_t last = 0;
    for (uint32_t i = 0; i < 12; i++) {
        const int64_t process = number_of(pool, "leak");
        processes += process != last;
        last = process;
    }
    function_pool_counts(pool, &counts);
#ifndef WEFT_SANITIZED              /* Their own memory grows with it. */
    assert_int_equal(processes, 3); /* The fourth call of each is 120 MiB after its first. */
#endif
    assert_true(processes >= 3);
    assert_int_equal(counts.replaced, counts.started);
    assert_int_equal(counts.crashed, 0);
    function_pool_destroy(pool);
}

/* Of the shared object that was replaced; those of others go on. */
static void a_process_with_a_file_of_before_is_ended(ATTR_UNUSED void **state)
{
    struct function_pool *pool = pool_of(NULL);
    struct function_counts counts;
    const int64_t first = number_of(pool, "who");
    assert_int_equal(number_of(pool, "who"), first);
    function_pool_renew(pool, WEFT_TEST_FUNCTIONS "/functions_sample.so");
    assert_int_equal(number_of(pool, "who"), first);
    function_pool_renew(pool, BAD);
    function_pool_counts(pool, &counts);
    assert_int_equal(counts.replaced, 1);
    assert_int_not_equal(number_of(pool, "who"), first);
    function_pool_renew(pool, WEFT_TEST_FUNCTIONS "/7/functions_bad.so"); /* Another version. */
    function_pool_counts(pool, &counts);
    assert_int_equal(counts.replaced, 2);
    assert_int_equal(counts.started, 2);
    function_pool_destroy(pool);
}

static void lies_are_the_fault_of_the_function(ATTR_UNUSED void **state)
{
    static const char *const names[] = {"lie_texts", "lie_bytes", "lie_name", "talk_nonsense"};
    enum { COUNT = sizeof(names) / sizeof(names[0]) };
    struct function_pool *pool = pool_of(NULL);
    struct function_counts counts;
    for (uint32_t i = 0; i < COUNT; i++) {
        char message[64];
        const struct function_task task = run(pool, names[i], NULL);
        (void)snprintf(message, sizeof(message), "function '%s' answered nonsense", names[i]);
        assert_null(task.output);
        assert_int_equal(task.error.status, WEFT_FAILED);
        assert_string_equal(task.error.message, message);
    }
    function_pool_counts(pool, &counts);
    assert_int_equal(counts.nonsense, COUNT);
    function_pool_destroy(pool);
}

static void a_function_that_closes_everything_fails_alone(ATTR_UNUSED void **state)
{
    struct function_pool *pool = pool_of(NULL);
    struct function_counts counts;
    const struct function_task task = run(pool, "close_all", NULL);
    assert_null(task.output); /* It ends by itself, or is ended before: its status says which. */
    assert_int_not_equal(task.error.status, WEFT_OK);
    assert_true(number_of(pool, "who") > 0);
    function_pool_counts(pool, &counts);
    assert_int_equal(counts.crashed, 1);
    function_pool_destroy(pool);
}

static enum weft_status count_runs(
    void *context, ATTR_UNUSED const char *model, ATTR_UNUSED const struct weft_tensor *inputs,
    ATTR_UNUSED uint32_t input_count, ATTR_UNUSED struct bundle **output_out,
    struct weft_error *error)
{
    uint32_t *runs = context;
    (*runs)++;
    return error_set(error, WEFT_NOT_FOUND, "no model");
}

static void models_are_counted_on_this_side(ATTR_UNUSED void **state)
{
    struct function_pool *pool = pool_of(NULL);
    uint32_t runs = 0;
    const struct function_host host = {.context = &runs, .run = count_runs};
    struct function_task task = {.items = 1};
    function_pool_run(pool, BAD, "run_many", &host, &slot, &task);
    assert_int_equal(task.error.status, WEFT_OK);
    assert_int_equal(runs, FUNCTION_MODEL_RUNS_MAX);
    bundle_destroy(task.output);
    function_pool_destroy(pool);
}

static void time_has_a_limit_whatever_it_is_spent_on(ATTR_UNUSED void **state)
{
    static const char *const names[] = {"ask_and_not_listen", "stop_itself"};
    struct function_pool *pool = pool_of(NULL);
    struct function_counts counts;
    uint32_t runs = 0;
    const struct function_host host = {
        .context = &runs, .run = count_runs, .run_ns_max = 200 * NS_PER_MS};
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct function_task task = {.items = 1};
        char message[80];
        function_pool_run(pool, BAD, names[i], &host, &slot, &task);
        (void)snprintf(message, sizeof(message), "function '%s' took longer than 200 ms", names[i]);
        assert_string_equal(task.error.message, message);
    }
    function_pool_counts(pool, &counts);
    assert_int_equal(counts.late, 2);
    function_pool_destroy(pool);
}

static enum weft_status sleep_long(
    ATTR_UNUSED void *context, ATTR_UNUSED const char *model,
    ATTR_UNUSED const struct weft_tensor *inputs, ATTR_UNUSED uint32_t input_count,
    struct bundle **output_out, ATTR_UNUSED struct weft_error *error)
{
    const struct timespec pause = {.tv_sec = 3};
    (void)nanosleep(&pause, NULL);
    *output_out = bundle_create();
    return WEFT_OK;
}

static void the_time_of_models_is_not_the_functions(ATTR_UNUSED void **state)
{
    struct function_pool *pool = pool_of(NULL);
    const struct function_host host = {.run = sleep_long, .run_ns_max = 2500 * NS_PER_MS};
    struct function_task task = {.items = 1};
    function_pool_run(pool, BAD, "run_one", &host, &slot, &task);
    if (task.error.status != WEFT_OK) {
        fail_msg("%s", task.error.message);
    }
    bundle_destroy(task.output);
    function_pool_destroy(pool);
}

/* Whether a thread of @process is alive: a dead one has let go of everything, waited for or not. */
static bool is_alive(int64_t process)
{
    char path[64];
    bool is_any = false;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    DIR *threads = opendir(path);
    if (threads == NULL) {
        return false;
    }
    for (const struct dirent *entry = readdir(threads); entry != NULL; entry = readdir(threads)) {
        char state = 'X';
        (void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", (int)process, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) == 1) {
            is_any = is_any || (state != 'X' && state != 'Z');
        }
        if (file != NULL) {
            (void)fclose(file);
        }
    }
    (void)closedir(threads);
    return is_any;
}

static void one_that_died_while_it_waited_costs_no_call(ATTR_UNUSED void **state)
{
    struct function_pool *pool = pool_of(NULL);
    struct function_counts counts;
    for (uint32_t i = 0; i < 20; i++) {
        const int64_t process = number_of(pool, "who");
        assert_int_equal(kill((pid_t)process, SIGKILL), 0);
        for (uint32_t tries = 0; tries < 10000 && is_alive(process); tries++) {
            const struct timespec pause = {.tv_nsec = 1000000};
            (void)nanosleep(&pause, NULL);
        }
    }
    assert_true(number_of(pool, "who") > 0);
    function_pool_counts(pool, &counts);
    assert_int_equal(counts.idle, 20);
    assert_int_equal(counts.crashed, 0);
    function_pool_destroy(pool);
}

static void the_environment_stays_outside(ATTR_UNUSED void **state)
{
    assert_int_equal(setenv("WEFT_TEST_SECRET", "squeamish", 1), 0);
    assert_int_equal(setenv("OMP_NUM_THREADS", "3", 1), 0);
    const char *address = getenv("WEFT_TEST_SECRET");
    const struct weft_tensor input = {
        .name = "address",
        .dtype = WEFT_INT64,
        .rank = 1,
        .shape = {1},
        .bytes = sizeof(address),
        .data = &address};
    struct function_pool *pool = pool_of(NULL);
    char *text = text_of(pool, "environment", &input);
    assert_null(strstr(text, "WEFT_TEST_SECRET"));
    assert_null(strstr(text, "HOME="));
    assert_non_null(strstr(text, "OMP_NUM_THREADS=3\n"));
    assert_non_null(strstr(text, "old=")); /* Forked: it lies where it was, and is wiped. */
    assert_null(strstr(text, "squeamish"));
    free(text);
    function_pool_destroy(pool);
    assert_string_equal(address, "squeamish");
}

/* Let a function print with standard output and error in files, and read what is in both. */
static void captured(char *out, char *err, size_t bytes)
{
    FILE *files[2] = {tmpfile(), tmpfile()};
    const int saved[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    assert_true(files[0] != NULL && files[1] != NULL && saved[0] >= 0 && saved[1] >= 0);
    (void)fflush(stdout);
    assert_true(dup2(fileno(files[0]), STDOUT_FILENO) >= 0);
    assert_true(dup2(fileno(files[1]), STDERR_FILENO) >= 0);
    printf("ours"); /* Not written yet when the process is forked. */
    struct function_pool *pool = pool_of(NULL);
    (void)number_of(pool, "print");
    function_pool_destroy(pool);
    (void)fflush(stdout);
    assert_true(dup2(saved[0], STDOUT_FILENO) >= 0);
    assert_true(dup2(saved[1], STDERR_FILENO) >= 0);
    for (uint32_t i = 0; i < 2; i++) {
        rewind(files[i]);
        char *text = i == 0 ? out : err;
        text[fread(text, 1, bytes - 1, files[i])] = '\0';
        (void)fclose(files[i]);
        (void)close(saved[i]);
    }
}

static void what_is_printed_is_no_output_of_the_server(ATTR_UNUSED void **state)
{
    static char out[65536];
    static char err[65536];
    uint32_t lines = 0;
    captured(out, err, sizeof(out));
    assert_string_equal(out, "ours");
    assert_null(strstr(err, "ours"));
    assert_non_null(strstr(err, "file=functions_bad.so text=\"to stdout ?[2J\"\n"));
    assert_non_null(strstr(err, "file=functions_bad.so text=\"to stderr\"\n"));
    assert_non_null(strstr(err, " more lines)\"\n"));
    for (const char *at = err; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    assert_true(lines <= 200); /* Of 1002, in the few seconds that it takes at most. */
}

static void files_of_messages_cannot_be_forged_nor_cut(ATTR_UNUSED void **state)
{
    static uint8_t large[300000];
    struct weft_tensor x = {.name = "x", .dtype = WEFT_UINT8, .rank = 1, .data = large};
    x.bytes = sizeof(large);
    x.shape[0] = sizeof(large);
    struct function_pool *pool = pool_of(NULL);
    for (uint8_t i = 1; i < 4; i++) {
        memset(large, i, sizeof(large));
        const struct function_task task = run(pool, "forge_files", &x);
        if (task.error.status != WEFT_OK) {
            fail_msg("%s", task.error.message);
        }
        assert_memory_equal(bundle_find(task.output, "x")->data, large, sizeof(large));
        bundle_destroy(task.output);
    }
    function_pool_destroy(pool);
}

static uint32_t count_descriptors(void)
{
    uint32_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    (void)closedir(folder);
    return count;
}

static void nothing_is_left_open(ATTR_UNUSED void **state)
{
    const uint32_t before = count_descriptors();
    struct function_pool *pool = pool_of(NULL);
    for (uint32_t i = 0; i < 10; i++) {
        (void)run(pool, "close_all", NULL);
        (void)run(pool, "talk_nonsense", NULL);
        (void)number_of(pool, "who");
    }
    function_pool_destroy(pool);
    assert_int_equal(count_descriptors(), before);
}

static int setup(ATTR_UNUSED void **state)
{
    function_slot_init(&slot);
    return 0;
}

static int teardown(ATTR_UNUSED void **state)
{
    function_slot_deinit(&slot);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_of_the_machine_is_within_reach),
        cmocka_unit_test(where_only_root_can_read_it_has_no_rights),
        cmocka_unit_test(what_libraries_need_is),
        cmocka_unit_test(a_function_that_is_trusted_is_not_shut_in),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(the_rest_has_limits_too),
        cmocka_unit_test(a_process_that_grows_is_replaced),
        cmocka_unit_test(a_process_with_a_file_of_before_is_ended),
        cmocka_unit_test(lies_are_the_fault_of_the_function),
        cmocka_unit_test(a_function_that_closes_everything_fails_alone),
        cmocka_unit_test(models_are_counted_on_this_side),
        cmocka_unit_test(time_has_a_limit_whatever_it_is_spent_on),
        cmocka_unit_test(the_time_of_models_is_not_the_functions),
        cmocka_unit_test(one_that_died_while_it_waited_costs_no_call),
        cmocka_unit_test(the_environment_stays_outside),
        cmocka_unit_test(what_is_printed_is_no_output_of_the_server),
        cmocka_unit_test(files_of_messages_cannot_be_forged_nor_cut),
        cmocka_unit_test(nothing_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
