#include "node/inbox.h"

#include "base/numbers.h"
#include "node/access.h"
#include "node/audit.h"
#include "node/early.h"
#include "node/grants.h"
#include "node/home.h"
#include "node/jobs.h"
#include "node/keys.h"
#include "node/model_cache.h"
#include "node/offers.h"
#include "node/outbox.h"
#include "node/rows.h"
#include "node/steal.h"
#include "node/visits.h"

/* A claim has those of its whole batch, the others of one task. */
enum { BATCH_ITEMS_MAX = BATCH_TASKS_MAX * ITEMS_MAX };

/* Whether @message is of the workflow that its job has, if that is this node's. */
static bool is_of_workflow(const struct node *node, const struct message *message)
{
    const uint32_t job = jobs_find(node, message->job);
    return job == MAP_NONE || job_at(node, job)->workflow == message->workflow;
}

/* Whether the items, and the placement if there is one, of @message can be. */
static bool has_sound_work(const struct node *node, const struct message *message)
{
    const struct message_work *work = &message->work;
    if (work->items > BATCH_ITEMS_MAX) {
        return false;
    }
    if (work->placement_count == 0) {
        return true;
    }
    if (message->workflow >= node->catalogue->workflow_count ||
        work->placement_count != workflow_at(node, message->workflow)->task_count ||
        !is_of_workflow(node, message)) {
        return false;
    }
    uint32_t highest = 0; /* Of the entries plus one: no worker is 0. */
    for (uint32_t i = 0; i < work->placement_count; i++) {
        highest = max_u32(highest, (uint16_t)(work->placement[i] + 1u));
    }
    return highest <= node->fleet->worker_count;
}

/* Whether neither the sender nor the node that was meant has been replaced by a later life. */
static bool is_current(const struct node *node, const struct message *message)
{
    return message->to_incarnation == node->incarnation &&
           message->from_incarnation >= members_incarnation(node->view.members, message->from);
}

/* A message can name what this node has never heard of: another version, or an attack. */
static bool is_sound(const struct node *node, const struct message *message)
{
    if (message->job.node >= node->fleet->node_count || message->from >= node->fleet->node_count ||
        !is_current(node, message)) {
        return false;
    }
    if (message->kind == MESSAGE_CLAIM) {
        return message->claim.items <= BATCH_ITEMS_MAX;
    }
    if (message->kind == MESSAGE_OFFER) {
        return message->work.items <= BATCH_ITEMS_MAX;
    }
    if (message->kind == MESSAGE_DEPUTE || message->kind == MESSAGE_FORWARD ||
        message->kind == MESSAGE_RESULT || message->kind == MESSAGE_KEEP) {
        return message->workflow < node->catalogue->workflow_count;
    }
    return !message_has_placement(message->kind) || has_sound_work(node, message);
}

static bool names_task(const struct node *node, const struct message *message)
{
    return message->task < message->work.placement_count &&
           view_is_own(&node->view, message->worker);
}

static bool names_input(const struct node *node, const struct message *message)
{
    if (!names_task(node, message)) {
        return false;
    }
    const uint32_t in_count = workflow_at(node, message->workflow)->tasks[message->task].in_count;
    return message->work.input < (in_count == 0 ? 1 : in_count); /* A source has the job's input. */
}

/* Whether @message is from the node whose worker it asks for. */
static bool names_thief(const struct node *node, const struct message *message)
{
    return message->worker < node->fleet->worker_count && message->from != node->id &&
           node_of_worker(node, message->worker) == message->from;
}

/* Whether @message names a task of a workflow, and a worker that exists. */
static bool names_queue(const struct node *node, const struct message *message)
{
    return message->workflow < node->catalogue->workflow_count &&
           message->task < workflow_at(node, message->workflow)->task_count &&
           message->worker < node->fleet->worker_count;
}

static bool names_claim(const struct node *node, const struct message *message)
{
    return names_queue(node, message) && view_is_own(&node->view, message->worker) &&
           message->claim.holder < node->fleet->worker_count &&
           message->claim.index < message->claim.count && message->claim.count <= BATCH_TASKS_MAX;
}

/* Messages of home queues, which only a policy that binds has. */
static void inbox_home(struct node *node, const struct message *message)
{
    if (message->kind == MESSAGE_OFFER && names_queue(node, message)) {
        home_offered(node, message);
    } else if (message->kind == MESSAGE_GONE && names_queue(node, message)) {
        home_gone(node, message);
        grants_miss(node, message);
    } else if (message->kind == MESSAGE_CLAIM && names_claim(node, message)) {
        grants_claim(node, message);
    } else if (
        (message->kind == MESSAGE_PULL || message->kind == MESSAGE_SEEK) &&
        names_queue(node, message)) {
        if (message->kind == MESSAGE_PULL) {
            offers_pulled(node, message);
        } else {
            offers_sought(node, message);
        }
    } else if (message->kind == MESSAGE_UNFIT && names_queue(node, message)) {
        offers_unfit(node, message);
    } else if (message->kind == MESSAGE_ASK && view_is_own(&node->view, message->worker)) {
        grants_asked(node, message);
    } else if (message->kind == MESSAGE_DECLINE) {
        home_declined(node, message);
    } else if (message->kind == MESSAGE_ENDED) {
        home_ended(node, message);
    }
}

/* Whether @message reserves one task, or all that are planned for a worker of this node. */
static bool names_reserved(const struct node *node, const struct message *message)
{
    return message->task == TASK_NONE ? view_is_own(&node->view, message->worker)
                                      : names_task(node, message);
}

/* Whether @message is about a worker of its sender. */
static bool names_own_worker(const struct node *node, const struct message *message)
{
    return message->worker < node->fleet->worker_count &&
           node_of_worker(node, message->worker) == message->from;
}

/*
 * Whether the sender of @message may say such a thing, as far as the message alone shows it. Of a
 * job at its owner, jobs.c asks more; of offers and claims, those who keep them do.
 */
static bool is_entitled(const struct node *node, const struct message *message)
{
    switch ((int)message->kind) {
    case MESSAGE_CANCEL:
    case MESSAGE_PROBE:
    case MESSAGE_DEPUTE:
    case MESSAGE_FORWARD:
    case MESSAGE_TRIED:
    case MESSAGE_RECALL:
        return message->from == message->job.node;
    case MESSAGE_FAILED:
    case MESSAGE_ACKNOWLEDGE:
    case MESSAGE_OFFER:
    case MESSAGE_GONE:
    case MESSAGE_PULL:
    case MESSAGE_SEEK:
    case MESSAGE_DECLINE:
    case MESSAGE_ENDED:
        return names_own_worker(node, message);
    default:
        return true;
    }
}

void inbox_ignore(struct node *node, const struct message *message)
{
    struct record *record = trace(node, RECORD_IGNORED, REASON_NONE);
    record->job = message->job;
    record->value = message->from;
}

void inbox_own_message(struct node *node, const struct message *message)
{
    switch ((int)message->kind) {
    case MESSAGE_INPUT:
    case MESSAGE_DEPUTE:
    case MESSAGE_FORWARD:
    case MESSAGE_RESULT:
        return; /* Without their tensors they are nothing. */
    case MESSAGE_DEPUTED:
    case MESSAGE_TAKEN:
    case MESSAGE_TRIED:
    case MESSAGE_SETTLED:
    case MESSAGE_RECALL:
    case MESSAGE_UNKNOWN:
    case MESSAGE_KEEP:
        keys_message(node, message);
        return;
    case MESSAGE_RESERVE:
        if (names_reserved(node, message)) {
            visits_reserve(node, message);
        }
        return;
    case MESSAGE_UNRESERVE:
        visits_unreserve(node, message);
        return;
    case MESSAGE_ACKNOWLEDGE:
        rows_acknowledged(node, message);
        return;
    case MESSAGE_MOVED:
        if (message->worker < node->fleet->worker_count) {
            jobs_moved(node, message);
        }
        return;
    case MESSAGE_FAILED:
        jobs_failed(node, message);
        return;
    case MESSAGE_CANCEL:
        visits_cancel(node, message->job, REASON_CANCEL);
        keys_dropped(node, message->job);
        return;
    case MESSAGE_STEAL:
        if (view_is_own(&node->view, message->victim) && names_thief(node, message)) {
            steal_asked(node, message);
        }
        return;
    case MESSAGE_NOTHING:
        steal_refused(node, message->worker);
        return;
    case MESSAGE_QUERY:
        jobs_query(node, message);
        return;
    case MESSAGE_PROBE:
        audit_probed(node, message);
        return;
    case MESSAGE_ALIVE:
        audit_alive(node, message);
        return;
    case MESSAGE_WARM:
        if (view_is_own(&node->view, message->worker) &&
            message->model < node->catalogue->model_count) {
            cache_warm(node, own_worker(node, message->worker), message->model);
        }
        return;
    default:
        if (home_is_kept(node)) {
            inbox_home(node, message);
        }
        return;
    }
}

void inbox_message(struct node *node, const struct message *message)
{
    if (!is_sound(node, message)) {
        return;
    }
    if (!is_entitled(node, message)) {
        inbox_ignore(node, message);
        return;
    }
    inbox_own_message(node, message);
    if (message->kind == MESSAGE_MOVED) {
        early_take(node);
    }
}

void inbox_own_input(struct node *node, const struct message *message, uint32_t tensor)
{
    ASSERT(message->kind == MESSAGE_INPUT);
    if (message->task == TASK_ANSWER) {
        jobs_output(node, message, tensor);
        return;
    }
    if (!names_input(node, message)) {
        tensor_release(node, tensor);
        return;
    }
    visits_input(node, message, tensor);
}

void inbox_tensor(struct node *node, const struct message *message, uint32_t tensor)
{
    const bool is_sane = is_sound(node, message);
    if (is_sane && is_entitled(node, message)) {
        if (message->kind == MESSAGE_INPUT) {
            inbox_own_input(node, message, tensor);
        } else {
            keys_tensor(node, message, tensor);
        }
        return;
    }
    if (is_sane) {
        inbox_ignore(node, message);
    }
    tensor_release(node, tensor);
}
