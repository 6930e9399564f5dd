#include "policy/compass_cache.h"

/*
 * How long until @entry is used: by what waits, or else by how often it was used. While it is idle
 * for longer than usual, that is a gap, too; and the only one known of a model used once.
 */
static double next_span(const struct cache_entry *entry)
{
    if (entry->next_use != NEXT_USE_NEVER) {
        return (double)entry->next_use + 1;
    }
    const double idle = (double)entry->idle + 1;
    const double gap = (double)entry->gap;
    if (gap == 0) {
        return idle;
    }
    return idle > gap ? gap + (idle - gap) / 8 : gap;
}

/*
 * Whether @left is to leave before @right: what nothing waits for comes first, then what saves the
 * least load time in its memory. That is load time per use, byte and time until the use; per byte,
 * because one large model leaves room for many small ones.
 */
static bool leaves_before(const struct cache_entry *left, const struct cache_entry *right)
{
    const bool left_wanted = left->next_use != NEXT_USE_NEVER;
    const bool right_wanted = right->next_use != NEXT_USE_NEVER;
    if (left_wanted != right_wanted) {
        return right_wanted;
    }
    return (double)left->load_ns * ((double)right->bytes * next_span(right)) <
           (double)right->load_ns * ((double)left->bytes * next_span(left));
}

uint32_t compass_victim(const struct policy_input *input, const struct cache_facts *cache)
{
    (void)input;
    uint32_t best = 0;
    for (uint32_t i = 1; i < cache->count; i++) {
        if (leaves_before(&cache->entries[i], &cache->entries[best])) {
            best = i;
        }
    }
    return best;
}

uint32_t compass_prefetch(const struct policy_input *input, const struct cache_facts *cache)
{
    (void)input;
    const bool fits = cache->count > 0 && cache->entries[0].bytes <= cache->free_bytes;
    return fits ? 0 : UINT32_MAX;
}
