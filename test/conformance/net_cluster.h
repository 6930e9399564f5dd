/*
 * net_cluster.h - three nodes on a net of any form, with hosts that keep what they are told.
 *
 * Every node has a loop of its own, run in turns, so that one can be stopped as if its process
 * were.
 */
#ifndef CONFORMANCE_NET_CLUSTER_H
#define CONFORMANCE_NET_CLUSTER_H

#include <uv.h>

#include "base/event_queue.h"
#include "fabric/net.h"
#include "fabric/net_stream.h"
#include "fabric/trust.h"
#include "model/fleet.h"

enum net_form {
    NET_FORM_INPROC,
    NET_FORM_SECRET,
    NET_FORM_TLS,
    NET_FORM_SHM,     /* With a secret. */
    NET_FORM_SHM_TLS, /* With certificates. */
    NET_FORM_AUTO,    /* With a secret. */
    NET_FORM_UCX,     /* The same. */
    NET_FORM_UCX_TLS, /* With certificates. */
};

enum {
    CLUSTER_NODES = 3,
    CLUSTER_WORKERS = 6, /* Two a node. */
    PLACE_KEPT_MAX = 4096,
    PLACE_TENSORS_MAX = 512,
    PLACE_PARTS_MAX = 3,
    PLACE_PLACEMENT_MAX = 8,
    PATH_BYTES = 256,
};

struct kept_message {
    struct message message;
    uint16_t placement[PLACE_PLACEMENT_MAX];
    uint64_t tensor;
};

/* The contents of a tensor: up to three parts. References are counted by its table. */
struct made_tensor {
    bool is_used;
    bool is_pretended;
    uint64_t bytes; /* If it is pretended. */
    uint32_t part_count;
    struct net_part parts[PLACE_PARTS_MAX];
};

/* One process: a host, its net, and its tensors. */
struct place {
    struct net_cluster *cluster;
    uint32_t node;
    uv_loop_t loop;
    struct net *net;
    struct trust *trust;
    uint64_t incarnation;
    bool is_stopped;
    bool refuses_tensors; /* As if there were no memory. */
    uint32_t message_count;
    struct kept_message messages[PLACE_KEPT_MAX];
    uint32_t row_count;               /* Ever. */
    struct row rows[CLUSTER_WORKERS]; /* The newest of each. */
    bool is_broken[CLUSTER_NODES];    /* As it was told; of the others. */
    bool is_blocked[CLUSTER_NODES];
    uint32_t broken_count;
    uint32_t tensor_count;
    struct made_tensor tensors[PLACE_TENSORS_MAX]; /* By reference - 1. */
};

struct net_cluster {
    enum net_form form;
    struct fleet fleet;
    char folder[PATH_BYTES];
    struct event_queue queue; /* Of the form inproc. */
    bool in_operation;
    bool rows_ready;
    bool is_apart; /* Rows of the first node are not for the last, nor the other way round. */
    struct place places[CLUSTER_NODES]; /* Of inproc: tensors are those of the first. */
};

void cluster_open(struct net_cluster *cluster, enum net_form form);
void cluster_close(struct net_cluster *cluster);

/* What nodes of this form carry bytes by. */
enum net_carrier cluster_carrier(const struct net_cluster *cluster);

/* Where node @node is reached: HOST:PORT. */
void cluster_address(const struct net_cluster *cluster, uint32_t node, char address_out[32]);

/* Start the net of a node, in its incarnation, perhaps with other agreement, trust and carrier.
 * Peers are told with cluster_introduce(). */
void place_start(struct place *place, const struct net_stream_options *changes);
void place_stop(struct place *place);

/* Tell every place but @node that it is reached at @address. */
void cluster_introduce_at(struct net_cluster *cluster, uint32_t node, const char *address);

/* Tell every place that runs of @node; and @node of them. */
void cluster_introduce(struct net_cluster *cluster, uint32_t node);

/* Run until @is_done, at most some ten seconds. Returns whether it is. */
bool cluster_run(struct net_cluster *cluster, bool (*is_done)(struct net_cluster *cluster));

/* Run until all nodes reach each other. */
void cluster_settle(struct net_cluster *cluster);

/* Run for about @ms. */
void cluster_run_ms(struct net_cluster *cluster, uint32_t ms);

void cluster_send(
    struct net_cluster *cluster, uint32_t from, uint32_t to, const struct message *message,
    uint64_t tensor);

/* A tensor at @node with parts of these sizes, filled from @seed. */
uint64_t cluster_tensor(
    struct net_cluster *cluster, uint32_t node, uint32_t part_count, const uint64_t *bytes,
    uint32_t seed);

/* Whether @tensor at @node is what cluster_tensor() with @seed made. */
bool cluster_tensor_is(
    struct net_cluster *cluster, uint32_t node, uint64_t tensor, uint32_t part_count,
    const uint64_t *bytes, uint32_t seed);

/* The place whose table holds the tensors of @node. */
struct place *cluster_table(struct net_cluster *cluster, uint32_t node);

void cluster_release(struct net_cluster *cluster, uint32_t node, uint64_t tensor);

#endif /* CONFORMANCE_NET_CLUSTER_H */
