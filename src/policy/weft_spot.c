#include "policy/weft_spot.h"

#include "base/numbers.h"
#include "policy/choose.h"
#include "policy/compass_cost.h"
#include "policy/esg_order.h"
#include "policy/weft_haste.h"
#include "policy/weft_home.h"
#include "policy/weft_keep.h"
#include "policy/weft_options.h"
#include "policy/weft_spare.h"
#include "policy/weighed.h"

/* What waits for links is late by one part in this many of what it costs others there. */
enum { OWN_WAIT = 4 };

_Static_assert((int)VIEW_SLOWER_ONE == (int)WEFT_LEARN_ONE, "rows speak of the same parts");

/* What everything takes on @worker: by what was learnt here, or by its row beside those of all. */
static int64_t slowness_of(const struct weft_ask *ask, uint32_t worker)
{
    const struct view *view = ask->fit.input->view;
    const int64_t one = WEFT_LEARN_ONE;
    const int64_t learnt = weft_learnt_worker(ask->learn, worker, view->now_ns);
    const int64_t shown = (one + view_slower(view, worker)) * one / (one + ask->slower);
    return shown > one + one / 2 ? max_i64(learnt, shown) : learnt;
}

/* What a run of @bid takes beyond what was planned where everything takes @slowness. */
static int64_t more_ns(
    const struct policy_input *input, const struct weft_bid *bid, int64_t slowness)
{
    return input->options[WEFT_LEARN] == 0
               ? 0
               : weft_learnt_more_ns(bid->choice->beside_ns, bid->slowness, slowness);
}

/*
 * How long a batch of @kind waits at @worker for what that loads now, one model at a time: 0 if its
 * own models are there.
 */
static int64_t loading_ns(
    const struct policy_input *input, const struct workflow_task *kind, uint32_t worker)
{
    const struct row_cache *cache = view_cache(input->view, worker);
    if (choose_has_models(input->view, worker, kind) || model_set_is_empty(&cache->loading)) {
        return 0;
    }
    int64_t load_ns = 0;
    for (uint32_t model = 0; model < input->profile->model_count; model++) {
        if (model_set_has(&cache->loading, model)) {
            const struct fleet_worker *spec = &input->view->fleet->workers[worker];
            load_ns = max_i64(profile_load_ns(input->profile, model, spec), load_ns);
        }
    }
    return max_i64(cache->at_ns + load_ns - input->view->now_ns, 0);
}

struct weft_place weft_spot_place(const struct weft_ask *ask, uint32_t worker)
{
    const struct policy_input *input = ask->fit.input;
    const struct view *view = input->view;
    const int64_t load_ns = fit_load_ns(input, ask->fit.task, worker);
    const struct fit_place fit = fit_look(view, worker);
    const int64_t before_ns = loading_ns(input, ask->fit.task, worker);
    const bool is_kept = before_ns >= WEFT_WAIT_LEAST_NS && input->options[WEFT_HOLD] != 0 &&
                         weft_idle_share(input) < WEFT_IDLE_ONE / 2;
    return (struct weft_place){
        .fit = fit,
        .node = view->fleet->workers[worker].node,
        .kept_ns = is_kept ? before_ns : 0,
        .load_ns = load_ns + (is_kept ? 0 : before_ns),
        .eviction_ns = weft_keep_cost_ns(input, ask->fit.task, worker, load_ns),
        .slowness = slowness_of(ask, worker),
        .spare_bytes = load_ns == 0 ? weft_spare_bytes(input, worker, fit.room.gpu) : UINT64_MAX,
    };
}

/* What @bid costs at least where none of its inputs are. INT64_MIN: that cannot be told. */
static int64_t floor_of(const struct weft_ask *ask, const struct weft_bid *bid)
{
    const struct policy_input *input = ask->fit.input;
    const uint64_t bytes = bid->config.batch * ask->fit.bytes_per_item;
    if (!ask->inputs->are_together || weft_learnt_is_any_faster(ask->learn)) {
        return INT64_MIN;
    }
    return fleet_transfer_least_ns(input->view->fleet, bytes) +
           more_ns(input, bid, /* slowness */ WEFT_LEARN_ONE);
}

struct weft_bid weft_spot_bid(const struct weft_ask *ask, const struct configs_choice *choice)
{
    const struct config config = esg_cut(choice->config, ask->fit.queue->items);
    struct weft_bid bid = {
        .config = config,
        .choice = choice,
        .bytes = fit_bytes(&ask->fit, &config),
        .slowness = weft_learnt_config(ask->learn, ask->number, choice->device, choice->config),
    };
    bid.floor_ns = floor_of(ask, &bid);
    return bid;
}

bool weft_spot_can_hold(
    const struct weft_ask *ask, const struct weft_place *place, const struct weft_bid *bid)
{
    return place->fit.device->device == bid->choice->device &&
           configs_can_hold(
               ask->fit.input->view->fleet, place->fit.worker, &bid->config, bid->bytes);
}

/*
 * Whether @bid would wait at @place for memory: as much for each unit that is in use as it needs
 * for each of its own is taken.
 */
static bool lacks_memory(
    const struct weft_place *place, const struct weft_bid *bid, uint64_t model_bytes)
{
    const uint64_t bytes = bid->bytes - model_bytes;
    const uint32_t used = place->fit.device->gpu_units - place->fit.room.gpu;
    return place->spare_bytes != UINT64_MAX &&
           bytes + bytes * used / max_u32(bid->config.gpu, 1) > place->spare_bytes;
}

struct weft_spot weft_spot_look(
    const struct weft_ask *ask, const struct weft_place *place, const struct weft_bid *bid)
{
    const struct policy_input *input = ask->fit.input;
    const uint32_t batch = bid->config.batch;
    const int64_t toll_ns = weft_inputs_toll_ns(ask->inputs, batch, place->node) / 64 *
                            compass_64ths(input->options[WEFT_TOLL]);
    const int64_t arrive_ns =
        weft_inputs_arrive_ns(ask->inputs, batch, place->node) + toll_ns / OWN_WAIT;
    struct weft_spot spot = {
        .worker = place->fit.worker,
        .has_room = fit_has_room(&ask->fit, &place->fit, &bid->config, bid->bytes),
        .left = place->fit.room.gpu,
        .delay_ns = max_i64(place->load_ns, arrive_ns),
    };
    if (!spot.has_room && input->options[WEFT_HOLD] == 0) {
        return WEFT_SPOT_NOWHERE;
    }
    int64_t wait_ns = 0;
    if (spot.has_room && place->kept_ns > 0) {
        spot.has_room = false;
        wait_ns = place->kept_ns;
        spot.delay_ns += wait_ns;
    } else if (!spot.has_room || lacks_memory(place, bid, ask->model_bytes)) {
        const int64_t free_at_ns = view_free_at_ns(input->view, spot.worker);
        wait_ns = max_i64(free_at_ns - input->view->now_ns, WEFT_WAIT_LEAST_NS);
        spot.delay_ns += wait_ns;
    }
    spot.more_ns = more_ns(input, bid, place->slowness);
    /* Others wait as well behind one that waits, on links, and for what is evicted. */
    spot.score_ns = spot.delay_ns + spot.more_ns + wait_ns + toll_ns + place->eviction_ns;
    spot.is_ideal = spot.has_room && spot.delay_ns == 0 && place->slowness <= WEFT_LEARN_ONE;
    if (input->weighed != NULL) {
        weighed_note(
            input, ask->fit.task, ask->fit.queue->task, spot.worker, &bid->config,
            input->view->now_ns + bid->choice->run_ns + spot.score_ns);
    }
    return spot;
}
