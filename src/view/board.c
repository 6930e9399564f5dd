#include "view/board.h"

#include <string.h>

#include "base/assert.h"
#include "base/numbers.h"

/* So long ago that any reader sees it, with room to add to it or subtract from it. */
#define LONG_AGO_NS (INT64_MIN / 4)

_Static_assert(
    sizeof(struct board_loads) % CACHE_LINE_BYTES == 0, "each newest load starts a cache line");

static void init_earliest(struct board *board, struct arena *arena)
{
    board->leaf_count = 1;
    while (board->leaf_count < board->worker_count) {
        board->leaf_count *= 2;
    }
    const size_t count = (size_t)2 * board->leaf_count;
    board->earliest_ns = arena_alloc_lines(arena, count * sizeof(*board->earliest_ns));
    board->until_ns = board->earliest_ns + board->leaf_count;
    for (size_t i = count - 1; i > 0; i--) {
        const bool is_leaf = i >= board->leaf_count;
        const bool is_spare = i >= (size_t)board->leaf_count + board->worker_count;
        const int64_t leaf_ns = is_spare ? INT64_MAX : LONG_AGO_NS;
        board->earliest_ns[i] = is_leaf ? leaf_ns : board->earliest_ns[2 * i];
    }
}

/* The newest load of @worker has work until @until_ns. */
static void set_until(struct board *board, uint32_t worker, int64_t until_ns)
{
    int64_t *earliest_ns = board->earliest_ns;
    uint32_t place = board->leaf_count + worker;
    earliest_ns[place] = until_ns;
    while (place > 1) {
        const int64_t other_ns = earliest_ns[place ^ 1];
        const int64_t lower_ns = min_i64(earliest_ns[place], other_ns);
        place /= 2;
        if (earliest_ns[place] == lower_ns) {
            return;
        }
        earliest_ns[place] = lower_ns;
    }
}

void board_init(struct board *board, struct arena *arena, uint32_t worker_count, int64_t delay_ns)
{
    const struct row_load idle = {.at_ns = LONG_AGO_NS, .accepting = 1};
    const struct row_cache empty = {.at_ns = LONG_AGO_NS};

    ASSERT(worker_count <= WORKERS_MAX);
    ASSERT(delay_ns >= 0);
    *board = (struct board){
        .worker_count = worker_count,
        .delay_ns = delay_ns,
        .newest_ns = LONG_AGO_NS,
        .urgent_ns = LONG_AGO_NS,
    };
    init_earliest(board, arena);
    board->entries = arena_alloc(arena, worker_count * sizeof(*board->entries));
    board->loads = arena_alloc_lines(arena, worker_count * sizeof(*board->loads));
    board->caches = arena_alloc_lines(arena, worker_count * sizeof(*board->caches));
    for (uint32_t i = 0; i < worker_count; i++) {
        struct board_entry *entry = &board->entries[i];
        for (uint32_t j = 0; j < BOARD_VERSIONS; j++) {
            board->loads[i].versions[j] = idle;
            board->caches[i].versions[j] = empty;
        }
        entry->live = (struct row){.worker = i, .parts = ROW_BOTH, .load = idle, .cache = empty};
    }
}

void board_allow_cuts(struct board *board, struct arena *arena, uint32_t cuts_max)
{
    board->cuts_max = cuts_max;
    board->cuts = arena_alloc(arena, cuts_max * sizeof(*board->cuts));
}

/* Cuts that no node can be behind any more are forgotten, all at once. */
static void forget_healed(struct board *board, int64_t now_ns)
{
    for (uint32_t i = 0; i < board->cut_count; i++) {
        if (board->cuts[i].until_ns > now_ns) {
            return;
        }
    }
    board->cut_count = 0;
}

void board_cut(struct board *board, struct arena *arena, uint32_t node_first, int64_t now_ns)
{
    forget_healed(board, now_ns);
    ASSERT(board->cut_count < board->cuts_max);
    struct board_cut *cut = &board->cuts[board->cut_count];
    board->cut_count++;
    if (cut->load == NULL) { /* Kept for those that come after this one has healed. */
        cut->load = arena_alloc(arena, board->worker_count * sizeof(*cut->load));
        cut->cache = arena_alloc(arena, board->worker_count * sizeof(*cut->cache));
    }
    cut->node_first = node_first;
    cut->from_ns = now_ns;
    cut->until_ns = INT64_MAX;
    for (uint32_t i = 0; i < board->worker_count; i++) {
        cut->load[i] = *board_load(board, i, now_ns);
        cut->cache[i] = *board_cache(board, i, now_ns);
    }
}

void board_heal(struct board *board, uint32_t node_first, int64_t now_ns)
{
    for (uint32_t i = 0; i < board->cut_count; i++) {
        struct board_cut *cut = &board->cuts[i];
        if (cut->node_first == node_first && cut->until_ns == INT64_MAX) {
            cut->until_ns = now_ns + board->delay_ns; /* News travel no faster than ever. */
            return;
        }
    }
    ASSERT(false);
}

static bool is_newer(
    uint32_t incarnation, uint64_t sequence, uint32_t incarnation_known, uint64_t sequence_known)
{
    return incarnation != incarnation_known ? incarnation > incarnation_known
                                            : sequence > sequence_known;
}

bool board_publish(struct board *board, const struct row *row)
{
    ASSERT(row->worker < board->worker_count);

    struct row_load *loads = board->loads[row->worker].versions;
    struct row_cache *caches = board->caches[row->worker].versions;
    bool taken = false;
    if ((row->parts & ROW_LOAD) != 0 &&
        is_newer(
            row->load.incarnation, row->load.sequence, loads[0].incarnation, loads[0].sequence)) {
        board->waiting_count -= loads[0].queued_items > 0 ? 1 : 0;
        board->waiting_count += row->load.queued_items > 0 ? 1 : 0;
        memmove(&loads[1], &loads[0], (BOARD_VERSIONS - 1) * sizeof(loads[0]));
        loads[0] = row->load;
        set_until(board, row->worker, row->load.at_ns + row->load.queued_ns);
        board->newest_ns = max_i64(row->load.at_ns, board->newest_ns);
        if (row->load.urgency > 0) {
            board->urgent_ns = max_i64(row->load.at_ns, board->urgent_ns);
        }
        taken = true;
    }
    if ((row->parts & ROW_CACHE) != 0 && is_newer(
                                             row->cache.incarnation, row->cache.sequence,
                                             caches[0].incarnation, caches[0].sequence)) {
        memmove(&caches[1], &caches[0], (BOARD_VERSIONS - 1) * sizeof(caches[0]));
        caches[0] = row->cache;
        taken = true;
    }
    return taken;
}
