#include "theory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Student's t for 18 degrees of freedom, as with a control; for 19, 2.093 and 3.883. */
static const double t_95 = 2.101;
static const double t_999 = 3.922;

void theory_open(struct theory *theory, uint32_t node_count, uint32_t worker_count)
{
    *theory = (struct theory){0};
    theory->fleet = fleet_create();
    theory->catalogue = catalogue_create();
    theory->profile = profile_create(MODELS_MAX);
    const struct fleet_worker device = {
        .device = fleet_device(theory->fleet, "gpu"),
        .memory_bytes = 1000000,
        .gpu_units = 1,
    };
    for (uint32_t i = 0; i < node_count; i++) {
        assert_true(fleet_add_machine(theory->fleet, &device, worker_count, /* cpu_units */ 8));
    }
    theory->arrivals.kind = ARRIVALS_POISSON;
    theory->options = (struct sim_options){
        .fleet = theory->fleet,
        .catalogue = theory->catalogue,
        .profile = theory->profile,
        .policies = &theory->policies,
        .arrivals = &theory->arrivals,
        .row_load_ns = MS(100),
        .row_cache_ns = MS(100),
        .context = theory,
    };
}

static void forget_jobs(struct theory *theory)
{
    free(theory->arrived_ns);
    free(theory->latencies_ns);
    free(theory->runs_ns);
}

void theory_close(struct theory *theory)
{
    forget_jobs(theory);
    catalogue_destroy(theory->catalogue);
    profile_destroy(theory->profile);
    fleet_destroy(theory->fleet);
}

struct profile_curve *theory_model(struct theory *theory, const char *name, int64_t run_ns)
{
    const uint32_t model = catalogue_model(theory->catalogue, name);
    const struct profile_point point = {.items = 1, .run_ns = run_ns};
    assert_int_equal(profile_add_point(theory->profile, model, 0, &point), WEFT_OK);
    return &theory->profile->models[model].curves[0];
}

static void add_task(struct theory *theory, struct workflow *workflow, const char *name)
{
    struct workflow_task task = {.run = catalogue_find_model(theory->catalogue, name)};
    uint32_t number = 0;
    (void)snprintf(task.name, sizeof(task.name), "%s", name);
    assert_int_equal(workflow_add_task(workflow, &task, &number), WEFT_OK);
}

static void seal(struct theory *theory, struct workflow *workflow)
{
    struct weft_error error;
    assert_int_equal(workflow_seal(workflow, &error), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(theory->catalogue, workflow), WEFT_OK);
}

void theory_single(struct theory *theory, const char *name)
{
    struct workflow *workflow = workflow_create(name);
    add_task(theory, workflow, name);
    seal(theory, workflow);
}

void theory_diamond(struct theory *theory, const uint64_t bytes[4])
{
    static const uint32_t ends[4][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
    struct workflow *workflow = workflow_create("diamond");
    add_task(theory, workflow, "a");
    add_task(theory, workflow, "b");
    add_task(theory, workflow, "c");
    add_task(theory, workflow, "d");
    for (uint32_t i = 0; i < 4; i++) {
        const struct workflow_edge edge = {
            .from = ends[i][0],
            .to = ends[i][1],
            .bytes = bytes[i],
        };
        assert_int_equal(workflow_add_edge(workflow, &edge), WEFT_OK);
    }
    seal(theory, workflow);
}

/* The job that arrived at @at_ns; of several, the first that has no answer yet. */
static uint64_t job_of(const struct theory *theory, int64_t at_ns)
{
    uint64_t low = 0;
    uint64_t high = theory->arrived;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (theory->arrived_ns[middle] < at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (low < theory->arrived && theory->latencies_ns[low] != 0) {
        low++;
    }
    assert_true(low < theory->arrived && theory->arrived_ns[low] == at_ns);
    return low;
}

static void on_record(void *context, const struct record *record)
{
    struct theory *theory = context;
    if (record->kind == RECORD_ARRIVED) {
        theory->arrived_ns[theory->arrived] = record->at_ns;
        theory->arrived++;
    } else if (record->kind == RECORD_ENDED) {
        theory->run_ns = record->value;
    } else if (record->kind == RECORD_ANSWERED) {
        const uint64_t job = job_of(theory, record->at_ns - record->value);
        theory->latencies_ns[job] = record->value;
        theory->runs_ns[job] = theory->run_ns;
        theory->answered++;
    }
}

/* Jobs in the system, on average: their rate times the time that each spends there. */
static void check_little(const struct theory *theory)
{
    const double rate = (double)theory->answered / theory->report.duration_s;
    double sum_ns = 0;
    for (uint64_t i = 0; i < theory->arrived; i++) {
        sum_ns += (double)theory->latencies_ns[i];
    }
    const double expected = rate * (sum_ns / (double)theory->answered / 1e9);
    assert_true(fabs(theory->report.in_system_mean - expected) <= 1e-9 * expected);
    if (theory->report.cancelled == 0) { /* Latencies are those of completed jobs. */
        const double reported_ns = theory->report.latency_ms.mean * 1e6 * (double)theory->answered;
        assert_true(fabs(reported_ns - sum_ns) <= 1e-9 * sum_ns);
    }
}

void theory_run(struct theory *theory, double rate_per_s, uint64_t jobs, uint64_t seed)
{
    forget_jobs(theory);
    theory->arrived_ns = calloc(jobs, sizeof(int64_t));
    theory->latencies_ns = calloc(jobs, sizeof(int64_t));
    theory->runs_ns = calloc(jobs, sizeof(int64_t));
    theory->arrived = 0;
    theory->answered = 0;
    theory->arrivals.rate_per_s = rate_per_s;
    theory->options.jobs = jobs;
    theory->options.seed = seed;
    theory->options.on_record = on_record;
    struct sim *sim = sim_create(&theory->options);
    sim_run(sim);
    sim_report(sim, &theory->report);
    sim_destroy(sim);
    assert_int_equal(theory->answered, jobs);
    assert_int_equal(theory->report.completed + theory->report.cancelled, jobs);
    assert_true(theory->report.cancelled == 0 || theory->arrivals.patience_ns > 0);
    check_little(theory);
}

static void batch_means(const double *values, uint64_t count, double means[THEORY_BATCHES])
{
    const uint64_t size = count / THEORY_BATCHES;
    assert_true(size > 0);
    for (uint64_t i = 0; i < THEORY_BATCHES; i++) {
        means[i] = 0;
        for (uint64_t k = i * size; k < (i + 1) * size; k++) {
            means[i] += values[k] / (double)size;
        }
    }
}

static double mean_of(const double values[THEORY_BATCHES])
{
    double mean = 0;
    for (uint32_t i = 0; i < THEORY_BATCHES; i++) {
        mean += values[i] / THEORY_BATCHES;
    }
    return mean;
}

static double product_sum(const double a[THEORY_BATCHES], const double b[THEORY_BATCHES])
{
    const double a_mean = mean_of(a);
    const double b_mean = mean_of(b);
    double sum = 0;
    for (uint32_t i = 0; i < THEORY_BATCHES; i++) {
        sum += (a[i] - a_mean) * (b[i] - b_mean);
    }
    return sum;
}

static struct interval interval_of(double mean, double squares, uint32_t degrees)
{
    const double error = sqrt(squares / degrees / THEORY_BATCHES);
    return (struct interval){.mean = mean, .half_95 = t_95 * error, .half_999 = t_999 * error};
}

struct interval theory_mean(const double *values, uint64_t count)
{
    double means[THEORY_BATCHES];
    batch_means(values, count, means);
    return interval_of(mean_of(means), product_sum(means, means), THEORY_BATCHES - 1);
}

struct interval theory_at_least(struct interval interval, double error)
{
    interval.half_95 = fmax(interval.half_95, t_95 * error);
    interval.half_999 = fmax(interval.half_999, t_999 * error);
    return interval;
}

struct interval theory_corrected_mean(
    const double *values, const double *controls, uint64_t count, double expected)
{
    double means[THEORY_BATCHES];
    double known[THEORY_BATCHES];
    batch_means(values, count, means);
    batch_means(controls, count, known);
    const double both = product_sum(means, known);
    const double slope = both / product_sum(known, known);
    const double rest = product_sum(means, means) - slope * both;
    return interval_of(
        mean_of(means) - slope * (mean_of(known) - expected), rest > 0 ? rest : 0,
        THEORY_BATCHES - 2);
}
