/*
 * Covers: src/document/path.c
 */
#include "document/arrivals_document.h"

#include <stdio.h>
#include <unistd.h>

#include "document/path.h"
#include "document/scenario.h"
#include "document_fixture.h"

#define SMALL                                                                                      \
    "scenario: small\n"                                                                            \
    "cluster:\n"                                                                                   \
    "  machines: {count: 2, device: {kind: t4, memory: 8GB, h2d: 10GB/s}}\n"                       \
    "workflows:\n"                                                                                 \
    "  - {workflow: chat, tasks: {a: {model: llm}}}\n"                                             \
    "  - {workflow: talk, tasks: {a: {model: llm}}}\n"                                             \
    "profile: {weft_profile: 1, models: {llm: {load: 4GB, devices: {t4: {ms: 50}}}}}\n"

#define BURST "burst: {rate: 20/s, every: 10s, length: 1s}"

enum { TEXT_BYTES = 4096 };

static enum weft_status read_text(
    const char *more, struct scenario **scenario_out, struct weft_error *error)
{
    char text[TEXT_BYTES];

    assert_true(snprintf(text, sizeof(text), SMALL "%s", more) < (int)sizeof(text));
    struct tree *tree = parsed(text);
    const enum weft_status status = scenario_read(tree->root, scenario_out, error);
    tree_destroy(tree);
    return status;
}

static struct scenario *read_good(const char *more)
{
    struct scenario *scenario = NULL;
    struct weft_error error = {0};

    assert_good(read_text(more, &scenario, &error), &error);
    return scenario;
}

static struct scenario *read_changed(const char *more, const struct scenario_setting *setting)
{
    char text[TEXT_BYTES];
    struct scenario *scenario = NULL;
    struct weft_error error = {0};

    assert_true(snprintf(text, sizeof(text), SMALL "%s", more) < (int)sizeof(text));
    struct tree *tree = parsed(text);
    assert_good(scenario_read_with(tree->root, setting, 1, &scenario, &error), &error);
    tree_destroy(tree);
    return scenario;
}

/* A file of this process alone, with @text in it. */
static const char *written(const char *text)
{
    static char path[64];

    (void)snprintf(path, sizeof(path), "/tmp/weft-trace-%ld.csv", (long)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void gamma_has_a_coefficient_of_variation(ATTR_UNUSED void **state)
{
    struct scenario *scenario = read_good("arrivals: {kind: gamma, rate: 5/s, cv: 4}\n");

    assert_int_equal(scenario->arrivals.kind, ARRIVALS_GAMMA);
    assert_true(scenario->arrivals.rate_per_s == 5);
    assert_true(scenario->arrivals.cv == 4);
    assert_true(scenario->arrivals.mix[0] == 1 && scenario->arrivals.mix[1] == 1);
    scenario_destroy(scenario);
}

static void clients_may_name_a_deadline(ATTR_UNUSED void **state)
{
    struct scenario *scenario = read_good("arrivals: {rate: 5/s, deadline: 250ms}\n");
    assert_int_equal(scenario->arrivals.deadline_ns, 250000000);
    scenario_destroy(scenario);
    scenario = read_good("arrivals: {rate: 5/s}\n");
    assert_int_equal(scenario->arrivals.deadline_ns, 0);
    scenario_destroy(scenario);
    scenario =
        read_good("arrivals: {deadline: 250ms, list: [{at: 0s, workflow: chat, deadline: 60s}, "
                  "{at: 0s, workflow: chat}]}\n");
    const struct arrival *list = scenario->arrivals.list;
    assert_int_equal(arrival_deadline_ns(&scenario->arrivals, &list[0]), 60000000000);
    assert_int_equal(arrival_deadline_ns(&scenario->arrivals, &list[1]), 250000000);
    scenario_destroy(scenario);
}

static void clients_are_patient_unless_it_is_said(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        int64_t patience_ns;
        bool is_mean;
    } cases[] = {
        {"arrivals: {rate: 5/s}\n", 0, false},
        {"arrivals: {rate: 5/s, patience: 250ms}\n", 250000000, false},
        {"arrivals: {rate: 5/s, patience: {mean: 2s}}\n", 2000000000, true},
        {"arrivals: {patience: 1s, list: [{at: 0, workflow: chat}]}\n", 1000000000, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scenario *scenario = read_good(cases[i].text);
        assert_int_equal(scenario->arrivals.patience_ns, cases[i].patience_ns);
        assert_int_equal(scenario->arrivals.patience_is_mean, cases[i].is_mean);
        scenario_destroy(scenario);
    }
}

static void bursts_have_rate_time_and_length(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        enum arrivals_kind kind;
    } cases[] = {
        {"arrivals: {kind: burst, rate: 2/s, " BURST "}\n", ARRIVALS_BURST},
        {"arrivals: {rate: 2/s, " BURST "}\n", ARRIVALS_BURST},
        {"arrivals: {kind: mmpp, rate: 2/s, " BURST "}\n", ARRIVALS_MMPP},
    };

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scenario *scenario = read_good(cases[i].text);
        const struct arrivals *arrivals = &scenario->arrivals;
        assert_int_equal(arrivals->kind, cases[i].kind);
        assert_true(arrivals->rate_per_s == 2 && arrivals->burst.rate_per_s == 20);
        assert_int_equal(arrivals->burst.every_ns, 10000000000);
        assert_int_equal(arrivals->burst.length_ns, 1000000000);
        scenario_destroy(scenario);
    }
}

static void a_day_has_a_swing_or_a_shape(ATTR_UNUSED void **state)
{
    struct scenario *swing =
        read_good("arrivals: {kind: diurnal, rate: 5/s, diurnal: {period: 24h, swing: 75%}}\n");
    struct scenario *shape =
        read_good("arrivals: {rate: 5/s, diurnal: {period: 1h, shape: [1, 0, 2.5]}}\n");

    assert_int_equal(swing->arrivals.kind, ARRIVALS_DIURNAL);
    assert_int_equal(swing->arrivals.shape.period_ns, 86400000000000);
    assert_int_equal(swing->arrivals.shape.point_count, 2);
    assert_true(swing->arrivals.shape.points[0] == 0.25);
    assert_true(swing->arrivals.shape.points[1] == 1.75);
    assert_int_equal(shape->arrivals.kind, ARRIVALS_DIURNAL);
    assert_int_equal(shape->arrivals.shape.point_count, 3);
    assert_true(shape->arrivals.shape.points[2] == 2.5);
    scenario_destroy(swing);
    scenario_destroy(shape);
}

static void a_trace_counts_the_jobs(ATTR_UNUSED void **state)
{
    const char *path = written("t_ms,workflow\n0,talk\n500,chat\n1000,talk\n");
    char text[TEXT_BYTES];

    (void)snprintf(text, sizeof(text), "arrivals: {kind: trace, trace: %s, speed: 2}\n", path);
    struct scenario *scenario = read_good(text);
    assert_int_equal(scenario->arrivals.kind, ARRIVALS_TRACE);
    assert_int_equal(scenario->arrivals.list_count, 3);
    assert_int_equal(scenario->jobs, 3);
    assert_true(scenario->arrivals.speed == 2);
    assert_true(scenario->arrivals.rate_per_s == 4); /* Three in 1.5 s, twice as fast. */
    assert_false(scenario->arrivals.repeat);
    assert_int_equal(scenario->arrivals.list[1].workflow, 0);
    scenario_destroy(scenario);

    (void)snprintf(
        text, sizeof(text), "arrivals: {trace: %s, repeat: true, rate: 1/s}\njobs: 100\n", path);
    scenario = read_good(text);
    assert_true(scenario->arrivals.repeat);
    assert_true(scenario->arrivals.speed == 0.5 && scenario->arrivals.rate_per_s == 1);
    assert_int_equal(scenario->jobs, 100);
    scenario_destroy(scenario);
    assert_int_equal(unlink(path), 0);
}

static void a_trace_of_tokens_takes_mix_and_items(ATTR_UNUSED void **state)
{
    const char *path =
        written("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1000,1\n"
                "2023-11-16 18:15:47,100,1\n");
    char text[TEXT_BYTES];

    (void)snprintf(
        text, sizeof(text), "arrivals: {trace: %s, items_per: 500, mix: {talk: 2}}\n", path);
    struct scenario *scenario = read_good(text);
    assert_int_equal(scenario->arrivals.list[0].items, 3);
    assert_int_equal(scenario->arrivals.list[1].items, 1);
    assert_true(scenario->arrivals.list[0].workflow == ARRIVAL_WORKFLOW_ANY);
    assert_true(scenario->arrivals.mix[0] == 0 && scenario->arrivals.mix[1] == 2);
    scenario_destroy(scenario);
    assert_int_equal(unlink(path), 0);
}

struct bad {
    const char *arrivals;
    const char *message;
};

static const struct bad bad[] = {
    {"{kind: gamma, rate: 5/s}", "t.yaml:8: 'cv' is missing"},
    {"{kind: gamma, rate: 5/s, cv: 0}", "t.yaml:8: 'cv' must be between 0.01 and 100, not '0'"},
    {"{kind: poisson, rate: 5/s, cv: 2}", "t.yaml:8: 'cv' goes with 'kind: gamma'"},
    {"{kind: gamma, rate: 5/s, cv: 2, list: []}", "t.yaml:8: 'list' goes with 'kind: list'"},
    {"{kind: gamma, cv: 4}", "t.yaml:8: 'rate' is missing"},
    {"{rate: 5/s, patience: 0}", "t.yaml:8: 'patience' must be between 1us and 240h, not '0'"},
    {"{rate: 5/s, patience: {}}", "t.yaml:8: 'mean' is missing"},
    {"{rate: 5/s, patience: {mean: soon}}",
     "t.yaml:8: 'mean' wants a duration such as '300ms', not 'soon'"},
    {"{rate: 5/s, patience: [1s]}",
     "t.yaml:8: 'patience' wants a duration such as '300ms', not a list"},
    {"{kind: burst, rate: 5/s}", "t.yaml:8: 'burst' is missing"},
    {"{kind: gamma, cv: 1, rate: 5/s, " BURST "}",
     "t.yaml:8: 'burst' goes with 'kind: burst' or 'kind: mmpp'"},
    {"{rate: 1/s, burst: {rate: 2/s, every: 1s, length: 1s}}",
     "t.yaml:8: 'length' must be less than 'every'"},
    {"{rate: 1/s, burst: {rate: 2/s, every: 1s}}", "t.yaml:8: 'length' is missing"},
    {"{rate: 1/h, burst: {rate: 1/s, every: 10ms, length: 1us}}",
     "t.yaml:8: only one of more than 1000 bursts would bring a request"},
    {"{rate: 1/s, diurnal: {period: 1h}}", "t.yaml:8: 'diurnal' wants either 'swing' or 'shape'"},
    {"{rate: 1/s, diurnal: {period: 1h, swing: 1, shape: [1, 2]}}",
     "t.yaml:8: 'diurnal' wants either 'swing' or 'shape'"},
    {"{rate: 1/s, diurnal: {period: 1h, swing: 120%}}",
     "t.yaml:8: 'swing' must be between 0% and 100%, not '120%'"},
    {"{rate: 1/s, diurnal: {period: 1h, shape: [1]}}",
     "t.yaml:8: 'shape' has 1 points; it must have between 2 and 96"},
    {"{rate: 1/s, diurnal: {period: 1h, shape: [0, 0]}}", "t.yaml:8: 'shape' is zero everywhere"},
    {"{rate: 1/s, diurnal: {period: 1ms, swing: 10%}}",
     "t.yaml:8: 'period' must be between 1s and 240h, not '1ms'"},
    {"{kind: trace}", "t.yaml:8: 'trace' is missing"},
    {"{kind: poisson, rate: 1/s, speed: 2}", "t.yaml:8: 'speed' goes with 'kind: trace'"},
    {"{trace: none.csv}", "t.yaml:8: none.csv: cannot be opened: No such file or directory"},
    {"{kind: list, list: [{at: 0, workflow: chat}], mix: {chat: 1}}",
     "t.yaml:8: 'mix' does not go with 'kind: list'"},
};

static void what_is_wrong_is_said_with_its_line(ATTR_UNUSED void **state)
{
    char text[TEXT_BYTES];

    for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct scenario *scenario = NULL;
        struct weft_error error = {0};
        (void)snprintf(text, sizeof(text), "arrivals: %s\n", bad[i].arrivals);
        assert_true(read_text(text, &scenario, &error) != WEFT_OK);
        assert_string_equal(error.message, bad[i].message);
        assert_null(scenario);
    }
}

/* The same for what depends on the trace; a '#' stands for its path. */
static const struct {
    const char *rows;
    const char *settings;
    const char *message;
} bad_traces[] = {
    {"0,chat\n1,chat\n", "{trace: #, mix: {chat: 1}}",
     "t.yaml:8: 'mix' does not go with a trace that names workflows"},
    {"0,chat\n1,chat\n", "{trace: #, items_per: 5}",
     "t.yaml:8: 'items_per' goes with a trace of tokens"},
    {"0,chat\n1,chat\n", "{trace: #, speed: 0}",
     "t.yaml:8: 'speed' must be between 0.001 and 1000000, not '0'"},
    {"0,chat\n1,chat\n", "{trace: #, speed: 2, rate: 1/s}",
     "t.yaml:8: a trace has either a 'rate' or a 'speed'"},
    {"0,chat\n1,chat\n", "{trace: #, repeat: perhaps}",
     "t.yaml:8: repeat 'perhaps' is not known; use false or true"},
    {"0,chat\n0,chat\n", "{trace: #, repeat: true}",
     "t.yaml:8: a trace that takes no time cannot be repeated"},
    {"0,chat\n0,chat\n", "{trace: #, rate: 1/s}",
     "t.yaml:8: 'rate' does not go with a trace that takes no time"},
    {"0,chat\n1,chat\n", "{trace: #}\njobs: 3",
     "t.yaml:9: 'jobs' is 3, but the trace has only 2 rows; it may be repeated"},
    {"0,chat\n1,chat\n", "{trace: #, rate: 0.00001/s, repeat: true}\njobs: 1000000",
     "t.yaml:9: 1000000 jobs at 1e-05/s take more than three years"},
    {"0,chat\n1,chaat\n", "{trace: #}",
     "#:3: 'chaat' is not one of the workflows; did you mean 'chat'?"},
};

/* @text with @path for each '#'. */
static void put_path(char out[TEXT_BYTES], const char *text, const char *path)
{
    size_t length = 0;
    for (; *text != '\0'; text++) {
        const char letter[2] = {*text, '\0'};
        length +=
            (size_t)snprintf(out + length, TEXT_BYTES - length, "%s", *text == '#' ? path : letter);
    }
}

static void what_does_not_go_with_a_trace_is_said(ATTR_UNUSED void **state)
{
    char rows[TEXT_BYTES];
    char settings[TEXT_BYTES];
    char text[2 * TEXT_BYTES];
    char message[TEXT_BYTES];

    for (uint32_t i = 0; i < sizeof(bad_traces) / sizeof(bad_traces[0]); i++) {
        struct scenario *scenario = NULL;
        struct weft_error error = {0};
        (void)snprintf(rows, sizeof(rows), "t_ms,workflow\n%s", bad_traces[i].rows);
        const char *path = written(rows);
        put_path(settings, bad_traces[i].settings, path);
        put_path(message, bad_traces[i].message, path);
        (void)snprintf(text, sizeof(text), "arrivals: %s\n", settings);
        assert_true(read_text(text, &scenario, &error) != WEFT_OK);
        assert_string_equal(error.message, message);
        assert_int_equal(unlink(path), 0);
    }
}

/* --set rate: bursts keep their proportion, and a trace is no longer played at a speed. */
static void a_new_rate_is_for_all_of_it(ATTR_UNUSED void **state)
{
    static const struct scenario_setting rate = {.key = "rate", .value = "4/s"};
    struct scenario *scenario = read_changed("arrivals: {rate: 2/s, " BURST "}\n", &rate);

    assert_true(scenario->arrivals.rate_per_s == 4);
    assert_true(scenario->arrivals.burst.rate_per_s == 40);
    scenario_destroy(scenario);
    const char *path = written("t_ms,workflow\n0,chat\n1000,chat\n");
    char text[512];
    (void)snprintf(text, sizeof(text), "arrivals: {trace: %s, speed: 3}\n", path);
    scenario = read_changed(text, &rate);
    assert_true(scenario->arrivals.speed == 4);
    scenario_destroy(scenario);
    assert_int_equal(unlink(path), 0);
}

static void paths_are_relative_to_the_document(ATTR_UNUSED void **state)
{
    char path[DOCUMENT_PATH_BYTES_MAX];
    char large[DOCUMENT_PATH_BYTES_MAX];

    assert_true(path_beside(path, "a/b/c.yaml", "d.csv"));
    assert_string_equal(path, "a/b/d.csv");
    assert_true(path_beside(path, "c.yaml", "d.csv"));
    assert_string_equal(path, "d.csv");
    assert_true(path_beside(path, "a/c.yaml", "/d.csv"));
    assert_string_equal(path, "/d.csv");
    assert_true(path_beside(path, NULL, "e/d.csv"));
    assert_string_equal(path, "e/d.csv");
    memset(large, 'x', sizeof(large));
    large[sizeof(large) - 1] = '\0';
    assert_true(path_beside(path, "c.yaml", large));
    assert_false(path_beside(path, "a/c.yaml", large));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gamma_has_a_coefficient_of_variation),
        cmocka_unit_test(clients_may_name_a_deadline),
        cmocka_unit_test(clients_are_patient_unless_it_is_said),
        cmocka_unit_test(bursts_have_rate_time_and_length),
        cmocka_unit_test(a_day_has_a_swing_or_a_shape),
        cmocka_unit_test(a_trace_counts_the_jobs),
        cmocka_unit_test(a_trace_of_tokens_takes_mix_and_items),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
        cmocka_unit_test(what_does_not_go_with_a_trace_is_said),
        cmocka_unit_test(a_new_rate_is_for_all_of_it),
        cmocka_unit_test(paths_are_relative_to_the_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
