#include "policy/weft_ahead.h"

#include "base/numbers.h"
#include "policy/weft_share.h"

/* Which part of what waits has later keys than @key_ns, in 1024ths. */
static int64_t share_behind(const struct row_load *load, int64_t key_ns)
{
    const int64_t first_ns = load->at_ns + (int64_t)load->first_steps * ROW_STEP_NS;
    const int64_t last_ns = load->at_ns + (int64_t)load->last_steps * ROW_STEP_NS;
    if (key_ns < first_ns) {
        return WEFT_SHARE_ONE;
    }
    if (key_ns >= last_ns) {
        return 0;
    }
    return (last_ns - key_ns) / max_i64((last_ns - first_ns) / WEFT_SHARE_ONE, 1);
}

int64_t weft_ahead_ns(const struct view *view, uint32_t worker, int64_t key_ns, int64_t run_ns)
{
    const struct row_load *load = view_load(view, worker);
    const int64_t waits_ns = (int64_t)load->waits_steps * ROW_STEP_NS;
    if (load->queued_items == 0 || run_ns >= waits_ns / load->queued_items) {
        return 0;
    }
    const int64_t gain_ns = waits_ns - run_ns * load->queued_items;
    return weft_share_ns(gain_ns, min_i64(share_behind(load, key_ns), WEFT_SHARE_ONE));
}
