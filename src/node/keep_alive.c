#include "node/keep_alive.h"

#include "base/numbers.h"
#include "node/access.h"
#include "node/bank.h"
#include "node/model_cache.h"

/* Whether no worker that shares the memory of @worker uses @model, or will soon. */
static bool is_idle(const struct node *node, const struct worker *worker, uint32_t model)
{
    return bank_can_spare(node, worker->bank, model) && bank_wanted(node, worker->bank, model) == 0;
}

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
        const int64_t used_ns = worker->bank->models[model].used_ns;
        const int64_t end_ns = (is_idle(node, worker, model) ? used_ns : now_ns(node)) +
                               keep_ns; /* Or so long again. */
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
    if (worker->models[model].state == MODEL_RESIDENT && is_idle(node, worker, model)) {
        cache_evict(node, worker, model, REASON_COOL);
    }
}
