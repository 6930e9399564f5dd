#include "policy/weft_fade.h"

#include "policy/weft_share.h"

int64_t weft_faded(const struct view *view, uint32_t worker, int64_t run_ns)
{
    const int64_t unseen_ns = view_unseen_ns(view, worker);
    return unseen_ns == 0 ? 0 : unseen_ns / ((unseen_ns + run_ns) / WEFT_SHARE_ONE + 1);
}

int64_t weft_fade_ns(const struct view *view, int64_t free_ns, int64_t mean_ns, int64_t faded)
{
    const int64_t less_ns = mean_ns - (free_ns - view->now_ns);
    return less_ns <= 0 ? 0 : weft_share_ns(less_ns, faded);
}

int64_t weft_chance_ns(struct rng *rng, int64_t mean_ns, int64_t faded)
{
    const int64_t all_ns = weft_share_ns(mean_ns, faded);
    return all_ns == 0 ? 0 : weft_share_ns(all_ns, rng_below(rng, WEFT_SHARE_ONE / 2));
}
