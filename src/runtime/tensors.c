#include "runtime/tensors.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"

enum { HANDLES_FIRST = 64 };

/* What handles share. */
struct contents {
    uint32_t references;
    void *bytes;
    uint64_t bytes_count;
    tensor_free give_back;
};

struct held {
    uint32_t node;
    struct contents *contents;
};

void tensors_init(struct tensors *tensors)
{
    pool_init(&tensors->handles, sizeof(struct held), HANDLES_FIRST, UINT32_MAX - 1);
}

void tensors_deinit(struct tensors *tensors)
{
    ASSERT(tensors->handles.used == 0);
    pool_deinit(&tensors->handles);
}

static struct held *held_at(const struct tensors *tensors, struct handle handle)
{
    ASSERT(pool_has(&tensors->handles, handle.id));
    return pool_at(&tensors->handles, pool_slot(handle.id));
}

static struct handle add_handle(struct tensors *tensors, uint32_t node, struct contents *contents)
{
    (void)pool_reserve(&tensors->handles, 1);
    const uint32_t slot = pool_take(&tensors->handles);
    ASSERT(slot != POOL_NONE);
    contents->references++;
    *(struct held *)pool_at(&tensors->handles, slot) =
        (struct held){.node = node, .contents = contents};
    return (struct handle){pool_name(&tensors->handles, slot)};
}

struct handle tensors_add(
    struct tensors *tensors, uint32_t node, void *bytes, uint64_t bytes_count,
    tensor_free give_back)
{
    struct contents *contents = memory_zeroed(1, sizeof(*contents));
    *contents =
        (struct contents){.bytes = bytes, .bytes_count = bytes_count, .give_back = give_back};
    return add_handle(tensors, node, contents);
}

struct handle tensors_share(struct tensors *tensors, struct handle handle, uint32_t node)
{
    struct contents *contents = held_at(tensors, handle)->contents;
    return add_handle(tensors, node, contents);
}

void tensors_pass(struct tensors *tensors, struct handle handle, uint32_t node)
{
    held_at(tensors, handle)->node = node;
}

const void *tensors_contents(
    const struct tensors *tensors, struct handle handle, uint64_t *bytes_out)
{
    const struct contents *contents = held_at(tensors, handle)->contents;
    *bytes_out = contents->bytes_count;
    return contents->bytes;
}

void tensors_release(struct tensors *tensors, struct handle handle)
{
    struct contents *contents = held_at(tensors, handle)->contents;
    pool_give(&tensors->handles, pool_slot(handle.id));
    contents->references--;
    if (contents->references > 0) {
        return;
    }
    if (contents->bytes != NULL && contents->give_back != NULL) {
        contents->give_back(contents->bytes);
    }
    free(contents);
}

void tensors_forget(struct tensors *tensors, uint32_t node)
{
    for (uint32_t slot = 0; slot < tensors->handles.capacity; slot++) {
        if (!pool_is_taken(&tensors->handles, slot)) {
            continue;
        }
        const struct held *held = pool_at(&tensors->handles, slot);
        if (held->node == node) {
            tensors_release(tensors, (struct handle){pool_name(&tensors->handles, slot)});
        }
    }
}

uint32_t tensors_count(const struct tensors *tensors)
{
    return tensors->handles.used;
}
