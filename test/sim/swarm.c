#include "swarm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"
#include "model/sharing.h"
#include "profile/need.h"
#include "view/cells.h"

enum { MODELS_DRAWN_MAX = 10, ROW_NS_MIN = 1000, ITEMS_DRAWN_MAX = 4 };

#define NONA          "nona:restarts=1" /* More of them took more than half of a run. */
#define LARGEST_BYTES (UINT64_C(3000000) * ITEMS_DRAWN_MAX) /* Of a tensor. */

/* One draw a statement: C does not say which argument of a call is evaluated first. */
static uint32_t draw(struct rng *rng, uint32_t low, uint32_t high)
{
    return low + rng_below(rng, high - low + 1);
}

static const char *draw_policy(struct rng *rng)
{
    static const char *const policies[] = {
        "hash",
        "heft",
        "jit",
        "fifo",
        "fair",
        "opportunistic",
        "expert:split=2",
        NONA ":window_s=1",
        "least-work",
        "po2",
        "place=jit,order=edf,cache=lru",
        "place=heft,order=edf",
        "place=po2:choices=3,cache=lru",
        "place=hash,order=fifo",
        "first-fit",
        "first-fit:batch=3:gpu=2:cpu=3",
        "dispatch=first-fit:gpu=0:cpu=1,order=edf",
        "esg",
        "esg:recheck=3:wait=1",
        "infless",
        "fast-gshare",
        "orion",
        "aquatope:random=4:rounds=3",
        "compass",
        "compass:original",
        "weft",
        "weft",
        "place=compass:adjust=0,cache=lru",
        "place=po2,cache=compass",
        "place=least-work,dispatch=first-fit,cache=compass",
    };
    return policies[draw(rng, 0, sizeof(policies) / sizeof(policies[0]) - 1)];
}

/* In half of the runs, roles from different policies, with their waits; a stream of its own. */
static const char *draw_composition(uint64_t seed, const char *single, struct text *text)
{
    static const char *const places[] = {
        "compass", "compass:original", "jit",          "heft", "hash",
        "po2",     "least-work",       "fifo",         "fair", NONA,
        "weft",    "expert",           "opportunistic"};
    static const char *const orders[] = {"esg", "edf", "fifo", "fair", NONA, "first-fit"};
    static const char *const steals[] = {"weft"};
    static const char *const dispatches[] = {"esg",       "esg:wait=0", "esg:recheck=1:wait=1",
                                             "first-fit", "infless",    "fast-gshare",
                                             "first-fit", "orion",      "first-fit:batch=4:cpu=1"};
    static const char *const caches[] = {"lru", "compass"};
    struct rng rng = rng_stream(seed, RNG_TEST, 7);
    if (draw(&rng, 0, 1) == 0) {
        return single;
    }
    const uint32_t roles = draw(&rng, 1, 31);
    const struct {
        const char *role;
        const char *const *policies;
        uint32_t count;
    } parts[] = {
        {"place", places, sizeof(places) / sizeof(places[0])},
        {"order", orders, sizeof(orders) / sizeof(orders[0])},
        {"dispatch", dispatches, sizeof(dispatches) / sizeof(dispatches[0])},
        {"cache", caches, sizeof(caches) / sizeof(caches[0])},
        {"steal", steals, sizeof(steals) / sizeof(steals[0])},
    };
    for (uint32_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const uint32_t choice = draw(&rng, 0, parts[i].count - 1);
        if ((roles >> i & 1) != 0) {
            text_add(
                text, "%s%s=%s", text->length == 0 ? "" : ",", parts[i].role,
                parts[i].policies[choice]);
        }
    }
    return text->bytes;
}

static void draw_fleet(struct swarm *swarm, struct rng *rng)
{
    const uint32_t node_count = draw(rng, 1, 8);
    const uint32_t kind_count = draw(rng, 1, 2);
    swarm->fleet = fleet_create();
    swarm->fleet->network.latency_ns = draw(rng, 0, 3) * 500000;
    swarm->fleet->network.link_bytes_per_s = draw(rng, 0, 2) * UINT64_C(500000000);
    for (uint32_t i = 0; i < node_count; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "d%u", i % kind_count);
        struct fleet_worker device = {.device = fleet_device(swarm->fleet, name)};
        device.memory_bytes = draw(rng, 100, 400) * UINT64_C(1000000);
        device.bus_bytes_per_s = draw(rng, 1, 8) * UINT64_C(1000000000);
        device.gpu_units = draw(rng, 1, 4);
        device.reshape_ns = draw(rng, 0, 1) * INT64_C(2000000);
        const uint32_t device_count = draw(rng, 1, 2);
        const bool added = fleet_add_machine(swarm->fleet, &device, device_count, 8);
        ASSERT(added);
    }
}

/* In a few runs, so many machines like the first that they work in cells. */
static bool draw_cells(struct swarm *swarm, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 13);
    if (draw(&rng, 0, 39) > 0) {
        return false;
    }
    const struct fleet_network network = swarm->fleet->network;
    const struct fleet_node machine = swarm->fleet->nodes[0];
    struct fleet_worker device = swarm->fleet->workers[0];
    const uint32_t node_count = draw(&rng, 2 * CELL_NODES, 5 * CELL_NODES);
    fleet_destroy(swarm->fleet);
    swarm->fleet = fleet_create();
    swarm->fleet->network = network;
    device.device = fleet_device(swarm->fleet, "d0");
    for (uint32_t i = 0; i < node_count; i++) {
        const bool added =
            fleet_add_machine(swarm->fleet, &device, machine.worker_count, machine.cpu_units);
        ASSERT(added);
    }
    return true;
}

/*
 * Drawn by number first. The catalogue numbers models when a task names them, as it does
 * while a document is read: so the draw and its document are one experiment.
 */
static void draw_models(struct swarm *swarm, struct rng *rng)
{
    const uint32_t model_count = draw(rng, 1, MODELS_DRAWN_MAX);
    swarm->drawn = profile_create(model_count);
    for (uint32_t model = 0; model < model_count; model++) {
        const bool is_function = draw(rng, 0, 3) == 0;
        const uint64_t bytes = is_function ? 0 : draw(rng, 1, 80) * UINT64_C(1000000);
        swarm->drawn->models[model].load_bytes = bytes;
        swarm->drawn->models[model].resident_bytes = bytes;
        swarm->drawn->models[model].workspace_bytes = draw(rng, 0, 15) * UINT64_C(1000000);
        for (uint32_t device = 0; device < swarm->fleet->device_count; device++) {
            const struct profile_point point = {
                .items = 1,
                .run_ns = draw(rng, 1, 40) * INT64_C(500000),
            };
            const enum weft_status status = profile_add_point(swarm->drawn, model, device, &point);
            ASSERT(status == WEFT_OK);
        }
    }
}

/* What was drawn for the models that are used, by the numbers of the catalogue. */
static void number_models(struct swarm *swarm)
{
    swarm->profile = profile_create(swarm->catalogue->model_count);
    for (uint32_t i = 0; i < swarm->drawn->model_count; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "m%u", i);
        const uint32_t model = catalogue_find_model(swarm->catalogue, name);
        if (model != MODEL_NONE) { /* Its points go along; the drawn one keeps none. */
            swarm->profile->models[model] = swarm->drawn->models[i];
            swarm->drawn->models[i] = (struct profile_model){0};
        }
    }
    profile_destroy(swarm->drawn);
    swarm->drawn = NULL;
}

/* In half of the runs, points with shares and batches to choose from; a stream of its own. */
static void draw_points(struct swarm *swarm, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 3);
    if (draw(&rng, 0, 1) == 0) {
        return;
    }
    for (uint32_t i = 0; i < swarm->profile->model_count * swarm->fleet->device_count; i++) {
        const uint32_t model = i / swarm->fleet->device_count;
        const uint32_t device = i % swarm->fleet->device_count;
        const int64_t alone_ns = profile_run_one_ns(swarm->profile, model, device);
        const uint32_t point_count = draw(&rng, 0, 6);
        for (uint32_t k = 0; k < point_count; k++) {
            struct profile_point point = {.items = UINT32_C(1) << draw(&rng, 0, 3)};
            point.gpu = draw(&rng, 1, 4);
            point.cpu = draw(&rng, 0, 2);
            point.run_ns = alone_ns * (3 + point.items) / (2 + point.gpu);
            (void)profile_add_point(swarm->profile, model, device, &point); /* Once each. */
        }
    }
}

/* In some runs with two kinds of devices, models that only one of them can run. */
static void draw_kinds(struct swarm *swarm, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 4);
    if (swarm->fleet->device_count < 2 || draw(&rng, 0, 1) == 0) {
        return;
    }
    for (uint32_t model = 0; model < swarm->profile->model_count; model++) {
        const uint32_t device = draw(&rng, 0, 2);
        if (device < swarm->fleet->device_count) {
            profile_forget(swarm->profile, model, device);
        }
    }
}

/* The most that a task of @workflow can need, of those that run @model; 0 if none does. */
static uint64_t most_needed(
    const struct swarm *swarm, const struct workflow *workflow, uint32_t model)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        if (workflow->tasks[i].run == model) {
            const uint64_t bytes = need_bytes(swarm->profile, &workflow->tasks[i], ITEMS_DRAWN_MAX);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

/* Give a worker that can run @model the memory for all of its tasks. */
static void make_room(struct swarm *swarm, uint32_t model)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < swarm->catalogue->workflow_count; i++) {
        const uint64_t bytes = most_needed(swarm, swarm->catalogue->workflows[i], model);
        most = bytes > most ? bytes : most;
    }
    struct fleet_worker *largest = NULL;
    for (uint32_t i = 0; i < swarm->fleet->worker_count; i++) {
        struct fleet_worker *worker = &swarm->fleet->workers[i];
        if (profile_can_run(swarm->profile, model, worker->device) &&
            (largest == NULL || worker->memory_bytes > largest->memory_bytes)) {
            largest = worker;
        }
    }
    if (largest->memory_bytes < most) { /* Workers of a machine are alike. */
        const struct fleet_node *machine = &swarm->fleet->nodes[largest->node];
        for (uint32_t i = 0; i < machine->worker_count; i++) {
            swarm->fleet->workers[machine->worker_first + i].memory_bytes = most;
        }
    }
}

/*
 * In some runs, memory that does not hold everything everywhere: models of all sizes, workspaces
 * that grow with the items, and small machines. What a task needs, one machine has.
 */
static void draw_memory(struct swarm *swarm, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 8);
    if (draw(&rng, 0, 1) == 0) {
        return;
    }
    for (uint32_t model = 0; model < swarm->profile->model_count; model++) {
        struct profile_model *known = &swarm->profile->models[model];
        const uint64_t bytes = draw(&rng, 1, 300) * UINT64_C(1000000);
        if (known->resident_bytes > 0 && draw(&rng, 0, 1) == 1) {
            known->resident_bytes = bytes;
            known->load_bytes = bytes;
        }
        known->workspace_bytes_per_item = draw(&rng, 0, 5) * UINT64_C(15000000);
    }
    for (uint32_t node = 0; node < swarm->fleet->node_count; node++) {
        const struct fleet_node *machine = &swarm->fleet->nodes[node];
        const uint64_t bytes = draw(&rng, 10, 400) * UINT64_C(1000000);
        for (uint32_t i = 0; i < machine->worker_count; i++) {
            swarm->fleet->workers[machine->worker_first + i].memory_bytes = bytes;
        }
    }
    for (uint32_t model = 0; model < swarm->profile->model_count; model++) {
        make_room(swarm, model);
    }
}

static void draw_task(struct swarm *swarm, struct rng *rng, struct workflow *workflow)
{
    struct workflow_task task = {0};
    uint32_t number = workflow->task_count;
    (void)snprintf(task.name, sizeof(task.name), "t%u", number);
    char name[16];
    const uint32_t drawn = draw(rng, 0, swarm->drawn->model_count - 1);
    (void)snprintf(name, sizeof(name), "m%u", drawn);
    task.run = catalogue_model(swarm->catalogue, name);
    if (swarm->drawn->models[drawn].resident_bytes > 0) {
        task.models[0] = task.run;
        task.model_count = 1;
    }
    if (draw(rng, 0, 4) == 0) {
        task.gives.low = 1;
        task.gives.high = draw(rng, 1, ITEMS_DRAWN_MAX);
    }
    const enum weft_status status = workflow_add_task(workflow, &task, &number);
    ASSERT(status == WEFT_OK);
}

static void draw_workflow(struct swarm *swarm, struct rng *rng, uint32_t number)
{
    char name[16];
    (void)snprintf(name, sizeof(name), "w%u", number);
    struct workflow *workflow = workflow_create(name);
    const uint32_t task_count = draw(rng, 1, 8);
    const uint32_t density = draw(rng, 1, 4);
    workflow->slo_ns = draw(rng, 0, 1) * INT64_C(300000000);
    workflow->input_bytes = draw(rng, 0, 3000000);
    for (uint32_t i = 0; i < task_count; i++) {
        draw_task(swarm, rng, workflow);
        for (uint32_t from = 0; from < i; from++) {
            if (draw(rng, 0, 4) >= density) {
                continue;
            }
            struct workflow_edge edge = {.from = from, .to = i};
            edge.bytes = draw(rng, 0, 3000000);
            edge.per_item = draw(rng, 0, 1) == 1;
            const enum weft_status status = workflow_add_edge(workflow, &edge);
            ASSERT(status == WEFT_OK);
        }
    }
    struct weft_error error;
    enum weft_status status = workflow_seal(workflow, &error);
    ASSERT(status == WEFT_OK);
    status = catalogue_add_workflow(swarm->catalogue, workflow);
    ASSERT(status == WEFT_OK);
}

static struct fault draw_fault(const struct swarm *swarm, struct rng *rng)
{
    static const enum fault_kind kinds[] = {
        FAULT_CRASH,        FAULT_CRASH,       FAULT_RESTART,     FAULT_RESTART, FAULT_DRAIN,
        FAULT_STOP,         FAULT_SLOW,        FAULT_PARTITION,   FAULT_LOSS,    FAULT_FAIL_LOADS,
        FAULT_FAIL_BATCHES, FAULT_LOSE_DEVICE, FAULT_NO_DIRECTORY};
    const uint32_t last = sizeof(kinds) / sizeof(kinds[0]) - 1;
    struct fault fault = {.kind = kinds[draw(rng, 0, last)]};
    fault.at_ns = draw(rng, 0, 4000) * INT64_C(1000000);
    fault.for_ns = draw(rng, 1, 3000) * INT64_C(1000000);
    fault.victim =
        fault_hits_worker(fault.kind)
            ? draw(rng, swarm->fleet->nodes[1].worker_first, swarm->fleet->worker_count - 1)
            : draw(rng, 1, swarm->fleet->node_count - 1);
    fault.factor = fault.kind == FAULT_SLOW ? draw(rng, 2, 10) : draw(rng, 1, 5) * 0.1;
    return fault;
}

/* In some runs all machines crash, one after the other, and come back or do not. */
static void draw_black_out(struct swarm *swarm, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 9);
    const uint32_t node_count = swarm->fleet->node_count;
    if (draw(&rng, 0, 5) > 0 || swarm->options.fault_count + 2 * node_count > SWARM_FAULTS_MAX) {
        return;
    }
    int64_t at_ns = draw(&rng, 100, 3000) * INT64_C(1000000);
    const bool come_back = draw(&rng, 0, 3) > 0;
    for (uint32_t node = 0; node < node_count; node++) {
        swarm->faults[swarm->options.fault_count++] =
            (struct fault){.at_ns = at_ns, .kind = FAULT_CRASH, .victim = node};
        at_ns += draw(&rng, 0, 2) * INT64_C(400000);
    }
    for (uint32_t node = 0; come_back && node < node_count; node++) {
        at_ns += draw(&rng, 1, 1500) * INT64_C(1000000);
        swarm->faults[swarm->options.fault_count++] =
            (struct fault){.at_ns = at_ns, .kind = FAULT_RESTART, .victim = node};
    }
}

/* Node 0 and its devices stay well, so that one node can always go on. */
static void draw_faults(struct swarm *swarm, struct rng *rng)
{
    const uint32_t count = draw(rng, 0, 6);
    for (uint32_t i = 0; i < count && swarm->fleet->node_count > 1; i++) {
        swarm->faults[i] = draw_fault(swarm, rng);
        swarm->options.fault_count++;
    }
}

/* In some runs, more of a few kinds at any time; from a stream of its own. */
static void draw_random_faults(struct swarm *swarm, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 2);
    if (draw(&rng, 0, 3) > 0 || swarm->fleet->node_count < 2) {
        return;
    }
    swarm->random.rate_per_s = draw(&rng, 1, 20) * 0.1;
    swarm->random.until_ns = draw(&rng, 1, 10) * INT64_C(1000000000);
    swarm->random.for_ns = draw(&rng, 1, 3000) * INT64_C(1000000);
    swarm->random.kinds = (uint32_t)rng_next(&rng) & fault_drawable_kinds();
    if (swarm->random.kinds != 0) {
        swarm->options.fault_randoms = &swarm->random;
        swarm->options.fault_random_count = 1;
    }
}

/* In some runs, a request that kills the nodes that run it, and nothing else breaks. */
static void draw_poison(struct swarm *swarm, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 12);
    if (draw(&rng, 0, 4) > 0 || swarm->fleet->node_count < 3) {
        return;
    }
    swarm->options.has_deputies = true;
    swarm->options.fault_random_count = 0;
    swarm->options.fault_count = 1;
    swarm->faults[0] = (struct fault){.kind = FAULT_POISON};
    swarm->faults[0].at_ns = draw(&rng, 0, 100) * INT64_C(1000000);
    swarm->faults[0].for_ns = draw(&rng, 0, 3000) * INT64_C(1000000);
    swarm->faults[0].victim = draw(&rng, 0, swarm->catalogue->workflow_count - 1);
}

/* In some runs, new versions come while others break; from a stream of its own. */
static void draw_versions(struct swarm *swarm, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 14);
    const uint32_t count = draw(&rng, 0, 2) > 0 ? 0 : draw(&rng, 1, 5);
    int64_t at_ns = 0;
    for (uint32_t i = 0; i < count && swarm->options.fault_count < SWARM_FAULTS_MAX; i++) {
        at_ns += draw(&rng, 1, 1500) * INT64_C(1000000);
        swarm->faults[swarm->options.fault_count++] = (struct fault){
            .kind = FAULT_VERSION,
            .at_ns = at_ns,
            .for_ns = draw(&rng, 0, 1500) * INT64_C(1000000),
            .victim = draw(&rng, 0, swarm->fleet->node_count - 1),
        };
    }
}

/* In half of the runs, not by Poisson; from a stream of its own. */
static void draw_arrivals(struct swarm *swarm, uint64_t seed)
{
    static const enum arrivals_kind kinds[] = {
        ARRIVALS_CONSTANT, ARRIVALS_GAMMA, ARRIVALS_BURST, ARRIVALS_MMPP};
    struct rng rng = rng_stream(seed, RNG_TEST, 6);
    struct arrivals *arrivals = &swarm->arrivals;
    if (draw(&rng, 0, 1) == 0) {
        return;
    }
    arrivals->kind = kinds[draw(&rng, 0, sizeof(kinds) / sizeof(kinds[0]) - 1)];
    arrivals->cv = draw(&rng, 1, 8) * 0.5;
    arrivals->burst.rate_per_s = arrivals->rate_per_s * draw(&rng, 2, 30);
    arrivals->burst.every_ns = draw(&rng, 100, 2000) * INT64_C(1000000);
    arrivals->burst.length_ns = arrivals->burst.every_ns / draw(&rng, 2, 10);
}

/* In some runs, clients that hang up; from a stream of its own. */
static void draw_patience(struct swarm *swarm, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 5);
    if (draw(&rng, 0, 2) > 0) {
        return;
    }
    swarm->arrivals.patience_is_mean = draw(&rng, 0, 1) == 1;
    swarm->arrivals.patience_ns = draw(&rng, 1, 100) * INT64_C(10000000);
}

/* The roles of @policies one by one but admit, so that another can stand beside them. */
static void spell_out(const struct policy_set *policies, struct text *text)
{
    if (strchr(policies->text, ',') != NULL) {
        text_add(text, "%s", policies->text);
        return;
    }
    for (uint32_t role = 0; role < POLICY_ROLES; role++) {
        if (role != ROLE_ADMIT && policies->roles[role].policy != NULL) {
            const char *name = policy_role_name((enum policy_role)role);
            text_add(text, "%s%s=%s", text->length > 0 ? "," : "", name, policies->text);
        }
    }
}

/* In some runs, jobs are refused and given up, and some go first; from a stream of its own. */
static void draw_admission(struct swarm *swarm, uint64_t seed)
{
    static const char *const admissions[] = {
        "deadline", "deadline:strict", "deadline:strict:learn=0", "deadline:bound_s=0.05"};
    struct rng rng = rng_stream(seed, RNG_TEST, 7);
    char bytes[POLICY_TEXT_BYTES_MAX];
    struct text text;
    struct weft_error error;
    if (draw(&rng, 0, 2) > 0) {
        return;
    }
    text_init(&text, bytes, sizeof(bytes));
    spell_out(&swarm->policies, &text);
    text_add(&text, ",admit=%s", admissions[draw(&rng, 0, 3)]);
    const enum weft_status status = policy_set_parse(bytes, &swarm->policies, &error);
    ASSERT(status == WEFT_OK);
    for (uint32_t i = 0; i < swarm->catalogue->workflow_count; i++) {
        struct workflow *workflow = swarm->catalogue->workflows[i];
        workflow->slo_ns = draw(&rng, 0, 20) * INT64_C(20000000);
        workflow->priority = draw(&rng, 0, 3) * 5;
    }
    swarm->arrivals.rate_per_s *= draw(&rng, 1, 10);
}

/* What shares a device, what crosses its bus, and how its run times scatter. */
static void draw_sharing(struct swarm *swarm, struct rng *rng)
{
    const double interference = draw(rng, 0, 3) * 0.2;
    const bool bus_inputs = draw(rng, 0, 1) == 1;
    const uint32_t spread = draw(rng, 0, 3);
    const int64_t keep_alive_ns = draw(rng, 0, 3) * INT64_C(100000000);
    for (uint32_t i = 0; i < swarm->fleet->worker_count; i++) {
        struct fleet_worker *worker = &swarm->fleet->workers[i];
        const uint32_t worker_count = swarm->fleet->nodes[worker->node].worker_count;
        worker->partitions = worker_count % 2 == 0 ? 2 : 1;
        worker->interference = interference;
        if (worker->gpu_units == 3) { /* As many as others have, shared in another way. */
            worker->sharing = SHARES_SM;
        } else if (worker->gpu_units == 4) {
            worker->gpu_units = MIG_UNITS;
            worker->sharing = SHARES_MIG;
            worker->interference = 0;
            worker->partitions = 1;
        }
        worker->partition =
            (i - swarm->fleet->nodes[worker->node].worker_first) % fleet_partitions(worker);
        worker->bus_inputs = bus_inputs;
        worker->keep_alive_ns = keep_alive_ns;
    }
    for (uint32_t i = 0; i < swarm->profile->model_count; i++) {
        for (uint32_t k = 0; k < swarm->fleet->device_count; k++) {
            struct profile_curve *curve = &swarm->profile->models[i].curves[k];
            curve->distribution = (enum profile_distribution)spread;
            for (uint32_t j = 0; j < curve->point_count; j++) {
                curve->points[j].sd_ns = curve->points[j].run_ns / 2;
            }
        }
    }
}

/* How the machines are joined, from a stream of its own. Other traffic is sparse but large. */
static void draw_network(struct swarm *swarm, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 1);
    struct fleet *fleet = swarm->fleet;
    struct fleet_network *network = &fleet->network;
    network->kind = (enum network_kind)draw(&rng, NETWORK_STAR, NETWORK_BOTTLENECK);
    network->sharing = (enum network_sharing)draw(&rng, SHARING_FIFO, SHARING_FAIR);
    network->core_bytes_per_s = draw(&rng, 0, 2) * UINT64_C(400000000);
    network->rack_count = draw(&rng, 0, 3);
    network->nodes_per_rack = draw(&rng, 0, 3);
    network->down_bytes_per_s = draw(&rng, 0, 1) * UINT64_C(300000000);
    if (draw(&rng, 0, 3) == 0) {
        const uint32_t node = draw(&rng, 0, fleet->node_count - 1);
        fleet_set_rates(fleet, node, /* up */ UINT64_C(200000000), /* down */ 0);
    }
    if (draw(&rng, 0, 2) == 0) {
        network->background.rate_per_s = draw(&rng, 1, 5);
        network->background.bytes = draw(&rng, 1, 20) * UINT64_C(1000000);
        network->background.exponential = draw(&rng, 0, 1) == 1;
    }
}

/* In some runs, links on which a tensor takes seconds or minutes; from a stream of its own. */
static bool draw_slow_links(struct swarm *swarm, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 10);
    struct fleet_network *network = &swarm->fleet->network;
    if (draw(&rng, 0, 3) > 0) {
        return false;
    }
    const uint64_t seconds = draw(&rng, 5, 200); /* For the largest tensor, if it is alone. */
    network->link_bytes_per_s = LARGEST_BYTES / seconds;
    network->core_bytes_per_s = draw(&rng, 0, 1) * LARGEST_BYTES / seconds;
    network->background.rate_per_s = 0;
    network->background.bytes = 0;
    /* It takes hours until many are done, in which many machines do little but tick. */
    swarm->options.jobs = draw(&rng, 1, swarm->fleet->node_count < 2 * CELL_NODES ? 20 : 5);
    return true;
}

/* As often as documents allow, or up to four times @step_ns apart. */
static int64_t draw_row(struct rng *rng, int64_t step_ns)
{
    const uint32_t steps = draw(rng, 0, 4);
    return steps == 0 ? ROW_NS_MIN : steps * step_ns;
}

/* In some runs, devices of a machine share its memory, as processors do. */
static void draw_shared_memory(struct swarm *swarm, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 20);
    if (draw(&rng, 0, 2) > 0) {
        return;
    }
    for (uint32_t i = 0; i < swarm->fleet->worker_count; i++) {
        swarm->fleet->workers[i].shares_memory = true;
        swarm->fleet->workers[i].partitions = 1;
        swarm->fleet->workers[i].partition = 0;
    }
    for (uint32_t i = 0; i < swarm->profile->model_count; i++) {
        swarm->profile->models[i].load_fixed_ns += draw(&rng, 0, 3) * INT64_C(2000000);
    }
}

void swarm_draw(struct swarm *swarm, uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 0);
    *swarm = (struct swarm){0};
    swarm->catalogue = catalogue_create();
    draw_fleet(swarm, &rng);
    const bool has_cells = draw_cells(swarm, seed);
    draw_network(swarm, seed);
    draw_models(swarm, &rng);
    const uint32_t workflow_count = draw(&rng, 1, 4);
    for (uint32_t i = 0; i < workflow_count; i++) {
        draw_workflow(swarm, &rng, i);
        swarm->arrivals.mix[i] = draw(&rng, 1, 3);
    }
    number_models(swarm);
    draw_points(swarm, seed);
    draw_kinds(swarm, seed);
    swarm->arrivals.kind = ARRIVALS_POISSON;
    swarm->arrivals.rate_per_s = draw(&rng, 1, 60);
    if (!has_cells) { /* Where machines differ there are none. */
        draw_memory(swarm, seed);
    }
    char bytes[256];
    struct text text;
    text_init(&text, bytes, sizeof(bytes));
    const char *single = draw_policy(&rng);
    const char *policy = draw_composition(seed, single, &text);
    struct weft_error error;
    const enum weft_status status = policy_set_parse(policy, &swarm->policies, &error);
    ASSERT(status == WEFT_OK);
    swarm->options = (struct sim_options){
        .fleet = swarm->fleet,
        .catalogue = swarm->catalogue,
        .profile = swarm->profile,
        .policies = &swarm->policies,
        .arrivals = &swarm->arrivals,
        .warmup = 0.1,
        .seed = seed,
        .check = true,
        .faults = swarm->faults,
    };
    swarm->options.jobs = draw(&rng, 1, 200);
    swarm->options.row_load_ns = draw_row(&rng, INT64_C(5000000));
    swarm->options.row_cache_ns = draw_row(&rng, INT64_C(20000000));
    swarm->options.noise = draw(&rng, 0, 5) * 0.1;
    draw_faults(swarm, &rng);
    draw_black_out(swarm, seed);
    draw_versions(swarm, seed);
    draw_random_faults(swarm, seed);
    draw_admission(swarm, seed);
    draw_arrivals(swarm, seed);
    draw_patience(swarm, seed);
    draw_sharing(swarm, &rng);
    draw_shared_memory(swarm, seed);
    const bool is_slow = draw_slow_links(swarm, seed);
    struct rng deputies = rng_stream(seed, RNG_TEST, 11);
    swarm->options.has_deputies = draw(&deputies, 0, 2) == 0;
    struct rng twice = rng_stream(seed, RNG_TEST, 19);
    swarm->options.is_asked_twice = draw(&twice, 0, 1) == 0;
    struct rng news = rng_stream(seed, RNG_TEST, 21);
    if (draw(&news, 0, 2) == 0) { /* Not all hear at once who has come or gone. */
        swarm->options.members_after_ns = draw(&news, 1, 500) * INT64_C(1000000);
    }
    if (!is_slow) { /* There, a job does not wait until its deputy has got the inputs. */
        draw_poison(swarm, seed);
    }
}

void swarm_free(struct swarm *swarm)
{
    fleet_destroy(swarm->fleet);
    catalogue_destroy(swarm->catalogue);
    profile_destroy(swarm->profile);
}

struct scenario *swarm_to_scenario(struct swarm *swarm)
{
    const struct sim_options *options = &swarm->options;
    struct scenario *scenario = memory_zeroed(1, sizeof(*scenario));
    arena_init(&scenario->arena);
    (void)snprintf(scenario->name, sizeof(scenario->name), "swarm-%" PRIu64, options->seed);
    (void)snprintf(scenario->policy, sizeof(scenario->policy), "%s", swarm->policies.text);
    scenario->fleet = swarm->fleet;
    scenario->catalogue = swarm->catalogue;
    scenario->profile = swarm->profile;
    scenario->origin.figures = FIGURES_ASSUMED;
    scenario->arrivals = swarm->arrivals;
    scenario->rows.load_ns = options->row_load_ns;
    scenario->rows.cache_ns = options->row_cache_ns;
    scenario->noise = options->noise;
    scenario->has_deputies = options->has_deputies;
    scenario->is_asked_twice = options->is_asked_twice;
    scenario->members_after_ns = options->members_after_ns;
    scenario->jobs = options->jobs;
    scenario->warmup = options->warmup;
    scenario->seed_count = 1;
    scenario->seeds[0] = options->seed;
    if (options->fault_count > 0) {
        struct fault *faults = arena_alloc(&scenario->arena, sizeof(swarm->faults));
        memcpy(faults, swarm->faults, sizeof(swarm->faults));
        scenario->faults = faults;
        scenario->fault_count = options->fault_count;
    }
    scenario->fault_random_count = options->fault_random_count;
    scenario->fault_randoms[0] = swarm->random;
    *swarm = (struct swarm){0};
    return scenario;
}

void swarm_print(const struct swarm *swarm)
{
    (void)fprintf(
        stderr,
        "seed %" PRIu64 ": %u nodes, %u workers, %u models, %u workflows, %" PRIu64
        " jobs at %.0f/s, %u faults, noise %.1f, network %d/%d, policy %s\n",
        swarm->options.seed, swarm->fleet->node_count, swarm->fleet->worker_count,
        swarm->catalogue->model_count, swarm->catalogue->workflow_count, swarm->options.jobs,
        swarm->arrivals.rate_per_s, swarm->options.fault_count, swarm->options.noise,
        (int)swarm->fleet->network.kind, (int)swarm->fleet->network.sharing, swarm->policies.text);
}
