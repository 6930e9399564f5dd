/* inspect.c - what hosts, screens and checkers may see of a node, and its end. */
#include "node/access.h"
#include "node/drain.h"
#include "node/keys.h"
#include "node/keys_table.h"

static const struct task *batched_task(const struct node *node, uint32_t batch, uint32_t index)
{
    const struct batch *running = batch_at(node, batch);
    ASSERT(index < running->task_count);
    return task_at(node, running->tasks[index]);
}

struct batch_task node_batch_task(const struct node *node, uint32_t batch, uint32_t index)
{
    const struct task *task = batched_task(node, batch, index);
    return (struct batch_task){
        .job = visit_at(node, task->visit)->job,
        .task = task->number,
        .items = task->items,
        .input_count = task->input_count,
    };
}

uint64_t node_batch_input_bytes(const struct node *node, uint32_t batch, uint32_t index)
{
    uint64_t bytes = 0;
    uint32_t slot = batched_task(node, batch, index)->inputs;
    while (slot != POOL_NONE) {
        bytes += input_at(node, slot)->bytes;
        slot = input_at(node, slot)->next;
    }
    return bytes;
}

struct handle node_batch_input(
    const struct node *node, uint32_t batch, uint32_t index, uint32_t input)
{
    uint32_t slot = batched_task(node, batch, index)->inputs;
    while (slot != POOL_NONE && input_at(node, slot)->number != input) {
        slot = input_at(node, slot)->next;
    }
    ASSERT(slot != POOL_NONE);
    return tensor_at(node, input_at(node, slot)->tensor)->handle;
}

uint32_t node_oldest_edition(const struct node *node)
{
    uint32_t oldest = UINT32_MAX;
    uint32_t slot = node->job_list.first;
    for (; slot != POOL_NONE; slot = job_at(node, slot)->link.next) {
        oldest = min_u32(oldest, job_edition(job_at(node, slot)->id));
    }
    for (slot = node->visit_list.first; slot != POOL_NONE; slot = visit_at(node, slot)->link.next) {
        oldest = min_u32(oldest, job_edition(visit_at(node, slot)->job));
    }
    slot = node->keys.is_on ? node->keys.list.first : POOL_NONE;
    for (; slot != POOL_NONE; slot = keyed_at(node, slot)->link.next) {
        const struct keyed *entry = keyed_at(node, slot);
        if (entry->state < KEYED_COPIED) {
            oldest = min_u32(oldest, job_edition(entry->job));
        }
    }
    return oldest;
}

bool node_knows(const struct node *node, struct request_key key)
{
    return keys_find(node, key) != POOL_NONE;
}

bool node_answers_for(const struct node *node, struct request_key key)
{
    const uint32_t slot = keys_find(node, key);
    return slot != POOL_NONE && keyed_at(node, slot)->state != KEYED_WAITING &&
           keyed_at(node, slot)->state != KEYED_COPIED;
}

bool node_has_heard_of(const struct node *node, uint32_t peer, uint32_t incarnation)
{
    return !members_is_unheard(node->view.members, peer, incarnation);
}

bool node_keeps(const struct node *node, struct request_key key)
{
    return node_kept(node, key).since_ns >= 0;
}

struct kept_answer node_kept(const struct node *node, struct request_key key)
{
    const uint32_t slot = keys_find(node, key);
    const struct keyed *entry = slot == POOL_NONE ? NULL : keyed_at(node, slot);
    if (entry == NULL || entry->state != KEYED_ANSWERED) {
        return (struct kept_answer){.since_ns = -1};
    }
    struct kept_answer kept = {entry->touched_ns, entry->status, entry->reason, {0}};
    for (uint32_t at = entry->outputs; at != POOL_NONE; at = input_at(node, at)->next) {
        const struct input *output = input_at(node, at);
        kept.output = output->number == 0 ? tensor_at(node, output->tensor)->handle : kept.output;
    }
    return kept;
}

bool node_answered_early(const struct node *node, struct job_id job)
{
    const uint32_t slot = keyed_find_job(node, job);
    const struct keyed *entry = slot == POOL_NONE ? NULL : keyed_at(node, slot);
    return entry != NULL && entry->state == KEYED_ANSWERED && job.node == node->id &&
           entry->deputy != NODE_NONE && !entry->is_known;
}

bool node_owns(const struct node *node, struct job_id job, struct request_key key)
{
    const uint32_t slot = keys_find(node, key);
    return slot != POOL_NONE && job_equal(keyed_at(node, slot)->job, job);
}

struct row node_row(const struct node *node, uint32_t worker)
{
    return (struct row){
        .worker = worker,
        .load = *view_load(&node->view, worker),
        .cache = *view_cache(&node->view, worker),
    };
}

bool node_shows(const struct node *node, uint32_t peer)
{
    return !suspects_has(&node->view.far, peer);
}

uint32_t node_shown_count(const struct node *node)
{
    return node->fleet->node_count - node->view.far.count - 1;
}

bool node_attends(const struct node *node)
{
    return node->keys.stalled > 0;
}

/*
 * Where a board is shared no message says that a row has become visible: what its worker has
 * acknowledged ahead of it is dropped with the next message from there.
 */
static uint32_t count_reservations(const struct node *node)
{
    const struct reservations *noted = &node->view.reservations;
    uint32_t count = 0;
    for (uint32_t i = 0; i < RESERVATION_BUCKETS; i++) {
        for (uint32_t slot = noted->buckets[i]; slot != POOL_NONE;) {
            const struct reservation *each = pool_at(noted->pool, slot);
            const uint64_t row = node->board->loads[each->worker].versions[0].sequence;
            count += reservation_is_counted(each, row, /* counted */ 0) ? 0 : 1;
            slot = each->next;
        }
    }
    return count;
}

struct node_counts node_counts(const struct node *node)
{
    struct node_counts counts = {
        .jobs = node->job_count,
        .visits = node->visit_count,
        .running = node->running,
        .tickets = node->home.ticket_count,
        .grants = node->grant_count,
        .reservations = count_reservations(node),
        .cpu_used = node->fleet->nodes[node->id].cpu_units - node->cpu_free,
        .draining = node->draining,
        .resting = node->is_resting,
    };
    for (uint32_t i = 0; i < node->worker_count; i++) {
        counts.queued += node->workers[i].queued;
    }
    return counts;
}

bool node_is_free(const struct node *node)
{
    return drain_is_over(node);
}

struct worker_counts node_worker_counts(const struct node *node, uint32_t worker_id)
{
    ASSERT(view_is_own(&node->view, worker_id));
    const struct worker *worker = &node->workers[worker_id - node->view.worker_first];
    struct worker_counts counts = {
        .queued = worker->queued,
        .running = worker->running,
        .memory_used_bytes = worker->bank->used_bytes,
        .gpu_used = worker->spec->gpu_units - worker->shares.free,
        .promised_ns = worker->reserved_ns + worker->queue_ns,
    };
    for (uint32_t model = 0; model < node->catalogue->model_count; model++) {
        if (worker->models[model].state == MODEL_RESIDENT) {
            model_set_add(&counts.resident, model);
        } else if (worker->models[model].state == MODEL_LOADING) {
            model_set_add(&counts.loading, model);
        }
    }
    return counts;
}
