#include "mixture/mixture_copy.h"

#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/memory.h"
#include "mixture/mixture.h"

enum { PIECE_ALIGNMENT = 16 };

/* A place in the piece, or while its size is being counted nowhere. */
struct piece {
    unsigned char *memory; /* NULL: only count. */
    size_t used;
};

static void *put(struct piece *piece, const void *from, size_t count, size_t size)
{
    const size_t bytes = count * size;
    unsigned char *to = piece->memory == NULL ? NULL : piece->memory + piece->used;
    if (to != NULL && bytes > 0) {
        memcpy(to, from, bytes);
    }
    piece->used += (bytes + PIECE_ALIGNMENT - 1) / PIECE_ALIGNMENT * PIECE_ALIGNMENT;
    return to;
}

static void put_workflow(
    struct piece *piece, const struct mixture_workflow *from, struct mixture_workflow *to)
{
    const size_t patterns = from->pattern_count;
    uint16_t *placements =
        put(piece, from->placements, patterns * from->task_count, sizeof(*from->placements));
    double *weights = put(piece, from->weights, patterns, sizeof(*from->weights));
    struct alias *table = put(piece, from->table, patterns, sizeof(*from->table));
    if (to != NULL) {
        to->placements = placements;
        to->weights = weights;
        to->table = table;
    }
}

static struct mixture *put_mixture(struct piece *piece, const struct mixture *from)
{
    struct mixture *to = put(piece, from, 1, sizeof(*from));
    struct mixture_workflow *workflows =
        put(piece, from->workflows, from->workflow_count, sizeof(*from->workflows));
    for (uint32_t i = 0; i < from->workflow_count; i++) {
        put_workflow(piece, &from->workflows[i], workflows == NULL ? NULL : &workflows[i]);
    }
    double *worker_load =
        put(piece, from->worker_load, from->worker_count, sizeof(*from->worker_load));
    double *link_load = put(piece, from->link_load, from->link_count, sizeof(*from->link_load));
    if (to != NULL) {
        to->workflows = workflows;
        to->worker_load = worker_load;
        to->link_load = link_load;
    }
    return to;
}

static size_t bytes_of(const struct mixture *mixture)
{
    struct piece piece = {.memory = NULL};
    ASSERT(mixture->sealed);
    (void)put_mixture(&piece, mixture);
    return piece.used;
}

struct mixture *mixture_copy(const struct mixture *mixture)
{
    struct piece piece = {.memory = memory_zeroed(1, bytes_of(mixture))};
    return put_mixture(&piece, mixture);
}

struct mixture *mixture_copy_to(struct arena *arena, const struct mixture *mixture)
{
    struct piece piece = {.memory = arena_alloc(arena, bytes_of(mixture))};
    return put_mixture(&piece, mixture);
}
