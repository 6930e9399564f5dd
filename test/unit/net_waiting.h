/*
 * net_waiting.h - what a net between processes has been given and not sent, for tests that include
 * headers of hosts, too: those have a struct arrival of their own.
 */
#ifndef UNIT_NET_WAITING_H
#define UNIT_NET_WAITING_H

#include <stdint.h>

#include "wire/message.h"

struct net;

/* How many messages and tensors wait for node @peer. */
uint32_t net_waiting_count(struct net *net, uint32_t peer);

/* The first message of them, which must be there. Borrowed. */
const struct message *net_waiting_first(struct net *net, uint32_t peer);

#endif /* UNIT_NET_WAITING_H */
