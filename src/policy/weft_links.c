#include "policy/weft_links.h"

#include "base/numbers.h"
#include "policy/weft_share.h"

/* A link is never taken for fuller than this, or nothing would use it. */
enum { LOAD_MAX = WEFT_SHARE_ONE * 95 / 100 };

/* What was sent within less than one part in so many says nothing yet of how much more will be. */
enum { SPAN_LEAST = 4 };

/* Of the transfers of a node, a new one counts one part in so many. */
enum { EACH_WEIGHT = 8 };

bool weft_crosses_core(const struct fleet *fleet, uint32_t from, uint32_t to)
{
    switch (fleet->network.kind) {
    case NETWORK_STAR:
        return false;
    case NETWORK_TWO_TIER:
        return fleet_rack(fleet, from) != fleet_rack(fleet, to);
    case NETWORK_BOTTLENECK:
        return from != to;
    }
    return false;
}

struct weft_transfer weft_transfer(
    const struct fleet *fleet, uint32_t from, uint32_t to, uint64_t bytes)
{
    if (from == to || bytes == 0) {
        return (struct weft_transfer){0};
    }
    const bool crosses = weft_crosses_core(fleet, from, to);
    return (struct weft_transfer){
        .whole_ns = fleet_transfer_ns(fleet, from, to, bytes),
        .up_ns = fleet_bytes_ns(bytes, fleet_up_rate(fleet, from)),
        .core_ns = crosses ? fleet_bytes_ns(bytes, fleet->network.core_bytes_per_s) : 0,
    };
}

/* For how long it is remembered what was sent on @link. */
static int64_t memory_ns(const struct weft_link *link)
{
    return max_i64(WEFT_LINK_SPAN_NS, WEFT_LINK_MANY * link->each_ns);
}

/* What is left of @ns, seen of @link, at @now_ns: as if the past were forgotten evenly. */
static int64_t left_ns(const struct weft_link *link, int64_t ns, int64_t now_ns)
{
    const int64_t passed_ns = now_ns - link->seen_ns;
    const int64_t passed = passed_ns / (memory_ns(link) / WEFT_SHARE_ONE);
    return passed_ns >= memory_ns(link) ? 0 : ns - weft_share_ns(ns, passed);
}

/* Over how long the link was seen busy, by @now_ns; what was seen is forgotten likewise. */
static int64_t span_ns(const struct weft_link *link, int64_t now_ns)
{
    const int64_t passed_ns = min_i64(now_ns - link->seen_ns, memory_ns(link));
    return left_ns(link, link->span_ns, now_ns) + passed_ns;
}

int64_t weft_link_toll_ns(const struct weft_link *link, int64_t use_ns, int64_t now_ns)
{
    const int64_t busy_ns = left_ns(link, link->busy_ns, now_ns);
    const int64_t over_ns = max_i64(span_ns(link, now_ns), memory_ns(link) / SPAN_LEAST);
    const int64_t load = min_i64(busy_ns / (over_ns / WEFT_SHARE_ONE), LOAD_MAX);
    return use_ns / (WEFT_SHARE_ONE - load) * load;
}

int64_t weft_toll_ns(
    const struct weft_links *links, const struct weft_transfer *transfer, int64_t now_ns)
{
    return weft_link_toll_ns(&links->up, transfer->up_ns, now_ns) +
           weft_link_toll_ns(&links->core, transfer->core_ns, now_ns);
}

void weft_link_send(struct weft_link *link, int64_t use_ns, uint32_t times, int64_t now_ns)
{
    const int64_t busy_ns = left_ns(link, link->busy_ns, now_ns);
    link->span_ns = busy_ns == 0 ? 0 : span_ns(link, now_ns);
    link->busy_ns = min_i64(busy_ns + use_ns * times, DURATION_NS_MAX);
    link->seen_ns = now_ns;
    link->free_ns = max_i64(link->free_ns, now_ns) + use_ns;
}

/* How long it is to be remembered what a node sends on @link: few of its transfers say little. */
static void note_use(struct weft_link *link, int64_t use_ns, uint32_t times)
{
    const int64_t each_ns = min_i64(use_ns * times, DURATION_NS_MAX / WEFT_LINK_MANY);
    link->each_ns += (each_ns - link->each_ns) / (link->each_ns == 0 ? 1 : EACH_WEIGHT);
}

void weft_links_send(
    struct weft_links *links, const struct weft_transfer *transfer, uint32_t rack, int64_t now_ns)
{
    note_use(&links->up, transfer->up_ns, 1);
    weft_link_send(&links->up, transfer->up_ns, 1, now_ns);
    if (transfer->core_ns > 0) {
        note_use(&links->core, transfer->core_ns, rack);
        weft_link_send(&links->core, transfer->core_ns, rack, now_ns);
    }
}

uint32_t weft_links_rack(const struct fleet *fleet)
{
    return fleet->network.kind == NETWORK_TWO_TIER ? fleet->node_count / fleet_rack_count(fleet)
                                                   : fleet->node_count;
}
