#include "policy/weft_links.h"

#include "base/numbers.h"
#include "policy/weft_share.h"

/* A link is never taken for fuller than this, or nothing would use it. */
enum { LOAD_MAX = WEFT_SHARE_ONE * 95 / 100 };

/* What was sent within less time than this says nothing yet of how much more will be. */
#define SPAN_LEAST_NS (WEFT_LINK_SPAN_NS / 4)

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

/* What is left of @ns, seen until @seen_ns, at @now_ns: as if the past were forgotten evenly. */
static int64_t left_ns(int64_t ns, int64_t seen_ns, int64_t now_ns)
{
    const int64_t passed_ns = now_ns - seen_ns;
    const int64_t passed = passed_ns / (WEFT_LINK_SPAN_NS / WEFT_SHARE_ONE);
    return passed_ns >= WEFT_LINK_SPAN_NS ? 0 : ns - weft_share_ns(ns, passed);
}

/* Over how long the link was seen busy, by @now_ns; what was seen is forgotten likewise. */
static int64_t span_ns(const struct weft_link *link, int64_t now_ns)
{
    const int64_t passed_ns = min_i64(now_ns - link->seen_ns, WEFT_LINK_SPAN_NS);
    return left_ns(link->span_ns, link->seen_ns, now_ns) + passed_ns;
}

int64_t weft_link_toll_ns(const struct weft_link *link, int64_t use_ns, int64_t now_ns)
{
    const int64_t busy_ns = left_ns(link->busy_ns, link->seen_ns, now_ns);
    const int64_t over_ns = max_i64(span_ns(link, now_ns), SPAN_LEAST_NS);
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
    const int64_t busy_ns = left_ns(link->busy_ns, link->seen_ns, now_ns);
    link->span_ns = busy_ns == 0 ? 0 : span_ns(link, now_ns);
    link->busy_ns = min_i64(busy_ns + use_ns * times, DURATION_NS_MAX);
    link->seen_ns = now_ns;
    link->free_ns = max_i64(link->free_ns, now_ns) + use_ns;
}

void weft_links_send(
    struct weft_links *links, const struct weft_transfer *transfer, uint32_t rack, int64_t now_ns)
{
    weft_link_send(&links->up, transfer->up_ns, 1, now_ns);
    if (transfer->core_ns > 0) {
        weft_link_send(&links->core, transfer->core_ns, rack, now_ns);
    }
}

uint32_t weft_links_rack(const struct fleet *fleet)
{
    return fleet->network.kind == NETWORK_TWO_TIER ? fleet->node_count / fleet_rack_count(fleet)
                                                   : fleet->node_count;
}
