#include "onnx/local_queue.h"

#include <stddef.h>

void queue_init(struct queue *queue)
{
    *queue = (struct queue){.first = NULL};
    (void)pthread_mutex_init(&queue->lock, NULL);
    (void)pthread_cond_init(&queue->filled, NULL);
}

void queue_deinit(struct queue *queue)
{
    (void)pthread_cond_destroy(&queue->filled);
    (void)pthread_mutex_destroy(&queue->lock);
}

void queue_push(struct queue *queue, struct queued *item)
{
    item->next = NULL;
    (void)pthread_mutex_lock(&queue->lock);
    if (queue->first == NULL) {
        queue->first = item;
    } else {
        queue->last->next = item;
    }
    queue->last = item;
    (void)pthread_cond_signal(&queue->filled);
    (void)pthread_mutex_unlock(&queue->lock);
}

struct queued *queue_pop(struct queue *queue)
{
    struct queued *item = NULL;
    (void)pthread_mutex_lock(&queue->lock);
    while (queue->first == NULL && !queue->is_closed) {
        (void)pthread_cond_wait(&queue->filled, &queue->lock);
    }
    if (!queue->is_closed) {
        item = queue->first;
        queue->first = item->next;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return item;
}

struct queued *queue_try(struct queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    struct queued *item = queue->is_closed ? NULL : queue->first;
    if (item != NULL) {
        queue->first = item->next;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return item;
}

struct queued *queue_take_all(struct queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    struct queued *first = queue->first;
    queue->first = NULL;
    (void)pthread_mutex_unlock(&queue->lock);
    return first;
}

bool queue_remove(struct queue *queue, const struct queued *item)
{
    bool is_found = false;
    struct queued *before = NULL;
    (void)pthread_mutex_lock(&queue->lock);
    for (struct queued *at = queue->first; at != NULL && !is_found; at = at->next) {
        if (at == item) {
            *(before == NULL ? &queue->first : &before->next) = at->next;
            queue->last = at->next == NULL ? before : queue->last;
            is_found = true;
        }
        before = at;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return is_found;
}

void queue_close(struct queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    queue->is_closed = true;
    (void)pthread_cond_broadcast(&queue->filled);
    (void)pthread_mutex_unlock(&queue->lock);
}
