#include "document/scenario.h"

#include <stdio.h>

#include "document_fixture.h"

enum { SETTINGS_MAX = 16 };

/* "key", "value" and so on until NULL: what is changed before @path is read. */
static enum weft_status load(
    const char *path, const char *const *texts, struct scenario **scenario_out,
    struct weft_error *error)
{
    struct scenario_setting settings[SETTINGS_MAX];
    uint32_t count = 0;

    for (; texts[2 * count] != NULL; count++) {
        assert_true(count < SETTINGS_MAX);
        settings[count] =
            (struct scenario_setting){.key = texts[2 * count], .value = texts[2 * count + 1]};
    }
    return scenario_load_with(path, settings, count, scenario_out, error);
}

static struct scenario *load_good(const char *path, const char *const *texts)
{
    struct scenario *scenario = NULL;
    struct weft_error error = {0};

    assert_good(load(path, texts, &scenario, &error), &error);
    return scenario;
}

static void every_setting_can_be_changed(ATTR_UNUSED void **state)
{
    static const char *const settings[] = {
        "rate",   "3.5/s", "patience", "300ms", "jobs",      "12",        "noise",         "20%",
        "warmup", "0%",    "link",     "8Gb/s", "rows.load", "1ms",       "rows.cache",    "1s",
        "memory", "16GB",  "latency",  "1ms",   "policy",    "place=jit", "profile_error", "30%",
        NULL,
    };
    struct scenario *scenario = load_good("scenarios/compass/compass.yaml", settings);

    assert_true(scenario->arrivals.rate_per_s == 3.5);
    assert_int_equal(scenario->arrivals.patience_ns, 300000000);
    assert_int_equal(scenario->jobs, 12);
    assert_true(scenario->noise == 0.2);
    assert_true(scenario->profile_error == 0.3);
    assert_true(scenario->warmup == 0);
    assert_int_equal(scenario->fleet->network.link_bytes_per_s, 1000000000);
    assert_int_equal(scenario->fleet->network.latency_ns, 1000000);
    assert_int_equal(scenario->rows.load_ns, 1000000);
    assert_int_equal(scenario->rows.cache_ns, 1000000000);
    assert_int_equal(scenario->fleet->workers[4].memory_bytes, 16000000000);
    assert_string_equal(scenario->policy, "place=jit");
    scenario_destroy(scenario);
}

static void the_fleet_grows_and_shrinks(ATTR_UNUSED void **state)
{
    static const char *const twelve[] = {"memory", "15GB", "workers", "12", NULL};
    static const char *const one[] = {"workers", "12", "workers", "1", NULL};
    struct scenario *scenario = load_good("scenarios/compass/compass.yaml", twelve);

    assert_int_equal(scenario->fleet->worker_count, 12);
    assert_int_equal(scenario->fleet->node_count, 12);
    assert_int_equal(scenario->fleet->workers[11].node, 11);
    assert_int_equal(scenario->fleet->workers[11].memory_bytes, 15000000000);
    assert_int_equal(scenario->fleet->nodes[11].cpu_units, 16);
    assert_string_equal(scenario->fleet->devices[0], "t4");
    assert_int_equal(scenario->fleet->network.link_bytes_per_s, 12500000000);
    scenario_destroy(scenario);
    scenario = load_good("scenarios/compass/compass.yaml", one);
    assert_int_equal(scenario->fleet->worker_count, 1);
    scenario_destroy(scenario);
}

/* A fleet of another size is the same fleet otherwise: reports still say what jobs cost. */
static void prices_stay_with_another_number_of_workers(ATTR_UNUSED void **state)
{
    static const char *const none[] = {NULL};
    static const char *const sixteen[] = {"workers", "16", NULL};
    struct scenario *before = load_good("scenarios/esg/strict.yaml", none);
    struct scenario *scenario = load_good("scenarios/esg/strict.yaml", sixteen);

    assert_true(before->fleet->prices.cpu > 0);
    assert_true(before->fleet->prices.gpu > 0);
    assert_int_equal(scenario->fleet->worker_count, 16);
    assert_true(scenario->fleet->prices.cpu == before->fleet->prices.cpu);
    assert_true(scenario->fleet->prices.gpu == before->fleet->prices.gpu);
    scenario_destroy(scenario);
    scenario_destroy(before);
}

/* A cluster in a file of its own is changed like one in the scenario. */
static void parts_in_other_files_can_be_changed(ATTR_UNUSED void **state)
{
    static const char *const settings[] = {"latency", "7us", "memory", "9GB", NULL};
    struct scenario *scenario = load_good("test/documents/good/separate.yaml", settings);

    assert_int_equal(scenario->fleet->network.latency_ns, 7000);
    assert_int_equal(scenario->fleet->workers[0].memory_bytes, 9000000000);
    scenario_destroy(scenario);
}

static void seeds_can_be_named_by_the_first_and_the_last(ATTR_UNUSED void **state)
{
    static const char *const span[] = {"seeds", "201..216", NULL};
    struct scenario *scenario = load_good("scenarios/compass/compass.yaml", span);

    assert_int_equal(scenario->seed_count, 16);
    assert_int_equal(scenario->seeds[0], 201);
    assert_int_equal(scenario->seeds[15], 216);
    scenario_destroy(scenario);
}

struct refusal {
    const char *key;
    const char *value;
    enum weft_status status;
    const char *message;
};

#define COMPASS "scenarios/compass/"

static const struct refusal refusals[] = {
    {"ratte", "2/s", WEFT_NOT_FOUND, "unknown setting 'ratte'; did you mean 'rate'?"},
    {"seeds", "9..7", WEFT_INVALID, "'seeds' must name 1 to 1024 seeds, the first one first"},
    {"seeds", "0..1024", WEFT_INVALID, "'seeds' must name 1 to 1024 seeds, the first one first"},
    {"seeds", "7..9x", WEFT_INVALID, "'seeds' wants a whole number such as '8', not '7..9x'"},
    {"rate", "fast", WEFT_INVALID, "'rate' wants a rate such as '2/s', not 'fast'"},
    {"rate", "0.00001/s", WEFT_INVALID,
     COMPASS "compass.yaml:15: 20000 jobs at 1e-05/s take more than three years"},
    {"jobs", "0", WEFT_INVALID, "'jobs' must be between 1 and 1000000000, not '0'"},
    {"jobs", "", WEFT_INVALID, "'jobs' wants a whole number such as '8', not nothing"},
    {"memory", "5GB", WEFT_INVALID,
     COMPASS "translation.yaml:5: 'translate.opt' of task 'generate' needs 5.72GB of memory; the "
             "largest device has 5GB"},
    {"workers", "0", WEFT_INVALID, "'workers' must be between 1 and 16384, not '0'"},
    {"policy", "quickest", WEFT_INVALID, NULL},
    {"link", "10", WEFT_INVALID,
     "'link' wants a bandwidth such as '10GB/s' or '100Gb/s', not '10'"},
    {"rows.load", "0", WEFT_INVALID, "'load' must be between 1us and 1h, not '0'"},
};

static void what_makes_no_sense_is_refused(ATTR_UNUSED void **state)
{
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        const char *const texts[] = {refusals[i].key, refusals[i].value, NULL};
        struct scenario *scenario = NULL;
        struct weft_error error = {0};
        assert_int_equal(
            load(COMPASS "compass.yaml", texts, &scenario, &error), refusals[i].status);
        if (refusals[i].message != NULL) {
            assert_string_equal(error.message, refusals[i].message);
        }
    }
}

static enum weft_status read_text(
    const char *machines, const char *rest, const struct scenario_setting *setting,
    struct scenario **scenario_out, struct weft_error *error)
{
    char text[1024];

    (void)snprintf(
        text, sizeof(text),
        "scenario: s\ncluster: {machines: %s}\n"
        "workflows: [{workflow: w, tasks: {a: {model: m}}}]\n"
        "profile: {weft_profile: 1, models: {m: {devices: {t4: {ms: 1}, a30: {ms: 1}}}}}\n%s",
        machines, rest);
    struct tree *tree = parsed(text);
    const enum weft_status status =
        scenario_read_with(tree->root, setting, /* count */ 1, scenario_out, error);
    tree_destroy(tree);
    return status;
}

static void assert_refused(
    const char *machines, const char *rest, const struct scenario_setting setting,
    const char *message)
{
    struct scenario *scenario = NULL;
    struct weft_error error = {0};

    assert_int_equal(read_text(machines, rest, &setting, &scenario, &error), WEFT_INVALID);
    assert_string_equal(error.message, message);
}

static void partitions_stay_partitions(ATTR_UNUSED void **state)
{
    static const char machines[] =
        "[{count: 3, devices: 2, partitions: 2, device: {kind: t4, memory: 6GB, h2d: 1GB/s, "
        "interference: 20%, bus_inputs: true}}]";
    static const struct scenario_setting eight = {"workers", "8"};
    static const struct scenario_setting memory = {"memory", "8GB"};
    struct scenario *scenario = NULL;
    struct weft_error error = {0};

    assert_good(read_text(machines, "arrivals: {rate: 1/s}\n", &eight, &scenario, &error), &error);
    assert_int_equal(scenario->fleet->node_count, 2);
    assert_int_equal(scenario->fleet->worker_count, 8);
    assert_int_equal(scenario->fleet->workers[7].memory_bytes, 3000000000);
    assert_int_equal(fleet_first_partition(scenario->fleet, 7), 6);
    assert_true(scenario->fleet->workers[7].interference == 0.2);
    assert_true(scenario->fleet->workers[7].bus_inputs);
    scenario_destroy(scenario);
    assert_good(read_text(machines, "arrivals: {rate: 1/s}\n", &memory, &scenario, &error), &error);
    assert_int_equal(scenario->fleet->workers[11].memory_bytes, 4000000000);
    scenario_destroy(scenario);
}

static void what_does_not_fit_the_rest_is_refused(ATTR_UNUSED void **state)
{
    static const char t4[] = "{count: 3, devices: 2, device: {kind: t4, memory: 8GB, h2d: 1GB/s}}";
    static const char mixed[] = "[{device: {kind: t4, memory: 8GB, h2d: 1GB/s}},"
                                " {device: {kind: a30, memory: 8GB, h2d: 1GB/s}}]";
    static const char rate[] = "arrivals: {rate: 1/s}\n";
    static const char list[] = "arrivals: {kind: list, list: [{at: 0, workflow: w}]}\n";

    assert_refused(
        t4, rate, (struct scenario_setting){"workers", "5"},
        "'workers' is 5, but each machine has 2");
    assert_refused(
        t4, "arrivals: {rate: 1/s}\nfaults: [{at: 1s, crash: 2}]\n",
        (struct scenario_setting){"workers", "4"},
        "t.yaml:6: there is no node 2; the last one is 1");
    assert_refused(
        t4, "arrivals: {rate: 1/s}\nfaults: [random: {rate: 1/s, until: 9s}]\n",
        (struct scenario_setting){"workers", "2"},
        "t.yaml:6: random faults spare node 0, and there is no other");
    assert_refused(
        mixed, rate, (struct scenario_setting){"workers", "5"},
        "'workers' can be set only if all machines are alike");
    assert_refused(
        t4, list, (struct scenario_setting){"rate", "1/s"}, "'rate' does not go with 'kind: list'");
    assert_refused(
        t4, list, (struct scenario_setting){"jobs", "2"}, "'jobs' is 2, but the list has only 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting_can_be_changed),
        cmocka_unit_test(the_fleet_grows_and_shrinks),
        cmocka_unit_test(prices_stay_with_another_number_of_workers),
        cmocka_unit_test(seeds_can_be_named_by_the_first_and_the_last),
        cmocka_unit_test(parts_in_other_files_can_be_changed),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(partitions_stay_partitions),
        cmocka_unit_test(what_does_not_fit_the_rest_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
