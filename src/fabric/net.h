/*
 * net.h - rows, messages and tensors between nodes: the port to the network.
 *
 * A net is one of several back ends behind a table. It belongs to the thread of its
 * host: every operation is called there, and everything that comes in is handed over
 * there, never from inside an operation. Rows are state: the newest wins, and they wait
 * for nothing. Messages between two nodes come in the order in which they were sent.
 *
 *     net_send(net, to, &message, tensor);
 *     ... later, from the host's loop: net_host.on_message(context, to, &message, tensor)
 */
#ifndef FABRIC_NET_H
#define FABRIC_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/row.h"
#include "wire/message.h"

struct fleet_network;
struct net;

enum { NET_HEAD_BYTES_MAX = 64 * 1024 };

/* What a net notices of a peer. */
enum net_peer_state {
    NET_PEER_BROKEN,   /* It cannot be reached, or says nothing any more. */
    NET_PEER_RESTORED, /* It can, and does. */
    NET_PEER_BLOCKED,  /* Much waits for it: nothing more should be sent. */
    NET_PEER_READY,    /* Little does. */
    NET_PEER_UNMET,    /* It has just become a member, and cannot be reached yet. */
};

/* One piece of the contents of a tensor. */
struct net_part {
    void *data;
    uint64_t bytes;
};

/*
 * What a net gives to its host, and asks of it. All are called on the host's thread, with
 * @context. Pointers are valid during the call.
 */
struct net_host {
    void *context;

    /* A row has reached node @to. Required. */
    void (*on_row)(void *context, uint32_t to, const struct row *row);

    /*
     * Whether rows of node @from are for node @to. When that changes, @from shows all its rows
     * again. Optional: without it, rows are for all.
     */
    bool (*shows)(void *context, uint32_t from, uint32_t to);

    /*
     * A message has reached node @to; @tensor as it was given to net_send(), 0 for none.
     * The receiver owns that reference. Required.
     */
    void (*on_message)(void *context, uint32_t to, const struct message *message, uint64_t tensor);

    /* @tensor, never 0, has left this process or never will: the reference is the host's again. */
    void (*release)(void *context, uint64_t tensor);

    /* The host's clock. Required by nets that take their time from it. */
    int64_t (*now_ns)(void *context);

    /*
     * Call net_wake(net, token) once, at @at_ns, after whatever was asked for earlier and is
     * due at the same time. Required by nets without descriptors.
     */
    void (*wake_at)(void *context, int64_t at_ns, uint64_t token);

    /* The same, before whatever else is due at that time: rows are state. */
    void (*wake_first_at)(void *context, int64_t at_ns, uint64_t token);

    /* Call net_flush_rows() once, before anything else happens to a node. The same. */
    void (*rows_ready)(void *context);

    /* The rest is required by nets between processes. */

    /* Something was noticed of node @peer. */
    void (*on_peer)(void *context, uint32_t peer, enum net_peer_state state);

    /*
     * Write what the contents of @tensor are to @head, which has room for NET_HEAD_BYTES_MAX.
     * Returns how many bytes that takes: 0 if they are only pretended.
     */
    size_t (*tensor_head)(void *context, uint64_t tensor, uint8_t *head);

    /* Piece @index of the contents of @tensor. False past the last. Valid as the reference is. */
    bool (*tensor_part)(void *context, uint64_t tensor, uint32_t index, struct net_part *part_out);

    /*
     * Make a tensor for contents as @head says, which come; without a head they are pretended, of
     * @bytes. Returns its reference, which the net owns: 0 if the head makes no sense or there is
     * no memory.
     */
    uint64_t (*tensor_make)(void *context, const uint8_t *head, size_t head_bytes, uint64_t bytes);

    /* The contents of @tensor have all come: whether they are what they should be. */
    bool (*tensor_check)(void *context, uint64_t tensor);
};

/* Whether rows of node @from are for node @to. For nets. */
static inline bool net_shows(const struct net_host *host, uint32_t from, uint32_t to)
{
    return host->shows == NULL || host->shows(host->context, from, to);
}

struct net_ops {
    const char *name;

    /*
     * Show @row of a worker of node @from to every node that it is for. Never blocks; a row that
     * has not left yet is replaced, part by part. @row is copied. Required.
     */
    void (*publish)(struct net *net, uint32_t from, const struct row *row);

    /*
     * Send @message, which is copied, and the reference to @tensor (0: none) to node @to.
     * Always taken: what cannot leave now waits here, and what never can comes back
     * through release(). Required.
     */
    void (*send)(struct net *net, uint32_t to, const struct message *message, uint64_t tensor);

    /*
     * Whether a tensor of @job has been sent by node @from and has neither arrived nor come
     * back. Optional: without it a tensor that takes long is taken for lost, and sent again.
     */
    bool (*carries)(const struct net *net, uint32_t from, struct job_id job);

    /*
     * Whether the host waits for a quiet message (message.is_quiet), as is taken for granted at
     * first. Else such a message may come only with the next that is not quiet, or when something
     * else wakes the host. Optional: without it, no message is quiet.
     */
    void (*attend)(struct net *net, bool attends);

    /*
     * Whether all that was sent to peers that can be reached has come there. If that is not known
     * they are asked, and it may be a moment later. Optional: without it nothing is on its way.
     */
    bool (*is_clear)(struct net *net);

    /* A time asked for with wake_at() has come. Optional: nets that never ask have none. */
    void (*wake)(struct net *net, uint64_t token);

    /* Hand over the rows announced with rows_ready(). Optional in the same way. */
    void (*flush_rows)(struct net *net);

    /* Release the net with all that is on its way, through release(). Required. */
    void (*destroy)(struct net *net);
};

/* Embedded first in every implementation. */
struct net {
    const struct net_ops *ops;
};

void net_publish(struct net *net, uint32_t from, const struct row *row);
void net_send(struct net *net, uint32_t to, const struct message *message, uint64_t tensor);
bool net_carries(const struct net *net, uint32_t from, struct job_id job);
void net_attend(struct net *net, bool attends);
bool net_is_clear(struct net *net);
void net_wake(struct net *net, uint64_t token);
void net_flush_rows(struct net *net);

/* NULL is allowed. */
void net_destroy(struct net *net);

struct net_inproc_options {
    uint32_t node_count;
    uint32_t worker_count;
    const struct fleet_network *network; /* To pretend its delays. NULL: none. Copied. */
    struct net_host host;                /* Copied. */
};

/*
 * All nodes of one process. Messages and rows pass through their wire form, so that what
 * works here works between machines; the contents of tensors are never touched. With a
 * @network it is a star of FIFO links, as slow as described; a small message may then
 * overtake a tensor of the same pair. The caller owns it.
 */
struct net *net_inproc_create(const struct net_inproc_options *options);

#endif /* FABRIC_NET_H */
