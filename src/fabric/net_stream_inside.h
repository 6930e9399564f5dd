/* net_stream_inside.h - what a net between processes is made of. For its own files alone. */
#ifndef FABRIC_NET_STREAM_INSIDE_H
#define FABRIC_NET_STREAM_INSIDE_H

#include <uv.h>

#include "base/units.h"
#include "fabric/framed.h"
#include "fabric/greeting.h"
#include "fabric/net_stream.h"
#include "fabric/ucx.h"
#include "model/fleet.h"

enum frame_kind {
    FRAME_HELLO = FRAME_DATA + 1,
    FRAME_WELCOME,
    FRAME_PROOF,
    FRAME_REFUSED, /* Instead of WELCOME, with the reason. In all versions. */
    FRAME_ROW,
    FRAME_MESSAGE, /* A message, and perhaps a small tensor. */
    FRAME_TENSOR,  /* A message whose tensor follows as data. */
    FRAME_PING,    /* A sign of life; with a time, that comes back with FRAME_PONG. */
    FRAME_PONG,
    FRAME_LANE, /* The answer to PROOF where there is UCX: token and address of an inlet. */
};

/* What a message says of the tensor beside it, in one byte. */
enum tensor_kind { TENSOR_NONE, TENSOR_PRETENDED, TENSOR_THERE };

enum {
    INLINE_BYTES_MAX = 32 * 1024,  /* A tensor up to this size travels with its message. */
    CHUNK_BYTES = 256 * 1024,      /* Of a larger one, between two looks at messages. */
    WAITING_BYTES_HIGH = 32 << 20, /* For one peer: above this it is blocked. */
    WAITING_BYTES_LOW = 16 << 20,  /* It stays blocked until no more than this waits. */
    WAITING_COUNT_HIGH = 8192,     /* Messages for one peer: above this it is blocked, too. */
    WAITING_FACTOR_MAX = 8,        /* Past so many times either, what comes is dropped. */
    STRANGERS_MAX = 256,           /* Connections that have not said who they are. */
};

/* A message that waits to leave. */
struct waiting {
    struct waiting *next;
    int64_t since_ns;
    uint64_t tensor; /* A reference. 0: none. */
    uint64_t bytes;  /* Of it; 0 for a message alone. */
    struct message message;
    uint16_t borrowed[]; /* What the message borrows. */
};

struct waiting_list {
    struct waiting *first;
    struct waiting *last;
};

/* A tensor that is being sent or received: where in it we are. */
struct passage {
    uint64_t tensor;
    uint32_t part;
    uint64_t offset; /* In that part. */
    uint64_t left;   /* Of all parts. */
};

enum { NET_STREAM_CAUSE_BYTES = 96, NET_STREAM_TOLD = 8, NET_ORIGIN_BYTES = 64 };

struct peer {
    struct net_stream *net;
    uint32_t node;
    bool is_member;
    bool is_met; /* It could be reached since it is a member. */
    uint64_t incarnation;
    char address[NET_ADDRESS_BYTES_MAX];
    char name[NET_NAME_BYTES_MAX];

    /* What is sent. */
    struct framed *out; /* NULL: there is none yet. */
    bool is_shared;     /* That goes through shared memory. */
    bool shuns_sharing; /* The last one did, and came to nothing: the next does not. */
    bool is_welcome;    /* It has been greeted: messages may leave. */
    bool is_resolving;  /* Its address is being looked up. */
    uv_getaddrinfo_t lookup;
    struct hello hello;
    struct waiting_list messages;
    struct waiting_list tensors;
    uint64_t waiting_bytes;
    uint32_t waiting_count;
    struct waiting *sending; /* The tensor whose data leaves now. */
    struct passage out_at;
    uint8_t *rows;   /* By own worker: parts that have not left. */
    bool is_blocked; /* As the host was told. */
    int64_t dial_at_ns;
    int64_t dialled_ns; /* When the connection was begun. */
    int64_t pause_ns;   /* Before it connects again. */
    int64_t said_ns;    /* When something last left. */
    int64_t put_ns;     /* When a message last did. */
    int64_t asked_ns;   /* When a time last did, for the trip. */
    int64_t echo_ns;    /* The last such time that came back: what was put before has come there. */
    int64_t trip_ns;    /* There and back, smoothed. */
    uint32_t refusals;  /* Since it was last greeted. */
    bool awaits_lane;   /* Its certificate and proof are right; where it is reached comes. */
    bool was_refused;   /* On this connection. */

    /* What is received. */
    struct arrival *in; /* NULL: there is none. */
    int64_t heard_ns;
    bool is_broken; /* As the host was told. */

    /* What a person is told of it: net_stream_told.c. */
    char failure[NET_STREAM_CAUSE_BYTES]; /* Why it was not reached last. */
    bool is_distrusted;                   /* That was said on this connection. */
    int64_t tell_at_ns;                   /* If it is apart until then; 0: it is not. */
};

/*
 * Between two sweeps, which say something to peers that nothing was said to: where all is well, and
 * where something waits. Four of the first are a silence.
 */
#define NET_STREAM_CALM_NS (125 * NS_PER_MS)
#define NET_STREAM_SOON_NS (50 * NS_PER_MS)

/* What a node says to one that it will hear of soon: the directory's news take their time. */
#define NET_STREAM_TOO_EARLY "not a member, as far as is known here"

/* A connection that came. */
struct arrival {
    struct net_stream *net;
    struct arrival *next; /* Of all that have not been closed. */
    struct framed *connection;
    struct peer *peer; /* NULL: it has not proven who it is. */
    int64_t since_ns;
    bool has_hello;
    bool is_refused; /* It was told why. */
    char from[NET_ORIGIN_BYTES];
    struct hello hello;
    struct welcome welcome;

    /* A tensor that comes in pieces, and its message. */
    bool is_receiving;
    struct passage at; /* Tensor 0: there was no memory, so it is read and forgotten. */
    int64_t begun_ns;
    struct message message;
    uint16_t placement[WORKFLOW_TASKS_MAX];
};

/* Where connections come: peers on any machine, and those on this one. */
enum { LISTENER_TCP, LISTENER_LOCAL, LISTENERS };

struct listener {
    struct net_stream *net;
    int socket; /* -1: there is none. */
    uv_poll_t poll;
};

struct net_stream {
    struct net base;
    struct net_stream_options options;
    struct net_host host;
    struct peer *peers; /* By node. */
    struct row *rows;   /* By own worker: the newest of each part. */
    uint8_t *published; /* By own worker: which parts there are. */
    uint32_t worker_first;
    uint32_t worker_count;
    struct arrival *arrivals;
    uint32_t stranger_count;
    struct listener listeners[LISTENERS];
    char address[NET_ADDRESS_BYTES_MAX + 8]; /* Own, as peers are told it. */
    uint16_t port;
    struct ucx *ucx; /* NULL: it is not used. */
    uv_timer_t sweep;
    uv_idle_t looking;
    uv_check_t glance;     /* After the loop has woken, for what has come quietly. */
    bool attends;          /* The host waits for such. */
    int64_t sweep_at_ns;   /* When the next is due. */
    uint32_t handles_open; /* And lookups: it is released after the last. */
    bool is_closing;
    uint64_t sent_bytes; /* Of tensors. */
    struct {
        uint64_t hash;
        int64_t until_ns;
    } told[NET_STREAM_TOLD]; /* What is not said again until then. */
    uint32_t told_count;
    uint8_t head[NET_HEAD_BYTES_MAX]; /* Scratch. */
    uint8_t frame[FRAME_BYTES_MAX];
};

static inline struct net_stream *net_stream_from(struct net *net)
{
    return (struct net_stream *)net; /* base is the first member. */
}

static inline int64_t net_stream_now_ns(void)
{
    return (int64_t)uv_hrtime();
}

/* Whether so much waits for @peer that the host should send nothing more. */
static inline bool net_stream_is_much(const struct peer *peer)
{
    return peer->waiting_bytes > WAITING_BYTES_HIGH || peer->waiting_count > WAITING_COUNT_HIGH;
}

/* net_stream.c */

/* Look soon, from the loop, whether the host should be told that a peer is broken or blocked, or no
 * longer is. */
void net_stream_look(struct net_stream *net);

/* Have TCP send at once, send again soon, and give up in the end. */
void net_stream_tune(int socket);

/* Sweep in NET_STREAM_SOON_NS, if not before: something waits to be done. */
void net_stream_hurry(struct net_stream *net);

/* A handle or a lookup has ended. */
void net_stream_ended(struct net_stream *net);

/* net_stream_send.c */

/* Of all parts of @tensor; 0 for none. */
uint64_t net_stream_tensor_bytes(const struct net_stream *net, uint64_t tensor);

/* Connect to @peer, if it is a member, time has come, and there is no connection. */
void net_stream_dial(struct peer *peer, int64_t now_ns);

/* The connection to @peer is over or useless. */
void net_stream_hang_up(struct peer *peer, const char *cause);

/* Drop all that waits for @peer. */
void net_stream_drop(struct peer *peer);

/* Rows of own workers have changed, or none has left to @peer yet. */
void net_stream_show(struct peer *peer);

/* Say something, if nothing was said for a while; or now, to hear that all that was put came. */
void net_stream_ping(struct peer *peer, int64_t now_ns);
void net_stream_ask(struct peer *peer, int64_t now_ns);

void net_stream_send(struct net *base, uint32_t to, const struct message *message, uint64_t tensor);
bool net_stream_carries(const struct net *base, uint32_t from, struct job_id job);

/* net_stream_receive.c */

/* @socket has come to a listener. */
void net_stream_arrived(struct net_stream *net, int socket, bool is_shared);

/* Close @arrival, and forget what it has not handed over. */
void net_stream_dismiss(struct arrival *arrival, const char *cause);

#endif /* FABRIC_NET_STREAM_INSIDE_H */
