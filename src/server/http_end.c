/* http_end.c - a server that is about to end: answers for requests that it will not finish. */
#include "server/http_inside.h"

uint32_t http_server_abandon(struct http_server *server, const char *cause)
{
    uint32_t count = 0;
    struct list_link *next;
    for (struct list_link *at = server->connections.first; at != NULL; at = next) {
        struct connection *connection = LIST_ITEM(at, struct connection, link);
        struct http_exchange *exchange = &connection->exchange;
        next = at->next;
        if (!exchange->is_open) {
            continue;
        }
        if (exchange->receiver != NULL) {
            exchange->receiver->gone(exchange->request);
        }
        *exchange = (struct http_exchange){.connection = connection, .is_open = true};
        connection->in_bytes = 0; /* Nothing that comes is read any more. */
        http_respond_error(exchange, 503, cause, "Retry-After: 1\r\n");
        count++;
    }
    return count;
}
