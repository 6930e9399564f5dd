/*
 * event_queue.c - a heap of four children a parent, laid out for the cache.
 *
 * Time and sequence form one 128-bit key, so one comparison orders two items and
 * no two keys are equal. Keys and payloads lie in arrays of their own. The top is
 * at place 3, the children of place p at 4p - 8 and the three after it: four
 * siblings start at a multiple of four, and their keys fill one cache line.
 *
 *     place   0 1 2 | 3   | 4 5 6 7       | 8 9 10 11     | ...
 *                   | top | its children  | children of 4 |
 *
 * Places past the last item hold KEY_NONE, which is larger than every key: the
 * smallest of four siblings is found without asking how many there are.
 *
 * A pop leaves the top vacant. Most events cause another one, and pushing it
 * then costs one walk down from the top instead of two walks through the heap.
 *
 * The line is a ring. Its first item is compared with the earliest of the heap, which
 * with a vacant top is one of the children: the heap stays as it is while the line moves.
 */
#include "base/event_queue.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"

#define KEY_NONE (~(event_key)0)

enum {
    TOP = 3,
    CHILDREN = 4,
    CAPACITY_FIRST = 64, /* Of heap and line. */
    CAPACITY_MAX = 1 << 30,
    PLACES_SPARE = 16,       /* So that a line prefetched past the end is still ours. */
    PREFETCH_USED_MIN = 8192 /* Smaller heaps live in the first-level caches anyway. */
};

_Static_assert(CHILDREN * sizeof(event_key) == CACHE_LINE_BYTES, "siblings share a line");

static size_t first_child(size_t place)
{
    return CHILDREN * place - 8;
}

static size_t parent_of(size_t place)
{
    return place / CHILDREN + 2;
}

static event_key make_key(int64_t at_ns, uint64_t sequence)
{
    return (event_key)(uint64_t)at_ns << 64 | sequence;
}

/* @left or @right: bits of @right where @mask is set. */
static uint64_t choose(uint64_t left, uint64_t right, uint64_t mask)
{
    return left ^ ((left ^ right) & mask);
}

static uint64_t all_ones_if(bool condition)
{
    return 0 - (uint64_t)condition;
}

/*
 * The place with the smallest key of the four from @first. Written with masks,
 * because compilers turn a choice between 128-bit values into branches, and
 * which sibling is smallest cannot be predicted.
 */
static size_t smallest_of_four(const event_key *keys, size_t first)
{
    const event_key *four = keys + first;
    const uint64_t in_left = all_ones_if(four[1] < four[0]);
    const uint64_t in_right = all_ones_if(four[3] < four[2]);
    const uint64_t left_low = choose((uint64_t)four[0], (uint64_t)four[1], in_left);
    const uint64_t left_high =
        choose((uint64_t)(four[0] >> 64), (uint64_t)(four[1] >> 64), in_left);
    const uint64_t right_low = choose((uint64_t)four[2], (uint64_t)four[3], in_right);
    const uint64_t right_high =
        choose((uint64_t)(four[2] >> 64), (uint64_t)(four[3] >> 64), in_right);
    const event_key left = (event_key)left_high << 64 | left_low;
    const event_key right = (event_key)right_high << 64 | right_low;

    return first + choose(in_left & 1, 2 | (in_right & 1), all_ones_if(right < left));
}

/* Walk down from the vacant top to where @key belongs, moving smaller keys up. */
static void fill_top(struct event_queue *queue, event_key key, uint64_t payload)
{
    event_key *keys = queue->keys;
    uint64_t *payloads = queue->payloads;
    const size_t end = (size_t)TOP + queue->used;
    const bool is_large = queue->used >= PREFETCH_USED_MIN;
    size_t place = TOP;

    for (size_t child = first_child(place); child < end; child = first_child(place)) {
        const size_t grandchild = first_child(child);
        if (is_large && grandchild < end) { /* One of these four lines is needed next. */
            __builtin_prefetch(keys + grandchild);
            __builtin_prefetch(keys + grandchild + CHILDREN);
            __builtin_prefetch(keys + grandchild + (size_t)2 * CHILDREN);
            __builtin_prefetch(keys + grandchild + (size_t)3 * CHILDREN);
        }
        const size_t smallest = smallest_of_four(keys, child);
        if (keys[smallest] > key) {
            break;
        }
        keys[place] = keys[smallest];
        payloads[place] = payloads[smallest];
        place = smallest;
    }
    keys[place] = key;
    payloads[place] = payload;
}

/* Walk up from the free place at the end, moving larger keys down. */
static void append(struct event_queue *queue, event_key key, uint64_t payload)
{
    event_key *keys = queue->keys;
    uint64_t *payloads = queue->payloads;
    size_t place = (size_t)TOP + queue->used;

    queue->used++;
    while (place > TOP && keys[parent_of(place)] > key) {
        const size_t parent = parent_of(place);
        keys[place] = keys[parent];
        payloads[place] = payloads[parent];
        place = parent;
    }
    keys[place] = key;
    payloads[place] = payload;
}

/* Move the last item to the vacant top, so that the heap is whole again. */
static void close_top(struct event_queue *queue)
{
    ASSERT(queue->top_is_vacant);

    queue->top_is_vacant = false;
    queue->used--;
    const size_t last = (size_t)TOP + queue->used;
    const event_key key = queue->keys[last];
    const uint64_t payload = queue->payloads[last];
    queue->keys[last] = KEY_NONE;
    if (queue->used > 0) {
        fill_top(queue, key, payload);
    }
}

ATTR_COLD static void resize(struct event_queue *queue, uint32_t capacity)
{
    const size_t places = (size_t)TOP + capacity + PLACES_SPARE;
    const size_t filled = (size_t)TOP + queue->used;
    event_key *keys = memory_lines(places, sizeof(*keys));
    uint64_t *payloads = memory_lines(places, sizeof(*payloads));

    if (queue->used > 0) {
        memcpy(keys + TOP, queue->keys + TOP, queue->used * sizeof(*keys));
        memcpy(payloads + TOP, queue->payloads + TOP, queue->used * sizeof(*payloads));
    }
    for (size_t place = filled; place < places; place++) {
        keys[place] = KEY_NONE;
    }
    free(queue->keys);
    free(queue->payloads);
    queue->keys = keys;
    queue->payloads = payloads;
    queue->capacity = capacity;
}

ATTR_COLD static void resize_line(struct event_queue *queue, uint32_t capacity)
{
    struct timed_item *line = memory_lines(capacity, sizeof(*line));
    for (uint32_t i = 0; i < queue->line_count; i++) {
        line[i] = queue->line[(queue->line_first + i) & (queue->line_capacity - 1)];
    }
    free(queue->line);
    queue->line = line;
    queue->line_first = 0;
    queue->line_capacity = capacity;
}

void event_queue_init(struct event_queue *queue)
{
    *queue = (struct event_queue){0};
    resize(queue, CAPACITY_FIRST);
    resize_line(queue, CAPACITY_FIRST);
}

void event_queue_push(struct event_queue *queue, int64_t at_ns, uint64_t payload)
{
    ASSERT(at_ns >= 0);

    const event_key key = make_key(at_ns, queue->next_sequence);
    queue->next_sequence++;
    if (queue->top_is_vacant) {
        queue->top_is_vacant = false;
        fill_top(queue, key, payload);
        return;
    }
    if (queue->used == queue->capacity) {
        ASSERT(queue->capacity < CAPACITY_MAX);
        resize(queue, queue->capacity * 2);
    }
    append(queue, key, payload);
}

void event_queue_line_up(struct event_queue *queue, int64_t at_ns, uint64_t payload)
{
    if (queue->line_count == queue->line_capacity) {
        ASSERT(queue->line_capacity < CAPACITY_MAX);
        resize_line(queue, queue->line_capacity * 2);
    }
    const uint32_t mask = queue->line_capacity - 1;
    const uint32_t last = (queue->line_first + queue->line_count - 1) & mask;
    if (at_ns < (queue->line_count > 0 ? queue->line[last].at_ns : 0)) {
        event_queue_push(queue, at_ns, payload);
        return;
    }
    queue->line[(last + 1) & mask] = (struct timed_item){
        .at_ns = at_ns,
        .sequence = queue->next_sequence,
        .payload = payload,
    };
    queue->next_sequence++;
    queue->line_count++;
}

static struct timed_item item_at(const struct event_queue *queue, size_t place)
{
    const event_key key = queue->keys[place];
    return (struct timed_item){
        .at_ns = (int64_t)(uint64_t)(key >> 64),
        .sequence = (uint64_t)key,
        .payload = queue->payloads[place],
    };
}

/* Where the earliest item of the heap is. If there is none, its key is KEY_NONE. */
static size_t earliest_place(const struct event_queue *queue)
{
    return queue->top_is_vacant ? smallest_of_four(queue->keys, first_child(TOP)) : TOP;
}

/* Whether an entry is in line, and before all others. */
static bool line_is_next(const struct event_queue *queue)
{
    if (queue->line_count == 0) {
        return false;
    }
    const struct timed_item *first = &queue->line[queue->line_first];
    return make_key(first->at_ns, first->sequence) < queue->keys[earliest_place(queue)];
}

bool event_queue_pop(struct event_queue *queue, struct timed_item *item_out)
{
    if (line_is_next(queue)) {
        *item_out = queue->line[queue->line_first];
        queue->line_first = (queue->line_first + 1) & (queue->line_capacity - 1);
        queue->line_count--;
        return true;
    }
    if (queue->top_is_vacant) {
        close_top(queue);
    }
    if (queue->used == 0) {
        return false;
    }
    *item_out = item_at(queue, TOP);
    queue->top_is_vacant = true;
    return true;
}

bool event_queue_peek(const struct event_queue *queue, struct timed_item *item_out)
{
    if (event_queue_count(queue) == 0) {
        return false;
    }
    *item_out = line_is_next(queue) ? queue->line[queue->line_first]
                                    : item_at(queue, earliest_place(queue));
    return true;
}

uint32_t event_queue_count(const struct event_queue *queue)
{
    return queue->line_count + queue->used - (queue->top_is_vacant ? 1 : 0);
}

void event_queue_deinit(struct event_queue *queue)
{
    free(queue->keys);
    free(queue->payloads);
    free(queue->line);
    *queue = (struct event_queue){0};
}
