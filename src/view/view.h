/*
 * view.h - the cluster as one node believes it to be.
 *
 * A view is what policies read: rows with their ages, own reservations, members. It
 * does not know how rows arrive. The rows of the node's own workers are always fresh.
 */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include "base/assert.h"
#include "base/numbers.h"
#include "base/units.h"
#include "model/fleet.h"
#include "view/board.h"
#include "view/members.h"
#include "view/news.h"
#include "view/reservations.h"

struct view {
    int64_t now_ns;
    uint32_t node;         /* Whose view it is. */
    uint32_t worker_first; /* The first of its own workers. */
    uint32_t worker_count;
    const struct fleet *fleet;
    const struct board *board;
    const struct members *members;
    struct suspects suspects;
    int64_t row_load_ns; /* At least so long between two rows of a worker that changes. */
    uint32_t cell_nodes; /* Members of a cell, at least: see cells.h. */
    struct suspects far; /* Nodes of other cells: their rows do not come. */
    struct reservations reservations;
    struct news news;
};

static inline bool view_is_own(const struct view *view, uint32_t worker)
{
    return worker - view->worker_first < view->worker_count;
}

/* The cut behind which @worker is for this view, or NULL. */
ATTR_COLD const struct board_cut *view_cut(const struct view *view, uint32_t worker);

/* What is seen of @worker, of another node, while there are cuts. */
ATTR_COLD const struct row_load *view_load_cut(const struct view *view, uint32_t worker);
ATTR_COLD const struct row_cache *view_cache_cut(const struct view *view, uint32_t worker);

static inline const struct row_load *view_load(const struct view *view, uint32_t worker)
{
    if (view_is_own(view, worker)) {
        return &view->board->entries[worker].live.load;
    }
    if (view->board->cut_count > 0) {
        return view_load_cut(view, worker);
    }
    return board_load(view->board, worker, view->now_ns);
}

static inline const struct row_cache *view_cache(const struct view *view, uint32_t worker)
{
    if (view_is_own(view, worker)) {
        return &view->board->entries[worker].live.cache;
    }
    if (view->board->cut_count > 0) {
        return view_cache_cut(view, worker);
    }
    return board_cache(view->board, worker, view->now_ns);
}

/* How long ago the load part of @worker was received. 0 for own workers. */
int64_t view_age_ns(const struct view *view, uint32_t worker);

/*
 * For how long @worker may have changed without a row of it: one that has not come although it was
 * due says that nothing has.
 */
static inline int64_t view_unseen_ns(const struct view *view, uint32_t worker)
{
    const int64_t age_ns = view_age_ns(view, worker);
    return age_ns > view->row_load_ns ? 0 : age_ns;
}

/* Whether new work may be placed on @worker. */
static inline bool view_is_usable(const struct view *view, uint32_t worker)
{
    ASSERT(worker < view->board->worker_count);
    const uint32_t node = view->fleet->workers[worker].node;
    if ((view->members != NULL && !members_is_up(view->members, node)) ||
        view->fleet->workers[worker].is_absent) {
        return false;
    }
    return !suspects_has(&view->suspects, node) && !suspects_has(&view->far, node) &&
           view_load(view, worker)->accepting != 0;
}

/* When a worker whose row is @load has nothing left to do, by that; never before now. */
static inline int64_t view_row_free_ns(
    const struct view *view, uint32_t worker, const struct row_load *load)
{
    const int64_t delay_ns = view_is_own(view, worker) ? 0 : view->board->delay_ns;
    const int64_t free_at_ns = load->at_ns + delay_ns + load->queued_ns;
    return max_i64(free_at_ns, view->now_ns);
}

/* When @worker has nothing left to do, by its row; never before now. */
static inline int64_t view_row_free_at_ns(const struct view *view, uint32_t worker)
{
    return view_row_free_ns(view, worker, view_load(view, worker));
}

/* When @worker, whose row is @load, is believed to have nothing left to do; never before now. */
static inline int64_t view_free_ns(
    const struct view *view, uint32_t worker, const struct row_load *load)
{
    const int64_t free_at_ns = view_row_free_ns(view, worker, load);
    if (view->reservations.count == 0) {
        return free_at_ns;
    }
    return free_at_ns + reservations_run_ns(&view->reservations, worker, load->sequence);
}

/* The same, of the row that is there. */
static inline int64_t view_free_at_ns(const struct view *view, uint32_t worker)
{
    return view_free_ns(view, worker, view_load(view, worker));
}

/* What a row says of a worker's slowness is forgotten, or one that recovered is never tried. */
#define VIEW_SLOWNESS_NS (30 * NS_PER_S)

/* By how much longer than expected @worker takes by its row: VIEW_SLOWER_ONE, twice as long. */
enum { VIEW_SLOWER_ONE = ROW_SLOWNESS_PARTS * ROW_SLOWNESS_PARTS };

static inline int64_t view_slower(const struct view *view, uint32_t worker)
{
    const struct row_load *load = view_load(view, worker);
    const int64_t parts = load->accepting - ROW_ACCEPTING;
    if (parts == 0) { /* As of nearly all. */
        return 0;
    }
    const int64_t age_ns = min_i64(max_i64(view->now_ns - load->at_ns, 0), VIEW_SLOWNESS_NS);
    const int64_t left = ROW_SLOWNESS_PARTS - age_ns / (VIEW_SLOWNESS_NS / ROW_SLOWNESS_PARTS);
    return parts * left;
}

/* How long what should take @ns takes on @worker, if that is more than chance. */
static inline int64_t view_slowed_ns(const struct view *view, uint32_t worker, int64_t ns)
{
    const int64_t parts = view_load(view, worker)->accepting - ROW_ACCEPTING;
    return parts <= ROW_SLOWNESS_PARTS / 4 ? ns
                                           : ns + ns / VIEW_SLOWER_ONE * view_slower(view, worker);
}

/* Whether all readers on this side see the newest load of every worker. */
static inline bool view_sees_newest(const struct view *view)
{
    const struct board *board = view->board;
    return board->cut_count == 0 && board->newest_ns <= view->now_ns - board->delay_ns;
}

/* Whether tasks may wait at a worker of another node. One look tells that none do. */
static inline bool view_may_wait(const struct view *view)
{
    return view->board->waiting_count > 0 || !view_sees_newest(view);
}

/*
 * The first worker, of those of other nodes, that is free first by its row. WORKER_NONE if
 * that cannot be told at once.
 */
static inline uint32_t view_earliest(const struct view *view)
{
    if (!view_sees_newest(view)) {
        return WORKER_NONE;
    }
    const uint32_t worker = board_earliest(view->board, view->now_ns - view->board->delay_ns);
    return view_is_own(view, worker) ? WORKER_NONE : worker;
}

/*
 * The first worker from @worker on that may be free before @until_ns; the number of workers
 * if there is none. For loops over all of them: one look tells that most are not, because
 * own reservations can only add to what a row knows.
 */
static inline uint32_t view_skip_busy(const struct view *view, uint32_t worker, int64_t until_ns)
{
    const struct board *board = view->board;
    if (board->cut_count > 0 || worker >= board->worker_count || view_is_own(view, worker)) {
        return worker; /* Of own workers the live rows count. */
    }
    const uint32_t end = worker < view->worker_first ? view->worker_first : board->worker_count;
    const int64_t queued_until_ns = until_ns - board->delay_ns;
    const int64_t seen_ns = view->now_ns - board->delay_ns;
    const bool all_seen = view_sees_newest(view);
    while (worker < end && board->until_ns[worker] >= queued_until_ns &&
           (all_seen || board->loads[worker].versions[0].at_ns <= seen_ns)) {
        worker++;
    }
    return worker;
}

/* What view_free_units says where there may be claims of this node that a row does not show. */
struct units view_corrected_units(const struct view *view, uint32_t worker);

/*
 * Units of @worker and of its machine that are believed to be free: as its row says, or what it
 * has said since, less what this node has claimed and neither of them counts.
 */
static inline struct units view_free_units(const struct view *view, uint32_t worker)
{
    const struct fleet_worker *device = &view->fleet->workers[worker];
    const struct fleet_node *machine = &view->fleet->nodes[device->node];
    if (machine->worker_count > 1 ||
        view->reservations.buckets[worker % RESERVATION_BUCKETS] != POOL_NONE) {
        return view_corrected_units(view, worker);
    }
    const struct row_load *load = view_load(view, worker);
    const struct news_entry *said = news_since(&view->news, worker, load->sequence);
    return (struct units){
        .gpu = min_u32(said != NULL ? said->gpu : load->gpu_free, device->gpu_units),
        .cpu = min_u32(said != NULL ? said->cpu : load->cpu_free, machine->cpu_units),
    };
}

/* As many units of @worker or fewer are free. One look tells that most workers are full. */
static inline uint32_t view_gpu_at_most(const struct view *view, uint32_t worker)
{
    const struct row_load *load = view_load(view, worker);
    const struct news_entry *said = news_since(&view->news, worker, load->sequence);
    return said != NULL ? said->gpu : load->gpu_free;
}

/* Whether a batch with these shares, 0 @gpu for the whole device, could start on @worker now. */
bool view_fits(const struct view *view, uint32_t worker, uint32_t cpu, uint32_t gpu);

static inline bool view_holds_model(const struct view *view, uint32_t worker, uint32_t model)
{
    const struct row_cache *cache = view_cache(view, worker);
    return model_set_has(&cache->resident, model) || model_set_has(&cache->loading, model);
}

#endif /* VIEW_VIEW_H */
