#include "policy/weft_home.h"

#include "base/numbers.h"
#include "policy/choose.h"
#include "policy/esg_order.h"
#include "policy/esg_search.h"
#include "policy/weft_haste.h"
#include "policy/weft_inputs.h"
#include "policy/weft_keep.h"
#include "policy/weft_options.h"
#include "policy/weft_priced.h"
#include "policy/weft_split.h"
#include "policy/weft_spot.h"

/* As many free units as a config needs, and no more: it fits best there. */
#define UNITS_ENOUGH UINT32_MAX

/* What has no SLO leaves so many times the share of units that others are late by. */
enum { ROOM_WEIGHT = 8 };

void weft_home_queued(const struct policy_input *input, const struct ready_facts *task)
{
    const struct policy_input asked = weft_home_as_esg(input);
    struct weft_state *state = input->state;
    const uint32_t number = task->job->graph->queue_first + task->task;
    const int64_t now_ns = input->view->now_ns;
    esg_warm_note(&asked, number, task->items);
    if (number < ESG_QUEUES_MAX && task->job->graph->tasks[task->task].in_count > 0 &&
        now_ns >= state->gathers_ns[number]) {
        state->gathers_ns[number] = now_ns + input->view->fleet->network.latency_ns + 1;
    }
}

int64_t weft_home_whole_ns(const struct policy_input *input, const struct job_facts *job)
{
    const struct weft_plan *plan = input->plan;
    const double path_ns = input->options[WEFT_PATH] * (double)plan->path_ns[job->workflow];
    return job->deadline_ns != INT64_MAX ? job->deadline_ns - job->arrived_ns
                                         : (int64_t)min_double(path_ns, 0x1p60);
}

int64_t weft_home_later_ns(const struct policy_input *input, const struct job_facts *job)
{
    const struct weft_plan *plan = input->plan;
    const bool waits = job->deadline_ns == INT64_MAX && job->priority == 0;
    return plan->is_mixed && waits ? NO_DEADLINE_NS : 0;
}

int64_t weft_home_order(const struct policy_input *input, const struct ready_facts *task)
{
    const struct weft_plan *plan = input->plan;
    const struct job_facts *job = task->job;
    const struct esg_queue *known = &plan->esg->queues[job->graph->queue_first + task->task];
    const int64_t end_ns = esg_scaled(weft_home_whole_ns(input, job), known->group_end_ns);
    return job->arrived_ns + end_ns + weft_home_later_ns(input, job);
}

/* In a tie, the tightest fit: it leaves room elsewhere for what needs more. */
static bool is_better(const struct weft_spot *a, const struct weft_spot *b)
{
    return a->score_ns != b->score_ns ? a->score_ns < b->score_ns : a->left < b->left;
}

static void add(struct dispatch_answer *answer, const struct config *config, uint32_t worker)
{
    if (answer->count < DISPATCH_CANDIDATES_MAX) {
        answer->configs[answer->count] = *config;
        answer->workers[answer->count] = worker;
        answer->count++;
    }
}

/* Of all configs the one that ends first, if it can start now. */
static void hurry(const struct weft_ask *ask, struct dispatch_answer *answer_out)
{
    const struct view *view = ask->fit.input->view;
    const struct configs *configs = &ask->known->configs;
    const uint32_t head = min_u32(ask->fit.queue->head_items, ask->known->batch_max);
    const uint32_t most = esg_most_items(ask->known, ask->fit.queue);
    struct weft_spot best = WEFT_SPOT_NOWHERE; /* Its score counts the run as well. */
    struct config best_config = {0};
    for (uint32_t at = 0; at < view->fleet->worker_count; at++) {
        const uint32_t worker = choose_round(view, at);
        if (!view_is_usable(view, worker)) {
            continue;
        }
        const struct weft_place place = weft_spot_place(ask, worker);
        for (uint32_t i = 0; i < configs->count; i++) { /* The fastest first. */
            const int64_t time_ns = configs->weights[i].time_ns;
            const uint32_t batch = configs->choices[i].config.batch;
            if (best.score_ns - place.load_ns < time_ns) {
                break;
            }
            if (batch < head || batch > most) {
                continue;
            }
            const struct weft_bid bid = weft_spot_bid(ask, &configs->choices[i]);
            if (!weft_spot_can_hold(ask, &place, &bid)) {
                continue;
            }
            struct weft_spot spot = weft_spot_look(ask, &place, &bid);
            spot.score_ns += spot.worker == WORKER_NONE ? 0 : time_ns;
            if (is_better(&spot, &best)) {
                best = spot;
                best_config = bid.config;
            }
        }
    }
    if (best.worker != WORKER_NONE && best.has_room) {
        add(answer_out, &best_config, best.worker);
    } else {
        answer_out->waits_for = best.worker;
    }
}

/* Whether @worker is full and each of @count configs has a better place than any full one. */
static bool is_hopeless(
    const struct weft_ask *ask, uint32_t worker, const struct weft_spot *spots, uint32_t count)
{
    bool is_hopeless = view_gpu_at_most(ask->fit.input->view, worker) == 0;
    for (uint32_t i = 0; i < count && is_hopeless; i++) {
        is_hopeless = spots[i].score_ns < WEFT_WAIT_LEAST_NS;
    }
    return is_hopeless && ask->fit.input->weighed == NULL;
}

/* @worker is one more for @count bids. */
static void try_all(
    const struct weft_ask *ask, uint32_t worker, const struct weft_bid *bids,
    struct weft_spot *spots, uint32_t count)
{
    if (is_hopeless(ask, worker, spots, count) || !view_is_usable(ask->fit.input->view, worker)) {
        return;
    }
    const struct weft_place place = weft_spot_place(ask, worker);
    for (uint32_t i = 0; i < count; i++) {
        if (!weft_spot_can_hold(ask, &place, &bids[i])) {
            continue;
        }
        const struct weft_spot spot = weft_spot_look(ask, &place, &bids[i]);
        if (!spots[i].is_ideal && is_better(&spot, &spots[i])) { /* Strict: the first wins a tie. */
            spots[i] = spot;
        }
    }
}

/* Whether @bid is no better where none of its inputs are and @left units are free. */
static bool is_beaten(const struct weft_bid *bid, const struct weft_spot *spot, uint32_t left)
{
    const int64_t wait_ns =
        left < bid->config.gpu ? 2 * WEFT_WAIT_LEAST_NS : 0; /* It counts twice. */
    const int64_t least_ns = bid->floor_ns + wait_ns;
    return spot->is_ideal || least_ns > spot->score_ns ||
           (least_ns == spot->score_ns && left >= spot->left);
}

/* Whether none is better there; with UNITS_ENOUGH, wherever that is. */
static bool are_beaten(
    const struct weft_ask *ask, const struct weft_bid *bids, const struct weft_spot *spots,
    uint32_t count, uint32_t left)
{
    bool are_beaten = ask->fit.input->weighed == NULL;
    for (uint32_t i = 0; i < count && are_beaten; i++) {
        are_beaten =
            is_beaten(&bids[i], &spots[i], left == UNITS_ENOUGH ? bids[i].config.gpu : left);
    }
    return are_beaten;
}

/* Some of the configs that were found, cheapest first. */
struct range {
    uint32_t first;
    uint32_t count;
};

/*
 * Where each config of @range would end first and cost others least. The node with the inputs
 * comes first, as they take longest to anywhere else: a worker that could be no better than what
 * is known by then is not looked at, and the search ends once none could be.
 */
static void find(
    const struct weft_ask *ask, const struct esg_found *found, struct range range,
    struct weft_spot *spots_out)
{
    const struct view *view = ask->fit.input->view;
    const struct fleet *fleet = view->fleet;
    const uint32_t near = weft_inputs_node(ask->inputs, 0);
    struct weft_bid bids[SEARCH_PATHS_MAX];
    for (uint32_t i = 0; i < range.count; i++) {
        const uint32_t number = found->answer.paths[range.first + i].first;
        bids[i] = weft_spot_bid(ask, &ask->known->configs.choices[number]);
        spots_out[i] = WEFT_SPOT_NOWHERE;
    }
    for (uint32_t i = 0; near != NODE_NONE && i < fleet->nodes[near].worker_count; i++) {
        try_all(ask, fleet->nodes[near].worker_first + i, bids, spots_out, range.count);
    }
    bool settled = are_beaten(ask, bids, spots_out, range.count, UNITS_ENOUGH);
    for (uint32_t at = 0; at < fleet->worker_count && !settled; at++) {
        const uint32_t worker = choose_round(view, at);
        const uint32_t left = view_free_units(view, worker).gpu;
        if (fleet->workers[worker].node != near &&
            !are_beaten(ask, bids, spots_out, range.count, left)) {
            try_all(ask, worker, bids, spots_out, range.count);
            settled = are_beaten(ask, bids, spots_out, range.count, UNITS_ENOUGH);
        }
    }
}

/* What a batch that ends @late_ns later than planned is late by, by the clock of the profile. */
static int64_t in_profile_ns(
    const struct weft_ask *ask, const struct configs_choice *choice, int64_t late_ns)
{
    const int64_t run_ns = choice->beside_ns;
    return ask->model == WEFT_LEARN_ONE ? late_ns
                                        : (run_ns + late_ns) / ask->model * WEFT_LEARN_ONE - run_ns;
}

/* A wait that nothing is worth. */
#define NO_WAIT_NS INT64_MAX

/*
 * Those of @range that are in time and end within @limit_ns, if they can start. How soon one would
 * end, with all that it costs others, that is in time and cannot; NO_WAIT_NS: there is none.
 */
static int64_t place_range(
    const struct weft_ask *ask, const struct esg_found *found, struct range range, int64_t limit_ns,
    struct dispatch_answer *answer_out)
{
    struct weft_spot spots[SEARCH_PATHS_MAX];
    int64_t waits_ns = NO_WAIT_NS;
    find(ask, found, range, spots);
    for (uint32_t i = 0; i < range.count; i++) {
        const struct weft_spot *spot = &spots[i];
        if (spot->worker == WORKER_NONE) {
            continue;
        }
        const struct search_path *path = &found->answer.paths[range.first + i];
        const struct configs_choice *choice = &ask->known->configs.choices[path->first];
        const struct config config = esg_cut(choice->config, ask->fit.queue->items);
        const int64_t late_ns = in_profile_ns(
            ask, choice, max_i64(spot->delay_ns - ask->known->transfer_ns, 0) + spot->more_ns);
        const bool in_time =
            found->rule == ESG_GIVEN_UP || path->time_ns + late_ns <= found->target_ns;
        const int64_t end_ns = ask->known->configs.weights[path->first].time_ns + spot->score_ns;
        if (!in_time || end_ns > limit_ns) {
            continue;
        }
        if (spot->has_room && answer_out->count == 0 && found->rule == ESG_ON_TIME) {
            /* Runs that are shorter than planned are as little to be relied on. */
            const int64_t off_ns = late_ns - 2 * min_i64(spot->more_ns, 0);
            weft_haste_note(ask->fit.input, off_ns, found->target_ns);
        }
        if (spot->has_room) {
            add(answer_out, &config, spot->worker);
        } else {
            answer_out->waits_for = waits_ns == NO_WAIT_NS ? spot->worker : answer_out->waits_for;
            waits_ns = min_i64(waits_ns, end_ns);
        }
    }
    return waits_ns;
}

/* If there are other kinds of devices: configs there that can start and end within @limit_ns. */
static void place_kinds(
    const struct weft_ask *ask, const struct esg_found *found, int64_t limit_ns,
    struct dispatch_answer *answer_out)
{
    const struct policy_input *input = ask->fit.input;
    const struct weft_plan *plan = input->plan;
    const uint32_t count = input->view->fleet->device_count;
    struct esg_found others;
    if (count > 1 && found->rule <= ESG_BORROWED &&
        weft_kinds_find(
            plan->kinds[ask->number], count, ask->known, ask->fit.queue, found, &others)) {
        const struct range all = {.count = others.answer.count};
        const uint32_t waits_for = answer_out->waits_for;
        (void)place_range(ask, &others, all, limit_ns, answer_out);
        answer_out->waits_for = waits_for;
    }
}

/*
 * The cheapest configs in time that can start. True if one is in time that cannot. Mostly the first
 * can, which is then taken: the others are looked for only if it cannot, or to be shown, and those
 * of all kinds of devices only if the queue would wait for longer.
 */
static bool place(
    const struct weft_ask *ask, const struct esg_found *found, struct dispatch_answer *answer_out)
{
    const uint32_t count = found->answer.count;
    const struct range first = {.count = min_u32(count, 1)};
    const struct range rest = {.first = first.count, .count = count - first.count};
    int64_t waits_ns = place_range(ask, found, first, INT64_MAX, answer_out);
    if (answer_out->count > 0 && ask->fit.input->weighed == NULL) {
        return waits_ns != NO_WAIT_NS;
    }
    waits_ns = min_i64(waits_ns, place_range(ask, found, rest, INT64_MAX, answer_out));
    if (waits_ns != NO_WAIT_NS && answer_out->count == 0) {
        place_kinds(ask, found, waits_ns, answer_out);
    }
    return waits_ns != NO_WAIT_NS;
}

/*
 * Of @paths that have a place, those that can start if @starts, and end within @limit_ns: which has
 * the smallest product of price and end. UINT32_MAX: there is none.
 */
static uint32_t least_of(
    const struct weft_ask *ask, const struct search_answer *paths, const struct weft_spot *spots,
    bool starts, int64_t limit_ns)
{
    uint32_t best = UINT32_MAX;
    double least = 0;
    for (uint32_t i = 0; i < paths->count; i++) {
        const struct weft_spot *spot = &spots[i];
        const int64_t time_ns = ask->known->configs.weights[paths->paths[i].first].time_ns;
        if (spot->worker == WORKER_NONE || (starts && !spot->has_room) ||
            spot->score_ns > limit_ns - time_ns) {
            continue;
        }
        const double value = weft_priced_value(&paths->paths[i], spot->score_ns);
        if (best == UINT32_MAX || value < least) {
            best = i;
            least = value;
        }
    }
    return best;
}

/*
 * Where only price and time count: the smallest product of both or, if that has to wait, the
 * smallest of what can start and ends no later. False: there is no place for any.
 */
static bool place_priced(
    const struct weft_ask *ask, const struct esg_found *found, struct dispatch_answer *answer_out)
{
    const struct search_answer *paths = &found->answer;
    const struct range all = {.count = paths->count};
    struct weft_spot spots[SEARCH_PATHS_MAX];
    find(ask, found, all, spots);
    uint32_t best = least_of(ask, paths, spots, /* starts */ false, INT64_MAX);
    if (best == UINT32_MAX) {
        return false;
    }
    if (!spots[best].has_room) {
        const int64_t time_ns = ask->known->configs.weights[paths->paths[best].first].time_ns;
        answer_out->waits_for = spots[best].worker;
        best = least_of(ask, paths, spots, /* starts */ true, time_ns + spots[best].score_ns);
    }
    if (best != UINT32_MAX) {
        const uint32_t number = paths->paths[best].first;
        const struct config config =
            esg_cut(ask->known->configs.choices[number].config, ask->fit.queue->items);
        add(answer_out, &config, spots[best].worker);
    }
    return true;
}

/* @at_ns by a clock that is now the same and that the profile is right by. */
static int64_t on_its_clock(int64_t at_ns, int64_t now_ns, int64_t model)
{
    return at_ns == INT64_MAX ? at_ns : now_ns + (at_ns - now_ns) / model * WEFT_LEARN_ONE;
}

/*
 * @queue as the profile would see it: if its model takes half as long as it says, there is twice
 * the time.
 */
static struct queue_facts seen_by_profile(
    const struct policy_input *input, const struct queue_facts *queue, int64_t model)
{
    const int64_t now_ns = input->view->now_ns;
    struct queue_facts facts = *queue;
    facts.head_deadline_ns = on_its_clock(queue->head_deadline_ns, now_ns, model);
    facts.head_arrived_ns = on_its_clock(queue->head_arrived_ns, now_ns, model);
    return facts;
}

/* Whether @found ends sooner than its SLO asks for, only because idle units cost nothing. */
static bool is_sooner_than_due(
    const struct policy_input *input, const struct queue_facts *queue,
    const struct esg_found *found)
{
    return input->view->fleet->prices.gpu == 0 && queue->head_deadline_ns != INT64_MAX &&
           found->wish_ns < found->target_ns;
}

static void dispatch_queue(
    const struct policy_input *input, const struct queue_facts *queue, int64_t model,
    struct dispatch_answer *answer_out)
{
    const struct policy_input asked = weft_home_as_esg(input);
    const struct workflow *workflow = input->catalogue->workflows[queue->workflow];
    struct weft_state *state = input->state;
    const struct esg_queue *known = esg_queue(&asked, queue->workflow, queue->task);
    struct weft_inputs inputs;
    struct weft_ask ask = {
        .inputs = &inputs,
        .fit =
            {
                .input = input,
                .queue = queue,
                .task = &workflow->tasks[queue->task],
                .bytes_per_item = known->bytes_per_item,
                .locality = true,
            },
        .known = known,
        .learn = &state->learn,
        .number = workflow->queue_first + queue->task,
        .model_bytes = need_bytes(input->profile, &workflow->tasks[queue->task], /* items */ 0),
        .model = model,
        .slower = weft_slower(input),
    };
    answer_out->near_first = true;
    const uint32_t paths = queue->rechecks > 0 ? SEARCH_PATHS_MAX : (uint32_t)asked.options[ESG_K];
    struct esg_found found;
    const int64_t target_ns = weft_split_target_ns(input, queue);
    struct esg_wish wish = {
        .path_count = paths,
        .target_ns = target_ns,
        .end_ns = weft_haste_ns(input, queue, known, target_ns),
        .rest = weft_split_rest(input, queue),
    };
    esg_search(&asked, queue, &wish, &found);
    const bool is_priced = weft_priced_is_on(input, queue);
    if (is_priced) {
        weft_priced_find(input, queue, known, &found.answer);
    }
    if (found.rule >= ESG_HURRIED && !queue->put_off && queue->head_items > 1 &&
        queue->items > queue->head_items) {
        struct queue_facts alone = *queue; /* It is a batch; others would be late with it. */
        alone.items = queue->head_items;   /* So it is asked for again no more than once. */
        dispatch_queue(input, &alone, model, answer_out);
        return;
    }
    answer_out->wake_at_ns = esg_warm_wait(&asked, queue, &found);
    if (answer_out->wake_at_ns != 0) {
        return;
    }
    weft_inputs_find(&inputs, &ask.fit, &state->brought, known->configs.weights[0].time_ns);
    const bool rushes = found.rule == ESG_GIVEN_UP && weft_may_rush(input, queue);
    bool is_placed = !rushes && (is_priced ? place_priced(&ask, &found, answer_out)
                                           : place(&ask, &found, answer_out));
    if (is_placed && answer_out->count == 0 && is_sooner_than_due(input, queue, &found)) {
        wish.end_ns = found.target_ns; /* In time is enough: nothing waits for a wish. */
        esg_search(&asked, queue, &wish, &found);
        is_placed = place(&ask, &found, answer_out);
    }
    if (!is_placed && answer_out->count == 0) {
        hurry(&ask, answer_out);
    }
    if (answer_out->count > 0) {
        const uint32_t to = input->view->fleet->workers[answer_out->workers[0]].node;
        weft_keep_note(input, ask.fit.task, answer_out->workers[0]);
        weft_inputs_bring(&inputs, answer_out->configs[0].batch, to, &state->brought);
    }
}

static void dispatch_home(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    const uint32_t run = input->catalogue->workflows[queue->workflow]->tasks[queue->task].run;
    const int64_t model = weft_split_model(input, run);
    if (model == WEFT_LEARN_ONE) {
        dispatch_queue(input, queue, model, answer_out);
        return;
    }
    const struct queue_facts facts = seen_by_profile(input, queue, model);
    dispatch_queue(input, &facts, model, answer_out);
}

/*
 * All of @queue is late. As batches cannot be stopped, one of its own would be in the way of those
 * in time, unless much is idle; and as no time is too long once its deadline is over, it then takes
 * what is cheapest.
 */
static void dispatch_late(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    struct queue_facts late = *queue;
    late.head_deadline_ns = weft_may_rush(input, queue) ? queue->head_deadline_ns : INT64_MAX;
    if (weft_idle_share(input) >= WEFT_IDLE_ONE / 2) {
        dispatch_home(input, &late, answer_out);
    }
}

/*
 * Whether the head of @queue has no SLO and leaves what is idle to jobs that have one: its batch
 * could not be stopped for them. The more of these are late, the more is left, half at most.
 */
static bool leaves_room(const struct policy_input *input, const struct queue_facts *queue)
{
    const struct weft_plan *plan = input->plan;
    const int64_t waited_ns = input->view->now_ns - queue->head_arrived_ns;
    if (!plan->is_mixed || queue->head_deadline_ns != INT64_MAX || queue->head_priority > 0 ||
        waited_ns > NO_DEADLINE_NS) {
        return false;
    }
    const int64_t missed = weft_haste_missed(input) * ROOM_WEIGHT;
    return weft_idle_share(input) < min_i64(missed, WEFT_IDLE_ONE / 2);
}

static uint32_t number_of(const struct policy_input *input, const struct queue_facts *queue)
{
    return input->catalogue->workflows[queue->workflow]->queue_first + queue->task;
}

/*
 * Tasks that ran together are offered one after another, and each of them alone would start at
 * once. Until when those are awaited that come with the first of them; 0: they are here.
 */
static int64_t gathers_until_ns(const struct policy_input *input, const struct queue_facts *queue)
{
    const struct weft_state *state = input->state;
    const uint32_t number = number_of(input, queue);
    const bool gathers = input->options[WEFT_TOGETHER] != 0 && number < ESG_QUEUES_MAX;
    const int64_t until_ns = gathers ? state->gathers_ns[number] : 0;
    return until_ns > input->view->now_ns ? until_ns : 0;
}

void weft_home_dispatch(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    if (queue->worker == WORKER_NONE && queue->put_off) {
        dispatch_late(input, queue, answer_out);
        weft_warm_note(input, queue, number_of(input, queue), answer_out);
        return;
    }
    if (queue->worker == WORKER_NONE) {
        if (leaves_room(input, queue)) {
            return;
        }
        answer_out->wake_at_ns = gathers_until_ns(input, queue);
        if (answer_out->wake_at_ns != 0) {
            return;
        }
        dispatch_home(input, queue, answer_out);
        weft_warm_note(input, queue, number_of(input, queue), answer_out);
        return;
    }
    const struct policy_input asked = weft_home_as_esg(input);
    const struct esg_queue *known = esg_queue(&asked, queue->workflow, queue->task);
    const struct queue_facts facts = esg_with_inputs(queue, known);
    const int64_t target_ns = esg_target_ns(&asked, &facts);
    const int64_t end_ns = weft_haste_ns(input, &facts, known, target_ns);
    esg_dispatch_own(&asked, &facts, end_ns, weft_may_rush(input, queue), answer_out);
}
