/*
 * lone_script.h - a sequence of events for a lone node, written as bytes.
 *
 * Any bytes are a script: unit tests draw them from a stream, the fuzzer makes them up.
 * The first few choose the node's options; then each action is a byte for its kind and as
 * many as it needs. An action does only what a host may do: it fulfils what was asked for,
 * and tells what other nodes, clients and directories could tell, true or not.
 */
#ifndef UNIT_LONE_SCRIPT_H
#define UNIT_LONE_SCRIPT_H

#include <stddef.h>

#include "lone_node.h"

struct lone_script {
    const uint8_t *bytes;
    size_t left;
    uint64_t epoch; /* Of the member list that was sent last. */
    uint32_t steps; /* Taken so far. */
    uint64_t hash;  /* Of all their effects. */
};

/* Open @lone with the options that the script begins with. */
void lone_script_open(
    struct lone_script *script, struct lone *lone, const uint8_t *bytes, size_t count);

/* Play the next action. False at the end of the script. */
bool lone_script_act(struct lone_script *script, struct lone *lone);

/* Cancel everything, let everything end, and expect nothing to be left. */
void lone_script_end(struct lone_script *script, struct lone *lone);

#endif /* UNIT_LONE_SCRIPT_H */
