#include "runtime/editions.h"

#include "base/numbers.h"
#include "runtime/inside.h"

void runtime_set_editions(
    struct runtime *runtime, uint32_t serves, const uint32_t *held, uint32_t count)
{
    ASSERT(count <= EDITIONS_MAX);
    runtime_refresh(runtime);
    runtime->editions.next = serves;
    runtime->editions.count = count;
    for (uint32_t i = 0; i < count; i++) {
        runtime->editions.held[i] = held[i];
    }
    for (uint32_t node = 0; node < runtime->options.fleet->node_count; node++) {
        const struct due due = {.kind = DUE_EDITIONS, .node = node};
        runtime_add_due(runtime, runtime->clock.now_ns, &due);
    }
}

void runtime_tell_editions(struct runtime *runtime, uint32_t node)
{
    struct event event = {.kind = EVENT_EDITIONS};
    event.held.count = runtime->editions.count;
    event.held.editions = runtime->editions.held;
    runtime_step(runtime, node, &event);
    runtime->editions.serves = runtime->editions.next; /* Not before a node can run it. */
}

uint32_t runtime_oldest_edition(const struct runtime *runtime)
{
    uint32_t oldest = UINT32_MAX;
    for (uint32_t node = 0; node < runtime->options.fleet->node_count; node++) {
        if (runtime->nodes[node].node != NULL) {
            oldest = min_u32(oldest, node_oldest_edition(runtime->nodes[node].node));
        }
    }
    return oldest;
}
