/*
 * Every net keeps the contract of net.h.
 *
 * Covers: src/fabric/net.c src/fabric/net_inproc.c src/fabric/net_stream.c
 * src/fabric/net_stream_send.c src/fabric/net_stream_receive.c src/fabric/net_stream_told.c
 * src/fabric/framed.c src/fabric/stream.c src/fabric/trust.c src/fabric/greeting.c
 * src/fabric/rings.c src/fabric/local_socket.c src/fabric/ucx.c src/fabric/ucx_library.c
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/units.h"
#include "conformance/net_cluster.h"
#include "fabric/framed.h"
#include "fabric/greeting.h"
#include "fabric/local_socket.h"
#include "fabric/stream.h"
#include "fabric/ucx_library.h"
#include "wire/bytes.h"

enum { MANY = 1000, LARGE_BYTES = 8 << 20, TURNS = 50, WAKE_MS = 10000 };

static struct net_cluster cluster;

static int open_inproc(ATTR_UNUSED void **state)
{
    cluster_open(&cluster, NET_FORM_INPROC);
    return 0;
}

static int open_secret(ATTR_UNUSED void **state)
{
    cluster_open(&cluster, NET_FORM_SECRET);
    return 0;
}

static int open_tls(ATTR_UNUSED void **state)
{
    cluster_open(&cluster, NET_FORM_TLS);
    return 0;
}

static int open_shm(ATTR_UNUSED void **state)
{
    cluster_open(&cluster, NET_FORM_SHM);
    return 0;
}

static int open_shm_tls(ATTR_UNUSED void **state)
{
    cluster_open(&cluster, NET_FORM_SHM_TLS);
    return 0;
}

static int open_auto(ATTR_UNUSED void **state)
{
    cluster_open(&cluster, NET_FORM_AUTO);
    return 0;
}

static int open_ucx(ATTR_UNUSED void **state)
{
    cluster_open(&cluster, NET_FORM_UCX);
    return 0;
}

static int open_ucx_tls(ATTR_UNUSED void **state)
{
    cluster_open(&cluster, NET_FORM_UCX_TLS);
    return 0;
}

static int close_cluster(ATTR_UNUSED void **state)
{
    cluster_close(&cluster);
    return 0;
}

static struct message input(uint32_t from, uint32_t number, uint64_t bytes)
{
    static const uint16_t placement[] = {3, PLACEMENT_UNBOUND, 1};
    return (struct message){
        .kind = MESSAGE_INPUT,
        .from = from,
        .job = {.node = from, .number = number},
        .task = 1,
        .worker = 3,
        .work =
            {
                .items = 5,
                .bytes = bytes,
                .age_ns = 1000,
                .left_ns = INT64_MAX,
                .placement_count = 3,
                .placement = placement,
            },
    };
}

static struct message cancel(uint32_t from, uint32_t number)
{
    return (struct message){
        .kind = MESSAGE_CANCEL, .from = from, .job = {.node = from, .number = number}};
}

static void send_cancel(uint32_t from, uint32_t to, uint32_t number)
{
    const struct message message = cancel(from, number);
    cluster_send(&cluster, from, to, &message, 0);
}

static bool many_came(struct net_cluster *of)
{
    return of->places[1].message_count >= MANY;
}

static bool one_came(struct net_cluster *of)
{
    return of->places[1].message_count >= 1;
}

static bool two_came(struct net_cluster *of)
{
    return of->places[1].message_count >= 2;
}

static bool three_came(struct net_cluster *of)
{
    return of->places[1].message_count >= 3;
}

static void messages_come_once_and_in_order(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < MANY; i++) {
        send_cancel(0, 1, i + 1);
    }
    assert_true(cluster_run(&cluster, many_came));
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(cluster.places[1].messages[i].message.job.number, i + 1);
        assert_int_equal(cluster.places[1].messages[i].message.from, 0);
    }
    assert_int_equal(cluster.places[1].message_count, MANY);
    assert_int_equal(cluster.places[2].message_count, 0);
}

/* It leaves with what comes next, and by itself in the end. */
static void a_message_that_can_wait_comes_in_its_turn(ATTR_UNUSED void **state)
{
    struct message message = cancel(0, 1);
    message.can_wait = true;
    cluster_send(&cluster, 0, 1, &message, 0);
    send_cancel(0, 1, 2);
    assert_true(cluster_run(&cluster, two_came));
    message.job.number = 3;
    cluster_send(&cluster, 0, 1, &message, 0);
    assert_true(cluster_run(&cluster, three_came));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(cluster.places[1].messages[i].message.job.number, i + 1);
        assert_false(cluster.places[1].messages[i].message.can_wait);
    }
}

/* Whether the receiver attends or not: its loop turns. */
static void a_quiet_message_comes_in_its_turn(ATTR_UNUSED void **state)
{
    struct message message = cancel(0, 1);
    message.is_quiet = true;
    cluster_send(&cluster, 0, 1, &message, 0);
    assert_true(cluster_run(&cluster, one_came));
    net_attend(cluster_table(&cluster, 1)->net, false);
    message.job.number = 2;
    cluster_send(&cluster, 0, 1, &message, 0);
    assert_true(cluster_run(&cluster, two_came));
    message.job.number = 3;
    cluster_send(&cluster, 0, 1, &message, 0);
    net_attend(cluster_table(&cluster, 1)->net, true);
    assert_true(cluster_run(&cluster, three_came));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(cluster.places[1].messages[i].message.job.number, i + 1);
        assert_false(cluster.places[1].messages[i].message.is_quiet);
    }
}

static void let_turn(uint32_t node)
{
    for (uint32_t i = 0; i < TURNS; i++) {
        (void)uv_run(&cluster.places[node].loop, UV_RUN_NOWAIT);
    }
}

/* The sender stands still afterwards, so nothing else wakes the receiver. */
static void send_quietly(void)
{
    struct message message = cancel(0, 1);
    message.is_quiet = true;
    let_turn(1);
    cluster_send(&cluster, 0, 1, &message, 0);
    let_turn(0);
}

static void a_quiet_message_is_found_by_whoever_is_awake(ATTR_UNUSED void **state)
{
    net_attend(cluster.places[1].net, false);
    send_quietly();
    let_turn(1);
    assert_int_equal(cluster.places[1].message_count, 1);
}

static void a_quiet_message_wakes_whoever_attends(ATTR_UNUSED void **state)
{
    struct pollfd wakes = {.fd = uv_backend_fd(&cluster.places[1].loop), .events = POLLIN};
    net_attend(cluster.places[1].net, false);
    let_turn(1);
    net_attend(cluster.places[1].net, true);
    send_quietly();
    assert_int_equal(poll(&wakes, 1, WAKE_MS), 1);
}

static void all_of_a_message_comes(ATTR_UNUSED void **state)
{
    const struct message sent = input(0, 9, 0);
    cluster_send(&cluster, 0, 1, &sent, 0);
    assert_true(cluster_run(&cluster, one_came));
    const struct kept_message *kept = &cluster.places[1].messages[0];
    assert_int_equal(kept->tensor, 0);
    assert_int_equal(kept->message.work.items, 5);
    assert_int_equal(kept->message.work.left_ns, INT64_MAX);
    assert_true(kept->message.work.age_ns >= 1000);
    assert_int_equal(kept->message.work.placement_count, 3);
    assert_int_equal(kept->placement[0], 3);
    assert_int_equal(kept->placement[1], PLACEMENT_UNBOUND);
}

/* Send a tensor with parts of these sizes from 0 to 1 and look at what came. */
static void check_tensor(uint32_t part_count, const uint64_t *bytes)
{
    const uint64_t tensor = cluster_tensor(&cluster, 0, part_count, bytes, 5);
    const struct message sent = input(0, 1, 1);
    cluster.places[1].message_count = 0;
    cluster_send(&cluster, 0, 1, &sent, tensor);
    assert_true(cluster_run(&cluster, one_came));
    const uint64_t came = cluster.places[1].messages[0].tensor;
    assert_true(cluster_tensor_is(&cluster, 1, came, part_count, bytes, 5));
    cluster_release(&cluster, 1, came);
    cluster_run_ms(&cluster, 5);
    assert_int_equal(cluster_table(&cluster, 0)->tensor_count, 0);
    assert_int_equal(cluster_table(&cluster, 1)->tensor_count, 0);
}

static void tensors_of_any_size_come_whole(ATTR_UNUSED void **state)
{
    check_tensor(0, NULL);
    check_tensor(1, (const uint64_t[]){0});
    check_tensor(1, (const uint64_t[]){1});
    check_tensor(3, (const uint64_t[]){100, 0, 7});
    check_tensor(1, (const uint64_t[]){32 * 1024});
    check_tensor(1, (const uint64_t[]){32 * 1024 + 1});
    check_tensor(3, (const uint64_t[]){0, 256 * 1024, 1});
    check_tensor(3, (const uint64_t[]){LARGE_BYTES, 3, LARGE_BYTES - 5});
}

static void a_pretended_tensor_stays_one(ATTR_UNUSED void **state)
{
    const uint64_t tensor = cluster_tensor(&cluster, 0, 0, NULL, 0);
    cluster_table(&cluster, 0)->tensors[tensor - 1].is_pretended = true;
    const struct message sent = input(0, 1, 1 << 30);
    cluster_send(&cluster, 0, 1, &sent, tensor);
    assert_true(cluster_run(&cluster, one_came));
    const uint64_t came = cluster.places[1].messages[0].tensor;
    assert_true(came != 0 && cluster_table(&cluster, 1)->tensors[came - 1].is_pretended);
    assert_int_equal(cluster.places[1].messages[0].message.work.bytes, 1 << 30);
}

static struct row row_of(uint32_t worker, uint64_t sequence, uint32_t parts)
{
    return (struct row){
        .worker = worker,
        .parts = parts,
        .load = {.sequence = sequence, .queued_ns = (int64_t)sequence * 10, .accepting = 1},
        .cache = {.sequence = sequence, .free_bytes = sequence},
    };
}

static void publish(uint32_t from, uint32_t worker, uint64_t sequence, uint32_t parts)
{
    const struct row row = row_of(worker, sequence, parts);
    cluster.in_operation = true;
    net_publish(cluster_table(&cluster, from)->net, from, &row);
    cluster.in_operation = false;
}

static bool the_last_row_came(struct net_cluster *of)
{
    return of->places[1].rows[0].load.sequence == MANY &&
           of->places[2].rows[0].load.sequence == MANY &&
           of->places[2].rows[1].load.sequence == 7 && of->places[0].rows[2].cache.sequence == 8;
}

static void the_newest_row_wins(ATTR_UNUSED void **state)
{
    publish(0, 0, 1, ROW_BOTH);
    publish(0, 1, 7, ROW_LOAD);
    publish(1, 2, 8, ROW_CACHE);
    for (uint32_t i = 2; i <= MANY; i++) {
        publish(0, 0, i, ROW_LOAD);
    }
    assert_true(cluster_run(&cluster, the_last_row_came));
    assert_int_equal(cluster.places[1].rows[0].load.queued_ns, MANY * 10);
    assert_int_equal(cluster.places[1].rows[0].cache.free_bytes, 1);
    assert_int_equal(cluster.places[2].rows[1].parts, ROW_LOAD);
    assert_int_equal(cluster.places[0].rows[2].parts, ROW_CACHE);
    assert_int_equal(cluster.places[0].rows[0].parts, 0); /* Its own. */
}

static bool both_rows_came(struct net_cluster *of)
{
    return of->places[1].rows[0].load.sequence == 2 && of->places[1].rows[4].load.sequence == 2;
}

static bool the_last_node_has_a_row(struct net_cluster *of)
{
    return of->places[2].rows[0].load.sequence == 3;
}

static void rows_go_to_those_that_they_are_for(ATTR_UNUSED void **state)
{
    cluster.is_apart = true;
    publish(0, 0, 2, ROW_BOTH);
    publish(2, 4, 2, ROW_BOTH);
    assert_true(cluster_run(&cluster, both_rows_came));
    assert_int_equal(cluster.places[2].rows[0].parts, 0);
    assert_int_equal(cluster.places[0].rows[4].parts, 0);
    cluster.is_apart = false;
    publish(0, 0, 3, ROW_BOTH);
    assert_true(cluster_run(&cluster, the_last_node_has_a_row));
}

static void what_is_on_its_way_is_known(ATTR_UNUSED void **state)
{
    const uint64_t bytes = LARGE_BYTES;
    const uint64_t tensor = cluster_tensor(&cluster, 0, 1, &bytes, 1);
    const struct message sent = input(0, 4, 1);
    const struct net *net = cluster_table(&cluster, 0)->net;
    cluster_send(&cluster, 0, 1, &sent, tensor);
    assert_true(net_carries(net, 0, sent.job));
    assert_false(net_carries(net, 0, (struct job_id){.node = 0, .number = 5}));
    assert_true(cluster_run(&cluster, one_came));
    cluster_run_ms(&cluster, 5);
    assert_false(net_carries(net, 0, sent.job));
}

/* From here on: what only nets between processes meet. */

static void a_message_overtakes_a_large_tensor(ATTR_UNUSED void **state)
{
    const uint64_t bytes = 4 * (uint64_t)LARGE_BYTES;
    const uint64_t tensor = cluster_tensor(&cluster, 0, 1, &bytes, 1);
    const struct message sent = input(0, 1, 1);
    cluster_send(&cluster, 0, 1, &sent, tensor);
    send_cancel(0, 1, 2);
    assert_true(cluster_run(&cluster, two_came));
    assert_int_equal(cluster.places[1].messages[0].message.job.number, 2);
    assert_int_equal(cluster.places[1].messages[1].message.job.number, 1);
}

static bool one_is_broken(struct net_cluster *of)
{
    return of->places[0].is_broken[1] && of->places[2].is_broken[1];
}

static bool first_is_clear(struct net_cluster *of)
{
    return net_is_clear(of->places[0].net);
}

/* So a node may leave then. */
static void what_was_sent_comes_if_its_sender_leaves_when_it_is_clear(ATTR_UNUSED void **state)
{
    const uint64_t bytes = LARGE_BYTES;
    const struct message sent = input(0, 1, 1);
    assert_true(cluster_run(&cluster, first_is_clear));
    for (uint32_t i = 0; i < 3; i++) {
        cluster_send(&cluster, 0, 1, &sent, cluster_tensor(&cluster, 0, 1, &bytes, 1));
    }
    assert_false(first_is_clear(&cluster));
    assert_true(cluster_run(&cluster, first_is_clear));
    place_stop(&cluster.places[0]);
    assert_true(cluster_run(&cluster, three_came));
}

static void who_cannot_be_reached_is_not_waited_for(ATTR_UNUSED void **state)
{
    place_stop(&cluster.places[1]);
    assert_true(cluster_run(&cluster, one_is_broken));
    send_cancel(0, 1, 1);
    assert_true(cluster_run(&cluster, first_is_clear));
}

static void time_on_the_way_counts(ATTR_UNUSED void **state)
{
    struct message sent = input(0, 1, 0);
    sent.work.left_ns = 1000000000;
    cluster.places[1].is_stopped = true;
    cluster_run_ms(&cluster, 100);
    place_stop(&cluster.places[1]);
    cluster_send(&cluster, 0, 1, &sent, 0);
    cluster_run_ms(&cluster, 60);
    cluster.places[1].is_stopped = false;
    place_start(&cluster.places[1], NULL);
    cluster_introduce(&cluster, 1);
    cluster_send(&cluster, 0, 1, &sent, 0); /* The other waited for an address that is gone. */
    assert_true(cluster_run(&cluster, one_came));
    const struct message_work *work = &cluster.places[1].messages[0].message.work;
    assert_true(work->age_ns > 1000);
    assert_int_equal(work->age_ns + work->left_ns, 1000 + 1000000000);
}

static bool one_is_restored(struct net_cluster *of)
{
    return !of->places[0].is_broken[1] && !of->places[2].is_broken[1] &&
           !of->places[1].is_broken[0] && !of->places[1].is_broken[2];
}

static void a_peer_that_dies_and_comes_back_is_another(ATTR_UNUSED void **state)
{
    const uint64_t bytes = 100;
    publish(0, 0, 3, ROW_BOTH);
    place_stop(&cluster.places[1]);
    assert_true(cluster_run(&cluster, one_is_broken));
    assert_false(cluster.places[0].is_broken[2]);
    const struct message sent = input(0, 1, 1);
    cluster_send(&cluster, 0, 1, &sent, cluster_tensor(&cluster, 0, 1, &bytes, 1));
    assert_int_equal(cluster.places[0].tensor_count, 1);
    cluster.places[1].incarnation = 2;
    place_start(&cluster.places[1], NULL);
    cluster_introduce(&cluster, 1);
    assert_int_equal(cluster.places[0].tensor_count, 0); /* That was for the other. */
    assert_true(cluster_run(&cluster, one_is_restored));
    send_cancel(0, 1, 2);
    assert_true(cluster_run(&cluster, one_came));
    assert_int_equal(cluster.places[1].messages[0].message.job.number, 2);
    assert_int_equal(cluster.places[1].rows[0].load.sequence, 3); /* Shown to those who come. */
}

static void a_stopped_peer_is_suspected_until_it_goes_on(ATTR_UNUSED void **state)
{
    cluster.places[1].is_stopped = true;
    assert_true(cluster_run(&cluster, one_is_broken));
    cluster.places[1].is_stopped = false;
    assert_true(cluster_run(&cluster, one_is_restored));
    /* The one that stood still knows that it was itself. */
    assert_int_equal(cluster.places[1].broken_count, 2); /* Those of the start. */
}

/* Where there is nothing to say, signs of life say that. */
static void a_cluster_with_nothing_to_say_stays_whole(ATTR_UNUSED void **state)
{
    uint32_t before[3];
    for (uint32_t i = 0; i < 3; i++) {
        before[i] = cluster.places[i].broken_count;
    }
    cluster_run_ms(&cluster, 900);
    assert_true(one_is_restored(&cluster));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(cluster.places[i].broken_count, before[i]);
    }
}

static bool one_is_blocked(struct net_cluster *of)
{
    return of->places[0].is_blocked[1];
}

static bool all_is_there(struct net_cluster *of)
{
    return !of->places[0].is_blocked[1] && of->places[0].tensor_count == 0;
}

static void what_waits_for_a_slow_peer_is_bounded(ATTR_UNUSED void **state)
{
    const uint64_t bytes = LARGE_BYTES;
    const struct message sent = input(0, 1, 1);
    cluster.places[1].is_stopped = true;
    for (uint32_t i = 0; i < 6; i++) {
        cluster_send(&cluster, 0, 1, &sent, cluster_tensor(&cluster, 0, 1, &bytes, i));
    }
    assert_true(cluster_run(&cluster, one_is_blocked));
    assert_false(cluster.places[0].is_blocked[2]);
    for (uint32_t i = 6; i < 60; i++) { /* The host does not listen. */
        cluster_send(&cluster, 0, 1, &sent, cluster_tensor(&cluster, 0, 1, &bytes, i));
    }
    assert_true(cluster.places[0].tensor_count < 40);
    cluster.places[1].is_stopped = false;
    assert_true(cluster_run(&cluster, all_is_there));
    const uint32_t count = cluster.places[1].message_count;
    assert_true(count >= 6);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(
            cluster_tensor_is(&cluster, 1, cluster.places[1].messages[i].tensor, 1, &bytes, i));
    }
}

static void a_tensor_without_memory_is_read_and_forgotten(ATTR_UNUSED void **state)
{
    const uint64_t bytes[] = {10, LARGE_BYTES};
    const struct message sent = input(0, 1, 1);
    cluster.places[1].refuses_tensors = true;
    cluster_send(&cluster, 0, 1, &sent, cluster_tensor(&cluster, 0, 1, &bytes[0], 0));
    cluster_send(&cluster, 0, 1, &sent, cluster_tensor(&cluster, 0, 1, &bytes[1], 0));
    assert_true(cluster_run(&cluster, all_is_there));
    cluster_run_ms(&cluster, 20);
    cluster.places[1].refuses_tensors = false;
    send_cancel(0, 1, 7);
    assert_true(cluster_run(&cluster, one_came));
    assert_int_equal(cluster.places[1].messages[0].message.job.number, 7);
    assert_false(cluster.places[0].is_broken[1]);
}

static bool zero_was_thrown_out(struct net_cluster *of)
{
    return of->places[0].broken_count > 2; /* At the start it knew neither. */
}

static void no_node_speaks_for_another(ATTR_UNUSED void **state)
{
    const struct message lie = cancel(2, 1);
    cluster_send(&cluster, 0, 1, &lie, 0);
    assert_true(cluster_run(&cluster, zero_was_thrown_out));
    assert_int_equal(cluster.places[1].message_count, 0);
    cluster_settle(&cluster); /* And let in again, for all that matters. */
}

/* Restart node 1 with @changes: whether the others ever reach it. */
static bool is_let_in(const struct net_stream_options *changes)
{
    place_stop(&cluster.places[1]);
    assert_true(cluster_run(&cluster, one_is_broken));
    cluster.places[1].incarnation++;
    place_start(&cluster.places[1], changes);
    cluster_introduce(&cluster, 1);
    cluster_run_ms(&cluster, 300);
    return !cluster.places[0].is_broken[1] && !cluster.places[2].is_broken[1];
}

static void who_knows_another_cluster_is_kept_out(ATTR_UNUSED void **state)
{
    const struct net_stream_options other = {.agreement = 78, .carrier = cluster_carrier(&cluster)};
    assert_false(is_let_in(&other));
    (void)is_let_in(NULL); /* On a busy machine it takes a while. */
    assert_true(cluster_run(&cluster, one_is_restored));
}

static void who_does_not_know_the_secret_is_kept_out(ATTR_UNUSED void **state)
{
    char path[PATH_BYTES + 32];
    (void)snprintf(path, sizeof(path), "%s/other", cluster.folder);
    FILE *file = fopen(path, "wb");
    assert_true(file != NULL && fputs("another secret altogether", file) >= 0);
    assert_int_equal(fclose(file), 0);
    const struct trust_files files = {.secret = path};
    struct net_stream_options changes = {.agreement = 77, .carrier = cluster_carrier(&cluster)};
    struct trust *trust;
    assert_int_equal(trust_create(&files, &trust, NULL), WEFT_OK);
    changes.trust = trust;
    assert_false(is_let_in(&changes));
    place_stop(&cluster.places[1]);
    trust_destroy(trust);
    (void)unlink(path);
}

static void who_has_the_certificate_of_another_is_kept_out(ATTR_UNUSED void **state)
{
    const struct net_stream_options changes = {
        .agreement = 77,
        .carrier = cluster_carrier(&cluster),
        .trust = cluster.places[2].trust,
    };
    assert_false(is_let_in(&changes));
    send_cancel(0, 1, 1); /* Nor is it told anything. */
    cluster_run_ms(&cluster, 100);
    assert_int_equal(cluster.places[1].message_count, 0);
    place_stop(&cluster.places[1]);
}

static bool two_is_broken(struct net_cluster *of)
{
    return of->places[0].is_broken[2];
}

static void who_is_no_member_any_more_is_dropped(ATTR_UNUSED void **state)
{
    const uint64_t bytes = LARGE_BYTES;
    const struct message sent = input(0, 1, 1);
    cluster_send(&cluster, 0, 1, &sent, cluster_tensor(&cluster, 0, 1, &bytes, 0));
    net_stream_remove_peer(cluster.places[0].net, 1);
    assert_int_equal(cluster.places[0].tensor_count, 0);
    cluster_send(&cluster, 0, 1, &sent, cluster_tensor(&cluster, 0, 1, &bytes, 0));
    assert_int_equal(cluster.places[0].tensor_count, 0);
    cluster_run_ms(&cluster, 50);
    assert_int_equal(cluster.places[1].message_count, 0);
    assert_false(two_is_broken(&cluster));
}

/* A socket connected to node 1, as its peers connect. */
static int connect_to_one(void)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(net_stream_port(cluster.places[1].net)),
        .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
    };
    if (cluster_carrier(&cluster) == NET_CARRIER_SHM) {
        char name[32];
        cluster_address(&cluster, 1, name);
        return local_socket_dial(name);
    }
    const int made = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(made, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(fcntl(made, F_SETFL, O_NONBLOCK), 0);
    return made;
}

/* Connect to node 1 and send @count bytes. Returns the socket. */
static int knock(const uint8_t *bytes, size_t count)
{
    const int made = connect_to_one();
    assert_true(made >= 0);
    if (count > 0) {
        assert_int_equal(send(made, bytes, count, MSG_NOSIGNAL), count);
    }
    return made;
}

static void garbage_on_the_port_harms_no_peer(ATTR_UNUSED void **state)
{
    uint8_t bytes[4096];
    for (uint32_t seed = 0; seed < 40; seed++) {
        uint32_t value = seed * 747796405U + 1;
        for (size_t i = 0; i < sizeof(bytes); i++) {
            value = value * 1664525U + 1013904223U;
            bytes[i] = (uint8_t)(value >> 24);
        }
        if (seed % 2 == 0) { /* The head of a frame, at least. */
            const uint8_t head[] = {(uint8_t)(53 + seed % 4), 0, 0, 0, (uint8_t)(seed % 12)};
            memcpy(bytes, head, sizeof(head));
        }
        const int made = knock(bytes, seed % 3 == 0 ? 7 : sizeof(bytes));
        cluster_run_ms(&cluster, 1);
        (void)close(made);
    }
    int open[300];
    for (uint32_t i = 0; i < 300; i++) { /* More than may be unknown at once. */
        open[i] = knock(bytes, 0);
        cluster_run_ms(&cluster, 1);
    }
    send_cancel(0, 1, 1);
    assert_true(cluster_run(&cluster, one_came));
    for (uint32_t i = 0; i < 300; i++) {
        (void)close(open[i]);
    }
    assert_true(cluster_run(&cluster, one_is_restored));
}

/*
 * What node 1 answers to a hello of @version, in two bytes, after magic bytes that begin with
 * @first: the kind of a frame, or FRAME_DATA if it ends the connection; and the body.
 */
static uint8_t answer_to_hello(char first, uint16_t version, char body_out[static 256])
{
    const struct hello hello = {
        .from = 0,
        .to = 1,
        .from_incarnation = cluster.places[0].incarnation,
        .to_incarnation = cluster.places[1].incarnation,
        .agreement = 77,
    };
    const struct trust *trust = cluster.places[0].trust;
    const bool is_shared = cluster_carrier(&cluster) == NET_CARRIER_SHM;
    uint8_t frame[FRAME_HEAD_BYTES + HELLO_BYTES] = {HELLO_BYTES, 0, 0, 0, FRAME_DATA + 1};
    uint8_t answer[256] = {0};
    const struct iovec part = {.iov_base = frame, .iov_len = sizeof(frame)};
    hello_encode(&hello, frame + FRAME_HEAD_BYTES);
    frame[FRAME_HEAD_BYTES] = (uint8_t)first;
    frame[FRAME_HEAD_BYTES + 4] = (uint8_t)version;
    frame[FRAME_HEAD_BYTES + 5] = (uint8_t)(version >> 8);
    const int socket = connect_to_one();
    struct stream *stream = is_shared ? stream_create_shared(trust, socket, /* is_dialer */ true)
                                      : stream_create(trust, socket, /* is_dialer */ true);
    ptrdiff_t sent = 0;
    ptrdiff_t got = 0;
    for (uint32_t i = 0; i < 10000 && got == 0; i++) {
        sent = sent == 0 ? stream_write(stream, &part, 1, /* is_quiet */ false) : sent;
        got = stream_read(stream, answer, sizeof(answer));
        cluster_run_ms(&cluster, 1);
    }
    stream_destroy(stream);
    assert_int_equal(sent, sizeof(frame));
    assert_true(got != 0);
    memset(body_out, 0, 256);
    if (got < FRAME_HEAD_BYTES) {
        return FRAME_DATA;
    }
    memcpy(body_out, answer + FRAME_HEAD_BYTES, (size_t)got - FRAME_HEAD_BYTES);
    return answer[FRAME_HEAD_BYTES - 1];
}

static void a_node_of_another_version_is_kept_out_and_told_why(ATTR_UNUSED void **state)
{
    enum { WELCOME = FRAME_DATA + 2, REFUSED = FRAME_DATA + 4 };
    const uint16_t others[] = {
        GREETING_VERSION - 1,
        GREETING_VERSION + 1,
        GREETING_VERSION - GREETING_FRAMES,
        GREETING_VERSION + GREETING_FRAMES,
        GREETING_VERSION + 16 * GREETING_FRAMES,
    };
    char body[256];
    char versions[64];
    assert_int_equal(answer_to_hello('w', GREETING_VERSION, body), WELCOME);
    for (uint32_t i = 0; i < ARRAY_COUNT(others); i++) {
        assert_int_equal(answer_to_hello('w', others[i], body), REFUSED);
        (void)snprintf(
            versions, sizeof(versions), "version %d.%d between nodes, this one %d.%d",
            others[i] % GREETING_FRAMES, others[i] / GREETING_FRAMES, FRAME_VERSION, WIRE_VERSION);
        assert_non_null(strstr(body, versions));
    }
    assert_int_equal(answer_to_hello('W', GREETING_VERSION, body), FRAME_DATA); /* It is none. */
    assert_int_equal(answer_to_hello('w', 0, body), FRAME_DATA);
    cluster_settle(&cluster); /* And the others notice nothing. */
}

/* A place that takes connections, or not even that, and says nothing: its address. */
static int open_hole(char address_out[32])
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);
    const int made = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(made, (const struct sockaddr *)&address, length), 0);
    assert_int_equal(getsockname(made, (struct sockaddr *)&address, &length), 0);
    (void)snprintf(address_out, 32, "127.0.0.1:%u", ntohs(address.sin_port));
    if (cluster_carrier(&cluster) == NET_CARRIER_SHM) {
        (void)close(made);
        return local_socket_listen(address_out);
    }
    assert_int_equal(listen(made, 0), 0); /* One connection fills it. */
    return made;
}

static void a_peer_that_never_answers_holds_up_no_other(ATTR_UNUSED void **state)
{
    char hole[32];
    char address[32];
    const int silent = open_hole(hole);
    assert_true(silent >= 0);
    cluster_address(&cluster, 1, address);
    cluster_introduce_at(&cluster, 1, hole);
    assert_true(cluster_run(&cluster, one_is_broken));
    send_cancel(0, 1, 1);
    publish(0, 0, 5, ROW_BOTH);
    cluster_run_ms(&cluster, 100);
    assert_int_equal(cluster.places[2].rows[0].load.sequence, 5);
    assert_false(cluster.places[0].is_broken[2]);
    assert_true(cluster.places[0].is_broken[1]);
    cluster_introduce_at(&cluster, 1, address);
    assert_true(cluster_run(&cluster, one_is_restored));
    (void)close(silent);
}

/* Restart node 1 so that it is reached by TCP alone. */
static void restart_without_sharing(void)
{
    const struct net_stream_options changes = {.agreement = 77, .carrier = NET_CARRIER_TCP};
    place_stop(&cluster.places[1]);
    assert_true(cluster_run(&cluster, one_is_broken));
    cluster.places[1].incarnation++;
    place_start(&cluster.places[1], &changes);
}

static void a_peer_without_shared_memory_is_reached_by_tcp(ATTR_UNUSED void **state)
{
    restart_without_sharing();
    cluster_introduce(&cluster, 1);
    assert_true(cluster_run(&cluster, one_is_restored));
    send_cancel(0, 1, 2);
    assert_true(cluster_run(&cluster, one_came));
}

static int squatter;

static bool one_is_restored_beside_a_squatter(struct net_cluster *of)
{
    const int came = accept(squatter, NULL, NULL);
    if (came >= 0) {
        (void)close(came);
    }
    return one_is_restored(of);
}

static void a_squatter_on_the_name_of_a_peer_is_passed_by(ATTR_UNUSED void **state)
{
    char address[32];
    restart_without_sharing();
    cluster_address(&cluster, 1, address);
    squatter = local_socket_listen(address);
    assert_true(squatter >= 0);
    cluster_introduce(&cluster, 1);
    assert_true(cluster_run(&cluster, one_is_restored_beside_a_squatter));
    (void)close(squatter);
}

static void carriers_have_names(ATTR_UNUSED void **state)
{
    enum net_carrier carrier = NET_CARRIER_AUTO;
    struct weft_error error;
    assert_int_equal(net_carrier_parse("shm", &carrier, NULL), WEFT_OK);
    assert_int_equal(carrier, NET_CARRIER_SHM);
    assert_int_equal(net_carrier_parse("ucx", &carrier, NULL), WEFT_OK);
    assert_int_equal(carrier, NET_CARRIER_UCX);
    assert_int_equal(net_carrier_parse("tcp", &carrier, NULL), WEFT_OK);
    assert_int_equal(carrier, NET_CARRIER_TCP);
    assert_int_equal(net_carrier_parse("pigeon", &carrier, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, "'pigeon'"));
    assert_int_equal(carrier, NET_CARRIER_TCP);
}

#define ON(form, test) cmocka_unit_test_setup_teardown(test, open_##form, close_cluster)
#define STREAM(test)   ON(secret, test), ON(tls, test), ON(shm, test)
#define ANY(test)      ON(inproc, test), STREAM(test)

static const struct CMUnitTest tests[] = {
    ANY(messages_come_once_and_in_order),
    ANY(a_message_that_can_wait_comes_in_its_turn),
    ANY(a_quiet_message_comes_in_its_turn),
    ON(shm, a_quiet_message_is_found_by_whoever_is_awake),
    ON(shm, a_quiet_message_wakes_whoever_attends),
    ANY(all_of_a_message_comes),
    ANY(tensors_of_any_size_come_whole),
    ANY(a_pretended_tensor_stays_one),
    ANY(the_newest_row_wins),
    ANY(rows_go_to_those_that_they_are_for),
    ANY(what_is_on_its_way_is_known),
    STREAM(a_message_overtakes_a_large_tensor),
    STREAM(what_was_sent_comes_if_its_sender_leaves_when_it_is_clear),
    STREAM(who_cannot_be_reached_is_not_waited_for),
    STREAM(time_on_the_way_counts),
    STREAM(a_peer_that_dies_and_comes_back_is_another),
    STREAM(a_stopped_peer_is_suspected_until_it_goes_on),
    ON(secret, a_cluster_with_nothing_to_say_stays_whole),
    ON(shm, a_cluster_with_nothing_to_say_stays_whole),
    STREAM(what_waits_for_a_slow_peer_is_bounded),
    STREAM(a_tensor_without_memory_is_read_and_forgotten),
    STREAM(no_node_speaks_for_another),
    STREAM(who_knows_another_cluster_is_kept_out),
    ON(secret, who_does_not_know_the_secret_is_kept_out),
    ON(shm, who_does_not_know_the_secret_is_kept_out),
    ON(tls, who_has_the_certificate_of_another_is_kept_out),
    ON(shm_tls, who_has_the_certificate_of_another_is_kept_out),
    STREAM(who_is_no_member_any_more_is_dropped),
    STREAM(garbage_on_the_port_harms_no_peer),
    ON(shm_tls, garbage_on_the_port_harms_no_peer),
    STREAM(a_node_of_another_version_is_kept_out_and_told_why),
    ON(shm_tls, a_node_of_another_version_is_kept_out_and_told_why),
    STREAM(a_peer_that_never_answers_holds_up_no_other),
    ON(shm_tls, a_peer_that_dies_and_comes_back_is_another),
    ON(auto, messages_come_once_and_in_order),
    ON(auto, a_peer_without_shared_memory_is_reached_by_tcp),
    ON(auto, a_squatter_on_the_name_of_a_peer_is_passed_by),
    cmocka_unit_test(carriers_have_names),
};

static const struct CMUnitTest tests_of_ucx[] = {
    ON(ucx, messages_come_once_and_in_order),
    ON(ucx, a_message_that_can_wait_comes_in_its_turn),
    ON(ucx, a_quiet_message_comes_in_its_turn),
    ON(ucx, all_of_a_message_comes),
    ON(ucx, tensors_of_any_size_come_whole),
    ON(ucx, a_pretended_tensor_stays_one),
    ON(ucx, the_newest_row_wins),
    ON(ucx, rows_go_to_those_that_they_are_for),
    ON(ucx, what_is_on_its_way_is_known),
    ON(ucx, a_message_overtakes_a_large_tensor),
    ON(ucx, what_was_sent_comes_if_its_sender_leaves_when_it_is_clear),
    ON(ucx, who_cannot_be_reached_is_not_waited_for),
    ON(ucx, time_on_the_way_counts),
    ON(ucx, a_peer_that_dies_and_comes_back_is_another),
    ON(ucx, a_stopped_peer_is_suspected_until_it_goes_on),
    ON(ucx, what_waits_for_a_slow_peer_is_bounded),
    ON(ucx, a_tensor_without_memory_is_read_and_forgotten),
    ON(ucx, no_node_speaks_for_another),
    ON(ucx, who_knows_another_cluster_is_kept_out),
    ON(ucx, who_does_not_know_the_secret_is_kept_out),
    ON(ucx_tls, who_has_the_certificate_of_another_is_kept_out),
    ON(ucx, who_is_no_member_any_more_is_dropped),
    ON(ucx, garbage_on_the_port_harms_no_peer),
    ON(ucx, a_node_of_another_version_is_kept_out_and_told_why),
    ON(ucx, a_peer_that_never_answers_holds_up_no_other),
    ON(ucx_tls, messages_come_once_and_in_order),
};

int main(void)
{
    const struct ucx_library *library;
    struct weft_error error;
    const bool is_named = getenv("WEFT_UCX") != NULL; /* It is about that UCX alone. */
    const int failures = is_named ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
    if (ucx_library_open("127.0.0.1", &library, &error) != WEFT_OK) {
        (void)fprintf(stderr, "skipped: %s\n", error.message);
        return failures;
    }
    return failures + cmocka_run_group_tests(tests_of_ucx, NULL, NULL);
}
