#include "cli/clocks.h"

#include "base/numbers.h"

void clocks_init(struct clocks *clocks, uint32_t count)
{
    *clocks = (struct clocks){.count = count};
    for (uint32_t i = 0; i < CLOCKS_MAX * CLOCKS_MAX; i++) {
        clocks->trips_ns[i / CLOCKS_MAX][i % CLOCKS_MAX] = INT64_MAX;
    }
}

void clocks_note(struct clocks *clocks, uint32_t from, int64_t from_ns, uint32_t to, int64_t to_ns)
{
    int64_t *shortest_ns = &clocks->trips_ns[from][to];
    *shortest_ns = min_i64(*shortest_ns, to_ns - from_ns);
}

/* Half of the fastest round trip between @a and @b; INT64_MAX without one. */
static int64_t error_between_ns(const struct clocks *clocks, uint32_t a, uint32_t b)
{
    const int64_t there_ns = clocks->trips_ns[a][b];
    const int64_t back_ns = clocks->trips_ns[b][a];
    if (there_ns == INT64_MAX || back_ns == INT64_MAX) {
        return INT64_MAX;
    }
    return max_i64(there_ns + back_ns, 0) / 2; /* A clock may drift by more than the fastest. */
}

/* Compare one more, over the known clock that allows the smallest error. False: there is none. */
static bool compare_next(struct clocks *clocks)
{
    int64_t best_ns = INT64_MAX;
    uint32_t next = 0;
    uint32_t over = 0;
    for (uint32_t i = 0; i < clocks->count * clocks->count; i++) {
        const uint32_t known = i / clocks->count;
        const uint32_t other = i % clocks->count;
        const int64_t error_ns = error_between_ns(clocks, known, other);
        if (clocks->is_known[known] && !clocks->is_known[other] && error_ns != INT64_MAX &&
            clocks->error_ns[known] + error_ns < best_ns) {
            best_ns = clocks->error_ns[known] + error_ns;
            next = other;
            over = known;
        }
    }
    if (best_ns == INT64_MAX) {
        return false;
    }
    clocks->is_known[next] = true;
    clocks->error_ns[next] = best_ns;
    clocks->ahead_ns[next] =
        clocks->ahead_ns[over] + (clocks->trips_ns[over][next] - clocks->trips_ns[next][over]) / 2;
    return true;
}

bool clocks_compare(struct clocks *clocks)
{
    uint32_t known = 1;
    clocks->is_known[0] = true;
    while (compare_next(clocks)) {
        known++;
    }
    return known == clocks->count;
}
