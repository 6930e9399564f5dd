/* http_peer.c - where a request comes from. */
#include <arpa/inet.h>
#include <string.h>

#include "server/http_inside.h"

static bool is_loopback(const struct sockaddr_storage *peer)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (peer->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)peer;
        return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (peer->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)peer;
        const uint8_t *bytes = six->sin6_addr.s6_addr;
        return memcmp(&six->sin6_addr, &in6addr_loopback, sizeof(six->sin6_addr)) == 0 ||
               (memcmp(bytes, mapped, sizeof(mapped)) == 0 && bytes[12] == IN_LOOPBACKNET);
    }
    return false;
}

bool http_exchange_is_local(const struct http_exchange *exchange)
{
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
    int bytes = sizeof(peer);
    return uv_tcp_getpeername(&exchange->connection->tcp, (struct sockaddr *)&peer, &bytes) == 0 &&
           is_loopback(&peer);
}
