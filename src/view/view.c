#include "view/view.h"

#include "base/assert.h"

int64_t view_age_ns(const struct view *view, uint32_t worker)
{
    ASSERT(worker < view->board->worker_count);

    if (view_is_own(view, worker)) {
        return 0;
    }
    const int64_t received_ns = view_load(view, worker)->at_ns + view->board->delay_ns;
    return received_ns < view->now_ns ? view->now_ns - received_ns : 0;
}

bool view_is_usable(const struct view *view, uint32_t worker)
{
    ASSERT(worker < view->board->worker_count);

    const uint32_t node = view->fleet->workers[worker].node;
    if (view->members != NULL && !members_is_up(view->members, node)) {
        return false;
    }
    return !suspects_has(&view->suspects, node) && view_load(view, worker)->accepting != 0;
}
