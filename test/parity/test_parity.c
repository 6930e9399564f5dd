/*
 * Both hosts run the same core: one script gives one list of records.
 *
 * The simulator on one side; on the other a runtime with its net, engine and tensor table
 * on a clock that jumps. Not only decisions but every record must be equal, in order.
 *
 * Covers: src/runtime/perform.c src/runtime/due.c src/runtime/player.c
 */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "parity/workload.h"
#include "runtime/player.h"
#include "runtime/runtime.h"
#include "sim/sim.h"
#include "trace/text.h"

enum { RECORDS_MAX = 1 << 18 };

struct list {
    uint32_t count;
    struct record *records;
};

struct script {
    const char *policy;
    struct workload_options cluster;
    uint64_t jobs;
    double rate_per_s;
    int64_t deadline_ns; /* That clients name; 0: none. */
    uint64_t seed;
    double noise;
    int64_t lost_at_ns; /* 0: no node is lost. */
    uint32_t lost_node;
    bool has_deputies;
    struct fleet_network network;
};

static void keep(void *context, const struct record *record)
{
    struct list *list = context;
    assert_true(list->count < RECORDS_MAX);
    list->records[list->count] = *record;
    list->count++;
}

static void simulate(
    const struct script *script, const struct workload *workload, const struct policy_set *policies,
    struct list *list)
{
    const struct arrivals arrivals = {
        .rate_per_s = script->rate_per_s,
        .mix = {2, 1, 1},
        .deadline_ns = script->deadline_ns,
    };
    const struct fault fault = {
        .at_ns = script->lost_at_ns, .kind = FAULT_CRASH, .victim = script->lost_node};
    const struct sim_options options = {
        .fleet = workload->fleet,
        .catalogue = workload->catalogue,
        .profile = workload->profile,
        .policies = policies,
        .arrivals = &arrivals,
        .jobs = script->jobs,
        .seed = script->seed,
        .row_load_ns = 10 * MS,
        .row_cache_ns = 50 * MS,
        .noise = script->noise,
        .fault_count = script->lost_at_ns > 0 ? 1 : 0,
        .faults = &fault,
        .check = true,
        .has_deputies = script->has_deputies,
        .on_record = keep,
        .context = list,
    };
    struct sim *sim = sim_create(&options);
    sim_run(sim);
    sim_destroy(sim);
}

struct loss {
    struct runtime *runtime;
    uint32_t node;
};

static void lose(void *context)
{
    const struct loss *loss = context;
    runtime_lose_node(loss->runtime, loss->node);
}

static void serve(
    const struct script *script, const struct workload *workload, const struct policy_set *policies,
    struct list *list)
{
    const struct arrivals arrivals = {
        .rate_per_s = script->rate_per_s,
        .mix = {2, 1, 1},
        .deadline_ns = script->deadline_ns,
    };
    double rates[WORKFLOWS_MAX];
    const bool has_rates = arrivals_rates(&arrivals, workload->catalogue, rates);
    const struct runtime_options options = {
        .fleet = workload->fleet,
        .catalogue = workload->catalogue,
        .profile = workload->profile,
        .policies = policies,
        .rates = has_rates ? rates : NULL,
        .clock = CLOCK_KIND_MANUAL,
        .seed = script->seed,
        .row_load_ns = 10 * MS,
        .row_cache_ns = 50 * MS,
        .noise = script->noise,
        .pretend_network = true,
        .hint_ns = 1 * MS,
        .verdict_ns = 1000 * MS,
        .has_deputies = script->has_deputies,
        .on_record = keep,
        .context = list,
    };
    struct runtime *runtime;
    assert_int_equal(runtime_create(&options, &runtime, NULL), WEFT_OK);
    struct loss loss = {.runtime = runtime, .node = script->lost_node};
    if (script->lost_at_ns > 0) {
        runtime_call_at(runtime, script->lost_at_ns, /* background */ false, lose, &loss);
    }
    const struct player_options player_options = {
        .runtime = runtime,
        .fleet = workload->fleet,
        .catalogue = workload->catalogue,
        .arrivals = &arrivals,
        .seed = script->seed,
        .jobs = script->jobs,
        .has_keys = script->has_deputies,
    };
    struct player *player = player_create(&player_options);
    runtime_run_manual(runtime);
    assert_int_equal(player_counts(player).arrived, script->jobs);
    assert_int_equal(player_counts(player).answered, script->jobs);
    assert_int_equal(runtime_counts(runtime).answered, script->jobs);
    assert_int_equal(runtime_counts(runtime).tensors, 0);
    player_destroy(player);
    runtime_destroy(runtime);
}

/* Print what came before the first difference, and both sides of it. */
static void fail_at(
    const struct script *script, const struct workload *workload, const struct list *lists,
    uint32_t at)
{
    char line[TRACE_LINE_BYTES_MAX];
    print_error("%s, seed %lu: record %u differs\n", script->policy, script->seed, at);
    for (uint32_t i = at < 8 ? 0 : at - 8; i < at; i++) {
        (void)trace_text(&lists[0].records[i], workload->catalogue, line, sizeof(line));
        print_error("  both     %s\n", line);
    }
    for (uint32_t side = 0; side < 2; side++) {
        if (at < lists[side].count) {
            (void)trace_text(&lists[side].records[at], workload->catalogue, line, sizeof(line));
            print_error("  %s %s\n", side == 0 ? "sim     " : "runtime ", line);
        }
    }
    fail();
}

/* How many records of @kind there are: a script that never evicts proves little. */
static uint32_t count_kind(const struct list *list, enum record_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        count += list->records[i].kind == kind ? 1 : 0;
    }
    return count;
}

/*
 * Whether @list, from @first on, has nothing but models that come and go. The simulator ends with
 * the last job; a server does not know which is the last, and keeps models warm for the next.
 */
static bool is_keeping_warm(const struct list *list, uint32_t first)
{
    for (uint32_t i = first; i < list->count; i++) {
        const uint32_t kind = list->records[i].kind;
        if (kind != RECORD_LOADING && kind != RECORD_LOADED && kind != RECORD_EVICTED) {
            return false;
        }
    }
    return true;
}

/* Returns when the last thing happened. */
static int64_t compare(const struct script *script)
{
    struct workload workload;
    struct policy_set policies;
    struct list lists[2];
    workload_init(&workload, &script->cluster);
    workload.fleet->network = script->network;
    assert_int_equal(policy_set_parse(script->policy, &policies, NULL), WEFT_OK);
    for (uint32_t side = 0; side < 2; side++) {
        lists[side] = (struct list){.records = memory_zeroed(RECORDS_MAX, sizeof(struct record))};
    }
    simulate(script, &workload, &policies, &lists[0]);
    serve(script, &workload, &policies, &lists[1]);

    const uint32_t shorter = lists[0].count < lists[1].count ? lists[0].count : lists[1].count;
    for (uint32_t i = 0; i < shorter; i++) {
        if (memcmp(&lists[0].records[i], &lists[1].records[i], sizeof(struct record)) != 0) {
            fail_at(script, &workload, lists, i);
        }
    }
    if (lists[0].count > shorter || !is_keeping_warm(&lists[1], shorter)) {
        fail_at(script, &workload, lists, shorter);
    }
    assert_int_equal(count_kind(&lists[0], RECORD_ANSWERED), script->jobs);
    /* Where the network is slow, all models stay with those that count what is lost with one. */
    const bool keeps =
        strstr(script->policy, "keep=") != NULL || strcmp(script->policy, "weft") == 0;
    assert_true(count_kind(&lists[0], RECORD_EVICTED) > 0 || keeps);
    const uint32_t placed = count_kind(&lists[0], RECORD_PLACED);
    assert_true(placed + count_kind(&lists[0], RECORD_CLAIMED) >= script->jobs);
    const uint32_t deputed = count_kind(&lists[0], RECORD_DEPUTED);
    assert_true(script->has_deputies ? deputed >= script->jobs / 2 : deputed == 0);
    const uint32_t repeated = count_kind(&lists[0], RECORD_REPEATED);
    assert_true(repeated == 0 || script->lost_at_ns > 0); /* Nothing else was ever lost. */
    const int64_t last_ns = lists[0].records[lists[0].count - 1].at_ns;
    free(lists[0].records);
    free(lists[1].records);
    workload_deinit(&workload);
    return last_ns;
}

/* Not aquatope, which searches for seconds. */
static const char *const policies[] = {
    "weft",
    "hash",
    "place=compass:pool:keep=16,order=weft,dispatch=first-fit:paying,cache=compass",
    "compass",
    "esg",
    "least-work",
    "heft",
    "jit",
    "po2",
    "fifo",
    "fair",
    "opportunistic",
    "infless",
    "fast-gshare",
    "orion",
    "nona:drift=0",
    "expert:split=2",
    "place=jit,order=edf,cache=lru",
    "first-fit:batch=3:cpu=1"};

#ifdef __SANITIZE_THREAD__
enum { POLICIES = 3 }; /* What threads could do wrong they do whatever is decided. */
#else
enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };
#endif

static struct script plain(const char *policy, uint32_t node_count)
{
    return (struct script){
        .policy = policy,
        .cluster = {.node_count = node_count, .workers_per_node = 1, .run_ns = 7 * MS},
        .jobs = 300,
        .rate_per_s = 12.0 * node_count,
        .seed = 1,
    };
}

static void every_policy_decides_the_same(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < POLICIES; i++) {
        for (uint32_t node_count = 3; node_count <= 5; node_count++) {
            struct script script = plain(policies[i], node_count);
            script.seed = 10 * i + node_count;
            compare(&script);
        }
    }
}

static void several_workers_of_a_node_are_told_apart(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < POLICIES; i++) {
        struct script script = plain(policies[i], /* node_count */ 3);
        script.cluster.workers_per_node = 3;
        script.rate_per_s = 80;
        compare(&script);
    }
}

static void a_lost_node_is_survived_in_the_same_way(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < POLICIES; i++) {
        struct script script = plain(policies[i], /* node_count */ 4);
        script.lost_at_ns = 2345678901;
        script.lost_node = i % 4;
        compare(&script);
    }
}

static void run_times_are_drawn_from_the_same_streams(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < POLICIES; i++) {
        struct script script = plain(policies[i], /* node_count */ 3);
        script.noise = 0.2;
        script.cluster.sd_ns = 1 * MS;
        compare(&script);
    }
}

static void an_overload_is_queued_in_the_same_way(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < POLICIES; i++) {
        struct script script = plain(policies[i], /* node_count */ 3);
        script.rate_per_s = 400;
        compare(&script);
    }
}

static void deadlines_end_the_same_jobs(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < POLICIES; i++) {
        struct script script = plain(policies[i], /* node_count */ 3);
        script.rate_per_s = 100;
        script.deadline_ns = 150 * MS;
        script.lost_at_ns = i % 2 == 0 ? 1234567890 : 0;
        compare(&script);
    }
}

static void a_slow_network_is_pretended_as_it_is_simulated(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < POLICIES; i++) {
        struct script script = plain(policies[i], /* node_count */ 3);
        script.network = (struct fleet_network){.link_bytes_per_s = 2000000, .latency_ns = 50021};
        script.noise = 0.1;
        compare(&script);
    }
}

static void deputies_are_told_the_same(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < POLICIES; i++) {
        struct script script = plain(policies[i], /* node_count */ 3 + i % 3);
        script.noise = 0.1;
        script.has_deputies = true;
        compare(&script);
        script.network = (struct fleet_network){.link_bytes_per_s = 2000000, .latency_ns = 50021};
        compare(&script);
    }
}

/* Each takes far longer than an owner is patient with jobs of which it hears nothing. */
static void a_tensor_that_takes_long_is_waited_for(ATTR_UNUSED void **state)
{
    uint32_t slow = 0;
    for (uint32_t i = 0; i < POLICIES; i++) {
        struct script script = plain(policies[i], /* node_count */ 3);
        script.network = (struct fleet_network){.link_bytes_per_s = 500, .latency_ns = 50021};
        script.jobs = 60;
        slow += compare(&script) > 100000 * MS ? 1 : 0;
    }
    assert_true(slow >= POLICIES / 3); /* Some move little. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_decides_the_same),
        cmocka_unit_test(several_workers_of_a_node_are_told_apart),
        cmocka_unit_test(a_lost_node_is_survived_in_the_same_way),
        cmocka_unit_test(run_times_are_drawn_from_the_same_streams),
        cmocka_unit_test(an_overload_is_queued_in_the_same_way),
        cmocka_unit_test(deadlines_end_the_same_jobs),
        cmocka_unit_test(a_slow_network_is_pretended_as_it_is_simulated),
        cmocka_unit_test(deputies_are_told_the_same),
        cmocka_unit_test(a_tensor_that_takes_long_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
