#include "server/http_peers.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "server/http_inside.h"

enum { KEY_BYTES = 8, BUCKETS = 1024 };

struct http_peer {
    struct http_peers *peers;
    struct http_peer *next; /* In its bucket. */
    uint8_t key[KEY_BYTES];
    uint32_t references; /* Connections and holds. */
    uint32_t connections;
    uint32_t spares;
    atomic_uint_least64_t held_bytes;
};

struct http_peers {
    struct http_limits limits;
    uint32_t connections;
    uint32_t spares;
    atomic_uint_least64_t held_bytes;
    uint32_t peer_count;
    bool is_closed;
    struct http_peer *buckets[BUCKETS];
};

struct http_peers *http_peers_create(const struct http_limits *limits)
{
    struct http_peers *peers = memory_zeroed(1, sizeof(*peers));
    peers->limits = *limits;
    return peers;
}

static void release(struct http_peers *peers)
{
    if (peers->is_closed && peers->peer_count == 0) {
        free(peers);
    }
}

void http_peers_destroy(struct http_peers *peers)
{
    if (peers != NULL) {
        peers->is_closed = true;
        release(peers);
    }
}

/* What tells addresses apart: four bytes of IPv4, eight of IPv6. */
static void make_key(const struct sockaddr *address, uint8_t key[KEY_BYTES])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}; /* IPv4 on a socket of IPv6. */
    (void)memset(key, 0, KEY_BYTES);
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const void *)address;
        (void)memcpy(key, &four->sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const void *)address;
        const uint8_t *bytes = six->sin6_addr.s6_addr;
        const bool is_mapped = memcmp(bytes, mapped, sizeof(mapped)) == 0;
        (void)memcpy(key, is_mapped ? bytes + sizeof(mapped) : bytes, is_mapped ? 4 : KEY_BYTES);
    }
}

static struct http_peer **bucket_of(struct http_peers *peers, const uint8_t key[KEY_BYTES])
{
    uint32_t sum = 2166136261U; /* FNV-1a */
    for (uint32_t i = 0; i < KEY_BYTES; i++) {
        sum = (sum ^ key[i]) * 16777619U;
    }
    return &peers->buckets[(sum ^ sum >> 16) % BUCKETS];
}

/* The peer with @key, a new one if need be. NULL if there is no memory. */
static struct http_peer *find(struct http_peers *peers, const uint8_t key[KEY_BYTES])
{
    struct http_peer **bucket = bucket_of(peers, key);
    struct http_peer *peer = *bucket;
    while (peer != NULL && memcmp(peer->key, key, KEY_BYTES) != 0) {
        peer = peer->next;
    }
    if (peer == NULL) {
        peer = calloc(1, sizeof(*peer));
        if (peer == NULL) {
            return NULL;
        }
        peer->peers = peers;
        (void)memcpy(peer->key, key, KEY_BYTES);
        peer->next = *bucket;
        *bucket = peer;
        peers->peer_count++;
    }
    return peer;
}

static void leave(struct http_peer *peer)
{
    struct http_peers *peers = peer->peers;
    ASSERT(peer->references > 0);
    peer->references--;
    if (peer->references > 0) {
        return;
    }
    ASSERT(atomic_load(&peer->held_bytes) == 0);
    struct http_peer **at = bucket_of(peers, peer->key);
    while (*at != peer) {
        at = &(*at)->next;
    }
    *at = peer->next;
    free(peer);
    peers->peer_count--;
    release(peers);
}

enum http_admission http_peers_enter(
    struct http_peers *peers, const struct sockaddr *address, struct http_peer **peer_out)
{
    const struct http_limits *limits = &peers->limits;
    uint8_t key[KEY_BYTES];
    make_key(address, key);
    struct http_peer *peer = find(peers, key);
    *peer_out = peer;
    if (peer == NULL) {
        return HTTP_FULL;
    }
    peer->references++;
    if (peers->connections < limits->connections_max &&
        peer->connections < limits->address_connections_max) {
        peers->connections++;
        peer->connections++;
        return HTTP_ADMITTED;
    }
    if (peers->spares < limits->connections_max / 16 + HTTP_ADDRESS_SPARES_MAX &&
        peer->spares < HTTP_ADDRESS_SPARES_MAX) {
        peers->spares++;
        peer->spares++;
        return HTTP_SPARE;
    }
    return HTTP_FULL;
}

void http_peer_leave(struct http_peer *peer, enum http_admission admission)
{
    if (peer == NULL) {
        return;
    }
    if (admission == HTTP_ADMITTED) {
        peer->peers->connections--;
        peer->connections--;
    } else if (admission == HTTP_SPARE) {
        peer->peers->spares--;
        peer->spares--;
    }
    leave(peer);
}

void http_hold_begin(struct http_hold *hold, const struct http_exchange *exchange)
{
    *hold = (struct http_hold){.peer = exchange->connection->peer};
    hold->peer->references++;
}

/* Add @more to @held unless that is more than @most. */
static bool add(atomic_uint_least64_t *held, uint64_t more, uint64_t most)
{
    uint64_t before = atomic_load(held);
    do {
        if (before > most || more > most - before) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(held, &before, before + more));
    return true;
}

enum http_held http_hold_set(struct http_hold *hold, uint64_t bytes)
{
    struct http_peer *peer = hold->peer;
    struct http_peers *peers = peer->peers;
    if (bytes <= hold->bytes) {
        (void)atomic_fetch_sub(&peers->held_bytes, hold->bytes - bytes);
        (void)atomic_fetch_sub(&peer->held_bytes, hold->bytes - bytes);
        hold->bytes = bytes;
        return HTTP_HELD;
    }
    const uint64_t more = bytes - hold->bytes;
    if (bytes > peers->limits.address_held_bytes_max) {
        return HTTP_HELD_NEVER;
    }
    if (!add(&peer->held_bytes, more, peers->limits.address_held_bytes_max)) {
        return HTTP_HELD_BY_ADDRESS;
    }
    if (!add(&peers->held_bytes, more, peers->limits.held_bytes_max)) {
        (void)atomic_fetch_sub(&peer->held_bytes, more);
        return HTTP_HELD_BY_ALL;
    }
    hold->bytes = bytes;
    return HTTP_HELD;
}

void http_hold_end(struct http_hold *hold)
{
    if (hold->peer != NULL) {
        (void)http_hold_set(hold, 0); /* Less can always be held. */
        leave(hold->peer);
        hold->peer = NULL;
    }
}

const char *http_held_text(enum http_held held)
{
    switch (held) {
    case HTTP_HELD:
        break;
    case HTTP_HELD_BY_ALL:
        return "the requests and answers in flight fill the memory that is meant for them";
    case HTTP_HELD_BY_ADDRESS:
        return "the requests and answers in flight of this client's address fill its share";
    case HTTP_HELD_NEVER:
        return "it is larger than what one client's address may have in flight";
    }
    return "";
}
