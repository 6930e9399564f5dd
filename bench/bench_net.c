/*
 * What the net between processes costs beside bare TCP, in turn, over loopback: rows and small
 * messages there and back, and tensors of 1 MiB.
 *
 *     bench_net [rounds [way]]
 *
 * One process answers for each way: bare TCP that waits with poll(); the same with every byte
 * encrypted and decrypted and nothing else done to it, which is the most that TLS can reach; the
 * net with a shared secret, with TLS, through shared memory, and by UCX over TCP. A row that comes
 * is answered by a row, and the same for messages. Of tensors eight are on their way at once, each
 * answered by a message; without a net by a byte. The processor time of both ends is for 1 MiB.
 *
 * Both ends are held on processors: first on two, then on one. Left to itself the kernel sometimes
 * keeps the ends of one way together and those of another apart, and the difference is larger than
 * any that is looked for here. With a way, such as 'TLS', only that one and bare TCP are measured.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uv.h>

#include "bare_tcp.h"
#include "conformance/authority.h"
#include "fabric/net_stream.h"
#include "fabric/trust.h"
#include "model/fleet.h"
#include "processors.h"
#include "quantile.h"
#include "sealed_tcp.h"

enum {
    ROUNDS = 7,
    CALLS = 1500,
    TENSORS = 200,
    WINDOW = 8,
    TENSOR_BYTES = 1 << 20,
    SMALL_BYTES = 64
};

enum way { WAY_TCP, WAY_SEALED, WAY_SECRET, WAY_TLS, WAY_SHM, WAY_UCX, WAYS };
enum place { APART, TOGETHER, PLACES }; /* The two ends. */

static const char *const way_names[WAYS] = {"bare TCP", "with AES-GCM", "net, secret",
                                            "net, TLS", "net, shm",     "net, UCX"};
static const char *const place_names[PLACES] = {"ends on two cores", "ends on one core"};

static char folder[] = "/tmp/weft-bench-XXXXXX";
static struct fleet_worker workers[2] = {{.node = 0, .gpu_units = 1}, {.node = 1, .gpu_units = 1}};
static struct fleet_node nodes[2] = {
    {.worker_first = 0, .worker_count = 1}, {.worker_first = 1, .worker_count = 1}};
static struct fleet fleet = {
    .node_count = 2, .worker_count = 2, .nodes = nodes, .workers = workers};
static uint8_t contents[TENSOR_BYTES];

/* One end of a net. */
struct end {
    uint32_t node;
    uv_loop_t loop;
    struct net *net;
    struct trust *trust;
    bool is_up;
    uint32_t rows;
    uint32_t messages;
};

struct side {
    pid_t process;
    int socket;     /* Of bare TCP, */
    struct end end; /* or of a net. */
    double row_us[PLACES][ROUNDS * CALLS];
    double message_us[PLACES][ROUNDS * CALLS];
    double rates[PLACES][ROUNDS];
    double spent_us[PLACES][2][ROUNDS]; /* Of processors for 1 MiB, here and there. */
};

static struct side sides[WAYS];
static const char *only = ""; /* Ways with this in their name. */

static bool is_asked_for(enum way way)
{
    return way == WAY_TCP || strstr(way_names[way], only) != NULL;
}

static void send_message(struct end *end, uint64_t tensor)
{
    const struct message message = {
        .kind = tensor == 0 ? MESSAGE_CANCEL : MESSAGE_INPUT,
        .from = end->node,
        .job = {.node = end->node, .number = 1},
        .work = {.left_ns = INT64_MAX},
    };
    net_send(end->net, 1 - end->node, &message, tensor);
}

static void publish(struct end *end)
{
    static uint64_t sequence;
    const struct row row = {
        .worker = end->node, .parts = ROW_LOAD, .load = {.sequence = ++sequence, .accepting = 1}};
    net_publish(end->net, end->node, &row);
}

static void on_row(void *context, uint32_t to, const struct row *row)
{
    struct end *end = context;
    (void)to;
    (void)row;
    end->rows++;
    if (end->node == 1) {
        publish(end);
    }
}

static void on_message(void *context, uint32_t to, const struct message *message, uint64_t tensor)
{
    struct end *end = context;
    (void)to;
    (void)message;
    (void)tensor;
    end->messages++;
    if (end->node == 1) {
        send_message(end, 0);
    }
}

static void release(void *context, uint64_t tensor)
{
    (void)context;
    (void)tensor;
}

static void on_peer(void *context, uint32_t peer, enum net_peer_state state)
{
    (void)peer;
    ((struct end *)context)->is_up = state != NET_PEER_BROKEN;
}

static size_t tensor_head(void *context, uint64_t tensor, uint8_t *head)
{
    (void)context;
    (void)tensor;
    head[0] = 1;
    return 1;
}

static bool tensor_part(void *context, uint64_t tensor, uint32_t index, struct net_part *part_out)
{
    (void)context;
    (void)tensor;
    *part_out = (struct net_part){.data = contents, .bytes = sizeof(contents)};
    return index == 0;
}

static uint64_t tensor_make(void *context, const uint8_t *head, size_t head_bytes, uint64_t bytes)
{
    (void)context;
    (void)head;
    (void)head_bytes;
    (void)bytes;
    return 1;
}

static bool tensor_check(void *context, uint64_t tensor)
{
    (void)context;
    return tensor != 0;
}

static void open_end(struct end *end, uint32_t node, enum way way)
{
    char paths[3][64];
    (void)snprintf(paths[0], sizeof(paths[0]), "%s/node.pem", folder);
    (void)snprintf(paths[1], sizeof(paths[1]), "%s/node.key", folder);
    (void)snprintf(paths[2], sizeof(paths[2]), "%s/authority.pem", folder);
    const struct trust_files tls = {
        .certificate = paths[0], .key = paths[1], .authority = paths[2]};
    const struct trust_files secret = {.secret = paths[1]};
    end->node = node;
    check(trust_create(way == WAY_TLS ? &tls : &secret, &end->trust, NULL) == WEFT_OK, "no trust");
    check(uv_loop_init(&end->loop) == 0, "no loop");
    const struct net_stream_options options = {
        .node = node,
        .incarnation = 1,
        .fleet = &fleet,
        .trust = end->trust,
        .listen = "127.0.0.1:0",
        .carrier = way == WAY_SHM   ? NET_CARRIER_SHM
                   : way == WAY_UCX ? NET_CARRIER_UCX
                                    : NET_CARRIER_TCP,
        .loop = &end->loop,
        .host =
            {
                .context = end,
                .on_row = on_row,
                .on_message = on_message,
                .release = release,
                .on_peer = on_peer,
                .tensor_head = tensor_head,
                .tensor_part = tensor_part,
                .tensor_make = tensor_make,
                .tensor_check = tensor_check,
            },
    };
    check(net_stream_create(&options, &end->net, NULL) == WEFT_OK, "no net");
}

static void introduce(struct end *end, uint16_t port)
{
    char address[32];
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", port);
    const struct net_stream_peer peer = {
        .node = 1 - end->node, .incarnation = 1, .address = address, .name = "bench"};
    net_stream_set_peer(end->net, &peer);
}

static void start_net(struct side *side, enum way way)
{
    int pipes[2][2];
    uint16_t port;
    check(pipe(pipes[0]) == 0 && pipe(pipes[1]) == 0, "no pipe");
    side->process = bare_fork();
    const bool is_child = side->process == 0;
    (void)close(pipes[!is_child][1]); /* A side that ends is noticed. */
    (void)close(pipes[is_child][0]);
    open_end(&side->end, is_child ? 1 : 0, way);
    port = net_stream_port(side->end.net);
    check(write(pipes[is_child][1], &port, sizeof(port)) == sizeof(port), "no port");
    check(read(pipes[!is_child][0], &port, sizeof(port)) == sizeof(port), "no port");
    introduce(&side->end, port);
    if (is_child) {
        for (;;) {
            (void)uv_run(&side->end.loop, UV_RUN_ONCE); /* Until it is killed. */
        }
    }
    while (!side->end.is_up) {
        (void)uv_run(&side->end.loop, UV_RUN_ONCE);
        check(waitpid(side->process, NULL, WNOHANG) == 0, "the other side has ended");
    }
}

static void move(int socket, enum way way, uint8_t *bytes, size_t count, bool is_write)
{
    if (way == WAY_SEALED) {
        sealed_tcp_move(socket, bytes, count, is_write);
    } else {
        bare_tcp_move(socket, bytes, count, is_write);
    }
}

/* The first byte says whether a tensor follows. */
static void answer_tcp(int socket, enum way way)
{
    static uint8_t bytes[TENSOR_BYTES];
    for (;;) {
        move(socket, way, bytes, SMALL_BYTES, /* is_write */ false);
        if (bytes[0] == 0) {
            move(socket, way, bytes, SMALL_BYTES, /* is_write */ true);
        } else {
            move(socket, way, bytes, TENSOR_BYTES, /* is_write */ false);
            move(socket, way, bytes, 1, /* is_write */ true);
        }
    }
}

static void start_tcp(struct side *side, enum way way)
{
    side->socket = bare_tcp_open(&side->process);
    if (side->process == 0) {
        answer_tcp(side->socket, way);
    }
}

static void start(struct side *side, enum way way)
{
    if (way <= WAY_SEALED) {
        start_tcp(side, way);
    } else {
        start_net(side, way);
    }
}

static void run_until(struct end *end, const uint32_t *count, uint32_t wanted)
{
    while (*count < wanted) {
        (void)uv_run(&end->loop, UV_RUN_ONCE);
    }
}

static void call_small(struct side *side, enum way way, enum place place, uint32_t round)
{
    uint8_t bytes[SMALL_BYTES] = {0};
    for (uint32_t at = round * CALLS; at < (round + 1) * CALLS; at++) {
        double since_us = now_us();
        if (way <= WAY_SEALED) {
            move(side->socket, way, bytes, SMALL_BYTES, /* is_write */ true);
            move(side->socket, way, bytes, SMALL_BYTES, /* is_write */ false);
            side->row_us[place][at] = side->message_us[place][at] = now_us() - since_us;
            continue;
        }
        const uint32_t rows = side->end.rows;
        publish(&side->end);
        run_until(&side->end, &side->end.rows, rows + 1);
        side->row_us[place][at] = now_us() - since_us;
        since_us = now_us();
        const uint32_t messages = side->end.messages;
        send_message(&side->end, 0);
        run_until(&side->end, &side->end.messages, messages + 1);
        side->message_us[place][at] = now_us() - since_us;
    }
}

/* Processor time that @process has had so far, 0: this one. */
static double spent_us(pid_t process)
{
    clockid_t clock;
    struct timespec spent;
    check(
        clock_getcpuclockid(process, &clock) == 0 && clock_gettime(clock, &spent) == 0,
        "no processor time");
    return (double)spent.tv_sec * 1e6 + (double)spent.tv_nsec * 1e-3;
}

static void send_tensors(struct side *side, enum way way, enum place place, uint32_t round)
{
    uint8_t head[SMALL_BYTES] = {1};
    const double spent[2] = {spent_us(0), spent_us(side->process)};
    const double since_us = now_us();
    const uint32_t messages = side->end.messages;
    for (uint32_t i = 0; i < TENSORS + WINDOW; i++) {
        if (way <= WAY_SEALED) {
            if (i >= WINDOW) {
                move(side->socket, way, head + 1, 1, /* is_write */ false);
            }
            if (i < TENSORS) {
                move(side->socket, way, head, SMALL_BYTES, /* is_write */ true);
                move(side->socket, way, contents, TENSOR_BYTES, /* is_write */ true);
            }
            continue;
        }
        if (i >= WINDOW) {
            run_until(&side->end, &side->end.messages, messages + i - WINDOW + 1);
        }
        if (i < TENSORS) {
            send_message(&side->end, 1);
        }
    }
    side->rates[place][round] = (double)TENSORS * TENSOR_BYTES / (now_us() - since_us) * 1e-3;
    side->spent_us[place][0][round] = (spent_us(0) - spent[0]) / TENSORS;
    side->spent_us[place][1][round] = (spent_us(side->process) - spent[1]) / TENSORS;
}

static void print(uint32_t rounds, enum place place)
{
    double references[3] = {0};
    (void)printf(
        "%-17s %19s %24s %20s %16s\n", place_names[place], "row, there and back us",
        "message, the same", "1 MiB, GB/s", "processor us");
    for (enum way way = 0; way < WAYS; way++) {
        struct side *side = &sides[way];
        if (!is_asked_for(way)) {
            continue;
        }
        double *rows = side->row_us[place];
        double *messages = side->message_us[place];
        const double row_us = quantile(rows, rounds * CALLS, 0.5);
        const double message_us = quantile(messages, rounds * CALLS, 0.5);
        const double rate = quantile(side->rates[place], rounds, 0.5);
        if (way == WAY_TCP) {
            references[0] = row_us;
            references[1] = message_us;
            references[2] = rate;
        }
        (void)printf(
            "%-12s %10.1f p99 %6.1f %4.2fx %8.1f p99 %6.1f %4.2fx %10.2f %4.2fx %7.0f %7.0f\n",
            way_names[way], row_us, quantile(rows, rounds * CALLS, 0.99), row_us / references[0],
            message_us, quantile(messages, rounds * CALLS, 0.99), message_us / references[1], rate,
            rate / references[2], quantile(side->spent_us[place][0], rounds, 0.5),
            quantile(side->spent_us[place][1], rounds, 0.5));
    }
}

/*
 * More than one core per end would not be here: how many tensors two cores could move if all that
 * both ends do were divided evenly between them, and neither ever waited.
 */
static void print_even(uint32_t rounds)
{
    const double reference = quantile(sides[WAY_TCP].rates[APART], rounds, 0.5);
    static const enum way ways[] = {WAY_SEALED, WAY_TLS};
    for (uint32_t i = 0; i < 2; i++) {
        if (is_asked_for(ways[i])) {
            double(*spent)[ROUNDS] = sides[ways[i]].spent_us[APART];
            const double spent_us =
                quantile(spent[0], rounds, 0.5) + quantile(spent[1], rounds, 0.5);
            const double rate = 2 * TENSOR_BYTES / spent_us * 1e-3;
            (void)printf(
                "%s, divided evenly between two cores: %.2f GB/s, %.2fx\n", way_names[ways[i]],
                rate, rate / reference);
        }
    }
}

static void run_round(enum place place, uint32_t round)
{
    for (enum way way = 0; way < WAYS; way++) {
        if (is_asked_for(way)) {
            processors_hold(sides[way].process, place == APART ? 1 : 0);
            call_small(&sides[way], way, place, round);
            send_tensors(&sides[way], way, place, round);
        }
    }
}

int main(int argc, char **argv)
{
    const uint32_t asked = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : ROUNDS;
    const uint32_t rounds = asked < 1 ? 1 : asked > ROUNDS ? ROUNDS : asked;
    char paths[3][64];
    only = argc > 2 ? argv[2] : only;
    (void)signal(SIGPIPE, SIG_IGN); /* A side that has ended is said by the call. */
    check(mkdtemp(folder) != NULL, "no folder");
    (void)snprintf(paths[0], sizeof(paths[0]), "%s/node.pem", folder);
    (void)snprintf(paths[1], sizeof(paths[1]), "%s/node.key", folder);
    (void)snprintf(paths[2], sizeof(paths[2]), "%s/authority.pem", folder);
    struct authority *authority = authority_create(paths[2]);
    authority_sign(authority, "bench", paths[0], paths[1]);
    authority_destroy(authority);
    processors_hold(getpid(), 0);
    for (enum way way = 0; way < WAYS; way++) {
        if (is_asked_for(way)) {
            start(&sides[way], way);
        }
    }
    for (uint32_t round = 0; round < rounds; round++) {
        for (enum place place = 0; place < PLACES; place++) {
            run_round(place, round);
        }
    }
    for (enum way way = 0; way < WAYS; way++) {
        if (!is_asked_for(way)) {
            continue;
        }
        (void)kill(sides[way].process, SIGKILL);
        (void)waitpid(sides[way].process, NULL, 0);
    }
    for (uint32_t i = 0; i < 3; i++) {
        (void)unlink(paths[i]);
    }
    (void)rmdir(folder);
    for (enum place place = 0; place < PLACES; place++) {
        print(rounds, place);
    }
    print_even(rounds);
    return EXIT_SUCCESS;
}
