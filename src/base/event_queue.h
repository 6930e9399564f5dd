/*
 * event_queue.h - a priority queue ordered by time, then by insertion.
 *
 * The second key makes simulations repeatable: two events at the same instant
 * leave in the order in which they came. A push that follows a pop costs little,
 * because it fills the place that the pop left. What is known to come after all
 * that came so before, such as messages with the same delay, lines up and costs next
 * to nothing. The queue grows by doubling and never shrinks. One thread at a time.
 */
#ifndef BASE_EVENT_QUEUE_H
#define BASE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 event_key;

struct timed_item {
    int64_t at_ns;
    uint64_t sequence; /* Counts pushes from 0. */
    uint64_t payload;  /* Meaning belongs to the owner of the queue. */
};

struct event_queue {
    event_key *keys; /* A heap; see event_queue.c for its shape. */
    uint64_t *payloads;
    uint64_t next_sequence;
    uint32_t used; /* Places of the heap, the vacant top included. */
    uint32_t capacity;
    bool top_is_vacant;      /* The top was taken, and its place waits for the next push. */
    struct timed_item *line; /* A ring beside the heap, of items in their order. */
    uint32_t line_first;
    uint32_t line_count;
    uint32_t line_capacity; /* A power of two. */
};

void event_queue_init(struct event_queue *queue);

/* Add an item at @at_ns, which must not be negative. */
void event_queue_push(struct event_queue *queue, int64_t at_ns, uint64_t payload);

/*
 * The same for one of a series whose times do not fall: it waits in line. An item that is
 * earlier than the last in the line goes where all others go.
 */
void event_queue_line_up(struct event_queue *queue, int64_t at_ns, uint64_t payload);

/* Take the earliest item. False if there is none. */
bool event_queue_pop(struct event_queue *queue, struct timed_item *item_out);

/* Look at the earliest item. False if there is none. */
bool event_queue_peek(const struct event_queue *queue, struct timed_item *item_out);

uint32_t event_queue_count(const struct event_queue *queue);

void event_queue_deinit(struct event_queue *queue);

#endif /* BASE_EVENT_QUEUE_H */
