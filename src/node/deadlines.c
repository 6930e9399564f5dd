/* deadlines.c - a pairing heap (Fredman et al., 1986): most jobs leave it before they are first. */
#include "node/deadlines.h"

#include "node/access.h"
#include "node/jobs.h"

/* Ties go to the job that came first. */
static bool is_before(const struct job *a, const struct job *b)
{
    return a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns
                                            : a->id.number < b->id.number;
}

/* One heap of two, either of which may be empty. */
static uint32_t meld(struct node *node, uint32_t a, uint32_t b)
{
    if (a == POOL_NONE || b == POOL_NONE) {
        return a == POOL_NONE ? b : a;
    }
    const bool is_swapped = is_before(job_at(node, b), job_at(node, a));
    const uint32_t top = is_swapped ? b : a;
    const uint32_t under = is_swapped ? a : b;
    struct deadline_link *link = &job_at(node, top)->by_deadline;
    struct deadline_link *child = &job_at(node, under)->by_deadline;
    child->next = link->child;
    child->previous = top;
    if (link->child != POOL_NONE) {
        job_at(node, link->child)->by_deadline.previous = under;
    }
    link->child = under;
    return top;
}

/* One heap of @first and all that follow it: in pairs, then from the last pair to the first. */
static uint32_t meld_all(struct node *node, uint32_t first)
{
    uint32_t pairs = POOL_NONE; /* Linked by `previous`, the last one first. */
    while (first != POOL_NONE) {
        const uint32_t second = job_at(node, first)->by_deadline.next;
        const uint32_t rest =
            second == POOL_NONE ? POOL_NONE : job_at(node, second)->by_deadline.next;
        const uint32_t pair = meld(node, first, second);
        job_at(node, pair)->by_deadline.previous = pairs;
        pairs = pair;
        first = rest;
    }
    uint32_t top = POOL_NONE;
    while (pairs != POOL_NONE) {
        const uint32_t earlier = job_at(node, pairs)->by_deadline.previous;
        top = meld(node, top, pairs);
        pairs = earlier;
    }
    return top;
}

static void set_timer(struct node *node)
{
    if (node->deadlines.first == POOL_NONE) {
        return;
    }
    const int64_t at_ns = job_at(node, node->deadlines.first)->deadline_ns + 1;
    if (at_ns < node->deadlines.timer_ns) {
        node->deadlines.timer_ns = at_ns;
        wake_at(node, at_ns, TIMER_DEADLINE, WORKER_NONE);
    }
}

void deadlines_add(struct node *node, uint32_t slot)
{
    ASSERT(job_at(node, slot)->firm);
    job_at(node, slot)->by_deadline = (struct deadline_link){POOL_NONE, POOL_NONE, POOL_NONE};
    node->deadlines.first = meld(node, node->deadlines.first, slot);
    set_timer(node);
}

void deadlines_remove(struct node *node, uint32_t slot)
{
    const struct deadline_link link = job_at(node, slot)->by_deadline;
    const uint32_t rest = meld_all(node, link.child);
    if (slot == node->deadlines.first) {
        node->deadlines.first = rest;
        return;
    }
    struct deadline_link *before = &job_at(node, link.previous)->by_deadline;
    *(before->child == slot ? &before->child : &before->next) = link.next;
    if (link.next != POOL_NONE) {
        job_at(node, link.next)->by_deadline.previous = link.previous;
    }
    node->deadlines.first = meld(node, node->deadlines.first, rest);
}

void deadlines_expire(struct node *node)
{
    if (now_ns(node) < node->deadlines.timer_ns) {
        return; /* One that was set before an earlier deadline came. */
    }
    node->deadlines.timer_ns = INT64_MAX;
    while (node->given_up < GIVE_UP_PER_STEP && node->deadlines.first != POOL_NONE &&
           now_ns(node) > job_at(node, node->deadlines.first)->deadline_ns) {
        node->given_up++;
        jobs_end(node, node->deadlines.first, WEFT_CANCELLED, REASON_LATE);
    }
    set_timer(node);
}
