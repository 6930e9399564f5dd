/* cluster.c - all workers of the cluster, as the first node of this process sees them. */
#include <inttypes.h>

#include "server/server_inside.h"

/* The first node that runs here. NULL: none does yet. */
static const struct node *first_node(const struct server *server, uint32_t *number_out)
{
    const struct node *node = NULL;
    for (uint32_t i = 0; node == NULL && i < server->options.fleet->node_count; i++) {
        node = runtime_node(server->options.runtime, i);
        *number_out = i;
    }
    return node;
}

static bool write_worker(
    struct buffer *json, const struct server *server, const struct node *node, uint32_t worker,
    bool is_first)
{
    const struct row row = node_row(node, worker);
    const int64_t now_ns = runtime_now_ns(server->options.runtime);
    const bool was_heard = row.load.at_ns >= 0;
    return buffer_add(
        json,
        "%s{\"worker\":%" PRIu32 ",\"node\":%" PRIu32 ",\"incarnation\":%" PRIu32
        ",\"age_ms\":%.3f,\"queued_ms\":%.3f,\"queued_items\":%" PRIu16
        ",\"memory_free_bytes\":%" PRIu64 ",\"resident\":%" PRIu32 ",\"accepting\":%s}",
        is_first ? "" : ",", worker, server->options.fleet->workers[worker].node,
        row.load.incarnation, was_heard ? (double)(now_ns - row.load.at_ns) * 1e-6 : -1.0,
        (double)row.load.queued_ns * 1e-6, row.load.queued_items, row.cache.free_bytes,
        model_set_count(&row.cache.resident), row.load.accepting != 0 ? "true" : "false");
}

void cluster_begin(struct server *server, struct http_exchange *exchange)
{
    struct buffer json = {.length = 0};
    uint32_t number = 0;
    const struct node *node = first_node(server, &number);
    bool is_good = buffer_add(&json, "{\"node\":%" PRIu32 ",\"workers\":[", number);
    for (uint32_t i = 0; is_good && node != NULL && i < server->options.fleet->worker_count; i++) {
        if (!server->options.fleet->workers[i].is_absent) { /* The first of all never is. */
            is_good = write_worker(&json, server, node, i, i == 0);
        }
    }
    models_respond(exchange, &json, is_good && buffer_add(&json, "]}"));
}
