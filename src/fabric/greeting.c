#include "fabric/greeting.h"

#include <string.h>

#include "base/assert.h"

/*
 *   hello:    "weft"  version  from  to  from_incarnation  to_incarnation  agreement  nonce
 *             4       2        4     4   8                 8               8          16
 *   welcome:  incarnation  nonce  proof
 *             8            16     32
 *   proved:   side  hello  incarnation and nonce of the welcome
 */
enum {
    MAGIC = 0x74666577, /* "weft" */
    PROVED_BYTES = 1 + HELLO_BYTES + 8 + TRUST_NONCE_BYTES,
};

_Static_assert(HELLO_BYTES == 4 + 2 + 4 + 4 + 8 + 8 + 8 + TRUST_NONCE_BYTES, "as the page says");
_Static_assert(WELCOME_BYTES == 8 + TRUST_NONCE_BYTES + TRUST_PROOF_BYTES, "as the page says");

static void take_bytes(struct bytes_reader *reader, uint8_t *bytes_out, size_t count)
{
    const uint8_t *bytes = bytes_skip(reader, count);
    if (bytes != NULL) {
        memcpy(bytes_out, bytes, count);
    }
}

void hello_encode(const struct hello *hello, uint8_t bytes_out[HELLO_BYTES])
{
    struct bytes_writer writer = {.bytes = bytes_out, .count_max = HELLO_BYTES};
    bytes_put(&writer, MAGIC, 4);
    bytes_put(&writer, GREETING_VERSION, 2);
    bytes_put(&writer, hello->from, 4);
    bytes_put(&writer, hello->to, 4);
    bytes_put(&writer, hello->from_incarnation, 8);
    bytes_put(&writer, hello->to_incarnation, 8);
    bytes_put(&writer, hello->agreement, 8);
    bytes_copy(&writer, hello->nonce, TRUST_NONCE_BYTES);
    ASSERT(!writer.is_short && writer.count == HELLO_BYTES);
}

uint16_t hello_version(const uint8_t *bytes, size_t count)
{
    struct bytes_reader reader = {.bytes = bytes, .count = count};
    const bool is_hello = bytes_take(&reader, 4) == MAGIC;
    const uint16_t version = (uint16_t)bytes_take(&reader, 2);
    return is_hello && !reader.is_short ? version : 0;
}

bool hello_decode(const uint8_t *bytes, size_t count, struct hello *hello_out)
{
    struct bytes_reader reader = {.bytes = bytes, .count = count};
    const bool is_ours =
        bytes_take(&reader, 4) == MAGIC && bytes_take(&reader, 2) == GREETING_VERSION;
    hello_out->from = (uint32_t)bytes_take(&reader, 4);
    hello_out->to = (uint32_t)bytes_take(&reader, 4);
    hello_out->from_incarnation = bytes_take(&reader, 8);
    hello_out->to_incarnation = bytes_take(&reader, 8);
    hello_out->agreement = bytes_take(&reader, 8);
    take_bytes(&reader, hello_out->nonce, TRUST_NONCE_BYTES);
    return is_ours && bytes_is_spent(&reader);
}

void welcome_encode(const struct welcome *welcome, uint8_t bytes_out[WELCOME_BYTES])
{
    struct bytes_writer writer = {.bytes = bytes_out, .count_max = WELCOME_BYTES};
    bytes_put(&writer, welcome->incarnation, 8);
    bytes_copy(&writer, welcome->nonce, TRUST_NONCE_BYTES);
    bytes_copy(&writer, welcome->proof, TRUST_PROOF_BYTES);
}

bool welcome_decode(const uint8_t *bytes, size_t count, struct welcome *welcome_out)
{
    struct bytes_reader reader = {.bytes = bytes, .count = count};
    welcome_out->incarnation = bytes_take(&reader, 8);
    take_bytes(&reader, welcome_out->nonce, TRUST_NONCE_BYTES);
    take_bytes(&reader, welcome_out->proof, TRUST_PROOF_BYTES);
    return bytes_is_spent(&reader);
}

static void write_proved(
    const struct hello *hello, const struct welcome *welcome, bool is_dialer,
    uint8_t bytes_out[PROVED_BYTES])
{
    bytes_out[0] = is_dialer ? 'd' : 'l';
    hello_encode(hello, bytes_out + 1);
    struct bytes_writer writer = {
        .bytes = bytes_out + 1 + HELLO_BYTES, .count_max = 8 + TRUST_NONCE_BYTES};
    bytes_put(&writer, welcome->incarnation, 8);
    bytes_copy(&writer, welcome->nonce, TRUST_NONCE_BYTES);
}

void greeting_prove(
    const struct trust *trust, const struct hello *hello, const struct welcome *welcome,
    bool is_dialer, uint8_t proof_out[TRUST_PROOF_BYTES])
{
    uint8_t proved[PROVED_BYTES];
    write_proved(hello, welcome, is_dialer, proved);
    trust_prove(trust, proved, sizeof(proved), proof_out);
}

bool greeting_is_proven(
    const struct trust *trust, const struct hello *hello, const struct welcome *welcome,
    bool is_dialer, const uint8_t proof[TRUST_PROOF_BYTES])
{
    uint8_t proved[PROVED_BYTES];
    write_proved(hello, welcome, is_dialer, proved);
    return trust_is_proven(trust, proved, sizeof(proved), proof);
}
