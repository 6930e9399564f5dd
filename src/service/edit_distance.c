#include "service/edit_distance.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"

/* The letters that are compared. */
struct letters {
    char *items;
    uint64_t count;
};

static bool is_letter(char byte)
{
    const unsigned char letter = (unsigned char)byte;
    return letter >= 0x80 || isalnum(letter);
}

static struct letters letters_of(const char *text)
{
    struct letters letters = {.items = memory_zeroed(strlen(text) + 1, sizeof(char))};
    for (; *text != '\0'; text++) {
        if (is_letter(*text)) {
            letters.items[letters.count++] = (char)tolower((unsigned char)*text);
        }
    }
    return letters;
}

/* Levenshtein's distance, a row at a time. */
static struct edit_distance compare(struct letters text, struct letters expected)
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
