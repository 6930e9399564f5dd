/*
 * What a document can say, written and read again; test/sim/test_scenario_round.c runs it.
 *
 * Covers: src/document/writer.c and src/document/fault_document.c.
 */
#include "document/scenario.h"

#include <stdlib.h>

#include "document/cluster_document.h"
#include "document_fixture.h"

/* As scenario_write() writes it: nothing is left to say otherwise. */
static const char text[] =
    "scenario: all\n"
    "cluster:\n"
    "  machines:\n"
    "    - {count: 2, devices: 2, partitions: 3, device: {kind: t4, memory: 3GB, h2d: 10200MB/s, "
    "units: 4, reshape: 3ms, interference: 0.1, keep_alive: 90s, bus_inputs: true}, cpu: 8, "
    "up: 1GB/s, down: 2B/s}\n"
    "    - {count: 1, device: {kind: a30, memory: 24GB, h2d: 20GB/s}, cpu: 16}\n"
    "    - {count: 1, device: {kind: a30, memory: 40GB, h2d: 20GB/s, units: 7, sharing: mig}, "
    "cpu: 16}\n"
    "    - {count: 1, device: {kind: t4, memory: 80GB, h2d: 20GB/s, units: 100, sharing: sm}, "
    "cpu: 16}\n"
    "  network: {kind: two-tier, per_rack: 2, core: 5GB/s, link: 1GB/s, up: 3KB/s, down: 7MB/s, "
    "latency: 1500ns, sharing: fair, background: {load: 0.3, bytes: 200KB, sizes: exponential}}\n"
    "  prices: {cpu: 0.034, gpu: 0.67}\n"
    "workflows:\n"
    "  - workflow: w\n"
    "    slo: 300ms\n"
    "    input: 3MB\n"
    "    tasks:\n"
    "      t: {model: m}\n"
    "      u: {function: f, models: [m, n], after: [t], bytes: {t: 60KB per item}, gives: [1, "
    "20]}\n"
    "  - workflow: v\n"
    "    tasks:\n"
    "      t: {function: f}\n"
    "profile:\n"
    "  weft_profile: 1\n"
    "  figures: published\n"
    "  source: \"a \\\"paper\\\", C:\\\\table 3: all\"\n"
    "  models:\n"
    "    m:\n"
    "      load: 12MB\n"
    "      resident: 14MB\n"
    "      workspace: 100MB\n"
    "      workspace_per_item: 6MB\n"
    "      load_fixed_ms: 0.000001\n"
    "      devices:\n"
    "        t4: {points: [{items: 1, ms: 3.1, sd_ms: 0.25}, {items: 8, ms: 12}, "
    "{items: 8, cpu: 4, gpu: 2, ms: 20.000007}]}\n"
    "        a30: {points: [{items: 1, ms: 2, sd_ms: 1}], distribution: gamma}\n"
    "    f:\n"
    "      load: 0\n"
    "      resident: 0\n"
    "      devices:\n"
    "        t4: {points: [{items: 1, ms: 1}], distribution: deterministic}\n"
    "        a30: {points: [{items: 1, ms: 1}], distribution: exponential}\n"
    "    n:\n"
    "      load: 1MB\n"
    "      resident: 1MB\n"
    "truth:\n"
    "  weft_profile: 1\n"
    "  figures: assumed\n"
    "  models:\n"
    "    m:\n"
    "      load: 12MB\n"
    "      resident: 12MB\n"
    "      devices:\n"
    "        t4: {points: [{items: 1, ms: 6.2}]}\n"
    "        a30: {points: [{items: 1, ms: 1}]}\n"
    "    f:\n"
    "      load: 0\n"
    "      resident: 0\n"
    "      devices:\n"
    "        t4: {points: [{items: 1, ms: 2}]}\n"
    "        a30: {points: [{items: 1, ms: 0.5}]}\n"
    "    n:\n"
    "      load: 1MB\n"
    "      resident: 1MB\n";

static const char ending[] = "rows: {load: 10ms, cache: 100us}\n"
                             "policy: \"place=jit,order=edf,cache=lru\"\n"
                             "noise: 0.30000000000000004\n"
                             "profile_error: 0.2\n"
                             "pace: {every: 20ms, factors: [1, 1.25, 0.01]}\n"
                             "deputies: true\n"
                             "asked_twice: true\n"
                             "members_after: 250ms\n"
                             "warmup: 0.1\n"
                             "seeds: [1, 9007199254740992]\n"
                             "faults:\n"
                             "  - {at: 0ns, crash: 1, for: 2s}\n"
                             "  - {at: 1s, restart: 1}\n"
                             "  - {at: 2s, drain: 0}\n"
                             "  - {at: 3s, stop: 2, for: 1ms}\n"
                             "  - {at: 4s, slow: 12, factor: 2.5}\n"
                             "  - {at: 5s, partition: 1, for: 0ns}\n"
                             "  - {at: 6s, loss: 1, for: 1s, factor: 0.1}\n"
                             "  - {at: 7s, fail-loads: 3, factor: 1}\n"
                             "  - {at: 8s, fail-batches: 3, factor: 0}\n"
                             "  - {at: 9s, lose-device: 3}\n"
                             "  - {at: 10s, no-directory: 0, for: 5s}\n"
                             "  - {at: 11s, poison: 0, for: 1s}\n"
                             "  - random: {rate: 0.1/s, until: 1000s, for: 2500us, "
                             "kinds: [crash, lose-device]}\n"
                             "  - random: {rate: 3/s, until: 1ms, for: 1s, kinds: [crash, stop, "
                             "slow, partition, loss, fail-loads, fail-batches, lose-device, "
                             "no-directory]}\n";

static struct scenario *read_text(const char *document)
{
    struct tree *tree = parsed(document);
    struct scenario *scenario = NULL;
    struct weft_error error = {0};
    assert_good(scenario_read(tree->root, &scenario, &error), &error);
    tree_destroy(tree);
    return scenario;
}

static char *written(const struct scenario *scenario)
{
    char *document = NULL;
    size_t size = 0;
    struct weft_error error = {0};
    FILE *file = open_memstream(&document, &size);
    assert_non_null(file);
    assert_good(scenario_write(scenario, file, &error), &error);
    assert_int_equal(fclose(file), 0);
    return document;
}

static void expect_written_as_read(const char *arrivals)
{
    char document[sizeof(text) + sizeof(ending) + 512];
    (void)snprintf(document, sizeof(document), "%s%s%s", text, arrivals, ending);
    struct scenario *scenario = read_text(document);
    char *again = written(scenario);
    assert_string_equal(again, document);
    free(again);
    scenario_destroy(scenario);
}

static void a_document_is_written_as_it_is(ATTR_UNUSED void **state)
{
    static const char *const arrivals[] = {
        "arrivals:\n  kind: poisson\n  rate: 27.1/s\n  mix: {w: 2, v: 0.1}\njobs: 72\n",
        "arrivals:\n  kind: constant\n  rate: 1e-05/s\n  mix: {v: 1}\njobs: 72\n",
        "arrivals:\n  kind: poisson\n  deadline: 1s\n  patience: 250ms\n  rate: 2/s\n"
        "  mix: {w: 1}\njobs: 72\n",
        "arrivals:\n  kind: list\n  patience: {mean: 2s}\n  list:\n    - {at: 0ns, workflow: v}\n",
        "arrivals:\n  kind: gamma\n  rate: 2/s\n  cv: 4\n  mix: {w: 1}\njobs: 72\n",
        "arrivals:\n  kind: burst\n  rate: 2/s\n  burst: {rate: 20/s, every: 10s, length: 1500ms}\n"
        "  mix: {w: 1}\njobs: 1\n",
        "arrivals:\n  kind: mmpp\n  rate: 2/s\n  burst: {rate: 20/s, every: 10s, length: 1s}\n"
        "  mix: {w: 1}\njobs: 1\n",
        "arrivals:\n  kind: diurnal\n  rate: 2/s\n  diurnal: {period: 3600s, shape: [1, 0.5, 2]}\n"
        "  mix: {w: 1}\njobs: 1\n",
        "arrivals:\n  kind: list\n  list:\n    - {at: 0ns, workflow: v}\n"
        "    - {at: 123456789ns, workflow: w, items: 4}\n",
    };
    for (size_t i = 0; i < sizeof(arrivals) / sizeof(arrivals[0]); i++) {
        expect_written_as_read(arrivals[i]);
    }
}

/* A network may have racks of equal number, or one link for all, without a limit. */
static void networks_are_written_as_they_are(ATTR_UNUSED void **state)
{
    static const char *const networks[] = {
        "  network: {kind: star}\n",
        "  network: {kind: bottleneck, core: 0B/s, background: {rate: 2.5/s, bytes: 7}}\n",
        "  network: {kind: two-tier, racks: 3, core: 1B/s}\n",
    };
    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
        struct fleet *fleet = fleet_create();
        char *lines = NULL;
        size_t size = 0;
        struct fleet_worker device = {.device = fleet_device(fleet, "d"), .gpu_units = 1};
        assert_true(fleet_add_machine(fleet, &device, 1, 1));
        fleet->network.kind = i == 0   ? NETWORK_STAR
                              : i == 1 ? NETWORK_BOTTLENECK
                                       : NETWORK_TWO_TIER;
        fleet->network.rack_count = 3; /* Which then decides, not their size. */
        fleet->network.nodes_per_rack = 5;
        fleet->network.core_bytes_per_s = i == 2 ? 1 : 0;
        if (i != 2) { /* In a star without limits, traffic of others is nothing to say. */
            fleet->network.background.rate_per_s = 2.5;
            fleet->network.background.bytes = 7;
            fleet->nodes[0].up_bytes_per_s = i == 1 ? 5 : 0;
            fleet->network.has_own_rates = i == 1;
        }
        FILE *file = open_memstream(&lines, &size);
        assert_non_null(file);
        struct writer writer;
        writer_init(&writer, file, WRITER_YAML);
        writer_open_mapping(&writer, WRITER_LINES);
        writer_key(&writer, "cluster");
        cluster_write(&writer, fleet);
        writer_close(&writer);
        assert_int_equal(fclose(file), 0);
        assert_non_null(strstr(lines, networks[i]));
        free(lines);
        fleet_destroy(fleet);
    }
}

static void machines_that_no_document_has_are_refused(ATTR_UNUSED void **state)
{
    char document[sizeof(text) + sizeof(ending) + 512];
    (void)snprintf(document, sizeof(document), "%sarrivals: {rate: 1/s}\n%s", text, ending);
    struct scenario *scenario = read_text(document);
    struct weft_error error = {0};
    scenario->fleet->workers[1].memory_bytes++;
    assert_int_equal(scenario_write(scenario, stdout, &error), WEFT_INVALID);
    assert_string_equal(error.message, "all: no document describes a machine with unlike devices");
    scenario->fleet->workers[1].memory_bytes--;
    scenario->arrivals.kind = ARRIVALS_TRACE;
    scenario->jobs = SCENARIO_LIST_MAX + 1;
    assert_int_equal(scenario_write(scenario, stdout, &error), WEFT_LIMIT);
    scenario_destroy(scenario);
}

/* Rows that name no workflow are drawn: for one seed. */
static void a_trace_becomes_a_list(ATTR_UNUSED void **state)
{
    static const struct arrival rows[] = {
        {0, ARRIVAL_WORKFLOW_ANY, 1, 0}, {4000000, 1, 2, 3000000000}};
    char document[sizeof(text) + sizeof(ending) + 512];
    (void)snprintf(
        document, sizeof(document), "%sarrivals: {rate: 1/s, mix: {v: 1}}\n%s", text, ending);
    struct scenario *scenario = read_text(document);
    scenario->arrivals.kind = ARRIVALS_TRACE;
    scenario->arrivals.list = rows;
    scenario->arrivals.list_count = 2;
    arrivals_set_speed(&scenario->arrivals, 2);
    scenario->jobs = 2;
    char *again = written(scenario);
    assert_non_null(strstr(
        again, "arrivals:\n  kind: list\n  list:\n    - {at: 0ns, workflow: v}\n"
               "    - {at: 2ms, workflow: v, items: 2, deadline: 3s}\nrows:"));
    assert_non_null(strstr(again, "\nseeds: [1]\n"));
    free(again);
    scenario_destroy(scenario);
}

static void texts_are_quoted_if_they_have_to_be(ATTR_UNUSED void **state)
{
    static const char *const texts[][2] = {
        {"least-work", "least-work"}, {"-", "\"-\""},          {"", "\"\""},
        {"1.5", "\"1.5\""},           {"a\tb", "\"a\\x09b\""}, {"\"\\", "\"\\\"\\\\\""},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *out = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&out, &size);
        assert_non_null(file);
        struct writer writer;
        writer_init(&writer, file, WRITER_YAML);
        writer_text(&writer, texts[i][0]);
        assert_int_equal(fclose(file), 0);
        assert_string_equal(out, texts[i][1]);
        free(out);
    }
}

/* Neither the tasks that names add nor their function are written: reading adds them again. */
static void names_are_written_as_they_were_read(ATTR_UNUSED void **state)
{
    static const char document[] =
        "scenario: s\n"
        "cluster: {machines: {device: {kind: t4, memory: 8GB, h2d: 10GB/s}}}\n"
        "workflows:\n"
        "  - workflow: w\n"
        "    tasks:\n"
        "      a: {function: f, in: {x: inputs.x}}\n"
        "      b: {function: f, in: {x: inputs.x, y: a.y}}\n"
        "    outputs: {z: a.z}\n"
        "profile: {weft_profile: 1, models: {f: {devices: {t4: {ms: 50}}}}}\n"
        "arrivals: {rate: 1/s}\n";
    struct scenario *scenario = read_text(document);
    char *once = written(scenario);
    struct scenario *again = read_text(once);
    char *twice = written(again);
    assert_string_equal(once, twice);
    assert_null(strstr(once, "weft."));
    assert_int_equal(again->catalogue->workflows[0]->task_count, 4);
    assert_int_equal(again->catalogue->workflows[0]->edge_count, 3);
    free(once);
    free(twice);
    scenario_destroy(scenario);
    scenario_destroy(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_written_as_they_were_read),
        cmocka_unit_test(a_document_is_written_as_it_is),
        cmocka_unit_test(networks_are_written_as_they_are),
        cmocka_unit_test(machines_that_no_document_has_are_refused),
        cmocka_unit_test(a_trace_becomes_a_list),
        cmocka_unit_test(texts_are_quoted_if_they_have_to_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
