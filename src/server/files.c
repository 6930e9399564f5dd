/* files.c - files of the repository for other nodes of the cluster. */
#include <stdio.h>
#include <stdlib.h>

#include "server/server_inside.h"

/* A call of another node. */
struct fetch {
    const struct server_files *files;
    struct http_exchange *exchange; /* NULL: the client has gone. */
    bool is_asked;                  /* The files are being read. */
    char path[SERVER_FILES_PATH_BYTES];
    char proof[SERVER_FILES_PROOF_BYTES];
    uint8_t body[64]; /* There should be none: it is thrown away. */
};

static uint8_t *fetch_room(void *request, size_t *room_out)
{
    struct fetch *fetch = request;
    *room_out = sizeof(fetch->body);
    return fetch->body;
}

static void fetch_took(void *request, size_t count)
{
    (void)request;
    (void)count;
}

static void fetch_gone(void *request)
{
    struct fetch *fetch = request;
    fetch->exchange = NULL;
    if (!fetch->is_asked) {
        free(fetch);
    }
}

static void on_fetched(void *asker, uint32_t status, char *bytes, size_t count)
{
    struct fetch *fetch = asker;
    if (fetch->exchange != NULL && status == 200) {
        const struct http_part part = {bytes, count};
        const struct http_response response = {
            .status = 200,
            .type = "application/octet-stream",
            .part_count = count > 0 ? 1 : 0,
            .parts = &part,
            .release = free,
            .context = bytes,
        };
        bytes = NULL;
        http_respond(fetch->exchange, &response);
    } else if (fetch->exchange != NULL) {
        http_respond_error(
            fetch->exchange, status,
            status == 403   ? "only nodes of the cluster may fetch files"
            : status == 404 ? "there is no such file"
            : status == 409 ? "no member of the cluster is called so"
            : status == 425 ? "the directory does not name this node yet"
                            : "the file cannot be read",
            /* extra */ NULL);
    }
    free(bytes);
    free(fetch);
}

/* The value of a header; "" if there is none, or it is too long. */
static void copy_header(const struct http_head *head, const char *name, char *out, size_t room)
{
    const struct http_span *given = http_head_find(head, name);
    const size_t length = given == NULL || given->length >= room ? 0 : given->length;
    (void)snprintf(out, room, "%.*s", (int)length, length == 0 ? "" : given->bytes);
}

static void fetch_end(void *request)
{
    struct fetch *fetch = request;
    const struct server_files *files = fetch->files;
    fetch->is_asked = true;
    files->fetch(files->context, fetch->path, fetch->proof, on_fetched, fetch);
}

void files_begin(
    struct server *server, struct http_exchange *exchange, const struct http_head *head)
{
    static const struct http_receiver receiver = {fetch_room, fetch_took, fetch_end, fetch_gone};
    struct fetch *fetch = calloc(1, sizeof(*fetch));
    if (fetch == NULL || head->target.length >= sizeof(fetch->path)) {
        http_respond_error(
            exchange, fetch == NULL ? 503 : 404, fetch == NULL ? "no memory" : "not found",
            /* extra */ NULL);
        free(fetch);
        return;
    }
    fetch->files = &server->options.files;
    fetch->exchange = exchange;
    (void)snprintf(
        fetch->path, sizeof(fetch->path), "%.*s", (int)head->target.length, head->target.bytes);
    copy_header(head, "x-weft-proof", fetch->proof, sizeof(fetch->proof));
    http_exchange_set(exchange, &receiver, fetch);
}
