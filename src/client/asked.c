#include "client/asked.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"

enum { CAPACITY_FIRST = 1024 };

void asked_push(struct asked_queue *queue, struct asked asked)
{
    if (queue->count == queue->capacity) {
        const size_t larger = queue->capacity == 0 ? CAPACITY_FIRST : 2 * queue->capacity;
        struct asked *items = memory_zeroed(larger, sizeof(*items));
        for (size_t i = 0; i < queue->count; i++) {
            items[i] = queue->items[(queue->first + i) % queue->capacity];
        }
        free(queue->items);
        queue->items = items;
        queue->first = 0;
        queue->capacity = larger;
    }
    queue->items[(queue->first + queue->count) % queue->capacity] = asked;
    queue->count++;
}

struct asked asked_pop(struct asked_queue *queue)
{
    ASSERT(queue->count > 0);
    const struct asked asked = queue->items[queue->first];
    queue->first = (queue->first + 1) % queue->capacity;
    queue->count--;
    return asked;
}

void asked_forget(struct asked_queue *queue, uint64_t number)
{
    const size_t count = queue->count;
    for (size_t i = 0; i < count; i++) { /* All go round once. */
        const struct asked asked = asked_pop(queue);
        if (asked.number != number) {
            asked_push(queue, asked);
        }
    }
}

bool asked_holds(const struct asked_queue *queue, uint64_t number)
{
    bool is_there = false;
    for (size_t i = 0; i < queue->count; i++) {
        is_there = is_there || queue->items[(queue->first + i) % queue->capacity].number == number;
    }
    return is_there;
}

void asked_deinit(struct asked_queue *queue)
{
    free(queue->items);
    *queue = (struct asked_queue){.items = NULL};
}
