#include "base/utf8.h"

#include <string.h>

uint32_t utf8_bytes(const uint8_t *at, size_t left)
{
    const uint8_t c = at[0];
    if (c < 0x80) {
        return 1;
    }
    const uint32_t bytes = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || left < bytes) {
        return 0;
    }
    for (uint32_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    const int is_wrong = (c == 0xe0 && at[1] < 0xa0) || (c == 0xed && at[1] > 0x9f) ||
                         (c == 0xf0 && at[1] < 0x90) || (c == 0xf4 && at[1] > 0x8f);
    return is_wrong ? 0 : bytes;
}

bool utf8_is_cut(const uint8_t *at, size_t left)
{
    const uint8_t c = at[0];
    const uint32_t bytes = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || left >= bytes) {
        return false;
    }
    for (size_t i = 1; i < left; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return false;
        }
    }
    return true;
}

bool utf8_is_control(const uint8_t *at, uint32_t count)
{
    return at[0] < ' ' || at[0] == 0x7f ||
           (count == 2 && at[0] == 0xc2 && at[1] < 0xa0); /* U+0080 to U+009F */
}

bool utf8_is_plain(const char *text, size_t count)
{
    const uint8_t *at = (const uint8_t *)text;
    while (count > 0) {
        const uint32_t bytes = utf8_bytes(at, count);
        if (bytes == 0 || utf8_is_control(at, bytes)) {
            return false;
        }
        at += bytes;
        count -= bytes;
    }
    return true;
}

size_t utf8_write_plain(const char *text, char *out, size_t capacity)
{
    const uint8_t *at = (const uint8_t *)text;
    size_t left = strlen(text);
    size_t length = 0;
    while (left > 0 && (utf8_bytes(at, left) > 0 || !utf8_is_cut(at, left))) {
        const uint32_t bytes = utf8_bytes(at, left);
        const bool is_plain = bytes > 0 && !utf8_is_control(at, bytes);
        const uint32_t written = is_plain ? bytes : 1;
        if (length + written >= capacity) {
            break;
        }
        memcpy(out + length, is_plain ? (const char *)at : "?", written);
        length += written;
        at += bytes == 0 ? 1 : bytes;
        left -= bytes == 0 ? 1 : bytes;
    }
    out[length] = '\0';
    return length;
}
