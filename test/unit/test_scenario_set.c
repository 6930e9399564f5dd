#include "document/scenario.h"

#include <stdio.h>

#include "document_fixture.h"

static struct scenario *load(const char *path)
{
    struct scenario *scenario = NULL;
    struct weft_error error = {0};

    assert_good(scenario_load(path, &scenario, &error), &error);
    return scenario;
}

static void set(struct scenario *scenario, const char *key, const char *value)
{
    struct weft_error error = {0};

    assert_good(scenario_set(scenario, key, value, &error), &error);
}

static void every_setting_can_be_changed(ATTR_UNUSED void **state)
{
    struct scenario *scenario = load("scenarios/compass/compass.yaml");

    set(scenario, "rate", "3.5/s");
    assert_true(scenario->arrivals.rate_per_s == 3.5);
    scenario->arrivals.patience_is_mean = true;
    set(scenario, "patience", "300ms");
    assert_int_equal(scenario->arrivals.patience_ns, 300000000);
    assert_false(scenario->arrivals.patience_is_mean);
    set(scenario, "jobs", "12");
    assert_int_equal(scenario->jobs, 12);
    set(scenario, "noise", "20%");
    assert_true(scenario->noise == 0.2);
    set(scenario, "profile_error", "30%");
    assert_true(scenario->profile_error == 0.3);
    set(scenario, "warmup", "0%");
    assert_true(scenario->warmup == 0);
    set(scenario, "link", "8Gb/s");
    assert_int_equal(scenario->fleet->network.link_bytes_per_s, 1000000000);
    set(scenario, "latency", "1ms");
    assert_int_equal(scenario->fleet->network.latency_ns, 1000000);
    set(scenario, "rows.load", "1ms");
    assert_int_equal(scenario->row_load_ns, 1000000);
    set(scenario, "rows.cache", "1s");
    assert_int_equal(scenario->row_cache_ns, 1000000000);
    set(scenario, "memory", "16GB");
    assert_int_equal(scenario->fleet->workers[4].memory_bytes, 16000000000);
    set(scenario, "policy", "place=jit");
    assert_string_equal(scenario->policy, "place=jit");
    scenario_destroy(scenario);
}

static void the_fleet_grows_and_shrinks(ATTR_UNUSED void **state)
{
    struct scenario *scenario = load("scenarios/compass/compass.yaml");

    set(scenario, "memory", "15GB");
    set(scenario, "workers", "12");
    assert_int_equal(scenario->fleet->worker_count, 12);
    assert_int_equal(scenario->fleet->node_count, 12);
    assert_int_equal(scenario->fleet->workers[11].node, 11);
    assert_int_equal(scenario->fleet->workers[11].memory_bytes, 15000000000);
    assert_int_equal(scenario->fleet->nodes[11].cpu_units, 16);
    assert_string_equal(scenario->fleet->devices[0], "t4");
    assert_int_equal(scenario->fleet->network.link_bytes_per_s, 12500000000);
    set(scenario, "workers", "1");
    assert_int_equal(scenario->fleet->worker_count, 1);
    scenario_destroy(scenario);
}

struct refusal {
    const char *key;
    const char *value;
    enum weft_status status;
    const char *message;
};

static const struct refusal refusals[] = {
    {"ratte", "2/s", WEFT_NOT_FOUND, "unknown setting 'ratte'; did you mean 'rate'?"},
    {"seeds", "2", WEFT_NOT_FOUND, "unknown setting 'seeds'"},
    {"rate", "fast", WEFT_INVALID, "'rate' wants a rate such as '2/s', not 'fast'"},
    {"rate", "0.00001/s", WEFT_INVALID, "20000 jobs at 1e-05/s take more than three years"},
    {"jobs", "0", WEFT_INVALID, "'jobs' must be between 1 and 1000000000, not '0'"},
    {"jobs", "", WEFT_INVALID, "'jobs' wants a whole number such as '8', not nothing"},
    {"memory", "5GB", WEFT_INVALID,
     "'translate.opt' of task 'generate' needs 5.72GB of memory; the largest device has 5GB"},
    {"workers", "0", WEFT_INVALID, "'workers' must be between 1 and 16384, not '0'"},
    {"policy", "quickest", WEFT_INVALID, NULL},
    {"link", "10", WEFT_INVALID,
     "'link' wants a bandwidth such as '10GB/s' or '100Gb/s', not '10'"},
    {"rows.load", "0", WEFT_INVALID, "'rows.load' must be between 1us and 1h, not '0'"},
};

static void what_is_refused_changes_nothing(ATTR_UNUSED void **state)
{
    struct scenario *scenario = load("scenarios/compass/compass.yaml");

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct weft_error error = {0};
        assert_int_equal(
            scenario_set(scenario, refusals[i].key, refusals[i].value, &error), refusals[i].status);
        if (refusals[i].message != NULL) {
            assert_string_equal(error.message, refusals[i].message);
        }
    }
    assert_true(scenario->arrivals.rate_per_s == 2);
    assert_int_equal(scenario->jobs, 20000);
    assert_int_equal(scenario->fleet->workers[0].memory_bytes, 14000000000);
    assert_int_equal(scenario->fleet->worker_count, 5);
    assert_string_equal(scenario->policy, "least-work");
    assert_int_equal(scenario->row_load_ns, 10000000);
    scenario_destroy(scenario);
}

static struct scenario *read_text(const char *machines, const char *rest)
{
    char text[1024];
    struct scenario *scenario = NULL;
    struct weft_error error = {0};

    (void)snprintf(
        text, sizeof(text),
        "scenario: s\ncluster: {machines: %s}\n"
        "workflows: [{workflow: w, tasks: {a: {model: m}}}]\n"
        "profile: {weft_profile: 1, models: {m: {devices: {t4: {ms: 1}, a30: {ms: 1}}}}}\n%s",
        machines, rest);
    struct tree *tree = parsed(text);
    assert_good(scenario_read(tree->root, &scenario, &error), &error);
    tree_destroy(tree);
    return scenario;
}

static void assert_refused(
    struct scenario *scenario, const char *key, const char *value, const char *message)
{
    struct weft_error error = {0};

    assert_int_equal(scenario_set(scenario, key, value, &error), WEFT_INVALID);
    assert_string_equal(error.message, message);
    scenario_destroy(scenario);
}

static void partitions_stay_partitions(ATTR_UNUSED void **state)
{
    struct scenario *scenario = read_text(
        "{count: 3, devices: 2, partitions: 2, device: {kind: t4, memory: 8GB, h2d: 1GB/s, "
        "interference: 20%, bus_inputs: true}}",
        "arrivals: {rate: 1/s}\n");

    assert_int_equal(scenario->fleet->worker_count, 12);
    assert_int_equal(scenario->fleet->workers[11].memory_bytes, 4000000000);
    set(scenario, "memory", "6GB");
    assert_int_equal(scenario->fleet->workers[11].memory_bytes, 3000000000);
    set(scenario, "workers", "8");
    assert_int_equal(scenario->fleet->node_count, 2);
    assert_int_equal(scenario->fleet->worker_count, 8);
    assert_int_equal(scenario->fleet->workers[7].memory_bytes, 3000000000);
    assert_int_equal(fleet_first_partition(scenario->fleet, 7), 6);
    assert_true(scenario->fleet->workers[7].interference == 0.2);
    assert_true(scenario->fleet->workers[7].bus_inputs);
    scenario_destroy(scenario);
}

static void what_does_not_fit_the_rest_is_refused(ATTR_UNUSED void **state)
{
    static const char t4[] = "{count: 3, devices: 2, device: {kind: t4, memory: 8GB, h2d: 1GB/s}}";
    static const char mixed[] = "[{device: {kind: t4, memory: 8GB, h2d: 1GB/s}},"
                                " {device: {kind: a30, memory: 8GB, h2d: 1GB/s}}]";
    static const char rate[] = "arrivals: {rate: 1/s}\n";

    assert_refused(
        read_text(t4, rate), "workers", "5", "'workers' is 5, but each machine has 2 devices");
    assert_refused(
        read_text(t4, "arrivals: {rate: 1/s}\nfaults: [{at: 1s, crash: 2}]\n"), "workers", "4",
        "'workers' is 4, but a fault names node 2");
    assert_refused(
        read_text(t4, "arrivals: {rate: 1/s}\nfaults: [random: {rate: 1/s, until: 9s}]\n"),
        "workers", "2", "'workers' is 2, but random faults spare node 0, and there is no other");
    assert_refused(
        read_text(mixed, rate), "workers", "5",
        "'workers' can be set only if all machines are alike");
    assert_refused(
        read_text(t4, "arrivals: {kind: list, list: [{at: 0, workflow: w}]}\n"), "rate", "1/s",
        "'rate' does not go with a list of arrivals");
    assert_refused(
        read_text(t4, "arrivals: {kind: list, list: [{at: 0, workflow: w}]}\n"), "jobs", "2",
        "'jobs' is 2, but the list has only 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting_can_be_changed),
        cmocka_unit_test(the_fleet_grows_and_shrinks),
        cmocka_unit_test(what_is_refused_changes_nothing),
        cmocka_unit_test(partitions_stay_partitions),
        cmocka_unit_test(what_does_not_fit_the_rest_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
