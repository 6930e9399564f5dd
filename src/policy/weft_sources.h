/*
 * weft_sources.h - the other sources of a job, while one of them is placed.
 */
#ifndef POLICY_WEFT_SOURCES_H
#define POLICY_WEFT_SOURCES_H

#include "policy/weft_hop.h"

/*
 * What @worker gets from sources of the same job that were placed before: all of them are placed
 * before the first is sent, so that no row shows them yet.
 */
int64_t weft_sources_ns(const struct weft_hop *hop, uint32_t worker);

#endif /* POLICY_WEFT_SOURCES_H */
