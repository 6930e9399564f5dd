#include "node/pressing.h"

#include "base/numbers.h"
#include "node/access.h"
#include "node/rows.h"

/* What rows said before this is not looked at again for so long; and is then too old. */
#define LOOK_NS  (1 * NS_PER_MS)
#define STALE_NS (1 * NS_PER_S)

/* An urgency of so many seconds is that of a task that is due now. */
#define URGENCY_NOW (INT64_C(1) << 15)

/* What waits for room at one node. */
struct press {
    int64_t key; /* INT64_MAX: nothing does. */
    uint16_t wanted;
};

static const struct press NOTHING = {.key = INT64_MAX, .wanted = ROW_WANTED_NONE};

/* The most urgent here. Without a priority it keeps no worker: others are about as urgent. */
static struct press own_press(const struct node *node)
{
    struct press press = NOTHING;
    for (uint32_t i = 0; i < node->home.active_count; i++) {
        const struct home_queue *queue = &node->home.queues[node->home.active[i]];
        const struct ticket *head = ticket_at(node, queue->list.first);
        if (queue->waits && head->key < press.key) {
            const bool keeps = head->priority > 0 && queue->waits_for != WORKER_NONE;
            press.key = head->key;
            press.wanted = keeps ? (uint16_t)queue->waits_for : ROW_WANTED_NONE;
        }
    }
    return press;
}

/* The most urgent at @peer, as far as its row says it. */
static struct press press_of(const struct node *node, uint32_t peer)
{
    const struct row_load *load = view_load(&node->view, node->fleet->nodes[peer].worker_first);
    if (load->urgency == 0 || peer == node->id || now_ns(node) - load->at_ns >= STALE_NS) {
        return NOTHING;
    }
    return (struct press){
        .key = load->at_ns + (URGENCY_NOW - load->urgency) * NS_PER_S,
        .wanted = load->wanted,
    };
}

void pressing_say(struct node *node)
{
    struct home *home = &node->home;
    const struct press press = own_press(node);
    const bool presses = press.key != INT64_MAX;
    if (home->presses != presses || (presses && home->wanted != press.wanted)) {
        home->presses = presses;
        home->wanted = press.wanted;
        rows_load_changed(node, &node->workers[0]);
    }
}

void pressing_show(const struct node *node, struct row_load *load)
{
    const struct press press = node->seat.yields ? own_press(node) : NOTHING;
    load->urgency = 0;
    load->put_off = (uint8_t)(node->home.put_off >> 16);
    load->wanted = press.wanted;
    if (press.key != INT64_MAX) {
        const int64_t due_ns = max_i64(press.key, -DURATION_NS_MAX);
        const int64_t in_s = (due_ns - now_ns(node)) / NS_PER_S;
        load->urgency = (uint16_t)min_i64(max_i64(URGENCY_NOW - in_s, 1), UINT16_MAX);
    }
}

/* What waits elsewhere: rows are not read for every claim. */
static void look_around(struct node *node)
{
    struct home *home = &node->home;
    if (now_ns(node) < home->any_at_ns + LOOK_NS) {
        return;
    }
    home->any_at_ns = now_ns(node);
    home->any_key = INT64_MAX;
    home->any_wanting_key = INT64_MAX;
    if (now_ns(node) - node->board->urgent_ns >= STALE_NS) {
        return; /* Whatever was urgent anywhere is too old. */
    }
    for (uint32_t peer = 0; peer < node->fleet->node_count; peer++) {
        const struct press press = press_of(node, peer);
        home->any_key = min_i64(press.key, home->any_key);
        if (press.wanted != ROW_WANTED_NONE) {
            home->any_wanting_key = min_i64(press.key, home->any_wanting_key);
        }
    }
}

/* What is more urgent than the head of queue @number has a smaller key than this. */
static int64_t limit_of(const struct node *node, uint32_t number)
{
    const int64_t key = ticket_at(node, node->home.queues[number].list.first)->key;
    return key - PRIORITY_LEVEL_NS / 2;
}

bool pressing_yields(struct node *node, uint32_t number)
{
    const struct ticket *head = ticket_at(node, node->home.queues[number].list.first);
    if (!is_put_off(head) && head->deadline_ns != INT64_MAX) {
        return false;
    }
    look_around(node);
    /* What has no deadline ranks so much lower only beside others that have one. */
    const int64_t limit = is_put_off(head) ? limit_of(node, number) : head->key - DOUBTFUL_NS / 2;
    return min_i64(node->home.any_key, own_press(node).key) < limit;
}

bool pressing_keeps(struct node *node, uint32_t number, uint32_t worker)
{
    const int64_t limit = limit_of(node, number);
    for (uint32_t i = 0; i < node->home.active_count; i++) {
        const struct home_queue *queue = &node->home.queues[node->home.active[i]];
        if (queue->waits && queue->waits_for == worker &&
            ticket_at(node, queue->list.first)->key < limit) {
            return true;
        }
    }
    look_around(node);
    if (node->home.any_wanting_key >= limit) {
        return false;
    }
    for (uint32_t peer = 0; peer < node->fleet->node_count; peer++) {
        const struct press press = press_of(node, peer);
        if (press.wanted == worker && press.key < limit) {
            return true;
        }
    }
    return false;
}
