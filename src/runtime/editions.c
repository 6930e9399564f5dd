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

bool runtime_revise(
    struct runtime *runtime, uint32_t model, const struct artifact_versions *versions,
    runtime_revised *revised, void *context)
{
    ASSERT(runtime->editions.revised == NULL);
    if (!engine_revise(runtime->engine, model, versions)) {
        return false;
    }
    runtime->engine_open++;
    runtime->editions.revised = revised;
    runtime->editions.context = context;
    return true;
}

void runtime_tell_revised(struct runtime *runtime, const struct engine_done *done)
{
    runtime_revised *revised = runtime->editions.revised;
    runtime->editions.revised = NULL;
    revised(
        runtime->editions.context, done->status,
        done->message != NULL ? done->message : weft_status_text(done->status));
}
