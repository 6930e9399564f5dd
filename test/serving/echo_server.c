/*
 * echo_server.c - a server whose workflows give back what they get, for scripts.
 *
 * usage: echo_server [name=value]...
 *
 * cert, key, token, admin: files. connections, address_connections, body, held, address_held,
 * head_ms, idle_ms, grace_ms, answer_ms, rate: limits, as in server/http.h. jobs: at once.
 * management: a number, as in server/access.h. until: a file, until which "slow" runs. turns: say
 * how long turns of the loop took. Says where it listens, and ends like `weft serve`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uv.h>

#include "server/server.h"
#include "serving/echo.h"

struct world {
    struct echo_cluster cluster;
    struct server *server;
    bool is_draining;
    char loaded[64]; /* What the repository was asked for. */
};

static void on_record(void *context, const struct record *record)
{
    server_record(((struct world *)context)->server, record);
}

static void on_drained(void *context)
{
    runtime_stop(((struct world *)context)->cluster.runtime);
}

static void on_signal(void *context, int number)
{
    struct world *world = context;
    (void)number;
    if (world->is_draining) {
        runtime_stop(world->cluster.runtime);
    }
    world->is_draining = true;
    server_drain(world->server);
}

/* A repository with a model of its own, which can be loaded. */
static bool entry(void *context, uint32_t index, struct server_entry *entry_out)
{
    const struct world *world = context;
    const bool is_loaded = strcmp(world->loaded, "spare") == 0;
    if (index > 0) {
        return false;
    }
    *entry_out =
        (struct server_entry){.name = "spare", .version = "1", .platform = "weft_workflow"};
    (void)snprintf(
        entry_out->state, sizeof(entry_out->state), "%s", is_loaded ? "READY" : "UNAVAILABLE");
    (void)snprintf(entry_out->reason, sizeof(entry_out->reason), "%s", is_loaded ? "" : "unloaded");
    return true;
}

static void load(void *context, const char *name, server_changed changed, void *asker)
{
    struct world *world = context;
    if (strcmp(name, "spare") != 0) {
        char message[NAME_BYTES_MAX + 16];
        (void)snprintf(message, sizeof(message), "no model '%s'", name);
        changed(asker, WEFT_NOT_FOUND, message);
        return;
    }
    (void)snprintf(world->loaded, sizeof(world->loaded), "%s", name);
    changed(asker, WEFT_OK, "");
}

static enum weft_status unload(void *context, const char *name, struct weft_error *error)
{
    struct world *world = context;
    (void)name;
    (void)error;
    world->loaded[0] = '\0';
    return WEFT_OK;
}

static void set(struct server_options *options, const char *name, const char *value)
{
    const uint32_t number = (uint32_t)strtoul(value, NULL, 10);
    if (strcmp(name, "cert") == 0) {
        options->tls_certificate = value;
    } else if (strcmp(name, "key") == 0) {
        options->tls_key = value;
    } else if (strcmp(name, "token") == 0) {
        options->access.token_file = value;
    } else if (strcmp(name, "admin") == 0) {
        options->access.admin_token_file = value;
    } else if (strcmp(name, "management") == 0) {
        options->access.management = (enum access_management)number;
    } else if (strcmp(name, "connections") == 0) {
        options->limits.connections_max = number;
    } else if (strcmp(name, "address_connections") == 0) {
        options->limits.address_connections_max = number;
    } else if (strcmp(name, "address_held") == 0) {
        options->limits.address_held_bytes_max = number;
    } else if (strcmp(name, "answer_ms") == 0) {
        options->limits.answer_ms = number;
    } else if (strcmp(name, "body") == 0) {
        options->limits.body_bytes_max = number;
    } else if (strcmp(name, "held") == 0) {
        options->limits.held_bytes_max = number;
    } else if (strcmp(name, "head_ms") == 0) {
        options->limits.head_ms = number;
    } else if (strcmp(name, "idle_ms") == 0) {
        options->limits.idle_ms = number;
    } else if (strcmp(name, "grace_ms") == 0) {
        options->limits.grace_ms = number;
    } else if (strcmp(name, "rate") == 0) {
        options->limits.bytes_per_s_min = number;
    }
}

/*
 * How long the loop's thread is at work in one turn, which is what all others wait for. By the
 * clock of the thread, which stands still while it waits or something else has the processor.
 */
static struct turns {
    bool is_wanted;
    uv_prepare_t prepare;
    int64_t began_ns;
    uint64_t counts[40]; /* By powers of two of microseconds. */
    int64_t most_ns;
} turns;

static int64_t thread_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* It is always there. */
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void on_turn(uv_prepare_t *prepare)
{
    const int64_t now_ns = thread_ns();
    const int64_t took_ns = now_ns - turns.began_ns;
    uint32_t place = 0;
    (void)prepare;
    while (took_ns / 1000 >> place > 0) {
        place++;
    }
    turns.counts[place]++;
    turns.most_ns = took_ns > turns.most_ns ? took_ns : turns.most_ns;
    turns.began_ns = now_ns;
}

static void turns_start(uv_loop_t *loop)
{
    turns.began_ns = thread_ns();
    (void)uv_prepare_init(loop, &turns.prepare); /* Neither can fail. */
    (void)uv_prepare_start(&turns.prepare, on_turn);
    uv_unref((uv_handle_t *)&turns.prepare);
}

static void turns_stop(void)
{
    (void)printf("turns of the loop by their microseconds:");
    for (uint32_t i = 0; i < 40; i++) {
        if (turns.counts[i] > 0) {
            (void)printf(" <%llu:%llu", 1ULL << i, (unsigned long long)turns.counts[i]);
        }
    }
    (void)printf("; longest %.3f ms\n", (double)turns.most_ns / 1e6);
    uv_close((uv_handle_t *)&turns.prepare, NULL);
}

int main(int argc, char **argv)
{
    static struct world world;
    struct server_options options = {
        .http = "127.0.0.1:0",
        .metrics = "127.0.0.1:0",
        .repository = {.context = &world, .entry = entry, .load = load, .unload = unload},
        .drained = on_drained,
        .context = &world,
    };
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (equals != NULL) {
            *equals = '\0';
            turns.is_wanted = turns.is_wanted || strcmp(argv[i], "turns") == 0;
            if (strcmp(argv[i], "jobs") == 0) {
                world.cluster.jobs_max = (uint32_t)strtoul(equals + 1, NULL, 10);
            }
            if (strcmp(argv[i], "until") == 0) {
                world.cluster.slow_until = equals + 1;
            }
            set(&options, argv[i], equals + 1);
        }
    }
    world.cluster.on_record = on_record;
    world.cluster.context = &world;
    echo_start(&world.cluster);
    options.runtime = world.cluster.runtime;
    options.fleet = world.cluster.fleet;
    options.catalogue = world.cluster.catalogue;
    struct weft_error error = {.status = WEFT_OK};
    if (server_start(&options, &world.server, &error) != WEFT_OK) {
        (void)fprintf(stderr, "echo_server: %s\n", error.message);
        echo_stop(&world.cluster);
        return 1;
    }
    (void)printf(
        "%s %s\n", server_http_address(world.server), server_metrics_address(world.server));
    (void)fflush(stdout);
    runtime_on_signal(world.cluster.runtime, on_signal, &world);
    if (turns.is_wanted) {
        turns_start(runtime_loop(world.cluster.runtime));
    }
    runtime_run(world.cluster.runtime);
    if (turns.is_wanted) {
        turns_stop();
    }
    const uint32_t tensors = runtime_counts(world.cluster.runtime).tensors;
    const uint32_t open = server_open_count(world.server);
    server_stop(world.server);
    echo_stop(&world.cluster);
    (void)printf("open %u tensors %u\n", open, tensors);
    return open == 0 && tensors == 0 ? 0 : 1;
}
