/*
 * asked.h - requests that wait for a connection, the first that came first.
 */
#ifndef CLIENT_ASKED_H
#define CLIENT_ASKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A request. */
struct asked {
    int64_t due_ns;
    uint64_t number;  /* The same whenever it is sent again. */
    uint32_t attempt; /* From 1. */
};

/* A ring; all zero is an empty one. */
struct asked_queue {
    struct asked *items;
    size_t first;
    size_t count;
    size_t capacity;
};

void asked_push(struct asked_queue *queue, struct asked asked);

/* The first, of which there must be one. */
struct asked asked_pop(struct asked_queue *queue);

/* Drop those with @number: one that was sent before has been answered. */
void asked_forget(struct asked_queue *queue, uint64_t number);

/* Whether one with @number waits. */
bool asked_holds(const struct asked_queue *queue, uint64_t number);

void asked_deinit(struct asked_queue *queue);

#endif /* CLIENT_ASKED_H */
