#include "document/cycle.h"

#include <string.h>

#include "base/text.h"

enum { MESSAGE_BYTES_MAX = 160, NAMES_MAX = 8 };

/*
 * Take away every task of which all producers are gone, again and again. What is left
 * is in a cycle or behind one, and each task of it has a producer that is left too.
 */
static uint32_t drop_free(const struct workflow *workflow, bool *is_left)
{
    uint32_t left_count = workflow->task_count;
    uint32_t before = 0;

    memset(is_left, true, workflow->task_count);
    do {
        bool is_bound[WORKFLOW_TASKS_MAX] = {false};
        for (uint32_t i = 0; i < workflow->edge_count; i++) {
            const struct workflow_edge *edge = &workflow->edges[i];
            is_bound[edge->to] |= is_left[edge->from];
        }
        before = left_count;
        for (uint32_t i = 0; i < workflow->task_count; i++) {
            if (is_left[i] && !is_bound[i]) {
                is_left[i] = false;
                left_count--;
            }
        }
    } while (left_count != before);
    return left_count;
}

static uint32_t producer_left(const struct workflow *workflow, uint32_t task, const bool *is_left)
{
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        if (workflow->edges[i].to == task && is_left[workflow->edges[i].from]) {
            return workflow->edges[i].from;
        }
    }
    return TASK_NONE;
}

/* From any task that is left, go back until a task comes again: that one is in a cycle. */
static uint32_t find_member(const struct workflow *workflow, const bool *is_left)
{
    bool is_seen[WORKFLOW_TASKS_MAX] = {false};
    uint32_t task = 0;

    while (!is_left[task]) {
        task++;
    }
    while (!is_seen[task]) {
        is_seen[task] = true;
        task = producer_left(workflow, task, is_left);
    }
    return task;
}

void cycle_refuse(
    struct reader *reader, const struct tree_node *tasks, const struct workflow *workflow)
{
    bool is_left[WORKFLOW_TASKS_MAX];
    char bytes[MESSAGE_BYTES_MAX];
    struct text names;
    uint32_t count = 0;

    if (drop_free(workflow, is_left) == 0) {
        return;
    }
    const uint32_t member = find_member(workflow, is_left);
    uint32_t first = member; /* Of the cycle, in the order of the document. */
    for (uint32_t task = producer_left(workflow, member, is_left); task != member;
         task = producer_left(workflow, task, is_left)) {
        first = task < first ? task : first;
    }
    text_init(&names, bytes, sizeof(bytes));
    text_add(&names, "'%s'", workflow->tasks[first].name);
    for (uint32_t task = producer_left(workflow, first, is_left); task != first;
         task = producer_left(workflow, task, is_left)) {
        if (++count < NAMES_MAX) {
            text_add(&names, " after '%s'", workflow->tasks[task].name);
        }
    }
    if (count >= NAMES_MAX) {
        text_add(&names, " after %u more", count - NAMES_MAX + 1);
    }
    const struct tree_node *node = tasks->first;
    for (uint32_t i = 0; i < first; i++) {
        node = node->next;
    }
    reader_fail(reader, node, "a cycle: %s after '%s'", bytes, workflow->tasks[first].name);
}
