#include "view/board.h"

#include "base/assert.h"

/* So long ago that any reader sees it, with room to add to it or subtract from it. */
#define LONG_AGO_NS (INT64_MIN / 4)

void board_init(struct board *board, struct arena *arena, uint32_t worker_count, int64_t delay_ns)
{
    const struct row_load idle = {.at_ns = LONG_AGO_NS, .accepting = 1};
    const struct row_cache empty = {.at_ns = LONG_AGO_NS};

    ASSERT(worker_count <= WORKERS_MAX);
    ASSERT(delay_ns >= 0);
    board->worker_count = worker_count;
    board->delay_ns = delay_ns;
    board->entries = arena_alloc(arena, worker_count * sizeof(*board->entries));
    for (uint32_t i = 0; i < worker_count; i++) {
        struct board_entry *entry = &board->entries[i];
        for (uint32_t j = 0; j < BOARD_VERSIONS; j++) {
            entry->load[j] = idle;
            entry->cache[j] = empty;
        }
        entry->live = (struct row){.worker = i, .parts = ROW_BOTH, .load = idle, .cache = empty};
    }
}

bool board_publish(struct board *board, const struct row *row)
{
    ASSERT(row->worker < board->worker_count);

    struct board_entry *entry = &board->entries[row->worker];
    bool taken = false;
    if ((row->parts & ROW_LOAD) != 0 &&
        row->load.sequence > entry->load[entry->load_newest].sequence) {
        entry->load_newest = (entry->load_newest + 1) % BOARD_VERSIONS;
        entry->load[entry->load_newest] = row->load;
        taken = true;
    }
    if ((row->parts & ROW_CACHE) != 0 &&
        row->cache.sequence > entry->cache[entry->cache_newest].sequence) {
        entry->cache_newest = (entry->cache_newest + 1) % BOARD_VERSIONS;
        entry->cache[entry->cache_newest] = row->cache;
        taken = true;
    }
    return taken;
}
