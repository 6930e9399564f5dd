#include "document/scalar_save.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

enum { NUMBER_BYTES = 40, NS_PER_MS = 1000000, MS_DECIMALS = 6 };

struct unit {
    const char *name;
    uint64_t scale;
};

static void write_scaled(uint64_t value, const struct unit *units, FILE *file)
{
    while (units->scale > 1 && (value == 0 || value % units->scale != 0)) {
        units++;
    }
    (void)fprintf(file, "%" PRIu64 "%s", value / units->scale, units->name);
}

void scalar_write_bytes(uint64_t bytes, FILE *file)
{
    static const struct unit units[] = {{"GB", 1000000000}, {"MB", 1000000}, {"KB", 1000}, {"", 1}};
    write_scaled(bytes, units, file);
}

void scalar_write_bandwidth(uint64_t bytes_per_s, FILE *file)
{
    static const struct unit units[] = {
        {"GB/s", 1000000000},
        {"MB/s", 1000000},
        {"KB/s", 1000},
        {"B/s", 1},
    };
    write_scaled(bytes_per_s, units, file);
}

void scalar_write_duration(int64_t ns, FILE *file)
{
    static const struct unit units[] = {
        {"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
    ASSERT(ns >= 0);
    write_scaled((uint64_t)ns, units, file);
}

void scalar_write_ms(int64_t ns, FILE *file)
{
    ASSERT(ns >= 0);
    int64_t fraction = ns % NS_PER_MS;
    int decimals = MS_DECIMALS;
    while (decimals > 0 && fraction % 10 == 0) {
        fraction /= 10;
        decimals--;
    }
    (void)fprintf(file, "%" PRId64, ns / NS_PER_MS);
    if (decimals > 0) {
        (void)fprintf(file, ".%0*" PRId64, decimals, fraction);
    }
}

void scalar_write_number(double number, FILE *file)
{
    char text[NUMBER_BYTES];
    ASSERT(isfinite(number));
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, number);
        if (strtod(text, NULL) == number) {
            break;
        }
    }
    (void)fputs(text, file);
}

static bool is_plain(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const size_t length = strlen(text);
    return length > 0 && strspn(text, letters) > 0 &&
           strspn(text + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
               length - 1;
}

void scalar_write_text(const char *text, FILE *file)
{
    if (is_plain(text)) {
        (void)fputs(text, file);
        return;
    }
    (void)fputc('"', file);
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            (void)fprintf(file, "\\%c", *at);
        } else if ((unsigned char)*at < ' ') {
            (void)fprintf(file, "\\x%02x", (unsigned)(unsigned char)*at);
        } else {
            (void)fputc(*at, file);
        }
    }
    (void)fputc('"', file);
}
