/*
 * net_stream.h - a net between processes: over TCP, with TLS or a shared secret (trust.h), and
 * through shared memory between processes of one user on one machine.
 *
 * One node of this process, a connection of its own to every peer for what it sends, and one from
 * every peer for what it gets. Rows are state: a peer that is slow gets the newest of each worker
 * and no other. Messages wait for nothing but messages; large tensors go in pieces between them,
 * from where they lie to memory that the receiver chose.
 *
 * A peer that cannot be reached, or says nothing for NET_STREAM_SILENCE_NS, is broken until it is
 * heard again: that is a hint, and what waits for it keeps waiting. Only the directory says who is
 * gone. With every connection both sides check who the other is, in which incarnation, and that
 * numbers of workers, models and workflows mean the same to both.
 */
#ifndef FABRIC_NET_STREAM_H
#define FABRIC_NET_STREAM_H

#include <weft/status.h>

#include "base/units.h"
#include "fabric/net.h"

struct fleet;
struct log;
struct trust;
struct uv_loop_s;

#define NET_STREAM_SILENCE_NS (500 * NS_PER_MS)

enum { NET_ADDRESS_BYTES_MAX = 256, NET_NAME_BYTES_MAX = 64 };

/* What carries the bytes to a peer. */
enum net_carrier {
    NET_CARRIER_AUTO, /* Shared memory where it can be, else TCP. */
    NET_CARRIER_TCP,
    NET_CARRIER_SHM, /* Peers on other machines are not reached. */
    NET_CARRIER_UCX, /* The greeting by TCP, all else by UCX (ucx.h). The same for all nodes. */
};

struct net_stream_options {
    uint32_t node;             /* The one that is hosted here. */
    uint64_t incarnation;      /* Its own, in this life. */
    const struct fleet *fleet; /* Borrowed, like the next three and the loop. */
    const struct trust *trust;
    struct log *log;    /* NULL: none. */
    const char *listen; /* HOST:PORT; port 0: any that is free. */
    uint64_t agreement; /* What all nodes must have alike, as a hash. */
    enum net_carrier carrier;
    struct uv_loop_s *loop;
    struct net_host host; /* Copied. */
};

/* A member of the cluster, as the directory knows it. */
struct net_stream_peer {
    uint32_t node;
    uint64_t incarnation;
    const char *address; /* HOST:PORT. Copied. */
    const char *name;    /* What its certificate is for. Copied. */
};

/*
 * Listen, and send to peers that become known. The caller owns *net_out; what it has open in the
 * loop is closed as the loop runs, after net_destroy(). From now on the process ignores SIGPIPE.
 *
 * Errors: WEFT_INVALID for an address that is none; WEFT_IO if it cannot be listened on; those of
 * ucx_create().
 */
enum weft_status net_stream_create(
    const struct net_stream_options *options, struct net **net_out, struct weft_error *error);

/*
 * Find the carrier called @text: "auto", "tcp", "shm" or "ucx".
 *
 * Errors: WEFT_INVALID if there is none.
 */
enum weft_status net_carrier_parse(
    const char *text, enum net_carrier *carrier_out, struct weft_error *error);

/* The port that it listens on. */
uint16_t net_stream_port(const struct net *net);

/* How many bytes of tensors have left for other processes, ever. */
uint64_t net_stream_sent_bytes(const struct net *net);

/* @peer is a member. What waits for an earlier incarnation of it is dropped. */
void net_stream_set_peer(struct net *net, const struct net_stream_peer *peer);

/* Node @node is no longer a member: what waits for it is dropped. */
void net_stream_remove_peer(struct net *net, uint32_t node);

#endif /* FABRIC_NET_STREAM_H */
