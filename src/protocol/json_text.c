#include "protocol/json_text.h"

#include <stdio.h>
#include <string.h>

static uint32_t utf8_write(uint32_t code, uint8_t out[4])
{
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xc0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xe0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (code & 0x3f));
    return 4;
}

/* Four hexadecimal digits at @at; UINT32_MAX if they are none. */
static uint32_t read_four(const char *at, const char *end)
{
    uint32_t value = 0;
    if (end - at < 4) {
        return UINT32_MAX;
    }
    for (uint32_t i = 0; i < 4; i++) {
        const char c = at[i];
        uint32_t digit;
        if (c >= '0' && c <= '9') {
            digit = (uint32_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = (uint32_t)(c - 'a') + 10;
        } else if (c >= 'A' && c <= 'F') {
            digit = (uint32_t)(c - 'A') + 10;
        } else {
            return UINT32_MAX;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* The code behind "\u", and of a second half if the first asks for one. NULL: wrong. */
static const char *read_code(const char *at, const char *end, uint32_t *code_out)
{
    const uint32_t first = read_four(at, end);
    at += 4;
    if (first == UINT32_MAX || (first >= 0xdc00 && first <= 0xdfff)) {
        return NULL;
    }
    *code_out = first;
    if (first < 0xd800 || first > 0xdbff) {
        return at;
    }
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') {
        return NULL;
    }
    const uint32_t second = read_four(at + 2, end);
    if (second < 0xdc00 || second > 0xdfff) {
        return NULL;
    }
    *code_out = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    return at + 6;
}

/* The escape behind a backslash. NULL: wrong. */
static const char *read_escape(const char *at, const char *end, uint8_t out[4], uint32_t *bytes_out)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    if (at == end) {
        return NULL;
    }
    if (*at == 'u') {
        uint32_t code = 0;
        at = read_code(at + 1, end, &code);
        *bytes_out = at == NULL ? 0 : utf8_write(code, out);
        return at;
    }
    const char *letter = *at == '\0' ? NULL : strchr(letters, *at);
    if (letter == NULL) {
        return NULL;
    }
    out[0] = (uint8_t)meanings[letter - letters];
    *bytes_out = 1;
    return at + 1;
}

const char *json_text_decode(const char *at, const char *end, uint8_t *out, uint64_t *length_out)
{
    uint64_t length = 0;
    if (at == end || *at != '"') {
        return NULL;
    }
    at++;
    while (at < end && *at != '"') {
        uint8_t character[4];
        uint32_t bytes = 0;
        if (*at == '\\') {
            at = read_escape(at + 1, end, character, &bytes);
            if (at == NULL) {
                return NULL;
            }
        } else {
            bytes = (uint8_t)*at < ' ' ? 0 : utf8_bytes((const uint8_t *)at, (size_t)(end - at));
            if (bytes == 0) {
                return NULL;
            }
            (void)memcpy(character, at, bytes);
            at += bytes;
        }
        if (out != NULL) {
            (void)memcpy(out + length, character, bytes);
        }
        length += bytes;
    }
    *length_out = length;
    return at < end ? at + 1 : NULL;
}

size_t json_text_encode(const void *bytes, size_t length, char *out)
{
    static const char hex[] = "0123456789abcdef";
    static const char unknown[3] = {'\xef', '\xbf', '\xbd'}; /* U+FFFD */
    static const char escape[4] = {'\\', 'u', '0', '0'};
    const uint8_t *in = bytes;
    char *at = out;
    size_t i = 0;
    *at++ = '"';
    while (i < length) {
        const uint32_t count = utf8_bytes(in + i, length - i);
        if (count == 0) {
            (void)memcpy(at, unknown, sizeof(unknown));
            at += sizeof(unknown);
            i++;
            continue;
        }
        if (in[i] == '"' || in[i] == '\\') {
            *at++ = '\\';
            *at++ = (char)in[i];
        } else if (in[i] < ' ') {
            (void)memcpy(at, escape, sizeof(escape));
            at[4] = hex[in[i] >> 4];
            at[5] = hex[in[i] & 15];
            at += 6;
        } else {
            (void)memcpy(at, in + i, count);
            at += count;
        }
        i += count;
    }
    *at++ = '"';
    return (size_t)(at - out);
}
