#include "node/keep_alive.h"

#include "base/numbers.h"
#include "node/access.h"
#include "node/model_cache.h"

static void set_timer(struct node *node, struct worker *worker, int64_t at_ns)
{
    worker->idle_timer = true;
    wake_at(node, at_ns, TIMER_IDLE, worker->id);
}

void keep_alive_note(struct node *node, struct worker *worker)
{
    const int64_t keep_ns = worker->spec->keep_alive_ns;
    if (keep_ns > 0 && !worker->idle_timer) { /* One that is set comes sooner. */
        set_timer(node, worker, now_ns(node) + keep_ns);
    }
}

void keep_alive_expire(struct node *node, struct worker *worker)
{
    const int64_t keep_ns = worker->spec->keep_alive_ns;
    int64_t next_ns = INT64_MAX;
    worker->idle_timer = false;
    for (uint32_t model = 0; model < node->catalogue->model_count; model++) {
        const struct model_slot *slot = &worker->models[model];
        if (slot->state != MODEL_RESIDENT || slot->bytes == 0 ||
            node->profile->models[model].pinned) {
            continue;
        }
        const bool needed = slot->users > 0 || slot->wanted > 0; /* At least so long again. */
        const int64_t end_ns = (needed ? now_ns(node) : slot->used_ns) + keep_ns;
        if (end_ns <= now_ns(node)) {
            cache_evict(node, worker, model, REASON_IDLE);
        } else {
            next_ns = min_i64(end_ns, next_ns);
        }
    }
    if (next_ns != INT64_MAX) {
        set_timer(node, worker, next_ns);
    }
}

void keep_alive_cool(struct node *node, struct worker *worker, uint32_t model)
{
    const struct model_slot *slot = &worker->models[model];
    if (slot->state == MODEL_RESIDENT && slot->users == 0 && slot->wanted == 0) {
        cache_evict(node, worker, model, REASON_COOL);
    }
}
