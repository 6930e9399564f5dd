#include "service/edit_distance.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"

/* What is compared: letters, or words by their hashes. */
struct symbols {
    uint64_t *items;
    uint64_t count;
};

static bool is_letter(char byte)
{
    const unsigned char letter = (unsigned char)byte;
    return letter >= 0x80 || isalnum(letter);
}

static struct symbols letters_of(const char *text)
{
    struct symbols symbols = {.items = memory_zeroed(strlen(text) + 1, sizeof(uint64_t))};
    for (; *text != '\0'; text++) {
        if (is_letter(*text)) {
            symbols.items[symbols.count++] = (uint64_t)tolower((unsigned char)*text);
        }
    }
    return symbols;
}

static struct symbols words_of(const char *text)
{
    struct symbols symbols = {.items = memory_zeroed(strlen(text) + 1, sizeof(uint64_t))};
    bool is_inside = false;
    for (; *text != '\0'; text++) {
        if (!is_letter(*text)) {
            is_inside = false;
            continue;
        }
        if (!is_inside) {
            symbols.items[symbols.count++] = UINT64_C(14695981039346656037);
            is_inside = true;
        }
        uint64_t *word = &symbols.items[symbols.count - 1]; /* FNV-1a. */
        *word = (*word ^ (uint64_t)tolower((unsigned char)*text)) * UINT64_C(1099511628211);
    }
    return symbols;
}

/* Levenshtein's distance, a row at a time. */
static struct edit_distance compare(struct symbols text, struct symbols expected)
{
    uint64_t *row = memory_zeroed((size_t)expected.count + 1, sizeof(*row));
    for (uint64_t k = 0; k <= expected.count; k++) {
        row[k] = k;
    }
    for (uint64_t i = 0; i < text.count; i++) {
        uint64_t corner = row[0];
        row[0] = i + 1;
        for (uint64_t k = 0; k < expected.count; k++) {
            const uint64_t other = corner + (text.items[i] == expected.items[k] ? 0 : 1);
            corner = row[k + 1];
            row[k + 1] = min_u64(other, min_u64(row[k], row[k + 1]) + 1);
        }
    }
    const struct edit_distance distance = {.edits = row[expected.count], .length = expected.count};
    free(row);
    free(text.items);
    free(expected.items);
    return distance;
}

struct edit_distance edit_distance_letters(const char *text, const char *expected)
{
    return compare(letters_of(text), letters_of(expected));
}

struct edit_distance edit_distance_words(const char *text, const char *expected)
{
    return compare(words_of(text), words_of(expected));
}
