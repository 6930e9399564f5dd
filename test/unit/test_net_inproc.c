/* Covers: src/fabric/net.c src/fabric/net_inproc.c */
#include "fabric/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/event_queue.h"
#include "model/fleet.h"

enum { NODES = 3, WORKERS = 4, RECEIVED_MAX = 256, PLACEMENT_MAX = 8 };

struct received {
    int64_t at_ns;
    uint32_t to;
    uint64_t tensor;
    struct message message;
    uint16_t placement[PLACEMENT_MAX];
    struct row row;
};

/* A host that keeps what it is told, and a queue of what it was asked for. */
struct host {
    struct net *net;
    struct event_queue queue;
    int64_t now_ns;
    bool in_operation;
    uint32_t rows_asked;
    uint32_t message_count;
    struct received messages[RECEIVED_MAX];
    uint32_t row_count;
    struct received rows[RECEIVED_MAX];
    uint32_t dropped_count;
    uint64_t dropped;
};

static void on_row(void *context, uint32_t to, const struct row *row)
{
    struct host *host = context;
    assert_false(host->in_operation);
    host->rows[host->row_count++] = (struct received){.at_ns = host->now_ns, .to = to, .row = *row};
}

static void on_message(void *context, uint32_t to, const struct message *message, uint64_t tensor)
{
    struct host *host = context;
    assert_false(host->in_operation);
    struct received *received = &host->messages[host->message_count++];
    *received =
        (struct received){.at_ns = host->now_ns, .to = to, .tensor = tensor, .message = *message};
    assert_true(message_placement_count(message) <= PLACEMENT_MAX);
    for (uint32_t i = 0; i < message_placement_count(message); i++) {
        received->placement[i] = message->work.placement[i];
    }
}

static void on_dropped(void *context, uint64_t tensor)
{
    struct host *host = context;
    host->dropped_count++;
    host->dropped += tensor;
}

static int64_t now_ns(void *context)
{
    return ((struct host *)context)->now_ns;
}

static void wake_at(void *context, int64_t at_ns, uint64_t token)
{
    event_queue_push(&((struct host *)context)->queue, at_ns, token);
}

static void rows_ready(void *context)
{
    ((struct host *)context)->rows_asked++;
}

static void host_init(struct host *host, const struct fleet_network *network)
{
    memset(host, 0, sizeof(*host));
    event_queue_init(&host->queue);
    const struct net_inproc_options options = {
        .node_count = NODES,
        .worker_count = WORKERS,
        .network = network,
        .host =
            {
                .context = host,
                .on_row = on_row,
                .on_message = on_message,
                .release = on_dropped,
                .now_ns = now_ns,
                .wake_at = wake_at,
                .wake_first_at = wake_at,
                .rows_ready = rows_ready,
            },
    };
    host->net = net_inproc_create(&options);
}

static void host_deinit(struct host *host)
{
    net_destroy(host->net);
    event_queue_deinit(&host->queue);
}

static void run(struct host *host)
{
    struct timed_item item;
    while (event_queue_pop(&host->queue, &item)) {
        host->now_ns = item.at_ns;
        net_wake(host->net, item.payload);
    }
}

static struct message input(uint32_t from, uint32_t number, uint64_t bytes)
{
    static const uint16_t placement[] = {3, PLACEMENT_UNBOUND, 1};
    return (struct message){
        .kind = MESSAGE_INPUT,
        .from = from,
        .job = {.node = from, .number = number},
        .workflow = 2,
        .task = 1,
        .worker = 3,
        .work =
            {
                .items = 5,
                .bytes = bytes,
                .left_ns = INT64_MAX,
                .placement_count = 3,
                .placement = placement,
            },
    };
}

static void send(struct host *host, uint32_t to, const struct message *message, uint64_t tensor)
{
    host->in_operation = true;
    net_send(host->net, to, message, tensor);
    host->in_operation = false;
}

static void a_message_arrives_later_with_its_tensor(ATTR_UNUSED void **state)
{
    struct host host;
    host_init(&host, NULL);
    struct message message = input(0, 1, 100);
    send(&host, 2, &message, 77);
    assert_int_equal(host.message_count, 0);
    message.work.items = 99; /* Copied: this is not seen. */
    run(&host);

    assert_int_equal(host.message_count, 1);
    const struct received *received = &host.messages[0];
    assert_int_equal(received->to, 2);
    assert_int_equal(received->tensor, 77);
    assert_int_equal(received->message.from, 0);
    assert_int_equal(received->message.work.items, 5);
    assert_int_equal(received->message.job.number, 1);
    assert_int_equal(received->message.work.left_ns, INT64_MAX);
    assert_int_equal(received->placement[0], 3);
    assert_int_equal(received->placement[1], PLACEMENT_UNBOUND);
    assert_int_equal(received->placement[2], 1);
    host_deinit(&host);
}

static void messages_pass_through_their_wire_form(ATTR_UNUSED void **state)
{
    struct host host;
    host_init(&host, NULL);
    struct message message = {
        .kind = MESSAGE_CANCEL,
        .from = 1,
        .job = {.node = 1, .number = 2},
        .sequence = 44,
        .work = {.bytes = 9}};
    send(&host, 0, &message, 0);
    run(&host);
    assert_int_equal(host.messages[0].message.kind, MESSAGE_CANCEL);
    assert_int_equal(host.messages[0].message.job.number, 2);
    assert_int_equal(host.messages[0].message.sequence, 0); /* Not a field of this kind. */
    assert_int_equal(host.messages[0].message.work.bytes, 0);
    host_deinit(&host);
}

static void messages_of_a_pair_keep_their_order(ATTR_UNUSED void **state)
{
    struct host host;
    uint64_t next[NODES][NODES] = {{0}};
    host_init(&host, NULL);
    for (uint32_t i = 0; i < 200; i++) {
        const uint32_t from = i % NODES;
        const uint32_t to = (from + 1 + i % 2) % NODES;
        const struct message message = input(from, i + 1, i * 1000);
        send(&host, to, &message, i % 3 == 0 ? 0 : i);
    }
    run(&host);
    assert_int_equal(host.message_count, 200);
    for (uint32_t i = 0; i < 200; i++) {
        const struct received *received = &host.messages[i];
        uint64_t *last = &next[received->message.from][received->to];
        assert_true(received->message.job.number > *last);
        *last = received->message.job.number;
    }
    host_deinit(&host);
}

static struct row row_of(uint32_t worker, uint32_t parts, uint64_t sequence)
{
    return (struct row){
        .worker = worker,
        .parts = parts,
        .load = {.at_ns = 123, .queued_ns = (int64_t)sequence * 10, .sequence = sequence},
        .cache = {.at_ns = 123, .sequence = sequence, .free_bytes = sequence * 100},
    };
}

static void publish(struct host *host, uint32_t from, const struct row *row)
{
    host->in_operation = true;
    net_publish(host->net, from, row);
    host->in_operation = false;
}

static void a_row_reaches_everyone_but_its_node(ATTR_UNUSED void **state)
{
    struct host host;
    host_init(&host, NULL);
    const struct row row = row_of(2, ROW_BOTH, 7);
    publish(&host, 1, &row);
    assert_int_equal(host.row_count, 0);
    assert_int_equal(host.rows_asked, 1);
    net_flush_rows(host.net);
    assert_int_equal(host.row_count, 2);
    assert_int_equal(host.rows[0].to, 0);
    assert_int_equal(host.rows[1].to, 2);
    assert_int_equal(host.rows[1].row.load.queued_ns, 70);
    assert_int_equal(host.rows[1].row.cache.free_bytes, 700);
    assert_int_equal(host.rows[1].row.load.at_ns, 0); /* The sender's clock does not travel. */
    host_deinit(&host);
}

static void of_rows_the_newest_wins_part_by_part(ATTR_UNUSED void **state)
{
    struct host host;
    host_init(&host, NULL);
    const struct row rows[] = {
        row_of(0, ROW_LOAD, 1), row_of(3, ROW_LOAD, 1), row_of(0, ROW_CACHE, 2),
        row_of(0, ROW_LOAD, 3)};
    for (uint32_t i = 0; i < 4; i++) {
        publish(&host, 0, &rows[i]);
    }
    assert_int_equal(host.rows_asked, 1);
    net_flush_rows(host.net);
    assert_int_equal(host.row_count, 4); /* Two rows to two nodes. */
    assert_int_equal(host.rows[0].row.worker, 0);
    assert_int_equal(host.rows[0].row.parts, ROW_BOTH);
    assert_int_equal(host.rows[0].row.load.sequence, 3);
    assert_int_equal(host.rows[0].row.cache.sequence, 2);
    assert_int_equal(host.rows[2].row.worker, 3);

    publish(&host, 0, &rows[0]); /* What was shown is not shown again. */
    assert_int_equal(host.rows_asked, 2);
    net_flush_rows(host.net);
    assert_int_equal(host.row_count, 6);
    host_deinit(&host);
}

static void a_network_takes_its_time(ATTR_UNUSED void **state)
{
    const struct fleet_network network = {.link_bytes_per_s = 1000000000, .latency_ns = 5};
    struct host host;
    host_init(&host, &network);
    const struct message first = input(0, 1, 100);
    const struct message second = input(0, 2, 50);
    const struct message third = input(1, 3, 30);
    const struct message small = {
        .kind = MESSAGE_CANCEL, .from = 0, .job = {.node = 0, .number = 4}};
    send(&host, 2, &first, 11);
    send(&host, 2, &second, 12); /* Waits for the sender's link, */
    send(&host, 2, &third, 13);  /* and this one for the receiver's. */
    send(&host, 2, &small, 0);   /* Too small to wait. */
    run(&host);
    static const uint32_t numbers[] = {4, 1, 3, 2};
    static const int64_t times[] = {5, 105, 135, 185};
    assert_int_equal(host.message_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(host.messages[i].message.job.number, numbers[i]);
        assert_int_equal(host.messages[i].at_ns, times[i]);
    }
    const struct row row = row_of(0, ROW_LOAD, 1);
    publish(&host, 0, &row);
    run(&host);
    assert_int_equal(host.rows_asked, 0);
    assert_int_equal(host.row_count, 2);
    assert_int_equal(host.rows[0].at_ns, 190);
    host_deinit(&host);
}

static void a_tensor_is_carried_from_when_it_is_sent_until_it_arrives(ATTR_UNUSED void **state)
{
    const struct fleet_network network = {.link_bytes_per_s = 1000000000, .latency_ns = 5};
    struct host host;
    host_init(&host, &network);
    const struct message tensor = input(0, 1, 100);
    const struct message small = {
        .kind = MESSAGE_CANCEL, .from = 0, .job = {.node = 0, .number = 2}};
    assert_false(net_carries(host.net, 0, tensor.job));
    send(&host, 2, &tensor, 11);
    send(&host, 2, &small, 0);
    assert_true(net_carries(host.net, 0, tensor.job));
    assert_false(net_carries(host.net, 2, tensor.job)); /* Only its sender is asked. */
    assert_false(net_carries(host.net, 0, small.job));  /* No tensor. */
    run(&host);
    assert_false(net_carries(host.net, 0, tensor.job));
    host_deinit(&host);
}

static void what_is_on_its_way_at_the_end_is_given_back(ATTR_UNUSED void **state)
{
    struct host host;
    host_init(&host, NULL);
    for (uint32_t i = 1; i <= 100; i++) {
        const struct message message = input(0, i, 10);
        send(&host, 1, &message, i % 2 == 0 ? i : 0);
    }
    host_deinit(&host);
    assert_int_equal(host.dropped_count, 50);
    assert_int_equal(host.dropped, 2550);
    net_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_arrives_later_with_its_tensor),
        cmocka_unit_test(messages_pass_through_their_wire_form),
        cmocka_unit_test(messages_of_a_pair_keep_their_order),
        cmocka_unit_test(a_row_reaches_everyone_but_its_node),
        cmocka_unit_test(of_rows_the_newest_wins_part_by_part),
        cmocka_unit_test(a_network_takes_its_time),
        cmocka_unit_test(a_tensor_is_carried_from_when_it_is_sent_until_it_arrives),
        cmocka_unit_test(what_is_on_its_way_at_the_end_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
