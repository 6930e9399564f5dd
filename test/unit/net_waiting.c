#include "net_waiting.h"

#include "base/assert.h"
#include "fabric/net_stream_inside.h"

uint32_t net_waiting_count(struct net *net, uint32_t peer)
{
    return net_stream_from(net)->peers[peer].waiting_count;
}

const struct message *net_waiting_first(struct net *net, uint32_t peer)
{
    const struct waiting *first = net_stream_from(net)->peers[peer].messages.first;
    ASSERT(first != NULL);
    return &first->message;
}
