#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/units.h"

struct unit {
    const char *name;
    uint64_t size;
};

void text_init(struct text *text, char *bytes, size_t capacity)
{
    ASSERT(capacity > 0);

    *text = (struct text){.bytes = bytes, .capacity = capacity};
    bytes[0] = '\0';
}

void text_add(struct text *text, const char *format, ...)
{
    if (text->cut) {
        return; /* Text after a gap would read as if nothing were missing. */
    }
    const size_t room = text->capacity - text->length;

    va_list args;
    va_start(args, format);
    const int length = vsnprintf(text->bytes + text->length, room, format, args);
    va_end(args);
    ASSERT(length >= 0); /* Only a malformed format fails, and those are literals. */

    text->cut = (size_t)length >= room;
    text->length += text->cut ? room - 1 : (size_t)length;
}

static void put(struct text *text, const char *more, size_t length)
{
    if (text->cut) {
        return;
    }
    const size_t room = text->capacity - text->length;
    text->cut = length >= room;
    const size_t count = text->cut ? room - 1 : length;
    memcpy(text->bytes + text->length, more, count);
    text->length += count;
    text->bytes[text->length] = '\0';
}

void text_put(struct text *text, const char *more)
{
    put(text, more, strlen(more));
}

void text_put_number(struct text *text, uint64_t number)
{
    char digits[TEXT_NUMBER_BYTES];
    put(text, digits, text_decimals(digits, number));
}

size_t text_decimals(char out[static TEXT_NUMBER_BYTES], uint64_t number)
{
    char digits[TEXT_NUMBER_BYTES];
    size_t first = TEXT_NUMBER_BYTES;
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(out, digits + first, TEXT_NUMBER_BYTES - first);
    return TEXT_NUMBER_BYTES - first;
}

/*
 * Write @value in the largest of @units that it reaches. In the chosen unit the
 * value is rounded to thousandths; if that makes a whole larger unit, it is used
 * instead: 999.9999us reads as 1ms. The last unit is the largest.
 */
static void write_scaled(
    struct text *text, uint64_t value, const struct unit *units, uint32_t count)
{
    uint32_t i = 0;
    while (i + 1 < count && value >= units[i + 1].size) {
        i++;
    }
    const uint64_t size = units[i].size;
    uint64_t whole = value / size;
    uint64_t thousandths = (value % size * 1000 + size / 2) / size;
    if (thousandths == 1000) {
        whole++;
        thousandths = 0;
        if (i + 1 < count && whole * size == units[i + 1].size) {
            whole = 1;
            i++;
        }
    }

    text_add(text, "%" PRIu64, whole);
    if (thousandths > 0) {
        int digits = 3;
        for (; thousandths % 10 == 0; thousandths /= 10) {
            digits--;
        }
        text_add(text, ".%0*" PRIu64, digits, thousandths);
    }
    text_add(text, "%s", units[i].name);
    ASSERT(!text->cut);
}

char *text_duration(char out[static TEXT_SCALED_BYTES], int64_t ns)
{
    static const struct unit units[] = {
        {"ns", 1},
        {"us", UINT64_C(1000)},
        {"ms", NS_PER_MS},
        {"s", NS_PER_S},
    };
    /* Negated as unsigned: the most negative duration has no positive counterpart. */
    const uint64_t magnitude = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    struct text text;

    text_init(&text, out, TEXT_SCALED_BYTES);
    if (ns < 0) {
        text_add(&text, "-");
    }
    write_scaled(&text, magnitude, units, ARRAY_COUNT(units));
    return out;
}

char *text_bytes(char out[static TEXT_SCALED_BYTES], uint64_t bytes)
{
    static const struct unit units[] = {
        {"B", 1},
        {"KiB", UINT64_C(1) << 10},
        {"MiB", UINT64_C(1) << 20},
        {"GiB", UINT64_C(1) << 30},
        {"TiB", UINT64_C(1) << 40},
    };
    struct text text;

    text_init(&text, out, TEXT_SCALED_BYTES);
    write_scaled(&text, bytes, units, ARRAY_COUNT(units));
    return out;
}

void text_hex(char *out, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * count] = '\0';
}
