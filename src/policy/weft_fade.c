#include "policy/weft_fade.h"

enum { SHARE_ONE = 1024 };

int64_t weft_fade_ns(
    const struct view *view, uint32_t worker, int64_t free_ns, int64_t mean_ns, int64_t run_ns)
{
    const int64_t less_ns = mean_ns - (free_ns - view->now_ns);
    const int64_t unseen_ns = view_unseen_ns(view, worker);
    if (less_ns <= 0 || unseen_ns == 0) {
        return 0;
    }
    return less_ns / SHARE_ONE * (unseen_ns / ((unseen_ns + run_ns) / SHARE_ONE + 1));
}
