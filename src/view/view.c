#include "view/view.h"

#include "base/assert.h"

/*
 * The oldest of the cuts that have kept the two apart without a pause until now: what was
 * seen when it began is all that has been seen since. Cuts are in the order of their
 * beginnings, so each is asked whether it still held when the next later one began.
 */
const struct board_cut *view_cut(const struct view *view, uint32_t worker)
{
    const uint32_t other = view->fleet->workers[worker].node;
    const struct board_cut *oldest = NULL;
    int64_t at_ns = view->now_ns;
    for (uint32_t i = view->board->cut_count; i > 0; i--) {
        const struct board_cut *cut = &view->board->cuts[i - 1];
        const bool is_between = (view->node < cut->node_first) != (other < cut->node_first);
        if (is_between && cut->until_ns > at_ns) {
            oldest = cut;
            at_ns = cut->from_ns;
        }
    }
    return oldest;
}

const struct row_load *view_load_cut(const struct view *view, uint32_t worker)
{
    const struct board_cut *cut = view_cut(view, worker);
    return cut != NULL ? &cut->load[worker] : board_load(view->board, worker, view->now_ns);
}

const struct row_cache *view_cache_cut(const struct view *view, uint32_t worker)
{
    const struct board_cut *cut = view_cut(view, worker);
    return cut != NULL ? &cut->cache[worker] : board_cache(view->board, worker, view->now_ns);
}

int64_t view_age_ns(const struct view *view, uint32_t worker)
{
    ASSERT(worker < view->board->worker_count);

    if (view_is_own(view, worker)) {
        return 0;
    }
    const int64_t received_ns = view_load(view, worker)->at_ns + view->board->delay_ns;
    return received_ns < view->now_ns ? view->now_ns - received_ns : 0;
}
