/*
 * world.h - a whole server in this process, and clients on another thread.
 *
 *     world_start(&world, NULL);
 *     world_run(&world, script, &context);     the script talks while the loop runs
 *     world_stop(&world);
 *
 * Sockets block, for at most WORLD_LIMIT_S: what does not come by then is a failure.
 */
#ifndef SERVING_WORLD_H
#define SERVING_WORLD_H

#include "server/server.h"
#include "serving/echo.h"

enum { WORLD_LIMIT_S = 30, WORLD_REPLY_BYTES = 1 << 20 };

struct world {
    struct echo_cluster cluster;
    struct server *server;
    uint16_t port;
    bool has_drained;
};

/* Options of the server; where it listens and what is behind it is set here. NULL: defaults. */
void world_start(struct world *world, const struct server_options *options);

/* The same for clients that say the token "secret". */
void world_start_with_token(struct world *world);

void world_stop(struct world *world);

/* Run the loop while @script runs on a thread of its own. */
void world_run(
    struct world *world, void (*script)(struct world *world, void *context), void *context);

/* A connection to the server. */
int world_dial(const struct world *world);

/* Send it all; false if the server has hung up. */
bool world_say(int descriptor, const void *bytes, size_t count);

/* All that comes until the server hangs up, as a text. The caller frees it. */
char *world_hear(int descriptor, size_t *count_out);

/* The same from address 127.0.0.@last, with little room for bytes, which it does not read. */
int world_dial_from(const struct world *world, uint8_t last);

/* Run the loop until @is_so, for at most WORLD_LIMIT_S; false if it never was. */
bool world_run_until(struct world *world, bool (*is_so)(const struct world *world));

/* What the server says to @text, which asks it to hang up at the end. The caller frees it. */
char *world_ask(struct world *world, const char *text, size_t length);

#endif /* SERVING_WORLD_H */
