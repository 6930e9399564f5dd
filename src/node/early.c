#include "node/early.h"

#include <string.h>

#include "node/access.h"
#include "node/inbox.h"
#include "node/jobs.h"

void early_init(struct node *node, struct arena *arena)
{
    node->early.messages = arena_alloc(arena, EARLY_MAX * sizeof(*node->early.messages));
}

static struct message remove_at(struct node *node, uint32_t index)
{
    const struct message message = node->early.messages[index];
    node->early.count--;
    memmove(
        &node->early.messages[index], &node->early.messages[index + 1],
        (node->early.count - index) * sizeof(message));
    return message;
}

void early_keep(struct node *node, const struct message *message)
{
    if (node->early.count == EARLY_MAX) {
        const struct message oldest = remove_at(node, 0);
        if (jobs_find(node, oldest.job) != MAP_NONE) {
            inbox_ignore(node, &oldest);
        }
    }
    node->early.messages[node->early.count] = *message;
    node->early.count++;
}

void early_take(struct node *node)
{
    uint32_t index = 0;
    while (index < node->early.count) {
        const uint32_t slot = jobs_find(node, node->early.messages[index].job);
        if (slot == MAP_NONE) {
            (void)remove_at(node, index);
        } else if (jobs_is_known_to(node, job_at(node, slot), node->early.messages[index].from)) {
            const struct message message = remove_at(node, index);
            inbox_own_message(node, &message);
            index = 0; /* It may explain one that is older. */
        } else {
            index++;
        }
    }
}
