/*
 * net_inproc.c - all nodes of one process: bytes on a list, tensors by reference.
 *
 * Every packet holds the wire form of one message or row. It is read again when the
 * host says that its time has come, so no two nodes ever share a struct.
 *
 *     send ──► encode ──► packet ──► [link of the sender ──► switch] ──► decode ──► on_message
 *                                     only with a network to pretend
 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/pool.h"
#include "fabric/net.h"
#include "model/fleet.h"
#include "wire/row.h"

enum { PACKETS_FIRST = 64 };

enum stage {
    STAGE_SWITCH,  /* It has left its machine and waits for the receiver's link. */
    STAGE_ARRIVED, /* At its receiver. */
    STAGE_ROW,     /* At every node but one. */
};

struct packet {
    enum stage stage;
    uint32_t node; /* Receiver; of a row: the sender. */
    uint32_t bytes_count;
    uint8_t *bytes; /* Owned. */
    uint64_t tensor;
    uint32_t from;     /* Of a tensor: the sender. */
    struct job_id job; /* Of a tensor. */
    int64_t wire_ns;   /* How long it occupies a link. */
    int64_t sent_ns;
};

struct link {
    int64_t up_free_ns;
    int64_t down_free_ns;
};

/* A row that waits for the flush. */
struct waiting_row {
    bool waits;
    uint32_t from;
    struct row row;
};

struct net_inproc {
    struct net base;
    struct net_host host;
    uint32_t node_count;
    uint32_t worker_count;
    struct fleet_network network;
    struct pool packets;      /* Named by slot. */
    struct link *links;       /* By node. */
    struct waiting_row *rows; /* By worker. */
    uint32_t *row_order;      /* Their workers as they published: at most two flushes' worth. */
    uint32_t row_count;
    bool flush_asked;
};

static struct net_inproc *inproc_from(struct net *net)
{
    return (struct net_inproc *)net; /* base is the first member. */
}

static uint32_t add_packet(
    struct net_inproc *net, struct packet packet, const uint8_t *bytes, size_t bytes_count)
{
    ASSERT(bytes_count > 0);
    (void)pool_reserve(&net->packets, 1);
    const uint32_t slot = pool_take(&net->packets);
    ASSERT(slot != POOL_NONE);
    packet.bytes = memory_zeroed(bytes_count, 1);
    packet.bytes_count = (uint32_t)bytes_count;
    memcpy(packet.bytes, bytes, bytes_count);
    *(struct packet *)pool_at(&net->packets, slot) = packet;
    return slot;
}

/* Take @slot out of the pool: its handler may send, which moves the others. */
static struct packet take_packet(struct net_inproc *net, uint32_t slot)
{
    const struct packet packet = *(struct packet *)pool_at(&net->packets, slot);
    pool_give(&net->packets, slot);
    return packet;
}

static int64_t later(int64_t a_ns, int64_t b_ns)
{
    return max_i64(a_ns, b_ns);
}

static void inproc_send(
    struct net *base, uint32_t to, const struct message *message, uint64_t tensor)
{
    struct net_inproc *net = inproc_from(base);
    uint8_t bytes[MESSAGE_BYTES_MAX];
    ASSERT(to < net->node_count && message->from < net->node_count);

    const size_t bytes_count = message_encode(message, bytes, sizeof(bytes));
    struct packet packet = {
        .stage = STAGE_ARRIVED,
        .node = to,
        .tensor = tensor,
        .from = message->from,
        .job = message->job,
        .sent_ns = net->host.now_ns(net->host.context),
    };
    if (tensor != 0) {
        packet.wire_ns = fleet_bytes_ns(message->work.bytes, net->network.link_bytes_per_s);
    }
    int64_t at_ns = packet.sent_ns;
    if (packet.wire_ns > 0) {
        struct link *link = &net->links[message->from];
        at_ns = later(at_ns, link->up_free_ns);
        link->up_free_ns = at_ns + packet.wire_ns;
        packet.stage = STAGE_SWITCH; /* With its first byte: the switch cuts through. */
    }
    const uint32_t slot = add_packet(net, packet, bytes, bytes_count);
    net->host.wake_at(net->host.context, at_ns + net->network.latency_ns, slot);
}

static bool inproc_carries(const struct net *base, uint32_t from, struct job_id job)
{
    const struct net_inproc *net = (const struct net_inproc *)base; /* As in inproc_from(). */
    for (uint32_t slot = 0; slot < net->packets.capacity; slot++) {
        if (!pool_is_taken(&net->packets, slot)) {
            continue;
        }
        const struct packet *packet = pool_at(&net->packets, slot);
        if (packet->tensor != 0 && packet->from == from && job_equal(packet->job, job)) {
            return true;
        }
    }
    return false;
}

static void deliver_message(struct net_inproc *net, const struct packet *packet)
{
    uint16_t placement[WORKFLOW_TASKS_MAX];
    struct message message;
    const enum weft_status status =
        message_decode(packet->bytes, packet->bytes_count, placement, &message);
    ASSERT(status == WEFT_OK); /* It was encoded a moment ago, by us. */
    message_add_age(&message, net->host.now_ns(net->host.context) - packet->sent_ns);
    net->host.on_message(net->host.context, packet->node, &message, packet->tensor);
}

static void deliver_row(
    struct net_inproc *net, uint32_t from, const uint8_t *bytes, size_t bytes_count)
{
    struct row row;
    const enum weft_status status = row_decode(bytes, bytes_count, &row);
    ASSERT(status == WEFT_OK);
    for (uint32_t node = 0; node < net->node_count; node++) {
        if (node != from && net_shows(&net->host, from, node)) {
            net->host.on_row(net->host.context, node, &row);
        }
    }
}

static void inproc_wake(struct net *base, uint64_t token)
{
    struct net_inproc *net = inproc_from(base);
    const uint32_t slot = (uint32_t)token;
    struct packet *waiting = pool_at(&net->packets, slot);
    if (waiting->stage == STAGE_SWITCH) {
        struct link *link = &net->links[waiting->node];
        waiting->stage = STAGE_ARRIVED;
        link->down_free_ns =
            later(net->host.now_ns(net->host.context), link->down_free_ns) + waiting->wire_ns;
        net->host.wake_at(net->host.context, link->down_free_ns, token);
        return;
    }
    const struct packet packet = take_packet(net, slot);
    if (packet.stage == STAGE_ROW) {
        deliver_row(net, packet.node, packet.bytes, packet.bytes_count);
    } else {
        deliver_message(net, &packet);
    }
    free(packet.bytes);
}

/* Let the parts of @row replace those that have not left yet. */
static void wait_row(struct net_inproc *net, uint32_t from, const struct row *row)
{
    struct waiting_row *waiting = &net->rows[row->worker];
    if (!waiting->waits) {
        waiting->waits = true;
        waiting->from = from;
        waiting->row = *row;
        net->row_order[net->row_count] = row->worker;
        net->row_count++;
        return;
    }
    waiting->row.parts |= row->parts;
    if ((row->parts & ROW_LOAD) != 0) {
        waiting->row.load = row->load;
    }
    if ((row->parts & ROW_CACHE) != 0) {
        waiting->row.cache = row->cache;
    }
}

static void inproc_publish(struct net *base, uint32_t from, const struct row *row)
{
    struct net_inproc *net = inproc_from(base);
    ASSERT(from < net->node_count && row->worker < net->worker_count);

    if (net->network.latency_ns == 0) {
        wait_row(net, from, row);
        if (!net->flush_asked) {
            net->flush_asked = true;
            net->host.rows_ready(net->host.context);
        }
        return;
    }
    uint8_t bytes[ROW_BYTES_MAX];
    const size_t bytes_count = row_encode(row, bytes, sizeof(bytes));
    const struct packet packet = {.stage = STAGE_ROW, .node = from};
    const uint32_t slot = add_packet(net, packet, bytes, bytes_count);
    const int64_t now_ns = net->host.now_ns(net->host.context);
    net->host.wake_first_at(net->host.context, now_ns + net->network.latency_ns, slot);
}

static void inproc_flush_rows(struct net *base)
{
    struct net_inproc *net = inproc_from(base);
    const uint32_t count = net->row_count;
    net->flush_asked = false;
    for (uint32_t i = 0; i < count; i++) {
        struct waiting_row *waiting = &net->rows[net->row_order[i]];
        uint8_t bytes[ROW_BYTES_MAX];
        const size_t bytes_count = row_encode(&waiting->row, bytes, sizeof(bytes));
        waiting->waits = false;
        deliver_row(net, waiting->from, bytes, bytes_count);
    }
    /* What receivers published meanwhile has asked for another flush. */
    net->row_count -= count;
    memmove(net->row_order, net->row_order + count, net->row_count * sizeof(*net->row_order));
}

static void inproc_destroy(struct net *base)
{
    struct net_inproc *net = inproc_from(base);
    for (uint32_t slot = 0; slot < net->packets.capacity; slot++) {
        if (!pool_is_taken(&net->packets, slot)) {
            continue;
        }
        const struct packet *packet = pool_at(&net->packets, slot);
        if (packet->tensor != 0) {
            net->host.release(net->host.context, packet->tensor);
        }
        free(packet->bytes);
    }
    pool_deinit(&net->packets);
    free(net->links);
    free(net->rows);
    free(net->row_order);
    free(net);
}

static const struct net_ops inproc_ops = {
    .name = "inproc",
    .publish = inproc_publish,
    .send = inproc_send,
    .carries = inproc_carries,
    .wake = inproc_wake,
    .flush_rows = inproc_flush_rows,
    .destroy = inproc_destroy,
};

struct net *net_inproc_create(const struct net_inproc_options *options)
{
    ASSERT(options->node_count > 0 && options->worker_count > 0);
    ASSERT(options->host.on_row != NULL && options->host.on_message != NULL);
    ASSERT(options->host.now_ns != NULL);
    ASSERT(options->host.wake_at != NULL && options->host.wake_first_at != NULL);
    ASSERT(options->host.release != NULL && options->host.rows_ready != NULL);

    struct net_inproc *net = memory_zeroed(1, sizeof(*net));
    net->base.ops = &inproc_ops;
    net->host = options->host;
    net->node_count = options->node_count;
    net->worker_count = options->worker_count;
    if (options->network != NULL) {
        net->network = *options->network;
    }
    pool_init(&net->packets, sizeof(struct packet), PACKETS_FIRST, UINT32_MAX - 1);
    net->links = memory_zeroed(net->node_count, sizeof(*net->links));
    net->rows = memory_zeroed(net->worker_count, sizeof(*net->rows));
    net->row_order = memory_zeroed(2 * (size_t)net->worker_count, sizeof(*net->row_order));
    return &net->base;
}
