/* jobs.c - the last records of the server that concern one job, as lines of JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/server_inside.h"
#include "trace/recent.h"
#include "trace/writer.h"

struct telling {
    struct trace_writer *writer;
    struct buffer lines;
    bool is_good; /* There was memory for all. */
};

static void write_line(void *context, const char *bytes, size_t count)
{
    struct telling *telling = context;
    char *room = telling->is_good ? buffer_room(&telling->lines, count) : NULL;
    if (room == NULL) {
        telling->is_good = false;
        return;
    }
    memcpy(room, bytes, count);
    telling->lines.length += count;
}

static void take(void *context, const struct record *record)
{
    const struct telling *telling = context;
    trace_writer_add(telling->writer, record);
}

/* "0.14" */
static bool read_name(const char *name, uint32_t *node_out, uint64_t *number_out)
{
    int length = 0;
    return name[0] >= '0' && name[0] <= '9' && strlen(name) < NAME_BYTES_MAX &&
           sscanf(name, "%" SCNu32 ".%" SCNu64 "%n", node_out, number_out, &length) == 2 &&
           name[length] == '\0';
}

void jobs_respond(struct server *server, struct http_exchange *exchange, const char *name)
{
    struct telling telling = {.is_good = true};
    const struct trace_writer_options options = {
        .form = TRACE_LINES,
        .fleet = server->options.fleet,
        .catalogue = server->catalogue,
        .write = write_line,
        .context = &telling,
    };
    uint32_t node = 0;
    uint64_t number = 0;
    char cause[160];
    if (!read_name(name, &node, &number)) {
        http_respond_error(
            exchange, 400, "a job is named by its node and number, such as 0.14",
            /* extra */ NULL);
        return;
    }
    telling.writer = trace_writer_create(&options);
    const enum recent_answer answer = recent_job(server->recent, node, number, take, &telling);
    trace_writer_destroy(telling.writer);
    if (answer == RECENT_FOUND) {
        respond_buffer(exchange, &telling.lines, "application/x-ndjson", telling.is_good);
        return;
    }
    (void)snprintf(
        cause, sizeof(cause),
        answer == RECENT_UNKNOWN ? "there has been no job %" PRIu32 ".%" PRIu64 " here"
                                 : "job %" PRIu32 ".%" PRIu64
                                   " is too old: only the last %d records are kept",
        node, number, RECENT_RECORDS);
    http_respond_error(exchange, 404, cause, /* extra */ NULL);
}
