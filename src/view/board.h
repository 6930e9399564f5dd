/*
 * board.h - the rows that have been published, as their readers may see them.
 *
 * A board keeps a few versions of each part of each row and shows a reader the
 * newest one that is at least delay_ns old. A runtime has one board for
 * each node, with no delay, filled by row events. A simulator shares one board among
 * all nodes: N views then cost neither N * N rows nor N * N events.
 */
#ifndef VIEW_BOARD_H
#define VIEW_BOARD_H

#include "base/arena.h"
#include "base/numbers.h"
#include "view/row.h"

enum { BOARD_VERSIONS = 4 };

struct board_entry {
    struct row live; /* Kept by the worker's own node, which reads nothing else. */
};

/* The newest first: of the loads of all workers, which planners read in a row, one line each. */
struct board_loads {
    _Alignas(CACHE_LINE_BYTES) struct row_load versions[BOARD_VERSIONS];
};

struct board_caches {
    struct row_cache versions[BOARD_VERSIONS];
};

/* A partition of the network, and what each side had seen of the other when it began. */
struct board_cut {
    uint32_t node_first;   /* Nodes from this one on and those before it do not hear each other. */
    int64_t from_ns;       /* When it began. */
    int64_t until_ns;      /* When it healed; INT64_MAX: it has not yet. */
    struct row_load *load; /* By worker. */
    struct row_cache *cache;
};

struct board {
    uint32_t worker_count;
    int64_t delay_ns;       /* From publication to the readers. */
    int64_t newest_ns;      /* When any load was published last, */
    int64_t urgent_ns;      /* and one that says that something waits for room in home queues. */
    uint32_t waiting_count; /* Workers at which tasks wait, by their newest loads. */
    int64_t
        *until_ns; /* By worker: until when its newest load has work. The leaves of earliest_ns. */
    int64_t *earliest_ns; /* A tree: at 1 the root; at place p the earlier of 2p and 2p + 1. */
    uint32_t leaf_count;
    struct board_entry *entries; /* By worker, like the next two. */
    struct board_loads *loads;
    struct board_caches *caches;
    uint32_t cut_count; /* 0 unless some nodes do not hear each other, or did not a while ago. */
    uint32_t cuts_max;
    struct board_cut *cuts; /* By from_ns. */
};

/* Every worker starts idle, accepting and empty. Memory comes from @arena. */
void board_init(struct board *board, struct arena *arena, uint32_t worker_count, int64_t delay_ns);

/*
 * Write the parts of @row that are newer than what is there: of a later incarnation, or of the
 * same with a higher sequence. The others are dropped: rows only move forward. Returns whether
 * any part was taken.
 */
bool board_publish(struct board *board, const struct row *row);

/*
 * The first worker whose newest load has no work after @now_ns; if all have, the first of
 * those that have it for the shortest. Loads that are not visible yet count as well.
 */
static inline uint32_t board_earliest(const struct board *board, int64_t now_ns)
{
    const int64_t *earliest_ns = board->earliest_ns;
    const int64_t bound_ns = max_i64(earliest_ns[1], now_ns);
    uint32_t place = 1;
    while (place < board->leaf_count) {
        const size_t left = (size_t)2 * place;
        place = (uint32_t)(earliest_ns[left] > bound_ns ? left + 1 : left);
    }
    return place - board->leaf_count;
}

/* There may be @cuts_max cuts that overlap in time. */
void board_allow_cuts(struct board *board, struct arena *arena, uint32_t cuts_max);

/* From @now_ns on, nodes from @node_first on and those before it do not hear each other. */
void board_cut(struct board *board, struct arena *arena, uint32_t node_first, int64_t now_ns);

/* That cut ends: they hear each other again, delay_ns after @now_ns. */
void board_heal(struct board *board, uint32_t node_first, int64_t now_ns);

static inline const struct row_load *board_load(
    const struct board *board, uint32_t worker, int64_t now_ns)
{
    const struct row_load *versions = board->loads[worker].versions;
    uint32_t i = 0;
    while (i + 1 < BOARD_VERSIONS && versions[i].at_ns > now_ns - board->delay_ns) {
        i++;
    }
    return &versions[i];
}

static inline const struct row_cache *board_cache(
    const struct board *board, uint32_t worker, int64_t now_ns)
{
    const struct row_cache *versions = board->caches[worker].versions;
    uint32_t i = 0;
    while (i + 1 < BOARD_VERSIONS && versions[i].at_ns > now_ns - board->delay_ns) {
        i++;
    }
    return &versions[i];
}

#endif /* VIEW_BOARD_H */
