/*
 * configs.c - which points of a profile some worker could hold, and what they cost.
 */
#include "configs/configs.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/memory.h"
#include "configs/budget.h"
#include "model/sharing.h"
#include "model/workflow.h"
#include "profile/need.h"

__extension__ typedef __int128 configs_product;

struct row {
    struct configs_choice choice;
    struct search_choice weight;
    uint32_t number;
};

/* Of a dollar and an hour: 10^12 picodollars over 3600 * 10^9 ns and 10^6 millionths. */
#define NS_MICRODOLLARS_PER_PICODOLLAR INT64_C(3600000)

int64_t configs_cost(struct configs_prices prices, struct config config, int64_t run_ns)
{
    const int64_t price = prices.cpu * config.cpu + prices.gpu * config.gpu;
    const configs_product held = (configs_product)run_ns * price;
    return (int64_t)(held / NS_MICRODOLLARS_PER_PICODOLLAR / config.batch);
}

struct configs_prices configs_prices(const struct fleet *fleet)
{
    if (fleet->prices.cpu == 0 && fleet->prices.gpu == 0) {
        return (struct configs_prices){.cpu = 34000, .gpu = 670000};
    }
    return (struct configs_prices){
        .cpu = (int64_t)(fleet->prices.cpu * 1e6),
        .gpu = (int64_t)(fleet->prices.gpu * 1e6),
    };
}

/* Units of the largest device of kind @device; 0: the fleet has none. */
static uint32_t units_of(const struct fleet *fleet, uint32_t device)
{
    uint32_t units = 0;
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        const struct fleet_worker *worker = &fleet->workers[i];
        if (worker->device == device && worker->gpu_units > units) {
            units = worker->gpu_units;
        }
    }
    return units;
}

bool configs_can_hold(
    const struct fleet *fleet, uint32_t worker, const struct config *config, uint64_t bytes)
{
    const struct fleet_worker *device = &fleet->workers[worker];
    return config->gpu <= device->gpu_units && sharing_round(device, config->gpu) == config->gpu &&
           config->cpu <= fleet->nodes[device->node].cpu_units && bytes <= device->memory_bytes;
}

/* Whether some worker of the kind could hold @choice. */
static bool is_held(
    const struct fleet *fleet, const struct profile *profile, const struct workflow_task *task,
    const struct configs_choice *choice)
{
    const uint64_t bytes = need_bytes(profile, task, choice->config.batch);
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        if (fleet->workers[i].device == choice->device &&
            configs_can_hold(fleet, i, &choice->config, bytes)) {
            return true;
        }
    }
    return false;
}

static int64_t planned_ns(int64_t run_ns, double margin)
{
    return run_ns + (int64_t)((double)run_ns * margin);
}

uint32_t configs_sharer(const struct fleet *fleet, uint32_t device)
{
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        if (fleet->workers[i].device == device && fleet->workers[i].sharing == SHARES_SM) {
            return i;
        }
    }
    return WORKER_NONE;
}

int64_t configs_beside_ns(
    const struct fleet *fleet, uint32_t sharer, uint32_t gpu, int64_t run_ns, double interference)
{
    if (sharer == WORKER_NONE) {
        return run_ns;
    }
    const struct fleet_worker *worker = &fleet->workers[sharer];
    const uint32_t all = worker->gpu_units * fleet_partitions(worker);
    const uint32_t held = gpu == 0 ? worker->gpu_units : gpu;
    const uint32_t others = all > held ? all - held : 0;
    return planned_ns(run_ns, sharing_stretch(worker, /* others */ 0, others, interference) - 1);
}

static struct row make_row(
    const struct fleet *fleet, const struct configs_choice *choice, double margin, uint32_t number)
{
    const struct configs_prices prices = configs_prices(fleet);
    struct row row = {.choice = *choice, .number = number};
    row.choice.beside_ns = configs_beside_ns(
        fleet, configs_sharer(fleet, choice->device), choice->config.gpu, choice->run_ns,
        choice->interference);
    row.weight = (struct search_choice){
        .time_ns = planned_ns(row.choice.beside_ns, margin),
        .cost = configs_cost(prices, choice->config, row.choice.beside_ns),
        .batch = choice->config.batch,
    };
    return row;
}

static int by_time(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;
    if (a->weight.time_ns != b->weight.time_ns) {
        return a->weight.time_ns < b->weight.time_ns ? -1 : 1;
    }
    if (a->weight.cost != b->weight.cost) {
        return a->weight.cost < b->weight.cost ? -1 : 1;
    }
    return a->number < b->number ? -1 : 1; /* No two are equal. */
}

static uint32_t collect_device(
    const struct fleet *fleet, const struct profile *profile, const struct workflow_task *task,
    const struct configs_rules *rules, uint32_t device, struct row *rows)
{
    const struct profile_curve *curve = &profile->models[task->run].curves[device];
    const uint32_t units = units_of(fleet, device);
    uint32_t count = 0;
    for (uint32_t i = 0; i < curve->point_count && units > 0; i++) {
        const struct profile_point *point = &curve->points[i];
        const struct configs_choice choice = {
            .config =
                {
                    .batch = point->items,
                    .cpu = point->cpu,
                    .gpu = point->gpu == 0 ? units : point->gpu,
                },
            .device = device,
            .run_ns = point->run_ns + curve->handoff_ns,
            .sd_ns = point->sd_ns,
            .interference = point->interference,
        };
        const bool is_allowed =
            (!rules->whole || choice.config.gpu == units) && (!rules->single || point->items == 1);
        if (is_allowed && is_held(fleet, profile, task, &choice)) {
            rows[count] = make_row(fleet, &choice, rules->margin, count);
            count++;
        }
    }
    return count;
}

/* One item on the whole of the first device that has a time for it. */
static struct row guess(
    const struct fleet *fleet, const struct profile *profile, const struct workflow_task *task,
    const struct configs_rules *rules)
{
    struct configs_choice choice = {.config = {.batch = 1, .gpu = 1}};
    for (uint32_t device = fleet->device_count; device-- > 0;) {
        const uint32_t units = units_of(fleet, device);
        if (units > 0 && profile_is_measured(profile, task->run, device)) {
            choice.config.gpu = units;
            choice.device = device;
            choice.run_ns = profile_run_one_ns(profile, task->run, device);
        }
    }
    return make_row(fleet, &choice, rules->margin, 0);
}

void configs_collect(
    struct arena *arena, const struct fleet *fleet, const struct profile *profile,
    const struct workflow_task *task, const struct configs_rules *rules,
    struct configs *configs_out)
{
    uint32_t room = 1;
    uint32_t count = 0;
    for (uint32_t device = 0; device < fleet->device_count; device++) {
        room += profile->models[task->run].curves[device].point_count;
    }
    struct row *rows = memory_lines(room, sizeof(*rows));
    for (uint32_t device = 0; device < fleet->device_count; device++) {
        count += collect_device(fleet, profile, task, rules, device, rows + count);
    }
    if (count == 0) {
        rows[count++] = guess(fleet, profile, task, rules);
    }
    for (uint32_t i = 0; i < count; i++) {
        rows[i].number = i;
    }
    qsort(rows, count, sizeof(*rows), by_time);
    count = count < SEARCH_CHOICES_MAX ? count : SEARCH_CHOICES_MAX;
    configs_out->count = count;
    configs_out->choices = arena_alloc(arena, count * sizeof(*configs_out->choices));
    configs_out->weights = arena_alloc(arena, count * sizeof(*configs_out->weights));
    for (uint32_t i = 0; i < count; i++) {
        configs_out->choices[i] = rows[i].choice;
        configs_out->weights[i] = rows[i].weight;
    }
    free(rows);
}

/* The time of @wanted in @table; 0 if it is not there. */
static int64_t time_of(const struct configs *table, const struct configs_choice *wanted)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct configs_choice *choice = &table->choices[i];
        if (choice->device == wanted->device && choice->config.batch == wanted->config.batch &&
            choice->config.cpu == wanted->config.cpu && choice->config.gpu == wanted->config.gpu) {
            return choice->run_ns;
        }
    }
    return 0;
}

void configs_lengths(const struct configs *tables, uint32_t task_count, int64_t *lengths_out)
{
    ASSERT(task_count > 0);
    int64_t *times = memory_zeroed((size_t)(tables[0].count + 1) * task_count, sizeof(*times));
    uint32_t common = 0;
    for (uint32_t i = 0; i < tables[0].count; i++) {
        int64_t *row = times + (size_t)common * task_count;
        uint32_t have = 0;
        for (uint32_t task = 0; task < task_count; task++) {
            row[task] = time_of(&tables[task], &tables[0].choices[i]);
            have += row[task] > 0 ? 1 : 0;
        }
        common += have == task_count ? 1 : 0;
    }
    if (common == 0) { /* Nothing in common: each as fast as it can be. */
        for (uint32_t task = 0; task < task_count; task++) {
            times[task] = tables[task].choices[0].run_ns;
        }
        common = 1;
    }
    budget_lengths(times, task_count, common, lengths_out);
    free(times);
}
