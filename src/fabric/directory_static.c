/* directory_static.c - a list that is known from the start; tests may change it by hand. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/bitset.h"
#include "base/memory.h"
#include "fabric/directory.h"

struct directory_static {
    struct directory base;
    struct arena arena; /* Of every list there has been. */
    const struct members *members;
    directory_changed changed;
    void *context;
};

static struct directory_static *static_from(struct directory *directory)
{
    return (struct directory_static *)directory; /* base is the first member. */
}

static const struct members *static_members(const struct directory *directory)
{
    return ((const struct directory_static *)directory)->members;
}

static void static_destroy(struct directory *base)
{
    struct directory_static *directory = static_from(base);
    arena_deinit(&directory->arena);
    free(directory);
}

static const struct directory_ops static_ops = {
    .name = "static",
    .members = static_members,
    .destroy = static_destroy,
};

struct directory *directory_static_create(
    uint32_t node_count, directory_changed changed, void *context)
{
    ASSERT(node_count > 0);

    struct directory_static *directory = memory_zeroed(1, sizeof(*directory));
    directory->base.ops = &static_ops;
    directory->changed = changed;
    directory->context = context;
    arena_init(&directory->arena);

    struct members *members = arena_alloc(&directory->arena, sizeof(*members));
    uint64_t *up = arena_alloc(&directory->arena, bitset_words(node_count) * sizeof(*up));
    uint64_t *since = arena_alloc(&directory->arena, node_count * sizeof(*since));
    *members = (struct members){
        .epoch = 1, .node_count = node_count, .up_count = node_count, .up = up, .since = since};
    for (uint32_t node = 0; node < node_count; node++) {
        bitset_add(up, node);
        since[node] = members->epoch;
    }
    directory->members = members;
    return &directory->base;
}

void directory_static_announce(struct directory *base, uint32_t node, bool is_up)
{
    struct directory_static *directory = static_from(base);
    const struct members *before = directory->members;
    ASSERT(base->ops == &static_ops);
    ASSERT(node < before->node_count);
    if (members_is_up(before, node) == is_up) {
        return;
    }
    const size_t up_bytes = bitset_words(before->node_count) * sizeof(uint64_t);
    const size_t since_bytes = before->node_count * sizeof(uint64_t);
    struct members *members = arena_alloc(&directory->arena, sizeof(*members));
    uint64_t *up = arena_alloc(&directory->arena, up_bytes);
    uint64_t *since = arena_alloc(&directory->arena, since_bytes);
    memcpy(up, before->up, up_bytes);
    memcpy(since, before->since, since_bytes);
    *members = *before;
    members->epoch = before->epoch + 1;
    members->up = up;
    members->since = since;
    if (is_up) {
        bitset_add(up, node);
        since[node] = members->epoch;
        members->up_count++;
    } else {
        bitset_remove(up, node);
        members->up_count--;
    }
    directory->members = members;
    if (directory->changed != NULL) {
        directory->changed(directory->context, members);
    }
}
