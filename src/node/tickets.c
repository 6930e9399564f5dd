#include "node/tickets.h"

#include "base/numbers.h"
#include "node/access.h"
#include "node/outbox.h"
#include "node/visits.h"

/* All tasks; and a new one counts one part in so many. */
enum { PUT_OFF_ALL = (1 << 24) - 1, PUT_OFF_WEIGHT = 64 };

/* Two tickets can have the same key; then the later one displaces the earlier. */
static uint64_t ticket_key(struct job_id job, uint32_t task)
{
    return job_key(job) * WORKFLOW_TASKS_MAX + task;
}

/* The ticket that waits for this task, or MAP_NONE. */
static uint32_t find_ticket(const struct node *node, struct job_id job, uint32_t task)
{
    const uint32_t slot = map_get(&node->home.tickets, ticket_key(job, task));
    const struct ticket *found = slot == MAP_NONE ? NULL : ticket_at(node, slot);
    return found != NULL && found->task == task && job_equal(found->job, job) ? slot : MAP_NONE;
}

bool tickets_comes_before(const struct ticket *a, const struct ticket *b)
{
    return a->key != b->key ? a->key < b->key : a->arrival < b->arrival;
}

static uint32_t queue_of(const struct node *node, const struct ticket *ticket)
{
    return workflow_at(node, ticket->workflow)->queue_first + ticket->task;
}

/* Into its queue, by key and arrival: from the end, where new ones mostly belong. */
static void insert(struct node *node, uint32_t slot)
{
    struct ticket *ticket = ticket_at(node, slot);
    const uint32_t number = queue_of(node, ticket);
    struct home_queue *queue = &node->home.queues[number];
    uint32_t before = queue->list.last;
    if (queue->count == 0) {
        node->home.active[node->home.active_count] = number;
        node->home.active_count++;
        queue->rechecks = 0;
        queue->look_ns = INT64_MAX;
        queue->due = false;
        queue->waits = false;
        queue->waits_for = WORKER_NONE;
    }
    while (before != POOL_NONE && tickets_comes_before(ticket, ticket_at(node, before))) {
        before = ticket_at(node, before)->link.previous;
    }
    slot_list_insert(&queue->list, ticket_links(node), before, slot);
    queue->count++;
    queue->items += ticket->items;
    queue->late_count += is_put_off(ticket) ? 1 : 0;
    queue->late_items += is_put_off(ticket) ? ticket->items : 0;
    map_put(&node->home.tickets, ticket_key(ticket->job, ticket->task), slot);
}

void tickets_take(struct node *node, uint32_t slot)
{
    struct ticket *ticket = ticket_at(node, slot);
    struct home *home = &node->home;
    const uint32_t number = queue_of(node, ticket);
    struct home_queue *queue = &home->queues[number];
    slot_list_remove(&queue->list, ticket_links(node), slot);
    queue->count--;
    queue->items -= ticket->items;
    queue->late_count -= is_put_off(ticket) ? 1 : 0;
    queue->late_items -= is_put_off(ticket) ? ticket->items : 0;
    (void)map_remove(&home->tickets, ticket_key(ticket->job, ticket->task));
    if (queue->count > 0) {
        return;
    }
    uint32_t i = 0;
    while (home->active[i] != number) {
        i++;
    }
    home->active_count--;
    home->active[i] = home->active[home->active_count];
}

void tickets_count(struct node *node, uint32_t slot, bool put_off)
{
    const struct ticket *ticket = ticket_at(node, slot);
    const struct workflow_task *kind = &workflow_at(node, ticket->workflow)->tasks[ticket->task];
    uint32_t *share = &node->home.put_off;
    if (kind->in_count > 0) {
        *share += put_off ? (PUT_OFF_ALL - *share) / PUT_OFF_WEIGHT : 0;
        *share -= put_off ? 0 : *share / PUT_OFF_WEIGHT;
    }
}

void tickets_put_off(struct node *node, uint32_t slot, enum hope hope)
{
    struct ticket *ticket = ticket_at(node, slot);
    tickets_take(node, slot);
    if (!is_put_off(ticket)) {
        tickets_count(node, slot, /* put_off */ true);
    }
    ticket->key = policy_put_off(ticket->key, hope);
    ticket->hope = (uint8_t)hope;
    insert(node, slot);
}

void tickets_forget(struct node *node, uint32_t slot)
{
    pool_give(&node->pools->tickets, slot);
    node->home.ticket_count--;
}

void tickets_refuse(struct node *node, uint32_t slot, enum reason reason)
{
    const struct ticket *ticket = ticket_at(node, slot);
    const struct message unfit = {
        .kind = MESSAGE_UNFIT,
        .job = ticket->job,
        .workflow = ticket->workflow,
        .task = ticket->task,
        .worker = ticket->holder,
        .attempt = ticket->attempt,
        .reason = reason,
    };
    const uint32_t holder = node_of_worker(node, ticket->holder);
    tickets_forget(node, slot);
    if (members_is_up(node->view.members, holder)) {
        outbox_send(node, holder, &unfit);
    }
}

struct job_facts tickets_facts(const struct node *node, const struct ticket *ticket)
{
    return (struct job_facts){
        .id = ticket->job,
        .workflow = ticket->workflow,
        .graph = workflow_at(node, ticket->workflow),
        .arrived_ns = ticket->arrived_ns,
        .deadline_ns = ticket->deadline_ns,
        .items = 1,
        .priority = ticket->priority,
        .firm = ticket->firm,
        .ingress = node->fleet->nodes[ticket->job.node].worker_first,
    };
}

struct ready_facts tickets_ready(const struct ticket *ticket, const struct job_facts *job)
{
    return (struct ready_facts){
        .job = job,
        .task = ticket->task,
        .items = ticket->items,
        .worker = ticket->holder,
        .ready_ns = ticket->ready_ns,
    };
}

static int64_t order_of(struct node *node, const struct ticket *ticket)
{
    const struct job_facts job = tickets_facts(node, ticket);
    const struct ready_facts facts = tickets_ready(ticket, &job);
    policy_queued(&node->seat, &facts);
    return policy_order(&node->seat, &facts);
}

/* Whether the task of @message is known to wait. Where it waits may be news. */
static bool is_known(struct node *node, const struct message *message)
{
    const uint32_t slot = find_ticket(node, message->job, message->task);
    if (slot == MAP_NONE) {
        return false;
    }
    struct ticket *known = ticket_at(node, slot);
    if (message->attempt >= known->attempt) { /* The last word counts. */
        known->attempt = message->attempt;
        known->holder = message->worker;
        known->epoch = node->view.members->epoch;
    }
    return true;
}

bool tickets_join(struct node *node, const struct message *message)
{
    if (is_known(node, message)) {
        return false;
    }
    const uint32_t other = map_get(&node->home.tickets, ticket_key(message->job, message->task));
    if (other != MAP_NONE) { /* Its holder offers it again, if there is one left. */
        tickets_take(node, other);
        tickets_forget(node, other);
    }
    const struct message_work *work = &message->work;
    const uint32_t slot = pool_take(&node->pools->tickets);
    ASSERT(slot != POOL_NONE);
    node->home.ticket_count++;
    struct ticket *ticket = ticket_at(node, slot);
    *ticket = (struct ticket){
        .job = message->job,
        .workflow = (uint8_t)message->workflow,
        .task = (uint16_t)message->task,
        .attempt = message->attempt,
        .items = work->items == 0 ? 1 : work->items,
        .priority = priority_bounded(work->priority),
        .firm = work->firm,
        .holder = message->worker,
        .epoch = node->view.members->epoch,
        .arrival = ++node->arrival,
        .ready_ns = now_ns(node),
        .arrived_ns = now_ns(node) - duration_bounded(work->age_ns),
        .deadline_ns =
            work->left_ns == INT64_MAX ? INT64_MAX : now_ns(node) + duration_bounded(work->left_ns),
    };
    ticket->key = order_of(node, ticket);
    insert(node, slot);
    return true;
}

bool tickets_leave(struct node *node, const struct message *message)
{
    const uint32_t slot = find_ticket(node, message->job, message->task);
    if (slot == MAP_NONE) {
        return false;
    }
    const uint32_t holder = ticket_at(node, slot)->holder;
    if (node_of_worker(node, holder) == node_of_worker(node, message->worker)) {
        tickets_take(node, slot);
        tickets_forget(node, slot);
    }
    return true;
}

static bool is_lost(const struct node *node, const struct ticket *ticket)
{
    const uint32_t holder = node_of_worker(node, ticket->holder);
    return !members_is_same(node->view.members, holder, ticket->epoch);
}

/* @ticket is given up for one of its task that waits: what it has met, and its wait, count on. */
static void pass_on(struct node *node, const struct ticket *ticket)
{
    const uint32_t other = find_ticket(node, ticket->job, ticket->task);
    if (other != MAP_NONE) {
        struct ticket *known = ticket_at(node, other);
        const uint32_t met = (uint32_t)known->strange_count + ticket->strange_count;
        known->strange_count = (uint8_t)min_u32(met, UINT8_MAX);
        known->ready_ns = min_i64(known->ready_ns, ticket->ready_ns);
    }
}

void tickets_put_back(struct node *node, uint32_t slot)
{
    const struct ticket *ticket = ticket_at(node, slot);
    const uint64_t key = ticket_key(ticket->job, ticket->task);
    if (is_lost(node, ticket) || map_get(&node->home.tickets, key) != MAP_NONE) {
        pass_on(node, ticket);
        tickets_forget(node, slot);
        return;
    }
    insert(node, slot);
}

void tickets_repair(struct node *node)
{
    const struct home *home = &node->home;
    for (uint32_t i = home->active_count; i > 0; i--) { /* The last takes the place of an empty. */
        uint32_t next = home->queues[home->active[i - 1]].list.first;
        while (next != POOL_NONE) {
            const uint32_t slot = next;
            next = ticket_at(node, slot)->link.next;
            if (is_lost(node, ticket_at(node, slot))) {
                tickets_take(node, slot);
                tickets_forget(node, slot);
            }
        }
    }
}
