/*
 * lru.c - models leave memory in the order in which they were last used.
 *
 * Rule: the victim is the least recently used entry, the lowest index in a tie; nothing
 * is loaded ahead of need.
 * Source: least recently used; what Compass's cache falls back to (papers: Compass).
 * Ignores: queued tasks that want a model, its size, what loading it again takes.
 * Not for: queues that are visible and long, where looking ahead costs nothing. The
 * default cache differs in one point: it does prefetch.
 */
#include "policy/choose.h"
#include "policy/registry.h"

static uint32_t victim(
    ATTR_UNUSED const struct policy_input *input, const struct cache_facts *cache)
{
    return choose_least_recent(cache);
}

static uint32_t prefetch(
    ATTR_UNUSED const struct policy_input *input, ATTR_UNUSED const struct cache_facts *cache)
{
    return UINT32_MAX;
}

const struct policy policy_lru = {
    .name = "lru",
    .summary = "evict the least recently used model; load nothing ahead",
    .source = "least recently used",
    .ignores = "queued tasks that want a model, sizes, load times",
    .victim = victim,
    .prefetch = prefetch,
};
