/*
 * remote.h - a runtime as one process of a cluster.
 *
 * Such a runtime hosts one node and reaches the others by a net: their tensors come as bytes
 * (bundle_wire.h), and what the net notices of them becomes events of the node here. Who belongs to
 * the cluster it is told by its caller. One thread, as runtime.h.
 */
#ifndef RUNTIME_REMOTE_H
#define RUNTIME_REMOTE_H

#include "fabric/net_stream.h"
#include "runtime/runtime.h"

struct runtime_remote {
    uint32_t node;
    uint32_t incarnation;      /* No earlier life of that node had this one. */
    const char *listen;        /* HOST:PORT, for the other nodes; port 0: any that is free. */
    enum net_carrier carrier;  /* Of bytes between nodes. */
    const struct trust *trust; /* Borrowed, like the log. */
    struct log *log;           /* NULL: none. */
    uint64_t agreement;        /* What all nodes must have alike, as a hash. */
    uint64_t tensor_bytes_max; /* Of what comes with one message. */
};

/* Who is told what other processes say to hosts, between two steps of nodes. */
struct runtime_hearing {
    void *context;

    /* Node @from has learnt something. */
    void (*on_learnt)(void *context, uint32_t from, const struct learnt *learnt);

    /* A node has joined, which has not heard of anything. */
    void (*on_joined)(void *context);
};

/* Call @hearing from now on; NULL: nothing. It is copied. */
void runtime_hear(struct runtime *runtime, const struct runtime_hearing *hearing);

/* Tell all other members what was learnt here. Without any, nothing. */
void runtime_tell_learnt(struct runtime *runtime, const struct learnt *learnt);

/*
 * @member belongs to the cluster, in this incarnation and at this address. What is known of an
 * earlier incarnation of it is lost.
 */
void runtime_set_member(struct runtime *runtime, const struct net_stream_peer *member);

/* @node belongs to the cluster no more. */
void runtime_remove_member(struct runtime *runtime, uint32_t node);

/* The port that other nodes find this one at. */
uint16_t runtime_port(const struct runtime *runtime);

#endif /* RUNTIME_REMOTE_H */
