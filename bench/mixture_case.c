#include "mixture_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/rng.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/catalogue.h"
#include "model/fleet.h"
#include "profile/profile.h"

enum { SEED = 7 };

double mixture_case_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void demand(bool condition)
{
    if (!condition) {
        (void)fputs("the case cannot be built\n", stderr);
        exit(EXIT_FAILURE);
    }
}

/* Two to five tasks, each behind one or two earlier ones. Returns their run time together. */
static double add_workflow(struct mixture_case *the, struct rng *rng, uint32_t number)
{
    char name[NAME_BYTES_MAX];
    (void)snprintf(name, sizeof(name), "w%u", number);
    struct workflow *workflow = workflow_create(name);
    const uint32_t task_count = 2 + rng_below(rng, 4);
    double sum_ms = 0;
    for (uint32_t i = 0; i < task_count; i++) {
        const double ms = 1 + 19 * rng_unit(rng);
        struct workflow_task task = {0};
        uint32_t index;
        (void)snprintf(task.name, sizeof(task.name), "w%u-%u", number, i);
        task.run = catalogue_model(the->catalogue, task.name);
        const struct profile_point point = {.items = 1, .run_ns = (int64_t)(ms * 1e6)};
        demand(profile_add_point(the->profile, task.run, 0, &point) == WEFT_OK);
        demand(workflow_add_task(workflow, &task, &index) == WEFT_OK);
        struct workflow_edge edge = {.to = i};
        for (uint32_t k = 0; k < 2 && i > 0; k++) {
            const uint32_t from = rng_below(rng, i);
            const uint32_t bytes = rng_below(rng, 3000000);
            edge.from = from;
            edge.bytes = bytes;
            (void)workflow_add_edge(workflow, &edge); /* The second may be the first again. */
        }
        sum_ms += ms;
    }
    demand(workflow_seal(workflow, NULL) == WEFT_OK);
    demand(catalogue_add_workflow(the->catalogue, workflow) == WEFT_OK);
    return sum_ms;
}

void mixture_case_add_patterns(struct draft *draft)
{
    const uint32_t site_count = draft->sites->site_count;
    struct rng rng = rng_stream(9, RNG_TEST, 0);
    for (uint32_t stream = 0; stream < CASE_WORKFLOWS; stream++) {
        const uint32_t tasks = draft->workload->streams[stream].workflow->task_count;
        for (uint32_t shape = 0; shape < CASE_SHAPES; shape++) {
            const uint32_t away = shape == 0 ? 0 : 1 + rng_below(&rng, (1U << tasks) - 2);
            const uint32_t distance = 1 + rng_below(&rng, site_count - 1);
            for (uint32_t i = 0; i < site_count; i++) {
                struct spot spots[8];
                for (uint32_t k = 0; k < tasks; k++) {
                    const uint32_t site = (i + (away >> k & 1) * distance) % site_count;
                    spots[k] = (struct spot){.site = (uint16_t)site};
                }
                (void)draft_add(draft, stream, spots); /* A shape may come twice. */
            }
        }
    }
}

static void add_patterns(struct mixture_case *the)
{
    struct sites *sites =
        sites_create(&the->input, &(struct sites_options){.parts = the->fleet->node_count});
    struct weft_error error;
    demand(workload_create(&the->input, 1, &the->workload, &error) == WEFT_OK);
    sites_add_ingress(sites, the->workload);
    the->draft = draft_create(the->workload, sites);
    the->draft->plain_joins = true;
    mixture_case_add_patterns(the->draft);
}

void mixture_case_open(struct mixture_case *the, const struct mixture_case_options *options)
{
    struct rng rng = rng_stream(options->seed == 0 ? SEED : options->seed, RNG_TEST, 0);
    *the = (struct mixture_case){
        .catalogue = catalogue_create(),
        .profile = profile_create(MODELS_MAX),
        .fleet = fleet_create(),
    };
    const struct fleet_worker device = {
        .device = fleet_device(the->fleet, "gpu"), .memory_bytes = 1, .gpu_units = 1};
    the->others = memory_zeroed(options->machines, sizeof(*the->others));
    double room = 0;
    for (uint32_t i = 0; i < options->machines; i++) {
        const double unit = rng_unit(&rng);
        demand(fleet_add_machine(the->fleet, &device, 1, 1));
        the->others[i].load = options->unequal ? 0.4 * unit : 0;
        the->others[i].residual_ns = the->others[i].load * 10e6;
        room += 1 - the->others[i].load;
    }
    the->fleet->network.link_bytes_per_s = 1250000000;
    for (uint32_t i = 0; i < CASE_WORKFLOWS; i++) {
        const double sum_ms = add_workflow(the, &rng, i);
        the->rates[i] = options->load * room / CASE_WORKFLOWS / (sum_ms / 1e3);
    }
    the->input = (struct program_input){
        .catalogue = the->catalogue,
        .profile = the->profile,
        .fleet = the->fleet,
        .rates_per_s = the->rates,
        .workers = the->others,
    };
    if (options->with_patterns) {
        add_patterns(the);
        mixture_case_restart(the, 0);
    }
}

void mixture_case_close(struct mixture_case *the)
{
    draft_destroy(the->draft);
    workload_destroy(the->workload);
    profile_destroy(the->profile);
    catalogue_destroy(the->catalogue);
    fleet_destroy(the->fleet);
    free(the->others);
}

void mixture_case_restart(struct mixture_case *the, uint32_t number)
{
    struct descent *descent = &the->draft->descent;
    struct rng rng = rng_stream(3, RNG_TEST, number);
    descent_admit(descent, 1);
    double amount = number == 0 ? 0 : 1;
    do {
        for (uint32_t i = 0; i < descent->count; i++) {
            const double unit = rng_unit(&rng);
            descent->shares[i] = 1 + amount * unit;
        }
        descent_normalise(descent);
        amount /= 2;
    } while (isinf(congestion_evaluate(&the->draft->congestion, descent->shares)) && amount > 1e-3);
}
