/*
 * net_stream_told.h - what a net says in the log: which peers cannot be reached, and why.
 *
 * A pair that cannot connect tries again all the time. What is wrong is said once it has lasted for
 * longer than the lease of a node, and then once a minute.
 */
#ifndef FABRIC_NET_STREAM_TOLD_H
#define FABRIC_NET_STREAM_TOLD_H

#include "fabric/net_stream_inside.h"

/* Say in the log what happened with @node. */
void net_stream_log(struct net_stream *net, const char *event, uint32_t node, const char *cause);

/* @peer is not who it should be. Said once a minute, as long as it is. */
void net_stream_distrust(struct peer *peer, const char *cause);

/* Who connected from @from has not proven who it is. Likewise. */
void net_stream_turn_away(struct net_stream *net, const char *from, const char *cause);

/* Where the other end of @socket is, without its port. */
void net_stream_origin(int socket, char out[static NET_ORIGIN_BYTES]);

/* Say, if it has lasted, that @peer is not reached, or does not reach this node. */
void net_stream_tell(struct peer *peer, int64_t at_ns);

#endif /* FABRIC_NET_STREAM_TOLD_H */
