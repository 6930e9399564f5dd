#include "policy/compass_cache.h"

#include "policy/compass_cost.h"

__extension__ typedef __int128 compass_product;

/* How long a model has been or will be idle: since its last use, or until its next. */
static int64_t idle_span(const struct cache_entry *entry, int64_t now_ns)
{
    return entry->next_use == NEXT_USE_NEVER ? compass_later(now_ns - entry->used_ns, 0) + 1
                                             : (int64_t)entry->next_use + 1;
}

/*
 * Whether @left is to leave before @right: what no task wants comes first, then the least
 * load time for the time it is idle. Multiplied across, it is exact and a strict order.
 */
static bool leaves_before(
    const struct cache_entry *left, const struct cache_entry *right, int64_t now_ns)
{
    const bool left_wanted = left->next_use != NEXT_USE_NEVER;
    const bool right_wanted = right->next_use != NEXT_USE_NEVER;
    if (left_wanted != right_wanted) {
        return right_wanted;
    }
    return (compass_product)left->load_ns * idle_span(right, now_ns) <
           (compass_product)right->load_ns * idle_span(left, now_ns);
}

uint32_t compass_victim(const struct policy_input *input, const struct cache_facts *cache)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < cache->count; i++) {
        if (leaves_before(&cache->entries[i], &cache->entries[best], input->view->now_ns)) {
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
