/*
 * bank.h - the memory that workers hold models in, and what is counted of it.
 *
 * A bank belongs to one worker or, where weights are pages of files that processes share, to all
 * workers on the processors of a node. Each of them has to load a model before it can run it, but
 * the model takes its room once: only what each keeps for itself (own_bytes) counts for each.
 * Workspaces count for each batch. A model is in the bank from the begin of its first load to the
 * end of its last unload. It leaves all workers together, and not before its room is needed, or it
 * is out of date.
 */
#ifndef NODE_BANK_H
#define NODE_BANK_H

#include "node/inside.h"
#include "node/states.h"

/* Give @worker its bank: that of those before it which share memory, or one of its own. */
void bank_join(struct node *node, struct worker *worker, struct arena *arena);

static inline uint64_t bank_free_bytes(const struct bank *bank)
{
    const uint64_t all = bank->spec->memory_bytes;
    return bank->used_bytes < all ? all - bank->used_bytes : 0;
}

/* What @model takes there, by all workers that have it. */
uint64_t bank_model_bytes(const struct node *node, const struct bank *bank, uint32_t model);

/* What it would take more there if @worker, which does not have it, loaded @model. */
uint64_t bank_more_bytes(const struct node *node, const struct worker *worker, uint32_t model);

/* Whether another worker of the bank has @model, up to date, or is loading it. */
bool bank_has(const struct node *node, const struct worker *worker, uint32_t model);

/*
 * Whether @worker has to wait before it loads @model: another of the bank is the first to load it,
 * unloads it, or still runs an older version.
 */
bool bank_moves(const struct node *node, const struct worker *worker, uint32_t model);

/* Whether @model can leave: some have it, and none loads or unloads it, or runs with it. */
bool bank_can_spare(const struct node *node, const struct bank *bank, uint32_t model);

/* Whether all that have @model are unloading it. */
bool bank_loses(const struct node *node, const struct bank *bank, uint32_t model);

/* Queued tasks, and batches that gather, that need @model. */
uint32_t bank_wanted(const struct node *node, const struct bank *bank, uint32_t model);

/* Let @worker say what was measured of @model, for all workers of its bank. */
void bank_measured(
    struct node *node, const struct worker *worker, uint32_t model, uint64_t bytes,
    uint64_t own_bytes);

#endif /* NODE_BANK_H */
