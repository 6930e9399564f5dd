/*
 * list.h - doubly linked lists whose links lie inside of what they list.
 *
 * Two forms. A `struct list` links objects by pointer. A `struct slot_list` links slots of a
 * pool by number, which survives the pool's growth and takes half the memory. Neither owns
 * anything, and an object is in one list per link. All zero is an empty `struct list`; a
 * `struct slot_list` needs slot_list_init().
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stddef.h>

#include "base/pool.h"

struct list_link {
    struct list_link *previous;
    struct list_link *next;
};

struct list {
    struct list_link *first;
    struct list_link *last;
};

/* The object of @type whose @member is @link, which is not NULL. */
#define LIST_ITEM(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void list_push_front(struct list *list, struct list_link *link)
{
    link->previous = NULL;
    link->next = list->first;
    *(list->first == NULL ? &list->last : &list->first->previous) = link;
    list->first = link;
}

/* Take out @link, which is in @list. */
static inline void list_remove(struct list *list, struct list_link *link)
{
    *(link->previous == NULL ? &list->first : &link->previous->next) = link->next;
    *(link->next == NULL ? &list->last : &link->next->previous) = link->previous;
    *link = (struct list_link){NULL, NULL};
}

struct slot_link {
    uint32_t previous;
    uint32_t next;
};

struct slot_list {
    uint32_t first;
    uint32_t last;
};

/* Where the slots of a list are, and their links in them. */
struct slot_links {
    const struct pool *pool;
    size_t offset;
};

static inline void slot_list_init(struct slot_list *list)
{
    list->first = POOL_NONE;
    list->last = POOL_NONE;
}

static inline struct slot_link *slot_link_at(struct slot_links links, uint32_t slot)
{
    return (struct slot_link *)(void *)((char *)pool_at(links.pool, slot) + links.offset);
}

/* Put @slot behind @before, which is in @list; POOL_NONE: in front of all. */
static inline void slot_list_insert(
    struct slot_list *list, struct slot_links links, uint32_t before, uint32_t slot)
{
    struct slot_link *link = slot_link_at(links, slot);
    uint32_t *from = before == POOL_NONE ? &list->first : &slot_link_at(links, before)->next;
    link->previous = before;
    link->next = *from;
    *from = slot;
    *(link->next == POOL_NONE ? &list->last : &slot_link_at(links, link->next)->previous) = slot;
}

/* Take out @slot, which is in @list. */
static inline void slot_list_remove(struct slot_list *list, struct slot_links links, uint32_t slot)
{
    struct slot_link *link = slot_link_at(links, slot);
    *(link->previous == POOL_NONE ? &list->first : &slot_link_at(links, link->previous)->next) =
        link->next;
    *(link->next == POOL_NONE ? &list->last : &slot_link_at(links, link->next)->previous) =
        link->previous;
    link->previous = POOL_NONE;
    link->next = POOL_NONE;
}

#endif /* BASE_LIST_H */
