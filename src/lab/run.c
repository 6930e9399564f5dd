#include "lab/run.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "console/interrupt.h"

enum { EVENTS_BETWEEN_LOOKS = 1 << 12, SETTING_BYTES_MAX = 64 };

/* What the command line changes, in order, with the texts that it was given as or that are made. */
struct changes {
    struct arena arena;
    uint32_t count;
    struct scenario_setting items[ARGUMENT_LIST_MAX + 3];
};

static void change(struct changes *changes, const char *key, const char *value)
{
    if (value != NULL) {
        changes->items[changes->count++] = (struct scenario_setting){.key = key, .value = value};
    }
}

static enum weft_status change_set(
    struct changes *changes, const char *setting, struct weft_error *error)
{
    const size_t length = strcspn(setting, "=");
    if (setting[length] == '\0' || length == 0) {
        return error_set(error, WEFT_INVALID, "'--set %s' is not of the form key=value", setting);
    }
    char *key = arena_text(&changes->arena, setting);
    key[length] = '\0';
    change(changes, key, key + length + 1);
    return WEFT_OK;
}

/* A bare number of the command line is per second; documents say so. */
static void change_rate(struct changes *changes, const char *rate)
{
    const bool is_bare = rate[0] != '\0' && rate[strspn(rate, "0123456789.")] == '\0';
    char with_unit[SETTING_BYTES_MAX];
    (void)snprintf(with_unit, sizeof(with_unit), "%s%s", rate, is_bare ? "/s" : "");
    change(changes, "rate", arena_text(&changes->arena, with_unit));
}

bool run_warmup_is_auto(const char *warmup)
{
    return warmup != NULL && strcmp(warmup, "auto") == 0;
}

static enum weft_status collect(
    struct changes *changes, const struct run_settings *settings, struct weft_error *error)
{
    const uint32_t set_count = settings->sets == NULL ? 0 : settings->sets->count;
    for (uint32_t i = 0; i < set_count; i++) {
        const enum weft_status status = change_set(changes, settings->sets->items[i], error);
        if (status != WEFT_OK) {
            return status;
        }
    }
    change(changes, "jobs", settings->jobs);
    change(changes, "warmup", run_warmup_is_auto(settings->warmup) ? NULL : settings->warmup);
    if (settings->rate != NULL) {
        change_rate(changes, settings->rate);
    }
    return WEFT_OK;
}

enum weft_status run_load(
    const char *path, const struct run_settings *settings, struct scenario **scenario_out,
    struct weft_error *error)
{
    struct changes changes = {.count = 0};

    arena_init(&changes.arena);
    enum weft_status status = collect(&changes, settings, error);
    if (status == WEFT_OK) {
        status = scenario_load_with(path, changes.items, changes.count, scenario_out, error);
    }
    arena_deinit(&changes.arena);
    return status;
}

static uint64_t stopwatch_ns(void)
{
    return (uint64_t)progress_clock_ns();
}

bool run_has_slo(const struct scenario *scenario)
{
    const struct catalogue *catalogue = scenario->catalogue;
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        if (catalogue->workflows[i]->slo_ns > 0) {
            return true;
        }
    }
    return false;
}

const char *run_rate_text(double rate_per_s, double mean_per_s, char text[static RUN_RATE_BYTES])
{
    text[0] = '\0';
    if (rate_per_s > 0 && mean_per_s != rate_per_s) {
        (void)snprintf(
            text, RUN_RATE_BYTES, " at %.3g/s on average, %g/s between bursts", mean_per_s,
            rate_per_s);
    } else if (rate_per_s > 0) {
        (void)snprintf(text, RUN_RATE_BYTES, " at %g/s", rate_per_s);
    }
    return text;
}

static void describe(
    const struct scenario *scenario, const struct run_options *options, struct run_result *result)
{
    *result = (struct run_result){
        .seed = options->seed,
        .worker_count = scenario->fleet->worker_count,
        .has_slo = run_has_slo(scenario),
        .warmup_found = options->warmup_auto,
    };
    if (scenario->arrivals.kind != ARRIVALS_LIST) {
        result->rate_per_s = scenario->arrivals.rate_per_s;
        result->mean_per_s = arrivals_mean_rate(&scenario->arrivals);
    }
    (void)snprintf(result->scenario, sizeof(result->scenario), "%s", scenario->name);
    (void)snprintf(result->policy, sizeof(result->policy), "%s", options->policies->text);
}

/* How many events may pass before the next look at limits and interrupts. */
static uint64_t events_before_look(const struct run_options *options, uint64_t events)
{
    const uint64_t left = options->events_max - events;
    return options->events_max > 0 && left < EVENTS_BETWEEN_LOOKS ? left : EVENTS_BETWEEN_LOOKS;
}

/* False if an interrupt came first. Stops at events_max, and *is_endless_out says so. */
static bool drive(
    struct sim *sim, const struct run_options *options, uint64_t jobs, bool *is_endless_out)
{
    uint64_t events = 0;
    while (sim_run_some(sim, events_before_look(options, events))) {
        events += events_before_look(options, events);
        if (options->events_max > 0 && events >= options->events_max) {
            *is_endless_out = true;
            return true;
        }
        if (interrupt_came()) {
            return false;
        }
        if (options->progress != NULL) {
            struct sim_counters counters;
            sim_counters(sim, &counters);
            progress_show(options->progress, counters.answered, jobs);
        }
    }
    return true;
}

static void judge(
    const struct run_options *options, const struct run_invariants *invariants, bool is_endless,
    struct run_result *result)
{
    if (is_endless) {
        (void)snprintf(
            result->broken, sizeof(result->broken), "no end after %" PRIu64 " events",
            options->events_max);
    } else if (options->check) {
        run_invariants_check(invariants, &result->report, result->broken);
    }
}

bool run_simulate(
    const struct scenario *scenario, const struct run_options *options,
    struct run_result *result_out)
{
    ASSERT(options->policies != NULL);
    ASSERT(scenario->jobs > 0);
    struct sim_options sim_options = {
        .fleet = scenario->fleet,
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
        .truth = scenario->truth,
        .policies = options->policies,
        .arrivals = &scenario->arrivals,
        .mixture = scenario->mixture,
        .jobs = scenario->jobs,
        .warmup = scenario->warmup,
        .warmup_auto = options->warmup_auto,
        .seed = options->seed,
        .row_load_ns = scenario->rows.load_ns,
        .row_cache_ns = scenario->rows.cache_ns,
        .noise = scenario->noise,
        .profile_error = scenario->profile_error,
        .pace = scenario->pace,
        .has_deputies = scenario->has_deputies,
        .is_asked_twice = scenario->is_asked_twice,
        .members_after_ns = scenario->members_after_ns,
        .fault_count = scenario->fault_count,
        .faults = scenario->faults,
        .fault_random_count = scenario->fault_random_count,
        .fault_randoms = scenario->fault_randoms,
        .detailed = options->details_out != NULL,
        .weighs = options->weighs,
        .check = options->check,
        .on_record = options->on_record,
        .context = options->context,
        .stopwatch_ns = stopwatch_ns,
    };
    struct run_invariants invariants = {
        .on_record = options->on_record,
        .context = options->context,
        .may_be_silent = sim_may_be_silent(&sim_options)};
    if (options->check) {
        sim_options.on_record = run_invariants_record;
        sim_options.context = &invariants;
    }
    const int64_t started_ns = progress_clock_ns();
    bool is_endless = false;
    struct sim *sim = sim_create(&sim_options);
    const bool finished = drive(sim, options, scenario->jobs, &is_endless);
    describe(scenario, options, result_out);
    result_out->interrupted = !finished;
    result_out->wall_s = (double)(progress_clock_ns() - started_ns) / 1e9;
    sim_report(sim, &result_out->report);
    sim_counters(sim, &result_out->counters);
    if (options->details_out != NULL) {
        *options->details_out = sim_details(sim);
    }
    if (finished) {
        judge(options, &invariants, is_endless, result_out);
    }
    sim_destroy(sim);
    return finished;
}
