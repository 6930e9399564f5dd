#include "conformance/etcd_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/http_call.h"

enum { WAITS_MAX = 600, WAIT_MS = 100, TEXT_BYTES = 160 };
enum { LOOK_S = 2, PATIENCE_S = 60 }; /* Of one look that is repeated, and of what is not. */
enum { PORT_FIRST = 20000, PORTS = 12000, PORTS_APART = 101 }; /* Processes begin apart. */

#define LOOK_PATH "/v3/kv/range"
#define LOOK_BODY "{\"key\":\"YQ==\"}"

bool etcd_is_installed(void)
{
    return access("/usr/bin/etcd", X_OK) == 0;
}

/* A port on which nothing listens, another one each time. Below those that the system gives to
 * whoever asks for any: nothing else takes it before etcd has started, or while it is away. */
static uint16_t free_port(void)
{
    static uint32_t tried;
    for (;;) {
        const uint32_t at = ((uint32_t)getpid() * PORTS_APART + tried++) % PORTS;
        const struct sockaddr_in address = {
            .sin_family = AF_INET,
            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
            .sin_port = htons((uint16_t)(PORT_FIRST + at)),
        };
        const int socket_number = socket(AF_INET, SOCK_STREAM, 0);
        assert_true(socket_number >= 0);
        const bool is_free =
            bind(socket_number, (const struct sockaddr *)&address, sizeof(address)) == 0;
        assert_int_equal(close(socket_number), 0);
        if (is_free) {
            return ntohs(address.sin_port);
        }
        assert_true(tried < PORTS);
    }
}

static void be_etcd(const struct etcd_processes *etcd, uint32_t index)
{
    const char *scheme = etcd->certificate == NULL ? "http" : "https";
    char name[16];
    char data[TEXT_BYTES];
    char client[TEXT_BYTES];
    char peer[TEXT_BYTES];
    (void)snprintf(name, sizeof(name), "m%u", index);
    (void)snprintf(data, sizeof(data), "%s/m%u", etcd->folder, index);
    (void)snprintf(client, sizeof(client), "%s://127.0.0.1:%u", scheme, etcd->client_ports[index]);
    (void)snprintf(peer, sizeof(peer), "http://127.0.0.1:%u", etcd->peer_ports[index]);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nowhere = open("/dev/null", O_RDWR);
    (void)dup2(nowhere, STDOUT_FILENO);
    (void)dup2(nowhere, STDERR_FILENO);
    const char *const arguments[] = {
        "etcd",
        "--name",
        name,
        "--data-dir",
        data,
        "--listen-client-urls",
        client,
        "--advertise-client-urls",
        client,
        "--listen-peer-urls",
        peer,
        "--initial-advertise-peer-urls",
        peer,
        "--initial-cluster",
        etcd->cluster,
        "--unsafe-no-fsync",
        "--heartbeat-interval",
        "100",
        "--election-timeout",
        "1000",
        etcd->certificate == NULL ? NULL : "--cert-file",
        etcd->certificate,
        "--key-file",
        etcd->key,
        NULL};
    char *given[sizeof(arguments) / sizeof(arguments[0])];
    memcpy(given, arguments, sizeof(given));
    (void)execv("/usr/bin/etcd", given);
    _exit(127);
}

void etcd_start_one(struct etcd_processes *etcd, uint32_t index)
{
    assert_int_equal(etcd->pids[index], 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        be_etcd(etcd, index);
    }
    etcd->pids[index] = pid;
}

void etcd_kill_one(struct etcd_processes *etcd, uint32_t index)
{
    assert_int_equal(kill(etcd->pids[index], SIGKILL), 0);
    assert_int_equal(waitpid(etcd->pids[index], NULL, 0), etcd->pids[index]);
    etcd->pids[index] = 0;
}

/* What member @index answers to @body at @path, to be freed. NULL if it does not. */
static char *answer(
    const struct etcd_processes *etcd, uint32_t index, const char *path, const char *body,
    uint32_t timeout_s)
{
    char text[64];
    struct http_url url;
    struct http_reply reply;
    (void)snprintf(
        text, sizeof(text), "%s://localhost:%u", etcd->certificate == NULL ? "http" : "https",
        etcd->client_ports[index]);
    assert_int_equal(http_url_parse(text, &url, NULL), WEFT_OK);
    const struct http_call call = {
        .url = &url,
        .method = "POST",
        .path = path,
        .body = body,
        .body_bytes = strlen(body),
        .ca_file = etcd->authority,
        .timeout_s = timeout_s,
    };
    if (http_call(&call, &reply, NULL) != WEFT_OK) {
        return NULL;
    }
    if (reply.status != 200) {
        free(reply.body);
        return NULL;
    }
    return reply.body;
}

void etcd_compact(const struct etcd_processes *etcd, uint32_t index)
{
    char body[64];
    char *text = answer(etcd, index, LOOK_PATH, LOOK_BODY, PATIENCE_S);
    assert_non_null(text);
    const char *revision = strstr(text, "\"revision\":\"");
    assert_non_null(revision);
    (void)snprintf(
        body, sizeof(body), "{\"revision\":\"%lu\"}",
        strtoul(revision + strlen("\"revision\":\""), NULL, 10));
    free(text);
    etcd_ask(etcd, index, "/v3/kv/compaction", body);
}

void etcd_ask(const struct etcd_processes *etcd, uint32_t index, const char *path, const char *body)
{
    char *text = answer(etcd, index, path, body, PATIENCE_S);
    assert_non_null(text);
    free(text);
}

void etcd_wait(const struct etcd_processes *etcd)
{
    const struct timespec pause = {.tv_nsec = WAIT_MS * 1000000L};
    for (uint32_t i = 0; i < WAITS_MAX; i++) {
        for (uint32_t k = 0; k < etcd->count; k++) {
            char *text = etcd->pids[k] == 0 ? NULL : answer(etcd, k, LOOK_PATH, LOOK_BODY, LOOK_S);
            free(text);
            if (text != NULL) {
                return;
            }
        }
        (void)nanosleep(&pause, NULL);
    }
    fail_msg("etcd does not answer");
}

void etcd_start(struct etcd_processes *etcd, uint32_t count)
{
    size_t length = 0;
    assert_true(count <= ETCD_PROCESSES_MAX);
    etcd->count = count;
    (void)snprintf(etcd->folder, sizeof(etcd->folder), "/tmp/weft-etcd-XXXXXX");
    assert_non_null(mkdtemp(etcd->folder));
    for (uint32_t i = 0; i < count; i++) {
        etcd->client_ports[i] = free_port();
        etcd->peer_ports[i] = free_port();
        length += (size_t)snprintf(
            etcd->cluster + length, sizeof(etcd->cluster) - length, "%sm%u=http://127.0.0.1:%u",
            i == 0 ? "" : ",", i, etcd->peer_ports[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        etcd_start_one(etcd, i);
    }
    etcd_wait(etcd);
}

void etcd_stop(struct etcd_processes *etcd)
{
    char command[TEXT_BYTES];
    for (uint32_t i = 0; i < etcd->count; i++) {
        if (etcd->pids[i] != 0) {
            etcd_kill_one(etcd, i);
        }
    }
    (void)snprintf(command, sizeof(command), "rm -rf %s", etcd->folder);
    assert_int_equal(system(command), 0);
    *etcd = (struct etcd_processes){.count = 0};
}
