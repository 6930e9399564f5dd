#include "sim/links_heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void links_heap_init(struct links_heap *heap, uint32_t link_count)
{
    *heap = (struct links_heap){
        .items = memory_zeroed(link_count, sizeof(*heap->items)),
        .places = memory_zeroed(link_count, sizeof(*heap->places)),
    };
    memset(heap->places, 0xff, link_count * sizeof(*heap->places));
}

void links_heap_deinit(struct links_heap *heap)
{
    free(heap->items);
    free(heap->places);
    *heap = (struct links_heap){0};
}

static void put(struct links_heap *heap, uint32_t place, link_key item)
{
    heap->items[place] = item;
    heap->places[(uint32_t)item] = place;
}

static void rise(struct links_heap *heap, uint32_t place, link_key item)
{
    while (place > 0) {
        const uint32_t parent = (place - 1) / 2;
        if (heap->items[parent] < item) {
            break;
        }
        put(heap, place, heap->items[parent]);
        place = parent;
    }
    put(heap, place, item);
}

static void sink(struct links_heap *heap, uint32_t place, link_key item)
{
    for (uint32_t child = 2 * place + 1; child < heap->count; child = 2 * place + 1) {
        if (child + 1 < heap->count) { /* Without a branch, which could not be predicted. */
            child += heap->items[child + 1] < heap->items[child];
        }
        if (item < heap->items[child]) {
            break;
        }
        put(heap, place, heap->items[child]);
        place = child;
    }
    put(heap, place, item);
}

/* @item belongs where @place is, or nearer to the top, or further down. */
static void settle(struct links_heap *heap, uint32_t place, link_key item)
{
    if (place > 0 && item < heap->items[(place - 1) / 2]) {
        rise(heap, place, item);
    } else {
        sink(heap, place, item);
    }
}

void links_heap_set(struct links_heap *heap, uint32_t link, uint64_t key)
{
    const link_key item = (link_key)key << 64 | link;
    uint32_t place = heap->places[link];
    if (place == LINK_ABSENT) {
        place = heap->count;
        heap->count++;
        rise(heap, place, item);
    } else if (heap->items[place] != item) {
        settle(heap, place, item);
    }
}

void links_heap_drop(struct links_heap *heap, uint32_t link)
{
    const uint32_t place = heap->places[link];
    if (place == LINK_ABSENT) {
        return;
    }
    heap->count--;
    heap->places[link] = LINK_ABSENT;
    if (place < heap->count) {
        settle(heap, place, heap->items[heap->count]);
    }
}
