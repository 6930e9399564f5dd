/*
 * A function does the same in this process and in one of its own; there it may also crash.
 *
 * Covers: src/function/function.c, src/function/pool.c,
 * src/function/runner.c, src/function/wire.c
 */
#include "function/pool.h"

#include <setjmp.h>
#include <signal.h>
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
#include "base/error.h"
#include "function/runner.h"
#include "function/wire.h"

#define SAMPLE WEFT_TEST_FUNCTIONS "/functions_sample.so"
#define OTHER  WEFT_TEST_FUNCTIONS "/functions_other.so"

/* Both ways of running a function. */
struct ways {
    struct function_pool *pool;
    struct function_slot slot;
};

static struct ways ways;

static int setup(ATTR_UNUSED void **state)
{
    function_slot_init(&ways.slot);
    return function_pool_create(/* limits */ NULL, &ways.pool, NULL) == WEFT_OK ? 0 : -1;
}

static int teardown(ATTR_UNUSED void **state)
{
    function_pool_destroy(ways.pool);
    function_pool_destroy(NULL);
    function_slot_deinit(&ways.slot);
    return 0;
}

/* Run @name of the sample, in a process of its own if @apart. */
static void call(
    const char *name, bool apart, const struct function_host *host, struct function_task *task)
{
    if (apart) {
        function_pool_run(ways.pool, SAMPLE, name, host, &ways.slot, task);
        return;
    }
    struct function function;
    if (function_open(SAMPLE, name, &function, &task->error) != WEFT_OK) {
        fail_msg("%s", task->error.message);
    }
    function_run(&function, host, task);
}

static void outputs_are_named_shaped_and_counted(ATTR_UNUSED void **state)
{
    uint8_t pixels[6] = {0, 1, 2, 253, 254, 255};
    const struct weft_tensor image = {
        .name = "image",
        .dtype = WEFT_UINT8,
        .rank = 2,
        .shape = {2, 3},
        .bytes = 6,
        .data = pixels};
    const struct function_host host = {.context = NULL};
    for (uint32_t apart = 0; apart < 2; apart++) {
        struct function_task task = {.inputs = &image, .input_count = 1, .items = 5};
        call("invert", apart == 1, &host, &task);
        assert_int_equal(task.error.status, WEFT_OK);
        assert_int_equal(task.output->count, 1);
        assert_int_equal(task.output->items, 10);
        const struct weft_tensor *out = bundle_find(task.output, "out");
        assert_int_equal(out->rank, 2);
        assert_int_equal(out->shape[1], 3);
        assert_int_equal(((const uint8_t *)out->data)[1], 254);
        assert_int_equal(((const uint8_t *)out->data)[5], 0);
        bundle_destroy(task.output);
    }
}

static void texts_and_the_folder_come_through(ATTR_UNUSED void **state)
{
    const struct function_host host = {.context = NULL};
    for (uint32_t apart = 0; apart < 2; apart++) {
        struct function_task task = {.items = 1};
        call("where", apart == 1, &host, &task);
        assert_int_equal(task.error.status, WEFT_OK);
        const struct weft_tensor *folder = bundle_find(task.output, "folder");
        assert_int_equal(folder->dtype, WEFT_BYTES);
        assert_memory_equal(
            (const uint8_t *)folder->data + 4, WEFT_TEST_FUNCTIONS,
            sizeof(WEFT_TEST_FUNCTIONS) - 1);
        bundle_destroy(task.output);
    }
}

static void what_goes_wrong_fails_the_task_and_says_why(ATTR_UNUSED void **state)
{
    static const struct {
        const char *name;
        enum weft_status status;
        const char *message;
    } cases[] = {
        {"invert", WEFT_INVALID, "function 'invert': 'image' must be UINT8"},
        {"refuse", WEFT_REFUSED, "function 'refuse': refused"},
        {"strange", WEFT_FAILED, "function 'strange': it returned 17, which is not a status"},
        {"same_name", WEFT_FAILED, "function 'same_name': output 'a' is made twice"},
        {"too_many", WEFT_FAILED, "function 'too_many': more than 256 outputs"},
        {"too_large", WEFT_FAILED,
         "function 'too_large': 'big' is larger than what is left of the limit, 1000000 bytes"},
        {"bad_shape", WEFT_FAILED, "function 'bad_shape': 'out' has a negative dimension"},
        {"bad_texts", WEFT_FAILED,
         "function 'bad_texts': the lengths of the texts of 'texts' do not add up"},
        {"twice", WEFT_INVALID, "function 'twice': no 'x'"},
    };
    const struct function_host host = {.output_bytes_max = 1000000};
    for (uint32_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        struct function_task task = {.items = 1};
        call(cases[i / 2].name, i % 2 == 1, &host, &task);
        assert_null(task.output);
        assert_int_equal(task.error.status, cases[i / 2].status);
        assert_string_equal(task.error.message, cases[i / 2].message);
    }
}

static void no_outputs_are_no_error(ATTR_UNUSED void **state)
{
    const struct function_host host = {.context = NULL};
    for (uint32_t apart = 0; apart < 2; apart++) {
        struct function_task task = {.items = 3};
        call("nothing", apart == 1, &host, &task);
        assert_int_equal(task.error.status, WEFT_OK);
        assert_int_equal(task.output->count, 0);
        assert_int_equal(task.output->items, 3);
        bundle_destroy(task.output);
    }
}

/* A model that takes one away from each of its bytes, by the name of relu. */
static enum weft_status pretend_model(
    void *context, const char *model, const struct weft_tensor *inputs, uint32_t input_count,
    struct bundle **output_out, struct weft_error *error)
{
    uint32_t *runs = context;
    if (strcmp(model, "relu") != 0) {
        return error_set(error, WEFT_NOT_FOUND, "no model '%s'", model);
    }
    assert_int_equal(input_count, 1);
    struct bundle *output = bundle_create();
    struct weft_tensor tensor = inputs[0];
    memcpy(tensor.name, "y", 2);
    uint8_t *data = bundle_add(output, &tensor);
    for (uint64_t i = 0; i < tensor.bytes; i++) {
        data[i] = (uint8_t)(((const uint8_t *)inputs[0].data)[i] - 1);
    }
    (*runs)++;
    *output_out = output;
    return WEFT_OK;
}

static void models_are_run_for_functions(ATTR_UNUSED void **state)
{
    uint8_t values[3] = {10, 20, 30};
    uint32_t runs = 0;
    const struct weft_tensor x = {
        .name = "x", .dtype = WEFT_UINT8, .rank = 1, .shape = {3}, .bytes = 3, .data = values};
    const struct function_host host = {.context = &runs, .run = pretend_model};
    for (uint32_t apart = 0; apart < 2; apart++) {
        struct function_task task = {.inputs = &x, .input_count = 1, .items = 1};
        call("twice", apart == 1, &host, &task);
        assert_int_equal(task.error.status, WEFT_OK);
        assert_int_equal(((const uint8_t *)bundle_find(task.output, "y")->data)[2], 28);
        assert_int_equal(runs, 2 * (apart + 1));
        bundle_destroy(task.output);

        task = (struct function_task){.items = 1};
        call("forgive", apart == 1, &host, &task);
        assert_int_equal(task.error.status, WEFT_OK);
        assert_int_equal(*(const int32_t *)task.output->tensors[0].data, WEFT_NOT_FOUND);
        bundle_destroy(task.output);
    }
    const struct function_host without = {.context = NULL};
    struct function_task task = {.inputs = &x, .input_count = 1, .items = 1};
    call("twice", /* apart */ true, &without, &task);
    assert_int_equal(task.error.status, WEFT_NOT_FOUND);
    assert_string_equal(task.error.message, "function 'twice': models cannot be run here");
}

static void what_is_no_library_of_functions_is_refused(ATTR_UNUSED void **state)
{
    struct function function;
    struct weft_error error;
    assert_int_equal(function_open("/nowhere/x.so", "f", &function, &error), WEFT_NOT_FOUND);
    assert_string_equal(error.message, "/nowhere/x.so: no such shared object");
    assert_int_equal(function_open("Makefile", "f", &function, &error), WEFT_INVALID);
    assert_int_equal(function_open(OTHER, "f", &function, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, "version 2 of functions, not 1"));
    assert_int_equal(function_open(SAMPLE, "absent", &function, &error), WEFT_NOT_FOUND);
    assert_non_null(strstr(error.message, "no function 'absent' in it"));
    assert_int_equal(function_open(SAMPLE, "invert", &function, &error), WEFT_OK);

    const struct function_host host = {.context = NULL};
    struct function_task task = {.items = 1};
    function_pool_run(ways.pool, OTHER, "f", &host, &ways.slot, &task);
    assert_int_equal(task.error.status, WEFT_INVALID);
}

static void a_crash_fails_its_task_alone(ATTR_UNUSED void **state)
{
    const struct function_host host = {.context = NULL};
    for (uint32_t round = 0; round < 3; round++) {
        struct function_task task = {.items = 1};
        call("crash", /* apart */ true, &host, &task);
        assert_null(task.output);
        assert_int_equal(task.error.status, WEFT_CRASHED); /* It is not tried again. */
        assert_string_equal(task.error.message, "function 'crash' crashed (SIGSEGV)");
        call("leave", /* apart */ true, &host, &task);
        assert_string_equal(task.error.message, "function 'leave' ended the process (exit 3)");
        call("nothing", /* apart */ true, &host, &task);
        assert_int_equal(task.error.status, WEFT_OK);
        bundle_destroy(task.output);
    }
}

static void a_forker_that_was_killed_has_a_successor(ATTR_UNUSED void **state)
{
    const struct function_limits limits = function_limits_filled((struct function_limits){0});
    struct fork_server server;
    struct function_runner runner;
    struct fork_ended ended;
    assert_int_equal(function_runners_start(&server, &limits, NULL), WEFT_OK);
    assert_int_equal(server.first.process, server.child);
    assert_int_equal(kill(server.first.process, SIGKILL), 0); /* It has not forked anything yet. */
    for (uint32_t round = 0; round < 4; round++) {
        struct function_message message = {.kind = FUNCTION_CALL, .text = "nothing"};
        struct bundle *bundle = NULL;
        assert_int_equal(function_runner_start(&server, SAMPLE, &runner, NULL), WEFT_OK);
        assert_true(function_send(&runner.channel, &message, NULL, 0));
        assert_int_equal(
            function_receive(&runner.channel, &message, &bundle, 0, 0), FUNCTION_RECEIVED);
        assert_int_equal(message.status, WEFT_OK);
        bundle_destroy(bundle);
        /* This process has forked the first alone: the others are forked by one another. */
        assert_int_equal(server.child, -1);
        assert_int_equal(kill(server.first.process, SIGKILL), 0);
        function_runner_end(&server, &runner, &ended);
        assert_int_equal(ended.how, FORK_END_UNKNOWN);
        assert_string_equal(ended.text, "is gone");
    }
    assert_int_equal(function_runner_start(&server, SAMPLE, &runner, NULL), WEFT_OK);
    function_runner_end(&server, &runner, &ended);
    for (uint32_t round = 0; round < 2; round++) { /* Both: this process forks a new first. */
        assert_int_equal(kill(server.second.process, SIGKILL), 0);
        assert_int_equal(kill(server.first.process, SIGKILL), 0);
        assert_int_equal(function_runner_start(&server, SAMPLE, &runner, NULL), WEFT_OK);
        assert_int_equal(server.first.process, server.child);
        assert_true(server.second.control >= 0);
        function_runner_end(&server, &runner, &ended);
        assert_int_equal(ended.how, FORK_END_SIGNAL);
    }
    fork_server_stop(&server);
}

static void a_loop_without_end_ends(ATTR_UNUSED void **state)
{
    struct function_pool *pool;
    const struct function_host host = {.context = NULL};
    struct function_task task = {.items = 1};
    const struct function_limits limits = {.run_ns_max = 20000000};
    assert_int_equal(function_pool_create(&limits, &pool, NULL), WEFT_OK);
    function_pool_run(pool, SAMPLE, "loop", &host, &ways.slot, &task);
    assert_int_equal(task.error.status, WEFT_CRASHED);
    assert_string_equal(task.error.message, "function 'loop' took longer than 20 ms");
    function_pool_destroy(pool);
}

static void *cancel_slot(void *slot)
{
    function_slot_cancel(slot);
    return NULL;
}

static void a_call_can_be_cancelled_from_elsewhere(ATTR_UNUSED void **state)
{
    const struct function_host host = {.context = NULL};
    for (uint32_t round = 0; round < 5; round++) {
        pthread_t thread;
        struct function_task task = {.items = 1};
        assert_int_equal(pthread_create(&thread, NULL, cancel_slot, &ways.slot), 0);
        call("loop", /* apart */ true, &host, &task); /* It may be cancelled before it starts. */
        assert_int_equal(task.error.status, WEFT_CANCELLED);
        assert_int_equal(pthread_join(thread, NULL), 0);
        function_slot_reset(&ways.slot);
    }
    struct function_task task = {.items = 1};
    call("nothing", /* apart */ true, &host, &task);
    assert_int_equal(task.error.status, WEFT_OK);
    bundle_destroy(task.output);
}

static bool says_cancelled(void *context)
{
    uint32_t *asked = context;
    return ++*asked > 10;
}

static void a_function_here_is_told_that_it_is_cancelled(ATTR_UNUSED void **state)
{
    uint32_t asked = 0;
    const struct function_host host = {.context = &asked, .is_cancelled = says_cancelled};
    struct function_task task = {.items = 1};
    call("loop", /* apart */ false, &host, &task);
    assert_int_equal(task.error.status, WEFT_CANCELLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_named_shaped_and_counted),
        cmocka_unit_test(texts_and_the_folder_come_through),
        cmocka_unit_test(what_goes_wrong_fails_the_task_and_says_why),
        cmocka_unit_test(no_outputs_are_no_error),
        cmocka_unit_test(models_are_run_for_functions),
        cmocka_unit_test(what_is_no_library_of_functions_is_refused),
        cmocka_unit_test(a_crash_fails_its_task_alone),
        cmocka_unit_test(a_forker_that_was_killed_has_a_successor),
        cmocka_unit_test(a_loop_without_end_ends),
        cmocka_unit_test(a_call_can_be_cancelled_from_elsewhere),
        cmocka_unit_test(a_function_here_is_told_that_it_is_cancelled),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
