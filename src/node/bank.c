#include "node/bank.h"

#include "base/numbers.h"

void bank_join(struct node *node, struct worker *worker, struct arena *arena)
{
    for (uint32_t i = 0; &node->workers[i] < worker && worker->bank == NULL; i++) {
        if (worker->spec->shares_memory && node->workers[i].spec->shares_memory) {
            worker->bank = node->workers[i].bank;
        }
    }
    if (worker->bank == NULL) {
        worker->bank = arena_alloc(arena, sizeof(*worker->bank));
        worker->bank->spec = worker->spec;
        worker->bank->models =
            arena_alloc(arena, (node->catalogue->model_count + 1) * sizeof(struct bank_model));
    }
    worker->bank->worker_count++;
}

/* How many of @bank have @model in each state, and what else is asked of all of them. */
struct census {
    uint32_t states[MODEL_STATES];
    uint32_t stale;
    uint32_t users;
    uint32_t wanted;
    uint64_t own_bytes;
    uint64_t shared_bytes;
};

/* All workers of @bank but @except, which may be NULL. */
static struct census count(
    const struct node *node, const struct bank *bank, uint32_t model, const struct worker *except)
{
    struct census census = {.stale = 0};
    for (uint32_t i = 0; i < node->worker_count; i++) {
        const struct model_slot *slot = &node->workers[i].models[model];
        if (node->workers[i].bank != bank || &node->workers[i] == except) {
            continue;
        }
        census.states[slot->state]++;
        census.stale += slot->stale ? 1 : 0;
        census.users += slot->users;
        census.wanted += slot->wanted;
        if (slot->state != MODEL_ABSENT) {
            census.own_bytes += slot->own_bytes;
            census.shared_bytes = max_u64(census.shared_bytes, slot->bytes - slot->own_bytes);
        }
    }
    return census;
}

uint64_t bank_model_bytes(const struct node *node, const struct bank *bank, uint32_t model)
{
    const struct census all = count(node, bank, model, /* except */ NULL);
    return all.own_bytes + all.shared_bytes;
}

uint64_t bank_more_bytes(const struct node *node, const struct worker *worker, uint32_t model)
{
    const struct model_slot *slot = &worker->models[model];
    const struct census others = count(node, worker->bank, model, worker);
    return slot->own_bytes + max_u64(slot->bytes - slot->own_bytes, others.shared_bytes) -
           others.shared_bytes;
}

bool bank_has(const struct node *node, const struct worker *worker, uint32_t model)
{
    const struct census others = count(node, worker->bank, model, worker);
    return others.states[MODEL_RESIDENT] + others.states[MODEL_LOADING] > others.stale;
}

bool bank_moves(const struct node *node, const struct worker *worker, uint32_t model)
{
    const struct census others = count(node, worker->bank, model, worker);
    const bool is_first = others.states[MODEL_LOADING] > 0 && others.states[MODEL_RESIDENT] == 0;
    return is_first || others.states[MODEL_UNLOADING] + others.stale > 0;
}

bool bank_can_spare(const struct node *node, const struct bank *bank, uint32_t model)
{
    const struct census all = count(node, bank, model, /* except */ NULL);
    return all.states[MODEL_RESIDENT] > 0 && all.users == 0 &&
           all.states[MODEL_LOADING] + all.states[MODEL_UNLOADING] == 0;
}

bool bank_loses(const struct node *node, const struct bank *bank, uint32_t model)
{
    const struct census all = count(node, bank, model, /* except */ NULL);
    return all.states[MODEL_UNLOADING] > 0 &&
           all.states[MODEL_RESIDENT] + all.states[MODEL_LOADING] == 0;
}

uint32_t bank_wanted(const struct node *node, const struct bank *bank, uint32_t model)
{
    return count(node, bank, model, /* except */ NULL).wanted;
}

void bank_measured(
    struct node *node, const struct worker *worker, uint32_t model, uint64_t bytes,
    uint64_t own_bytes)
{
    struct bank *bank = worker->bank;
    bank->used_bytes -= bank_model_bytes(node, bank, model);
    for (uint32_t i = 0; i < node->worker_count; i++) {
        if (node->workers[i].bank == bank) {
            node->workers[i].models[model].bytes = bytes;
            node->workers[i].models[model].own_bytes = min_u64(own_bytes, bytes);
        }
    }
    bank->used_bytes += bank_model_bytes(node, bank, model);
}
