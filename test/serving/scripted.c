#include "serving/scripted.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"

enum { LOOK_MS = 20, HEAD_BYTES = 4096, PIECE_BYTES = 65536 };

struct served {
    struct scripted *scripted;
    int descriptor;
};

/* Wait for @events. False if the test is over. */
static bool wait_for(const struct served *served, short events)
{
    struct pollfd watched = {.fd = served->descriptor, .events = events};
    while (!atomic_load(&served->scripted->is_over)) {
        if (poll(&watched, 1, LOOK_MS) > 0) {
            return true;
        }
    }
    return false;
}

static bool say(const struct served *served, const char *text)
{
    size_t left = text == NULL ? 0 : strlen(text);
    while (left > 0) {
        if (!wait_for(served, POLLOUT)) {
            return false;
        }
        const ssize_t sent = send(served->descriptor, text, left, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent <= 0) {
            return false;
        }
        text += sent;
        left -= (size_t)sent;
    }
    return true;
}

static ssize_t hear(const struct served *served, char *bytes, size_t count)
{
    return wait_for(served, POLLIN) ? recv(served->descriptor, bytes, count, MSG_DONTWAIT) : -1;
}

/* Read a request. False if there is none. */
static bool read_request(const struct served *served)
{
    static const char name[] = "Content-Length: ";
    char head[HEAD_BYTES + 1] = "";
    size_t length = 0;
    const char *end = NULL;
    while (end == NULL) {
        const ssize_t got = hear(served, head + length, HEAD_BYTES - length);
        if (got <= 0) {
            return false;
        }
        length += (size_t)got;
        head[length] = '\0';
        end = strstr(head, "\r\n\r\n");
    }
    (void)atomic_fetch_add(&served->scripted->requests, 1);
    const char *size = strstr(head, name);
    size_t left = size == NULL ? 0 : strtoul(size + sizeof(name) - 1, NULL, 10);
    const size_t come = length - (size_t)(end + 4 - head);
    left = left > come ? left - come : 0;
    while (left > 0) {
        char piece[PIECE_BYTES];
        const ssize_t got = hear(served, piece, left < sizeof(piece) ? left : sizeof(piece));
        if (got <= 0) {
            return false;
        }
        left -= (size_t)got;
    }
    return true;
}

static void follow(const struct served *served)
{
    const struct script *script = &served->scripted->script;
    uint32_t answers = 0;
    bool goes_on = true;
    while (goes_on) {
        goes_on = (script->reads_nothing || read_request(served)) && say(served, script->first);
        while (goes_on && script->then != NULL) {
            (void)poll(NULL, 0, (int)script->pause_ms);
            goes_on = say(served, script->then);
        }
        answers++;
        goes_on = goes_on && script->end == SCRIPT_AGAIN && answers != script->answers_max;
    }
    if (script->end == SCRIPT_STAY) {
        (void)wait_for(served, 0);
    }
    if (script->end == SCRIPT_RESET) {
        const struct linger at_once = {.l_onoff = 1};
        (void)setsockopt(served->descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
}

static void *serve_one(void *argument)
{
    struct served *served = argument;
    follow(served);
    (void)close(served->descriptor);
    free(served);
    return NULL;
}

static void *serve(void *argument)
{
    struct scripted *scripted = argument;
    const struct served listener = {.scripted = scripted, .descriptor = scripted->listener};
    while (wait_for(&listener, POLLIN)) {
        const int descriptor = accept(scripted->listener, NULL, NULL);
        if (descriptor < 0 || scripted->count == SCRIPTED_CONNECTIONS_MAX) {
            (void)close(descriptor);
            continue;
        }
        struct served *served = malloc(sizeof(*served));
        ASSERT(served != NULL);
        *served = (struct served){.scripted = scripted, .descriptor = descriptor};
        const int failed =
            pthread_create(&scripted->threads[scripted->count], NULL, serve_one, served);
        ASSERT(failed == 0);
        scripted->count++;
    }
    return NULL;
}

void scripted_start(struct scripted *scripted, struct script script)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    *scripted = (struct scripted){.script = script};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    scripted->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT(scripted->listener >= 0);
    int failed = bind(scripted->listener, (const struct sockaddr *)&address, sizeof(address));
    ASSERT(failed == 0);
    failed = listen(scripted->listener, SCRIPTED_CONNECTIONS_MAX);
    ASSERT(failed == 0);
    failed = getsockname(scripted->listener, (struct sockaddr *)&address, &size);
    ASSERT(failed == 0);
    (void)snprintf(scripted->url.host, sizeof(scripted->url.host), "127.0.0.1");
    (void)snprintf(
        scripted->url.port, sizeof(scripted->url.port), "%u", (unsigned)ntohs(address.sin_port));
    failed = pthread_create(&scripted->thread, NULL, serve, scripted);
    ASSERT(failed == 0);
}

void scripted_stop(struct scripted *scripted)
{
    atomic_store(&scripted->is_over, true);
    (void)pthread_join(scripted->thread, NULL);
    for (uint32_t i = 0; i < scripted->count; i++) {
        (void)pthread_join(scripted->threads[i], NULL);
    }
    (void)close(scripted->listener);
}
