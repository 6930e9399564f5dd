/*
 * Where one request ends and the next begins, whatever became of the first: one that is
 * refused in the middle of its body must not take bytes of the next one with it, nor leave
 * bytes of its own to be read as one.
 *
 * Covers: src/server/http_process.c src/server/http_write.c src/server/infer.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "serving/tls_client.h"
#include "serving/world.h"

enum { TEXT_BYTES_MAX = 1 << 18, SKIPPED_BYTES_MAX = 65536 };

/* What the tail of a refused request is made of: requests that must not be seen. */
#define INNER "GET /v2/models/inner HTTP/1.1\r\nHost: h\r\n\r\n"
#define NEXT  "GET /v2/models/next HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

/* JSON that is refused, whatever follows it: what stands before that number, and behind it. */
struct refusal {
    const char *before;
    const char *behind;
    const char *part; /* Of the answer. */
};

#define NAMED "\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":"
static const struct refusal refusals[] = {
    {"{\"inputs\":[{\"name\":\"x\",\"shape\":[1,1]," NAMED, "}}]}", "has shape"},
    {"{\"inputs\":[{\"name\":\"nobody\",\"shape\":[1]," NAMED, "}}]}", "has no input"},
    {"{\"inputs\":[{\"name\":\"x\",\"shape\":[123456789]," NAMED, "}}]}", "binary_data_size is"},
    {"{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[1],\"y\":", "}]}",
     "bytes follow the JSON"},
};

/* Put a request that is refused, with a tail of @tail bytes, to @text. Returns its length. */
static size_t put_refused(char *text, const struct refusal *refusal, size_t tail)
{
    char json[256];
    const int json_bytes =
        snprintf(json, sizeof(json), "%s%zu%s", refusal->before, tail, refusal->behind);
    size_t length = (size_t)snprintf(
        text, TEXT_BYTES_MAX,
        "POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nInference-Header-Content-Length: %d\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        json_bytes, (size_t)json_bytes + tail, json);
    for (size_t i = 0; i < tail; i++) {
        text[length++] = INNER[i % (sizeof(INNER) - 1)];
    }
    return length;
}

/* The same in chunks of @step bytes. */
static size_t put_chunked(char *text, const struct refusal *refusal, size_t tail, size_t step)
{
    char json[256];
    const int json_bytes =
        snprintf(json, sizeof(json), "%s%zu%s", refusal->before, tail, refusal->behind);
    char *body = memory_zeroed(1, (size_t)json_bytes + tail + 1);
    const size_t body_bytes = (size_t)json_bytes + tail;
    (void)memcpy(body, json, (size_t)json_bytes);
    for (size_t i = 0; i < tail; i++) {
        body[(size_t)json_bytes + i] = INNER[i % (sizeof(INNER) - 1)];
    }
    size_t length = (size_t)snprintf(
        text, TEXT_BYTES_MAX,
        "POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nInference-Header-Content-Length: %d\r\n"
        "Transfer-Encoding: chunked\r\n\r\n",
        json_bytes);
    for (size_t at = 0; at < body_bytes; at += step) {
        const size_t count = body_bytes - at < step ? body_bytes - at : step;
        length += (size_t)snprintf(text + length, 16, "%zx\r\n", count);
        (void)memcpy(text + length, body + at, count);
        length += count;
        text[length++] = '\r';
        text[length++] = '\n';
    }
    (void)memcpy(text + length, "0\r\n\r\n", 5);
    free(body);
    return length + 5;
}

static uint32_t count_answers(const char *reply)
{
    uint32_t count = 0;
    const char *at = reply;
    while ((at = strstr(at, "HTTP/1.1 ")) != NULL) {
        at++;
        count++;
    }
    return count;
}

struct conversation {
    bool is_tls;
    char *text;
    size_t length;
    char *reply;
};

static void converse(struct world *world, void *context)
{
    struct conversation *conversation = context;
    const int descriptor = world_dial(world);
    if (conversation->is_tls) {
        conversation->reply = tls_client_ask(descriptor, conversation->text, conversation->length);
    } else {
        (void)world_say(descriptor, conversation->text, conversation->length);
        conversation->reply = world_hear(descriptor, NULL);
    }
    (void)close(descriptor);
}

/* Say it, and NEXT behind it: both are answered, or the first alone and then no more. */
static void check_step(
    struct world *world, struct conversation *conversation, const char *part, bool is_kept)
{
    (void)memcpy(conversation->text + conversation->length, NEXT, sizeof(NEXT));
    conversation->length += strlen(NEXT);
    world_run(world, converse, conversation);
    const char *reply = conversation->reply;
    const bool is_next = strstr(reply, "there is no model 'next'") != NULL;
    if (strncmp(reply, "HTTP/1.1 400 ", 13) != 0 || strstr(reply, part) == NULL ||
        strstr(reply, "inner") != NULL || is_next != is_kept ||
        count_answers(reply) != (is_kept ? 2 : 1)) {
        fail_msg("%s, %zu bytes: %s", part, conversation->length, reply);
    }
    free(conversation->reply);
}

static const size_t tails[] = {
    1,
    4,
    8,
    32,
    sizeof(INNER) - 1,
    sizeof(NEXT) - 1,
    2048,
    3700,
    3800,
    3900,
    4000,
    4095,
    4096,
    4097,
    8191,
    8192,
    8193,
    9000,
    16383,
    16384,
    16385,
    65535,
    65536};

static void check_all(struct world *world, bool is_tls)
{
    struct conversation conversation = {.is_tls = is_tls, .text = memory_zeroed(1, TEXT_BYTES_MAX)};
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        for (size_t k = 0; k < sizeof(tails) / sizeof(tails[0]); k++) {
            conversation.length = put_refused(conversation.text, &refusals[i], tails[k]);
            check_step(world, &conversation, refusals[i].part, /* is_kept */ true);
        }
        conversation.length = put_chunked(conversation.text, &refusals[i], /* tail */ 8, 100);
        check_step(world, &conversation, refusals[i].part, /* is_kept */ true);
        conversation.length = put_chunked(conversation.text, &refusals[i], 9000, 1000);
        check_step(world, &conversation, refusals[i].part, /* is_kept */ true);
    }
    free(conversation.text);
}

static void a_refused_request_takes_nothing_of_the_next(ATTR_UNUSED void **state)
{
    struct world world;
    world_start(&world, /* options */ NULL);
    check_all(&world, /* is_tls */ false);
    world_stop(&world);
}

static void nor_does_it_under_tls(ATTR_UNUSED void **state)
{
    char certificate[] = "/tmp/weft-certificate-XXXXXX";
    char key[] = "/tmp/weft-key-XXXXXX";
    tls_client_certify(certificate, key);
    const struct server_options options = {.tls_certificate = certificate, .tls_key = key};
    struct world world;
    world_start(&world, &options);
    (void)unlink(certificate);
    (void)unlink(key);
    check_all(&world, /* is_tls */ true);
    world_stop(&world);
}

/* Too long a tail is not waited for, and nothing of it is read as a request. */
static void a_long_tail_ends_the_connection(ATTR_UNUSED void **state)
{
    struct world world;
    struct conversation conversation = {.text = memory_zeroed(1, TEXT_BYTES_MAX)};
    world_start(&world, /* options */ NULL);
    conversation.length =
        put_refused(conversation.text, &refusals[0], SKIPPED_BYTES_MAX + /* a read */ 16384);
    check_step(&world, &conversation, refusals[0].part, /* is_kept */ false);
    free(conversation.text);
    world_stop(&world);
}

/* A chunked body that is too large is refused before its end: nothing behind it is read. */
static void a_chunked_body_refused_early_ends_the_connection(ATTR_UNUSED void **state)
{
    static const char text[] =
        "POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        "10\r\n0123456789abcdef\r\nfff\r\n" INNER INNER NEXT;
    const struct server_options options = {.limits = {.body_bytes_max = 1000}};
    struct world world;
    world_start(&world, &options);
    char *reply = world_ask(&world, text, sizeof(text) - 1);
    assert_non_null(strstr(reply, "HTTP/1.1 413 "));
    assert_int_equal(count_answers(reply), 1);
    free(reply);
    world_stop(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_request_takes_nothing_of_the_next),
        cmocka_unit_test(nor_does_it_under_tls),
        cmocka_unit_test(a_long_tail_ends_the_connection),
        cmocka_unit_test(a_chunked_body_refused_early_ends_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
