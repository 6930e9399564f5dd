/*
 * With public traces in the folder WEFT_TEST_DATA, also that those are read whole.
 */
#include "document/trace_document.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "document_fixture.h"

#define OWN    "t_ms,workflow\n"
#define ITEMS  "t_ms,workflow,items\n"
#define TOKENS "TIMESTAMP,ContextTokens,GeneratedTokens\n"
#define DAY    "2023-11-16 "

/* Workflows called chat and talk, an arena, and what was read. */
struct fixture {
    struct catalogue *catalogue;
    struct arena arena;
    struct trace trace;
    struct weft_error error;
};

static void add_workflow(struct catalogue *catalogue, const char *name)
{
    const struct workflow_task task = {.name = "t"};
    struct workflow *workflow = workflow_create(name);
    uint32_t number;

    assert_int_equal(workflow_add_task(workflow, &task, &number), WEFT_OK);
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(catalogue, workflow), WEFT_OK);
}

static void begin(struct fixture *fixture)
{
    *fixture = (struct fixture){.catalogue = catalogue_create()};
    arena_init(&fixture->arena);
    add_workflow(fixture->catalogue, "chat");
    add_workflow(fixture->catalogue, "talk");
}

static void end(struct fixture *fixture)
{
    arena_deinit(&fixture->arena);
    catalogue_destroy(fixture->catalogue);
}

/* Parse @text from a block of its own size, so that a sanitizer sees one byte too many. */
static enum weft_status parse(struct fixture *fixture, const char *text, uint32_t items_per)
{
    const size_t size = strlen(text);
    char *bytes = malloc(size > 0 ? size : 1);
    const struct trace_source source = {.file = "t.csv", .bytes = bytes, .size = size};
    const struct trace_options options = {.catalogue = fixture->catalogue, .items_per = items_per};

    assert_non_null(bytes);
    memcpy(bytes, text, size);
    const enum weft_status status =
        trace_parse(&source, &options, &fixture->arena, &fixture->trace, &fixture->error);
    free(bytes);
    return status;
}

static void our_own_form_names_workflows(ATTR_UNUSED void **state)
{
    static const char *const same[] = {
        OWN "0,chat\n12.25,talk\n12.25,chat\n",
        OWN "0,chat\n12.25,talk\n12.25,chat",
        "t_ms,workflow\r\n0,chat\r\n12.25,talk\r\n12.25,chat\r\n",
        ITEMS "0,chat,1\n12.25,talk,1\n12.25,chat,1\n",
    };
    struct fixture fixture;

    for (uint32_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        begin(&fixture);
        assert_good(parse(&fixture, same[i], 0), &fixture.error);
        const struct arrival *rows = fixture.trace.rows;
        assert_true(fixture.trace.has_workflows);
        assert_int_equal(fixture.trace.count, 3);
        assert_int_equal(rows[0].at_ns, 0);
        assert_int_equal(rows[0].workflow, 0);
        assert_int_equal(rows[1].at_ns, 12250000);
        assert_int_equal(rows[1].workflow, 1);
        assert_int_equal(rows[2].workflow, 0);
        assert_int_equal(rows[2].items, 1);
        end(&fixture);
    }
}

static void items_may_be_said(ATTR_UNUSED void **state)
{
    struct fixture fixture;

    begin(&fixture);
    assert_good(parse(&fixture, ITEMS "5,chat,3\n6,chat,1000000\n", 0), &fixture.error);
    assert_int_equal(fixture.trace.rows[0].items, 3);
    assert_int_equal(fixture.trace.rows[1].items, 1000000);
    end(&fixture);
}

static void a_trace_of_tokens_starts_at_its_first_row(ATTR_UNUSED void **state)
{
    static const char text[] =
        TOKENS DAY "18:15:46.6805900,374,44\n" DAY "18:15:46.6805900,512,0\n" DAY
                   "18:15:50.5,400,113\n" DAY "18:15:51,0,0\n";
    struct fixture fixture;

    begin(&fixture);
    assert_good(parse(&fixture, text, 512), &fixture.error);
    const struct arrival *rows = fixture.trace.rows;
    assert_false(fixture.trace.has_workflows);
    assert_int_equal(fixture.trace.count, 4);
    assert_int_equal(rows[0].at_ns, 0);
    assert_int_equal(rows[1].at_ns, 0);
    assert_int_equal(rows[2].at_ns, 3819410000);
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(rows[i].workflow == ARRIVAL_WORKFLOW_ANY);
        assert_int_equal(rows[i].items, i == 2 ? 2 : 1); /* Of 418, 512, 513 and no tokens. */
    }
    end(&fixture);
    begin(&fixture);
    assert_good(parse(&fixture, text, 0), &fixture.error);
    assert_int_equal(fixture.trace.rows[2].items, 1);
    end(&fixture);
}

struct bad {
    const char *text;
    const char *message;
};

static const struct bad bad[] = {
    {"", "t.csv:1: the first line must be 't_ms,workflow', 't_ms,workflow,items' or "
         "'TIMESTAMP,ContextTokens,GeneratedTokens', not ''"},
    {"0,chat\n", "t.csv:1: the first line must be 't_ms,workflow', 't_ms,workflow,items' or "
                 "'TIMESTAMP,ContextTokens,GeneratedTokens', not '0,chat'"},
    {OWN, "t.csv:1: there are no rows"},
    {OWN "0,chat\n\n1,chat\n", "t.csv:3: an empty line; a row is 't_ms,workflow'"},
    {OWN "0,chat\n1\n", "t.csv:3: too few fields; a row is 't_ms,workflow'"},
    {OWN "0,chat,1\n", "t.csv:2: too many fields; a row is 't_ms,workflow'"},
    {ITEMS "0,chat\n", "t.csv:2: too few fields; a row is 't_ms,workflow,items'"},
    {OWN "x,chat\n", "t.csv:2: 't_ms' wants milliseconds such as '12.5', not 'x'"},
    {OWN "-1,chat\n", "t.csv:2: 't_ms' wants milliseconds such as '12.5', not '-1'"},
    {OWN ",chat\n", "t.csv:2: 't_ms' wants milliseconds such as '12.5', not ''"},
    {OWN "864000000.000001,chat\n",
     "t.csv:2: 't_ms' must be at most ten days, not '864000000.000001'"},
    {OWN "0,chat\n5,talk\n4.999999,chat\n",
     "t.csv:4: the row goes back in time; rows are by time, ascending"},
    {OWN "0,chta\n", "t.csv:2: 'chta' is not one of the workflows; did you mean 'chat'?"},
    {OWN "0,ch\x01t\n", "t.csv:2: 'ch?t' is not one of the workflows; did you mean 'chat'?"},
    {OWN "0,unheard-of\n", "t.csv:2: 'unheard-of' is not one of the workflows"},
    {OWN "0,\n", "t.csv:2: '' is not one of the workflows"},
    {ITEMS "0,chat,0\n", "t.csv:2: 'items' must be between 1 and 1000000, not '0'"},
    {ITEMS "0,chat,1000001\n", "t.csv:2: 'items' must be between 1 and 1000000, not '1000001'"},
    {ITEMS "0,chat,two\n", "t.csv:2: 'items' must be between 1 and 1000000, not 'two'"},
    {TOKENS "yesterday,1,1\n",
     "t.csv:2: 'TIMESTAMP' wants a time such as '2023-11-16 18:15:46.68', not 'yesterday'"},
    {TOKENS DAY "18:15:46,x,1\n", "t.csv:2: 'ContextTokens' wants a whole number, not 'x'"},
    {TOKENS DAY "18:15:46,1,-1\n", "t.csv:2: 'GeneratedTokens' wants a whole number, not '-1'"},
    {TOKENS DAY "18:15:46,1,1\n" DAY "18:15:45,1,1\n",
     "t.csv:3: the row goes back in time; rows are by time, ascending"},
    {TOKENS DAY "18:15:46,1,1\n2023-12-16 18:15:46,1,1\n",
     "t.csv:3: more than ten days after the first row"},
};

static void each_bad_row_has_its_line(ATTR_UNUSED void **state)
{
    struct fixture fixture;

    for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        begin(&fixture);
        assert_int_equal(parse(&fixture, bad[i].text, 0), WEFT_INVALID);
        assert_string_equal(fixture.error.message, bad[i].message);
        assert_null(fixture.trace.rows); /* Nothing is half-read. */
        end(&fixture);
    }
}

static void what_is_no_file_is_said(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture);
    const struct trace_options options = {.catalogue = fixture.catalogue};

    assert_int_equal(
        trace_load("none.csv", &options, &fixture.arena, &fixture.trace, &fixture.error), WEFT_IO);
    assert_string_equal(
        fixture.error.message, "none.csv: cannot be opened: No such file or directory");
    assert_int_equal(
        trace_load("test", &options, &fixture.arena, &fixture.trace, &fixture.error), WEFT_IO);
    assert_string_equal(fixture.error.message, "test: is a directory");
    end(&fixture);
}

/* One row more than there may be. */
static void rows_have_a_limit(ATTR_UNUSED void **state)
{
    static const char header[] = OWN;
    static const char row[] = "0,chat\n";
    const size_t size = strlen(header) + ((size_t)ARRIVALS_ROWS_MAX + 1) * strlen(row);
    char *bytes = malloc(size);
    struct fixture fixture;
    begin(&fixture);
    const struct trace_options options = {.catalogue = fixture.catalogue};

    assert_non_null(bytes);
    memcpy(bytes, header, strlen(header));
    for (size_t i = strlen(header); i < size; i += strlen(row)) {
        memcpy(bytes + i, row, strlen(row));
    }
    const struct trace_source source = {.file = "t.csv", .bytes = bytes, .size = size};
    assert_int_equal(
        trace_parse(&source, &options, &fixture.arena, &fixture.trace, &fixture.error), WEFT_LIMIT);
    assert_string_equal(fixture.error.message, "t.csv:16000002: more than 16000000 rows");
    end(&fixture);
    free(bytes);
}

struct expected {
    const char *name;
    uint32_t count;
    double rate_per_s;
    double cv; /* Of the gaps. */
};

static void assert_public_trace(struct fixture *fixture, const struct expected *expected)
{
    const struct trace *trace = &fixture->trace;
    double squares = 0;

    assert_int_equal(trace->count, expected->count);
    for (uint32_t i = 1; i < trace->count; i++) {
        const double gap = (double)(trace->rows[i].at_ns - trace->rows[i - 1].at_ns);
        squares += gap * gap;
    }
    const double mean = (double)trace->rows[trace->count - 1].at_ns / (trace->count - 1);
    const double cv = sqrt(squares / (trace->count - 1) - mean * mean) / mean;
    assert_true(fabs(1e9 / mean / expected->rate_per_s - 1) < 0.03);
    assert_true(fabs(cv / expected->cv - 1) < 0.1);
}

static void public_traces_are_read_whole(ATTR_UNUSED void **state)
{
    static const struct expected traces[] = {
        {"AzureLLMInferenceTrace_conv.csv", 19366, 5.5, 1.1},
        {"AzureLLMInferenceTrace_code.csv", 8819, 2.6, 13},
    };
    const char *folder = getenv("WEFT_TEST_DATA");
    char path[1024];

    for (uint32_t i = 0; folder != NULL && i < 2; i++) {
        struct fixture fixture;
        begin(&fixture);
        const struct trace_options options = {.catalogue = fixture.catalogue, .items_per = 512};
        (void)snprintf(path, sizeof(path), "%s/%s", folder, traces[i].name);
        const enum weft_status status =
            trace_load(path, &options, &fixture.arena, &fixture.trace, &fixture.error);
        if (status == WEFT_IO) {
            folder = NULL;
        } else {
            assert_good(status, &fixture.error);
            assert_public_trace(&fixture, &traces[i]);
        }
        end(&fixture);
    }
    if (folder == NULL) {
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_form_names_workflows),
        cmocka_unit_test(items_may_be_said),
        cmocka_unit_test(a_trace_of_tokens_starts_at_its_first_row),
        cmocka_unit_test(each_bad_row_has_its_line),
        cmocka_unit_test(what_is_no_file_is_said),
        cmocka_unit_test(rows_have_a_limit),
        cmocka_unit_test(public_traces_are_read_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
