/* local_queue.h - a first-in first-out list between threads. Popping waits. */
#ifndef ONNX_LOCAL_QUEUE_H
#define ONNX_LOCAL_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

/* Embedded first in what is queued. */
struct queued {
    struct queued *next;
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct queued *first;
    struct queued *last;
    bool is_closed;
};

void queue_init(struct queue *queue);
void queue_deinit(struct queue *queue);

void queue_push(struct queue *queue, struct queued *item);

/* The next item; waits for one. NULL once the queue is closed, whatever is still in it. */
struct queued *queue_pop(struct queue *queue);

/* The next item; NULL if there is none, or the queue is closed. */
struct queued *queue_try(struct queue *queue);

/* All items, first to last; does not wait. */
struct queued *queue_take_all(struct queue *queue);

/* Take @item out. False if it is not in. */
bool queue_remove(struct queue *queue, const struct queued *item);

/* From now on everyone who pops gets NULL. */
void queue_close(struct queue *queue);

#endif /* ONNX_LOCAL_QUEUE_H */
