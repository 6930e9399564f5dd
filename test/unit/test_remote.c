/*
 * Three runtimes on three threads, one node each, as three machines would be.
 *
 * Covers: src/runtime/remote.c.
 */
#include "runtime/remote.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/attributes.h"
#include "engine/bundle.h"
#include "fabric/net_stream.h"
#include "fabric/trust.h"
#include "net_waiting.h"
#include "parity/workload.h"
#include "runtime/inside.h"

enum { NODES = 3, JOBS = 60, INPUT_BYTES = 100000, PART_BYTES = 50, WAITS_MAX = 20000 };

/* One process, as it were. */
struct site {
    struct cluster *cluster;
    uint32_t node;
    struct runtime *runtime;
    struct runtime_remote remote;
    struct policy_set policies;
    pthread_t thread;
    bool is_running;
    uint32_t asked;
    atomic_uint answered;
    atomic_uint failed;
    atomic_uint guests; /* Tasks of others' jobs that ran here. */
    atomic_uint lost;   /* Nodes that the directory took away. */
    atomic_uint heard;  /* Of what node 0 has learnt. */
};

struct cluster {
    struct workload workload;
    struct trust *trust;
    struct site sites[NODES];
};

static struct cluster cluster;

static void note_record(void *context, const struct record *record)
{
    struct site *site = context;
    if (record->kind == RECORD_STARTED && record->job.node != site->node) {
        atomic_fetch_add(&site->guests, 1);
    }
    if (record->kind == RECORD_NODE_LOST) {
        atomic_fetch_add(&site->lost, 1);
    }
}

static void note_answer(void *context, const struct runtime_answer *answer)
{
    struct site *site = context;
    for (uint32_t i = 0; i < answer->output_count; i++) {
        runtime_release(site->runtime, answer->outputs[i]);
    }
    if (answer->status != WEFT_OK) {
        atomic_fetch_add(&site->failed, 1);
    }
    atomic_fetch_add(&site->answered, 1);
}

static struct bundle *make_inputs(void)
{
    struct bundle *bundle = bundle_create();
    const struct weft_tensor tensor = {
        .name = "x", .dtype = WEFT_UINT8, .rank = 1, .shape = {INPUT_BYTES}, .bytes = INPUT_BYTES};
    const struct weft_tensor part = {
        .name = "y", .dtype = WEFT_UINT8, .rank = 1, .shape = {PART_BYTES}, .bytes = PART_BYTES};
    memset(bundle_add(bundle, &tensor), 7, INPUT_BYTES);
    memset(bundle_add(bundle, &part), 8, PART_BYTES);
    return bundle;
}

static void ask(struct site *site, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct runtime_request request = {
            .workflow = i % site->cluster->workload.catalogue->workflow_count,
            .inputs = runtime_tensor(
                site->runtime, make_inputs(), INPUT_BYTES + PART_BYTES, bundle_destroy),
            .answered = note_answer,
            .context = site,
        };
        (void)runtime_request(site->runtime, site->node, &request);
    }
    site->asked += count;
}

static void open_site(struct site *site, const char *policy)
{
    assert_int_equal(policy_set_parse(policy, &site->policies, NULL), WEFT_OK);
    site->remote = (struct runtime_remote){
        .node = site->node,
        .incarnation = 1,
        .listen = "127.0.0.1:0",
        .trust = cluster.trust,
        .tensor_bytes_max = 1 << 20,
    };
    const struct runtime_options options = {
        .fleet = cluster.workload.fleet,
        .catalogue = cluster.workload.catalogue,
        .profile = cluster.workload.profile,
        .policies = &site->policies,
        .clock = CLOCK_KIND_REAL,
        .row_load_ns = 10 * MS,
        .row_cache_ns = 50 * MS,
        .stays = true,
        .on_record = note_record,
        .context = site,
        .remote = &site->remote,
    };
    struct weft_error error;
    assert_int_equal(runtime_create(&options, &site->runtime, &error), WEFT_OK);
}

/* Tell @site where life @incarnation of @other is. */
static void introduce(struct site *site, const struct site *other, uint64_t incarnation)
{
    char address[32];
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", runtime_port(other->runtime));
    const struct net_stream_peer peer = {
        .node = other->node, .incarnation = incarnation, .address = address, .name = "any"};
    runtime_set_member(site->runtime, &peer);
}

static void make_trust(void)
{
    char path[] = "/tmp/weft-remote-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "a secret of sites", 17), 17);
    assert_int_equal(close(file), 0);
    const struct trust_files files = {.secret = path};
    assert_int_equal(trust_create(&files, &cluster.trust, NULL), WEFT_OK);
    (void)unlink(path);
}

static void open_sites(const char *policy)
{
    make_trust();
    for (uint32_t i = 0; i < NODES; i++) {
        cluster.sites[i].cluster = &cluster;
        cluster.sites[i].node = i;
        open_site(&cluster.sites[i], policy);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        for (uint32_t k = 0; k < NODES; k++) {
            if (i != k) {
                introduce(&cluster.sites[i], &cluster.sites[k], /* incarnation */ 1);
            }
        }
    }
}

static void make_workload(void)
{
    const struct workload_options options = {
        .node_count = NODES, .workers_per_node = 1, .run_ns = MS};
    memset(&cluster, 0, sizeof(cluster));
    workload_init(&cluster.workload, &options);
}

static void open_cluster(const char *policy)
{
    make_workload();
    open_sites(policy);
}

static void *run_site(void *argument)
{
    runtime_run(((struct site *)argument)->runtime);
    return NULL;
}

static void run_cluster(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        struct site *site = &cluster.sites[i];
        assert_int_equal(pthread_create(&site->thread, NULL, run_site, site), 0);
        site->is_running = true;
    }
}

static void stop_site(struct site *site)
{
    runtime_stop(site->runtime);
    assert_int_equal(pthread_join(site->thread, NULL), 0);
    site->is_running = false;
}

static void close_cluster(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        if (cluster.sites[i].is_running) {
            stop_site(&cluster.sites[i]);
        }
        runtime_destroy(cluster.sites[i].runtime);
    }
    trust_destroy(cluster.trust);
    workload_deinit(&cluster.workload);
}

static void wait_ms(long ms)
{
    const struct timespec pause = {.tv_nsec = ms * 1000000};
    (void)nanosleep(&pause, NULL);
}

/* Wait, for some twenty seconds at most, until @site has been answered. */
static void wait_for(const struct site *site)
{
    for (uint32_t i = 0; i < WAITS_MAX && atomic_load(&site->answered) < site->asked; i++) {
        wait_ms(1);
    }
    assert_int_equal(atomic_load(&site->answered), site->asked);
}

/* All sites ask, and are answered well. They stop, but are still there. */
static void run_jobs(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        ask(&cluster.sites[i], JOBS);
    }
    run_cluster();
    for (uint32_t i = 0; i < NODES; i++) {
        wait_for(&cluster.sites[i]);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        stop_site(&cluster.sites[i]);
        assert_int_equal(atomic_load(&cluster.sites[i].failed), 0);
        assert_true(atomic_load(&cluster.sites[i].guests) > 0);
    }
}

static void check_jobs(const char *policy)
{
    open_cluster(policy);
    run_jobs();
    close_cluster();
}

/* Instead of the workflows of the workload: a model that takes only y of the request. */
static void use_part(void)
{
    struct catalogue *catalogue = catalogue_create();
    for (uint32_t i = 0; i <= WORKLOAD_MODELS; i++) {
        (void)catalogue_model(catalogue, cluster.workload.catalogue->models[i]);
    }
    struct workflow *part = workflow_create("part");
    const struct workflow_port port = {.from = TASK_NONE, .name = "in", .output = "y"};
    (void)workload_task(part, "take", /* model */ 0, (struct items_rule){0, 0});
    assert_int_equal(workflow_add_port(part, &port), WEFT_OK);
    catalogue_destroy(cluster.workload.catalogue);
    cluster.workload.catalogue = catalogue;
    workload_add(&cluster.workload, part);
}

static void only_what_a_task_takes_goes_to_its_machine(ATTR_UNUSED void **state)
{
    uint64_t sent_bytes = 0;
    uint64_t guests = 0;
    make_workload();
    use_part();
    open_sites("jit");
    run_jobs();
    for (uint32_t i = 0; i < NODES; i++) {
        sent_bytes += runtime_counts(cluster.sites[i].runtime).sent_bytes;
        guests += atomic_load(&cluster.sites[i].guests);
    }
    assert_in_range(
        sent_bytes, guests * PART_BYTES, 2 * guests * PART_BYTES); /* One may go twice. */
    close_cluster();
}

static void jobs_run_on_all_machines(ATTR_UNUSED void **state)
{
    check_jobs("jit");
    check_jobs("compass");
}

static void jobs_run_where_a_home_of_another_machine_says(ATTR_UNUSED void **state)
{
    check_jobs("esg");
}

static void a_runtime_says_what_it_hosts(ATTR_UNUSED void **state)
{
    open_cluster("jit");
    for (uint32_t i = 0; i < NODES; i++) {
        for (uint32_t k = 0; k < NODES; k++) {
            assert_int_equal(runtime_hosts(cluster.sites[i].runtime, k), i == k);
            assert_int_equal(runtime_node(cluster.sites[i].runtime, k) != NULL, i == k);
        }
    }
    close_cluster();
}

static void note_learnt(void *context, uint32_t from, const struct learnt *learnt)
{
    struct site *site = context;
    if (from == 0 && learnt->model == 1 && learnt->items == 4 && learnt->run_ns == 7 * MS) {
        atomic_fetch_add(&site->heard, 1);
    }
}

static void what_one_machine_has_learnt_reaches_the_others(ATTR_UNUSED void **state)
{
    static const struct learnt learnt = {.model = 1, .items = 4, .run_ns = 7 * MS};
    open_cluster("least-work");
    for (uint32_t i = 0; i < NODES; i++) {
        const struct runtime_hearing hearing = {
            .context = &cluster.sites[i], .on_learnt = note_learnt};
        runtime_hear(cluster.sites[i].runtime, &hearing);
    }
    runtime_tell_learnt(cluster.sites[0].runtime, &learnt);
    run_cluster();
    for (uint32_t i = 0; i < WAITS_MAX && (atomic_load(&cluster.sites[1].heard) == 0 ||
                                           atomic_load(&cluster.sites[2].heard) == 0);
         i++) {
        wait_ms(1);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(atomic_load(&cluster.sites[i].heard), i == 0 ? 0 : 1);
    }
    close_cluster();
}

/*
 * Node 0 has an answer for life 2 of node 1, which no list has named yet. When one does, the node
 * gives it to the net, which must know that life by then: what is for another life is dropped.
 */
static void what_waits_for_a_life_leaves_when_it_is_listed(ATTR_UNUSED void **state)
{
    static const struct message steal = {
        .kind = MESSAGE_STEAL,
        .from = 1,
        .from_incarnation = 2,
        .to_incarnation = 1,
        .worker = 1,
        .victim = 0,
    };
    open_cluster("jit");
    struct runtime *runtime = cluster.sites[0].runtime;
    struct event event = {.kind = EVENT_MESSAGE};
    event.message.message = &steal;
    runtime_step(runtime, /* node */ 0, &event);
    assert_int_equal(net_waiting_count(runtime->net, 1), 0);
    introduce(&cluster.sites[0], &cluster.sites[1], /* incarnation */ 2);
    assert_int_equal(net_waiting_count(runtime->net, 1), 1);
    assert_int_equal(net_waiting_first(runtime->net, 1)->kind, MESSAGE_NOTHING);
    assert_int_equal(net_waiting_first(runtime->net, 1)->to_incarnation, 2);
    close_cluster();
}

static void forget_the_last(void *context)
{
    struct site *site = context;
    runtime_remove_member(site->runtime, NODES - 1);
}

static void jobs_survive_a_machine_that_is_lost(ATTR_UNUSED void **state)
{
    open_cluster("jit");
    for (uint32_t i = 0; i + 1 < NODES; i++) {
        ask(&cluster.sites[i], JOBS);
        runtime_call_at(
            cluster.sites[i].runtime, 150 * MS, /* background */ true, forget_the_last,
            &cluster.sites[i]);
    }
    run_cluster();
    wait_ms(50);
    stop_site(&cluster.sites[NODES - 1]); /* It stands still, and is then said to be gone. */
    for (uint32_t i = 0; i + 1 < NODES; i++) {
        wait_for(&cluster.sites[i]);
    }
    wait_ms(150);
    for (uint32_t i = 0; i + 1 < NODES; i++) {
        stop_site(&cluster.sites[i]);
        assert_int_equal(atomic_load(&cluster.sites[i].failed), 0);
        assert_int_equal(atomic_load(&cluster.sites[i].lost), 1);
    }
    close_cluster();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_run_on_all_machines),
        cmocka_unit_test(only_what_a_task_takes_goes_to_its_machine),
        cmocka_unit_test(a_runtime_says_what_it_hosts),
        cmocka_unit_test(jobs_run_where_a_home_of_another_machine_says),
        cmocka_unit_test(what_one_machine_has_learnt_reaches_the_others),
        cmocka_unit_test(what_waits_for_a_life_leaves_when_it_is_listed),
        cmocka_unit_test(jobs_survive_a_machine_that_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
