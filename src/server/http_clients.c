#include "server/http_clients.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "server/http_inside.h"

enum { KEY_BYTES = 8, BUCKETS = 1024 };

struct http_client {
    struct http_clients *clients;
    struct http_client *next; /* In its bucket. */
    uint8_t key[KEY_BYTES];
    uint32_t references; /* Connections and holds. */
    uint32_t connections;
    uint32_t spares;
    atomic_uint_least64_t held_bytes;
};

struct http_clients {
    struct http_limits limits;
    uint32_t connections;
    uint32_t spares;
    atomic_uint_least64_t held_bytes;
    uint32_t client_count;
    bool is_closed;
    struct http_client *buckets[BUCKETS];
};

struct http_clients *http_clients_create(const struct http_limits *limits)
{
    struct http_clients *clients = memory_zeroed(1, sizeof(*clients));
    clients->limits = *limits;
    return clients;
}

static void release(struct http_clients *clients)
{
    if (clients->is_closed && clients->client_count == 0) {
        free(clients);
    }
}

void http_clients_destroy(struct http_clients *clients)
{
    if (clients != NULL) {
        clients->is_closed = true;
        release(clients);
    }
}

/* The four bytes of an address of IPv4, which may be that of a socket of IPv6. NULL: it is not. */
static const uint8_t *ipv4_of(const struct sockaddr *address)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (address->sa_family == AF_INET) {
        return (const uint8_t *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
    }
    if (address->sa_family == AF_INET6) {
        const uint8_t *bytes =
            ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr;
        return memcmp(bytes, mapped, sizeof(mapped)) == 0 ? bytes + sizeof(mapped) : NULL;
    }
    return NULL;
}

/* What tells addresses apart: four bytes of IPv4, eight of IPv6. */
static void make_key(const struct sockaddr *address, uint8_t key[KEY_BYTES])
{
    const uint8_t *four = ipv4_of(address);
    (void)memset(key, 0, KEY_BYTES);
    if (four != NULL) {
        (void)memcpy(key, four, 4);
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const void *)address;
        (void)memcpy(key, six->sin6_addr.s6_addr, KEY_BYTES);
    }
}

bool http_client_is_local(const struct sockaddr *address)
{
    const uint8_t *four = ipv4_of(address);
    if (four != NULL) {
        return four[0] == IN_LOOPBACKNET;
    }
    const struct sockaddr_in6 *six = (const void *)address;
    return address->sa_family == AF_INET6 &&
           memcmp(&six->sin6_addr, &in6addr_loopback, sizeof(six->sin6_addr)) == 0;
}

static struct http_client **bucket_of(struct http_clients *clients, const uint8_t key[KEY_BYTES])
{
    uint32_t sum = 2166136261U; /* FNV-1a */
    for (uint32_t i = 0; i < KEY_BYTES; i++) {
        sum = (sum ^ key[i]) * 16777619U;
    }
    return &clients->buckets[(sum ^ sum >> 16) % BUCKETS];
}

/* The client with @key, a new one if need be. NULL if there is no memory. */
static struct http_client *find(struct http_clients *clients, const uint8_t key[KEY_BYTES])
{
    struct http_client **bucket = bucket_of(clients, key);
    struct http_client *client = *bucket;
    while (client != NULL && memcmp(client->key, key, KEY_BYTES) != 0) {
        client = client->next;
    }
    if (client == NULL) {
        client = calloc(1, sizeof(*client));
        if (client == NULL) {
            return NULL;
        }
        client->clients = clients;
        (void)memcpy(client->key, key, KEY_BYTES);
        client->next = *bucket;
        *bucket = client;
        clients->client_count++;
    }
    return client;
}

static void leave(struct http_client *client)
{
    struct http_clients *clients = client->clients;
    ASSERT(client->references > 0);
    client->references--;
    if (client->references > 0) {
        return;
    }
    ASSERT(atomic_load(&client->held_bytes) == 0);
    struct http_client **at = bucket_of(clients, client->key);
    while (*at != client) {
        at = &(*at)->next;
    }
    *at = client->next;
    free(client);
    clients->client_count--;
    release(clients);
}

enum http_admission http_clients_enter(
    struct http_clients *clients, const struct sockaddr *address, struct http_client **client_out)
{
    const struct http_limits *limits = &clients->limits;
    uint8_t key[KEY_BYTES];
    make_key(address, key);
    struct http_client *client = find(clients, key);
    *client_out = client;
    if (client == NULL) {
        return HTTP_FULL;
    }
    client->references++;
    if (clients->connections < limits->connections_max &&
        client->connections < limits->address_connections_max) {
        clients->connections++;
        client->connections++;
        return HTTP_ADMITTED;
    }
    if (clients->spares < limits->connections_max / 16 + HTTP_ADDRESS_SPARES_MAX &&
        client->spares < HTTP_ADDRESS_SPARES_MAX) {
        clients->spares++;
        client->spares++;
        return HTTP_SPARE;
    }
    return HTTP_FULL;
}

void http_client_leave(struct http_client *client, enum http_admission admission)
{
    if (client == NULL) {
        return;
    }
    if (admission == HTTP_ADMITTED) {
        client->clients->connections--;
        client->connections--;
    } else if (admission == HTTP_SPARE) {
        client->clients->spares--;
        client->spares--;
    }
    leave(client);
}

void http_hold_begin(struct http_hold *hold, const struct http_exchange *exchange)
{
    *hold = (struct http_hold){.client = exchange->connection->client};
    hold->client->references++;
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
    struct http_client *client = hold->client;
    struct http_clients *clients = client->clients;
    if (bytes <= hold->bytes) {
        (void)atomic_fetch_sub(&clients->held_bytes, hold->bytes - bytes);
        (void)atomic_fetch_sub(&client->held_bytes, hold->bytes - bytes);
        hold->bytes = bytes;
        return HTTP_HELD;
    }
    const uint64_t more = bytes - hold->bytes;
    if (bytes > clients->limits.address_held_bytes_max) {
        return HTTP_HELD_NEVER;
    }
    if (!add(&client->held_bytes, more, clients->limits.address_held_bytes_max)) {
        return HTTP_HELD_BY_ADDRESS;
    }
    if (!add(&clients->held_bytes, more, clients->limits.held_bytes_max)) {
        (void)atomic_fetch_sub(&client->held_bytes, more);
        return HTTP_HELD_BY_ALL;
    }
    hold->bytes = bytes;
    return HTTP_HELD;
}

void http_hold_end(struct http_hold *hold)
{
    if (hold->client != NULL) {
        (void)http_hold_set(hold, 0); /* Less can always be held. */
        leave(hold->client);
        hold->client = NULL;
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
