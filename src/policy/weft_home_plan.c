#include "policy/weft_home_plan.h"

#include "base/arena.h"
#include "base/numbers.h"
#include "policy/weft_batch.h"
#include "policy/weft_home.h"
#include "policy/weft_keep.h"
#include "policy/weft_options.h"

/* Configs are searched for as esg does by default, with time for transfers. */
#define AS_ESG                                                                                     \
    [ESG_K] = 5, [ESG_GROUP] = 3, [ESG_SHARE] = 1, [ESG_BATCH] = 1, [ESG_ADAPT] = 1,               \
    [ESG_SPLIT] = 1, [ESG_WAIT] = 1, [ESG_MARGIN] = 0.13, [ESG_PREWARM] = 1, [ESG_TRANSFERS] = 1

static const double esg_options[POLICY_OPTIONS_MAX] = {AS_ESG};
static const double esg_together[POLICY_OPTIONS_MAX] = {AS_ESG, [ESG_TOGETHER] = 1};

static const double *options_of_esg(const double *options)
{
    return options[WEFT_TOGETHER] != 0 ? esg_together : esg_options;
}

struct policy_input weft_home_as_esg(const struct policy_input *input)
{
    const struct weft_plan *plan = input->plan;
    struct weft_state *state = input->state;
    struct policy_input asked = *input;
    asked.options = options_of_esg(input->options);
    asked.plan = plan->esg;
    asked.state = &state->esg;
    return asked;
}

/* What a measurement is of. */
static bool is_of_a_part(const struct profile_point *point)
{
    return point->gpu != 0;
}

static bool is_of_a_batch(const struct profile_point *point)
{
    return point->items > 1;
}

/* Whether one of @model is as @is_it says. */
static bool was_measured(
    const struct plan_input *input, uint32_t model,
    bool (*is_it)(const struct profile_point *point))
{
    for (uint32_t device = 0; device < input->fleet->device_count; device++) {
        const struct profile_curve *curve = &input->profile->models[model].curves[device];
        for (uint32_t i = 0; i < curve->point_count; i++) {
            if (is_it(&curve->points[i])) {
                return true;
            }
        }
    }
    return false;
}

/* How many devices can be shared: those with units, partitions or not. */
static uint32_t count_shared(const struct fleet *fleet)
{
    uint32_t count = 0;
    for (uint32_t worker = 0; worker < fleet->worker_count; worker++) {
        const struct fleet_worker *spec = &fleet->workers[worker];
        count += spec->gpu_units > 1 && spec->partition == 0 ? 1 : 0;
    }
    return count;
}

/*
 * Whether tasks of shares are gathered in home queues. If one device has them all, its own queue
 * does as much, and costs less: but for units with a price, which only plans save.
 */
static bool gathers(const struct plan_input *input)
{
    const struct fleet *fleet = input->fleet;
    return input->options[WEFT_GATHER] != 0 && !fleet->has_slots &&
           (fleet->prices.gpu > 0 || count_shared(fleet) > 1);
}

/*
 * Whether batches of whole devices are gathered in home queues: the queues of workers hardly ever
 * have several tasks that can run together. Workers of one node share theirs.
 */
static bool gathers_batches(const struct plan_input *input)
{
    const struct fleet *fleet = input->fleet;
    bool splits = false;
    for (uint32_t worker = 0; worker < fleet->worker_count; worker++) {
        splits = splits || fleet->workers[worker].splits;
    }
    return input->options[WEFT_GATHER] != 0 && !fleet->has_slots && !splits &&
           fleet->node_count > 1;
}

/* By kind of device: the units that a batch may take for haste alone. */
static const uint32_t *find_parts(struct arena *arena, const struct plan_input *input)
{
    const struct fleet *fleet = input->fleet;
    uint32_t *parts = arena_alloc(arena, fleet->device_count * sizeof(*parts));
    for (uint32_t worker = 0; worker < fleet->worker_count; worker++) {
        const uint32_t part = weft_part(fleet, input->options, worker);
        parts[fleet->workers[worker].device] = part == 0 ? UINT32_MAX : part;
    }
    return parts;
}

/* By kind of device: its first worker where batches share the processors. */
static const uint32_t *find_sharers(struct arena *arena, const struct fleet *fleet)
{
    uint32_t *sharers = arena_alloc(arena, fleet->device_count * sizeof(*sharers));
    for (uint32_t device = 0; device < fleet->device_count; device++) {
        sharers[device] = configs_sharer(fleet, device);
    }
    return sharers;
}

/* For how long the inputs of a task travel, and how long it runs at best. */
struct way {
    int64_t travel_ns;
    int64_t run_ns;
};

/*
 * Ways are long if they take more than one part in this many of a run. What is gathered runs where
 * its models are: where memory is too small for all, that is seldom where its inputs are.
 */
enum { LONG_WAY = 8, LONG_WAY_TO_MODELS = 16 };

static bool is_long(const struct way *way, int64_t part)
{
    return way->travel_ns > way->run_ns / part;
}

static struct way way_of(
    const struct plan_input *input, const struct esg_plan *esg, const struct workflow *workflow,
    uint32_t task)
{
    const int64_t run_ns = profile_fastest_ns(
        input->profile, workflow->tasks[task].run, /* items */ 1, input->fleet->device_count);
    return (struct way){
        .travel_ns = esg->queues[workflow->queue_first + task].transfer_ns,
        .run_ns = min_i64(run_ns, DURATION_NS_MAX),
    };
}

/* Whether ways are long on average of all tasks. */
static bool are_long(const struct plan_input *input, const struct esg_plan *esg)
{
    struct way all = {0};
    for (uint32_t i = 0; i < input->catalogue->workflow_count; i++) {
        const struct workflow *workflow = input->catalogue->workflows[i];
        for (uint32_t task = 0; task < workflow->task_count; task++) {
            const struct way way = way_of(input, esg, workflow, task);
            all.travel_ns = min_i64(all.travel_ns + way.travel_ns, DURATION_NS_MAX);
            all.run_ns = min_i64(all.run_ns + way.run_ns, DURATION_NS_MAX);
        }
    }
    return is_long(&all, LONG_WAY);
}

void weft_home_plan(struct arena *arena, const struct plan_input *input, struct weft_plan *plan_out)
{
    const struct catalogue *catalogue = input->catalogue;
    struct plan_input asked = *input;
    asked.options = options_of_esg(input->options);
    const struct esg_plan *esg = esg_plan(arena, &asked);
    const bool are_gathered = gathers(input);
    const bool are_batched = gathers_batches(input);
    const bool are_far = are_long(input, esg);
    const int64_t part = plan_out->has_all ? LONG_WAY : LONG_WAY_TO_MODELS;
    plan_out->copies = false;
    bool *shares = arena_alloc(arena, catalogue->queue_count * sizeof(*shares));
    bool *waits = arena_alloc(arena, catalogue->queue_count * sizeof(*waits));
    const uint32_t kind_count = input->fleet->device_count;
    const struct weft_kind **kinds =
        arena_alloc(arena, catalogue->queue_count * sizeof(const struct weft_kind *));
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        for (uint32_t task = 0; task < workflow->task_count; task++) {
            const uint32_t number = workflow->queue_first + task;
            const struct way way = way_of(input, esg, workflow, task);
            const uint32_t run = workflow->tasks[task].run;
            const bool is_of_parts = was_measured(input, run, is_of_a_part);
            const bool is_gathered =
                is_of_parts ? are_gathered : are_batched && was_measured(input, run, is_of_a_batch);
            shares[number] = are_gathered && is_of_parts;
            const double due_ns = input->options[WEFT_PATH] * (double)plan_out->path_ns[i];
            const int64_t load_ns = weft_keep_load_ns(
                input->profile, &workflow->tasks[task], &input->fleet->workers[0]);
            plan_out->copies |= shares[number] && !weft_keep_is_once(plan_out, load_ns, due_ns);
            waits[number] = is_gathered && !(are_far && is_long(&way, part));
            kinds[number] =
                kind_count > 1 ? weft_kinds_plan(arena, &esg->queues[number], kind_count) : NULL;
        }
    }
    plan_out->shares = shares;
    plan_out->waits = waits;
    plan_out->parts = find_parts(arena, input);
    plan_out->sharers = find_sharers(arena, input->fleet);
    plan_out->kinds = kinds;
    plan_out->esg = esg;
}
