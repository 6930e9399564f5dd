#include "node/pressing.h"

#include "base/numbers.h"
#include "node/access.h"
#include "node/rows.h"

/* What rows said before this is not looked at again for so long; and is then too old. */
#define LOOK_NS  (1 * NS_PER_MS)
#define STALE_NS (1 * NS_PER_S)

/* An urgency of so many is that of a task that is due now. */
#define URGENCY_NOW (INT64_C(1) << 31)

/* The smallest key of what waits for room here. */
static int64_t own_key(const struct node *node)
{
    int64_t key = INT64_MAX;
    for (uint32_t i = 0; i < node->home.active_count; i++) {
        const struct home_queue *queue = &node->home.queues[node->home.active[i]];
        if (queue->waits) {
            key = min_i64(ticket_at(node, queue->list.first)->key, key);
        }
    }
    return key;
}

void pressing_say(struct node *node)
{
    struct home *home = &node->home;
    const bool presses = own_key(node) != INT64_MAX;
    if (home->presses != presses) {
        home->presses = presses;
        rows_load_changed(node, &node->workers[0]);
    }
}

uint32_t pressing_urgency(const struct node *node)
{
    const int64_t key = own_key(node);
    if (key == INT64_MAX) {
        return 0;
    }
    const int64_t due_ns = max_i64(key, -DURATION_NS_MAX);
    const int64_t in_ms = (due_ns - now_ns(node)) / NS_PER_MS;
    return (uint32_t)min_i64(max_i64(URGENCY_NOW - in_ms, 1), UINT32_MAX);
}

/* The smallest key of what waits for room at other nodes, as far as rows say it. */
static int64_t any_key(const struct node *node)
{
    const struct fleet *fleet = node->fleet;
    int64_t key = INT64_MAX;
    for (uint32_t peer = 0; peer < fleet->node_count; peer++) {
        const struct row_load *load = view_load(&node->view, fleet->nodes[peer].worker_first);
        if (load->urgency != 0 && peer != node->id && now_ns(node) - load->at_ns < STALE_NS) {
            key = min_i64(load->at_ns + (URGENCY_NOW - load->urgency) * NS_PER_MS, key);
        }
    }
    return key;
}

bool pressing_yields(struct node *node, uint32_t number)
{
    struct home *home = &node->home;
    const int64_t key = ticket_at(node, home->queues[number].list.first)->key;
    if (now_ns(node) >= home->any_at_ns + LOOK_NS) {
        home->any_at_ns = now_ns(node);
        home->any_key = any_key(node);
    }
    const int64_t pressing = min_i64(home->any_key, own_key(node));
    return pressing != INT64_MAX && key > pressing + PRIORITY_LEVEL_NS / 2;
}
