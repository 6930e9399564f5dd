/*
 * What it costs that a small task runs in another process: requests of one task without run time,
 * in turn of one that only this process can run and of one that only the other can, and a trip of
 * bare TCP.
 *
 *     bench_hop [rounds]
 *
 * Both processes are runtimes with emulated workers, and one node each, as `weft serve --cluster`
 * has them. A hop is the difference of both: the inputs go there and the outputs back, 1 KiB each.
 * Both ends are held on processors, first on two and then on one, as bench_net does.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "bare_tcp.h"
#include "conformance/authority.h"
#include "engine/bundle.h"
#include "fabric/trust.h"
#include "model/catalogue.h"
#include "policy/compose.h"
#include "processors.h"
#include "quantile.h"
#include "runtime/remote.h"

enum { ROUNDS = 7, CALLS = 400, BYTES = 1024 };
enum way { WAY_SECRET, WAY_TLS, WAY_SHM, WAY_UCX, WAYS };
enum place { HERE, THERE, PLACES };  /* A task. */
enum ends { APART, TOGETHER, BOTH }; /* The two processes. */

static const char *const way_names[WAYS] = {"secret", "TLS", "shm", "UCX"};
static const char *const ends_names[BOTH] = {"two cores", "one core"};
static char folder[] = "/tmp/weft-hop-XXXXXX";
static char paths[3][64];
static struct fleet *fleet;
static struct catalogue *catalogue;
static struct profile *profile;
static struct policy_set policies;

/* This end of one way. */
struct end {
    pid_t process;
    struct trust *trust;
    struct runtime *runtime;
    double asked_us;
    double took_us;
    bool is_good;
    uint32_t started; /* Tasks, in this process. */
    double us[BOTH][PLACES][ROUNDS * CALLS];
};

static struct end ends[WAYS];
static double tcp_us[BOTH][ROUNDS * CALLS];

/* A device for each process, and for each a model and a workflow that no other device can run. */
static void make_cluster(void)
{
    static const char *const names[PLACES] = {"here", "there"};
    fleet = fleet_create();
    catalogue = catalogue_create();
    profile = profile_create(PLACES);
    for (uint32_t i = 0; i < PLACES; i++) {
        const struct fleet_worker device = {
            .device = fleet_device(fleet, names[i]), .memory_bytes = 1 << 20, .gpu_units = 1};
        const struct profile_point point = {.items = 1, .run_ns = 0};
        struct workflow *workflow = workflow_create(names[i]);
        struct workflow_task task = {.run = catalogue_model(catalogue, names[i])};
        uint32_t number;
        (void)snprintf(task.name, sizeof(task.name), "task");
        check(fleet_add_machine(fleet, &device, 1, /* cpu_units */ 8), "no machine");
        check(profile_add_point(profile, task.run, device.device, &point) == WEFT_OK, "no point");
        check(
            workflow_add_task(workflow, &task, &number) == WEFT_OK &&
                workflow_seal(workflow, NULL) == WEFT_OK &&
                catalogue_add_workflow(catalogue, workflow) == WEFT_OK,
            "no workflow");
    }
    check(policy_set_parse("least-work", &policies, NULL) == WEFT_OK, "no policy");
}

static void count_started(void *context, const struct record *record)
{
    struct end *end = context;
    end->started += record->kind == RECORD_STARTED ? 1 : 0;
}

static void open_end(struct end *end, uint32_t node, enum way way)
{
    const struct trust_files tls = {
        .certificate = paths[0], .key = paths[1], .authority = paths[2]};
    const struct trust_files secret = {.secret = paths[1]};
    check(trust_create(way == WAY_TLS ? &tls : &secret, &end->trust, NULL) == WEFT_OK, "no trust");
    static const enum net_carrier carriers[WAYS] = {
        NET_CARRIER_TCP, NET_CARRIER_TCP, NET_CARRIER_SHM, NET_CARRIER_UCX};
    const struct runtime_remote remote = {
        .node = node,
        .incarnation = 1,
        .listen = "127.0.0.1:0",
        .carrier = carriers[way],
        .trust = end->trust,
        .tensor_bytes_max = 1 << 20,
    };
    const struct runtime_options options = {
        .fleet = fleet,
        .catalogue = catalogue,
        .profile = profile,
        .policies = &policies,
        .clock = CLOCK_KIND_REAL,
        .row_load_ns = 10000000,
        .row_cache_ns = 50000000,
        .stays = true,
        .on_record = count_started,
        .context = end,
        .remote = &remote,
    };
    check(runtime_create(&options, &end->runtime, NULL) == WEFT_OK, "no runtime");
}

static void introduce(struct end *end, uint32_t other, uint16_t port)
{
    char address[32];
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", port);
    const struct net_stream_peer peer = {
        .node = other, .incarnation = 1, .address = address, .name = "bench"};
    runtime_set_member(end->runtime, &peer);
}

static void answered(void *context, const struct runtime_answer *answer)
{
    struct end *end = context;
    end->took_us = now_us() - end->asked_us;
    end->is_good = answer->status == WEFT_OK;
    for (uint32_t i = 0; i < answer->output_count; i++) {
        runtime_release(end->runtime, answer->outputs[i]);
    }
    runtime_stop(end->runtime);
}

static void ask(struct end *end, enum place place)
{
    struct bundle *bundle = bundle_create();
    const struct weft_tensor tensor = {
        .name = "x", .dtype = WEFT_UINT8, .rank = 1, .shape = {BYTES}, .bytes = BYTES};
    memset(bundle_add(bundle, &tensor), 1, BYTES);
    const struct runtime_request request = {
        .workflow = (uint32_t)place,
        .inputs = runtime_tensor(end->runtime, bundle, BYTES, bundle_destroy),
        .answered = answered,
        .context = end,
    };
    end->asked_us = now_us();
    (void)runtime_request(end->runtime, /* node */ 0, &request);
    runtime_run(end->runtime);
}

static void start(struct end *end, enum way way)
{
    int pipes[2][2];
    uint16_t port;
    check(pipe(pipes[0]) == 0 && pipe(pipes[1]) == 0, "no pipe");
    end->process = bare_fork();
    const bool is_child = end->process == 0;
    (void)close(pipes[!is_child][1]); /* A side that ends is noticed. */
    (void)close(pipes[is_child][0]);
    open_end(end, is_child ? 1 : 0, way);
    port = runtime_port(end->runtime);
    check(write(pipes[is_child][1], &port, sizeof(port)) == sizeof(port), "no port");
    check(read(pipes[!is_child][0], &port, sizeof(port)) == sizeof(port), "no port");
    introduce(end, is_child ? 0 : 1, port);
    if (is_child) {
        runtime_run(end->runtime); /* Until it is killed. */
    }
    for (end->is_good = false; !end->is_good;) {
        ask(end, THERE); /* Refused, until they know each other. */
        check(waitpid(end->process, NULL, WNOHANG) == 0, "the other side has ended");
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

static void answer_tcp(int socket)
{
    uint8_t bytes[BYTES];
    for (;;) {
        bare_tcp_move(socket, bytes, sizeof(bytes), /* is_write */ false);
        bare_tcp_move(socket, bytes, sizeof(bytes), /* is_write */ true);
    }
}

static void run_round(int tcp, pid_t echo, enum ends where, uint32_t round)
{
    uint8_t bytes[BYTES] = {0};
    processors_hold(echo, where == APART ? 1 : 0);
    for (uint32_t at = round * CALLS; at < (round + 1) * CALLS; at++) {
        const double since_us = now_us();
        bare_tcp_move(tcp, bytes, sizeof(bytes), /* is_write */ true);
        bare_tcp_move(tcp, bytes, sizeof(bytes), /* is_write */ false);
        tcp_us[where][at] = now_us() - since_us;
    }
    for (enum way way = 0; way < WAYS; way++) {
        processors_hold(ends[way].process, where == APART ? 1 : 0);
        for (uint32_t at = round * CALLS; at < (round + 1) * CALLS; at++) {
            for (enum place place = HERE; place < PLACES; place++) {
                ends[way].started = 0;
                ask(&ends[way], place);
                check(ends[way].is_good, "a request failed");
                check(ends[way].started == (place == HERE ? 1 : 0), "a task ran elsewhere");
                ends[way].us[where][place][at] = ends[way].took_us;
            }
        }
    }
}

static void print(uint32_t count, enum ends where)
{
    const double trip_us = quantile(tcp_us[where], count, 0.5);
    (void)printf(
        "%-9s %12s %12s %12s %12s\n", ends_names[where], "here us", "there us", "hop us",
        "of bare TCP");
    (void)printf("%-9s %12s %12.1f %12.1f %11.2fx\n", "bare TCP", "", trip_us, trip_us, 1.0);
    for (enum way way = 0; way < WAYS; way++) {
        const double here_us = quantile(ends[way].us[where][HERE], count, 0.5);
        const double there_us = quantile(ends[way].us[where][THERE], count, 0.5);
        (void)printf(
            "%-9s %12.1f %12.1f %12.1f %11.2fx\n", way_names[way], here_us, there_us,
            there_us - here_us, (there_us - here_us) / trip_us);
    }
}

int main(int argc, char **argv)
{
    const uint32_t asked = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : ROUNDS;
    const uint32_t rounds = asked < 1 ? 1 : asked > ROUNDS ? ROUNDS : asked;
    static const char *const names[3] = {"node.pem", "node.key", "authority.pem"};
    pid_t echo;
    (void)signal(SIGPIPE, SIG_IGN); /* A side that has ended is said by the call. */
    check(mkdtemp(folder) != NULL, "no folder");
    for (uint32_t i = 0; i < 3; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/%s", folder, names[i]);
    }
    struct authority *authority = authority_create(paths[2]);
    authority_sign(authority, "bench", paths[0], paths[1]);
    authority_destroy(authority);
    make_cluster();
    processors_hold(getpid(), 0);
    const int tcp = bare_tcp_open(&echo);
    if (echo == 0) {
        answer_tcp(tcp);
    }
    for (enum way way = 0; way < WAYS; way++) {
        start(&ends[way], way);
    }
    for (uint32_t round = 0; round < rounds; round++) {
        run_round(tcp, echo, APART, round);
        run_round(tcp, echo, TOGETHER, round);
    }
    for (enum way way = 0; way < WAYS; way++) {
        (void)kill(ends[way].process, SIGKILL);
        (void)waitpid(ends[way].process, NULL, 0);
    }
    for (uint32_t i = 0; i < 3; i++) {
        (void)unlink(paths[i]);
    }
    (void)rmdir(folder);
    print(rounds * CALLS, APART);
    print(rounds * CALLS, TOGETHER);
    return EXIT_SUCCESS;
}
