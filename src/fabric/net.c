#include "fabric/net.h"

#include "base/assert.h"

void net_publish(struct net *net, uint32_t from, const struct row *row)
{
    net->ops->publish(net, from, row);
}

void net_send(struct net *net, uint32_t to, const struct message *message, uint64_t tensor)
{
    net->ops->send(net, to, message, tensor);
}

bool net_carries(const struct net *net, uint32_t from, struct job_id job)
{
    return net->ops->carries != NULL && net->ops->carries(net, from, job);
}

void net_attend(struct net *net, bool attends)
{
    if (net->ops->attend != NULL) {
        net->ops->attend(net, attends);
    }
}

bool net_is_clear(struct net *net)
{
    return net->ops->is_clear == NULL || net->ops->is_clear(net);
}

void net_wake(struct net *net, uint64_t token)
{
    ASSERT(net->ops->wake != NULL);
    net->ops->wake(net, token);
}

void net_flush_rows(struct net *net)
{
    ASSERT(net->ops->flush_rows != NULL);
    net->ops->flush_rows(net);
}

void net_destroy(struct net *net)
{
    if (net != NULL) {
        net->ops->destroy(net);
    }
}
