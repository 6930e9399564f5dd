#include "base/suggest.h"

#include <stdbool.h>
#include <string.h>

#include "base/numbers.h"

enum { LENGTH_MAX = 40, DISTANCE_MAX = 2 };

/* How many letters must be added, dropped, changed or swapped with the next (Damerau). */
static uint32_t distance_between(const char *a, const char *b)
{
    const size_t a_length = strlen(a);
    const size_t b_length = strlen(b);
    uint32_t cost[LENGTH_MAX + 1][LENGTH_MAX + 1];
    for (uint32_t j = 0; j <= b_length; j++) {
        cost[0][j] = j;
    }
    for (uint32_t i = 1; i <= a_length; i++) {
        cost[i][0] = i;
        for (uint32_t j = 1; j <= b_length; j++) {
            const uint32_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            cost[i][j] = min_u32(cost[i - 1][j] + 1, cost[i][j - 1] + 1);
            cost[i][j] = min_u32(cost[i][j], cost[i - 1][j - 1] + change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost[i][j] = min_u32(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[a_length][b_length];
}

static const char *without_dashes(const char *name)
{
    return name + strspn(name, "-");
}

struct suggestion suggest_for(const char *wrong)
{
    return (struct suggestion){.wrong = without_dashes(wrong), .distance = DISTANCE_MAX + 1};
}

void suggest_consider(struct suggestion *suggestion, const char *name)
{
    const char *plain = without_dashes(name);
    const size_t begun = strlen(suggestion->wrong);
    const size_t length = strlen(plain);
    if (begun > LENGTH_MAX || length > LENGTH_MAX) {
        return;
    }
    const bool is_begun = begun >= 2 && strncmp(suggestion->wrong, plain, begun) == 0;
    const uint32_t distance = is_begun ? 1 : distance_between(suggestion->wrong, plain);
    /* A word of which not half is left is another word. */
    if (distance < suggestion->distance && distance <= length / 2) {
        suggestion->name = name;
        suggestion->distance = distance;
    }
}
