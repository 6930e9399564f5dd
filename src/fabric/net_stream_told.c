#include "fabric/net_stream_told.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/units.h"

#define PATIENCE_NS (5 * NS_PER_S)
#define AGAIN_NS    (60 * NS_PER_S)

void net_stream_log(struct net_stream *net, const char *event, uint32_t node, const char *cause)
{
    const struct log_field fields[] = {log_number("node", node), log_text("cause", cause)};
    log_say(net->options.log, LOG_WARN, event, 2, fields);
}

/* Whether the same was said less than AGAIN_NS ago. It is remembered. */
static bool was_said(struct net_stream *net, uint64_t hash)
{
    const int64_t at_ns = net_stream_now_ns();
    for (uint32_t i = 0; i < NET_STREAM_TOLD; i++) {
        if (net->told[i].hash == hash && at_ns < net->told[i].until_ns) {
            return true;
        }
    }
    const uint32_t slot = net->told_count++ % NET_STREAM_TOLD;
    net->told[slot].hash = hash;
    net->told[slot].until_ns = at_ns + AGAIN_NS;
    return false;
}

void net_stream_distrust(struct peer *peer, const char *cause)
{
    (void)snprintf(peer->failure, sizeof(peer->failure), "%s", cause);
    peer->is_distrusted = true;
    if (!was_said(peer->net, hash_mix(hash_text(cause), peer->node))) {
        net_stream_log(peer->net, "peer not trusted", peer->node, cause);
    }
}

void net_stream_turn_away(struct net_stream *net, const char *from, const char *cause)
{
    const struct log_field fields[] = {log_text("from", from), log_text("cause", cause)};
    if (!was_said(net, hash_mix(hash_text(cause), hash_text(from)))) {
        log_say(net->options.log, LOG_WARN, "stranger turned away", 2, fields);
    }
}

void net_stream_origin(int socket, char out[static NET_ORIGIN_BYTES])
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    if (getpeername(socket, (struct sockaddr *)&address, &length) != 0 ||
        getnameinfo(
            (const struct sockaddr *)&address, length, out, NET_ORIGIN_BYTES, /* port */ NULL, 0,
            NI_NUMERICHOST) != 0) {
        (void)snprintf(out, NET_ORIGIN_BYTES, "this machine");
    }
}

/* Say in which direction nothing comes through, and why. */
static void tell(const struct peer *peer)
{
    const bool is_deaf = peer->is_welcome; /* It is reached, and has not come. */
    const char *address = is_deaf ? peer->net->address : peer->address;
    const bool is_inner = strncmp(address, "127.", 4) == 0 || strncmp(address, "[::1]", 5) == 0;
    char cause[NET_STREAM_CAUSE_BYTES + 64];
    (void)snprintf(
        cause, sizeof(cause), "%s%s",
        is_deaf ? "it does not connect to that address" : peer->failure,
        is_inner ? "; no other machine can, see '--listen-cluster'" : "");
    const struct log_field fields[] = {
        log_text("node", peer->name),
        log_text("address", address),
        log_text("cause", cause),
    };
    log_say(
        peer->net->options.log, LOG_WARN, is_deaf ? "not reached by peer" : "peer not reached", 3,
        fields);
}

void net_stream_tell(struct peer *peer, int64_t at_ns)
{
    if (!peer->is_member || (peer->is_welcome && peer->in != NULL)) {
        peer->tell_at_ns = 0;
    } else if (peer->tell_at_ns == 0) {
        peer->tell_at_ns = at_ns + PATIENCE_NS;
    } else if (at_ns >= peer->tell_at_ns) {
        peer->tell_at_ns = at_ns + AGAIN_NS;
        tell(peer);
    }
}
