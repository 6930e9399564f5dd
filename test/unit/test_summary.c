/* src/trace/summary.c, src/trace/summary_report.c, src/trace/series.c, src/trace/quantiles.c. */
#include "trace/summary.h"

#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "trace_fixture.h"

struct fixture {
    struct trace_fixture world;
    struct summary *summary;
    struct report report;
};

static void begin(struct fixture *fixture, uint64_t jobs_expected, double warmup)
{
    trace_fixture_init(&fixture->world);
    const struct summary_options options = {
        .fleet = fixture->world.fleet,
        .catalogue = fixture->world.catalogue,
        .profile = fixture->world.profile,
        .jobs_expected = jobs_expected,
        .warmup = warmup,
    };
    fixture->summary = summary_create(&options);
}

static void end(struct fixture *fixture)
{
    summary_destroy(fixture->summary);
    trace_fixture_deinit(&fixture->world);
}

static const struct report *report(struct fixture *fixture)
{
    summary_report(fixture->summary, &fixture->report);
    return &fixture->report;
}

static void arrive(struct fixture *fixture, int64_t at_ns, uint32_t number, uint32_t workflow)
{
    const struct record record = job_record(RECORD_ARRIVED, at_ns, number, workflow);
    summary_add(fixture->summary, &record);
}

static void answer(
    struct fixture *fixture, int64_t at_ns, uint32_t workflow, int64_t latency_ns,
    enum reason reason)
{
    struct record record = job_record(RECORD_ANSWERED, at_ns, /* number */ 1, workflow);
    record.value = latency_ns;
    record.reason = (uint8_t)reason;
    summary_add(fixture->summary, &record);
}

static void add(struct fixture *fixture, enum record_kind kind, enum reason reason)
{
    struct record record = job_record(kind, /* at_ns */ 0, /* number */ 1, OCR);
    record.reason = (uint8_t)reason;
    record.worker = 0;
    record.task = DETECT;
    summary_add(fixture->summary, &record);
}

static void near(double value, double expected)
{
    assert_true(value > expected - 1e-9);
    assert_true(value < expected + 1e-9);
}

/* There is no such figure: that is neither the best one nor the worst. */
static void none(double value)
{
    assert_true(isnan(value));
}

static void nothing_happened_is_a_report_too(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, 0, 0);
    assert_int_equal(report(&fixture)->jobs, 0);
    assert_int_equal(fixture.report.counted, 0);
    none(fixture.report.latency_ms.mean);
    none(fixture.report.latency_ms.max);
    none(fixture.report.slowdown.mean);
    none(fixture.report.slo_hit_rate);
    none(fixture.report.cache_hit_rate);
    none(fixture.report.cost_per_job);
    near(fixture.report.utilisation, 0);
    assert_false(fixture.report.stable);
    end(&fixture);
}

static void jobs_that_are_not_counted_give_no_figures(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, /* jobs_expected */ 1, /* warmup */ 0.1);
    arrive(&fixture, 0, 1, OCR);
    answer(&fixture, 30 * MS, OCR, 30 * MS, REASON_NONE);
    assert_int_equal(report(&fixture)->completed, 1);
    assert_int_equal(fixture.report.counted, 0);
    none(fixture.report.latency_ms.p99);
    none(fixture.report.slowdown.p50);
    none(fixture.report.slo_hit_rate);
    assert_false(fixture.report.stable);
    end(&fixture);
}

/* The same with bounded memory, where latencies are in histograms. */
static void empty_histograms_give_no_figures(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    trace_fixture_init(&fixture.world);
    const struct summary_options options = {
        .fleet = fixture.world.fleet,
        .catalogue = fixture.world.catalogue,
        .profile = fixture.world.profile,
        .bounded = true,
    };
    fixture.summary = summary_create(&options);
    arrive(&fixture, 0, 1, OCR);
    answer(&fixture, 30 * MS, OCR, 30 * MS, REASON_CANCEL);
    none(report(&fixture)->latency_ms.mean);
    none(fixture.report.slowdown.p95);
    near(fixture.report.slo_hit_rate, 0);
    end(&fixture);
}

static void answers_are_sorted_by_their_reason(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, 0, 0);
    for (uint32_t i = 1; i <= 4; i++) {
        arrive(&fixture, 0, i, OCR);
    }
    answer(&fixture, 30 * MS, OCR, 30 * MS, REASON_NONE);
    answer(&fixture, 40 * MS, OCR, 40 * MS, REASON_CANCEL);
    answer(&fixture, 50 * MS, OCR, 50 * MS, REASON_BATCH_FAILED);
    answer(&fixture, 60 * MS, OCR, 60 * MS, REASON_NONE);
    const struct record refused = job_record(RECORD_REFUSED, 60 * MS, 0, OCR);
    summary_add(fixture.summary, &refused);

    assert_int_equal(report(&fixture)->jobs, 5);
    assert_int_equal(fixture.report.completed, 2);
    assert_int_equal(fixture.report.cancelled, 1);
    assert_int_equal(fixture.report.failed, 1);
    assert_int_equal(fixture.report.refused, 1);
    assert_int_equal(fixture.report.counted, 2);
    near(fixture.report.latency_ms.mean, 45);
    near(fixture.report.latency_ms.max, 60);
    /* One within 50 ms; one late, one failed, one refused, one whose client did not wait. */
    near(fixture.report.slo_hit_rate, 0.2);
    assert_int_equal(fixture.report.slo_hung_up, 1);
    near(fixture.report.duration_s, 0.060);
    end(&fixture);
}

static void who_hangs_up_was_not_answered_in_time(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, 0, 0);
    for (uint32_t i = 1; i <= 4; i++) {
        arrive(&fixture, 0, i, i < 4 ? OCR : TAG);
    }
    answer(&fixture, 30 * MS, OCR, 30 * MS, REASON_NONE);
    answer(&fixture, 50 * MS, OCR, 50 * MS, REASON_CANCEL);
    near(report(&fixture)->slo_hit_rate, 0.5);
    assert_int_equal(fixture.report.slo_hung_up, 1); /* It might have come in time. */
    answer(&fixture, 50 * MS + 1, OCR, 50 * MS + 1, REASON_CANCEL);
    near(report(&fixture)->slo_hit_rate, 1.0 / 3);
    assert_int_equal(fixture.report.slo_hung_up, 1);
    answer(&fixture, 60 * MS, TAG, 60 * MS, REASON_CANCEL); /* It has none. */
    near(report(&fixture)->slo_hit_rate, 1.0 / 3);
    assert_int_equal(fixture.report.slo_hung_up, 1);
    assert_int_equal(fixture.report.cancelled, 3);
    end(&fixture);
}

static void slowdown_is_against_the_fastest_device_of_the_fleet(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, 0, 0);
    arrive(&fixture, 0, 1, OCR);
    arrive(&fixture, 0, 2, TAG);
    answer(&fixture, 10 * MS, TAG, 10 * MS, REASON_NONE); /* 10 / 5 */
    answer(&fixture, 90 * MS, OCR, 90 * MS, REASON_NONE); /* 90 / (10 + 20) */
    near(report(&fixture)->slowdown.mean, 2.5);
    near(fixture.report.slowdown.p50, 2);
    near(fixture.report.slowdown.max, 3);
    near(fixture.report.slo_hit_rate, 0); /* Only ocr has one. */
    end(&fixture);
}

static void workflows_are_held_against_each_other(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, 0, 0);
    none(report(&fixture)->fairness.index);
    assert_int_equal(fixture.report.fairness.worst, UINT32_MAX);
    arrive(&fixture, 0, 1, OCR);
    arrive(&fixture, 0, 2, TAG);
    arrive(&fixture, 0, 3, TAG);
    answer(&fixture, 5 * MS, TAG, 5 * MS, REASON_NONE);   /* 1 */
    answer(&fixture, 15 * MS, TAG, 15 * MS, REASON_NONE); /* 3 */
    near(report(&fixture)->fairness.index, 1);
    assert_int_equal(fixture.report.fairness.worst, TAG);
    none(fixture.report.fairness.rows[OCR].slowdown);
    answer(&fixture, 30 * MS, OCR, 30 * MS, REASON_NONE); /* 1, in time */
    near(report(&fixture)->fairness.index, 0.9);          /* (1 + 2)^2 / (2 (1 + 4)) */
    near(fixture.report.fairness.rows[OCR].slowdown, 1);
    near(fixture.report.fairness.rows[TAG].slowdown, 2);
    near(fixture.report.fairness.rows[OCR].slo_hit_rate, 1);
    none(fixture.report.fairness.rows[TAG].slo_hit_rate);
    assert_int_equal(fixture.report.fairness.worst, TAG);
    arrive(&fixture, 30 * MS, 4, OCR);
    answer(&fixture, 81 * MS, OCR, 51 * MS, REASON_NONE); /* 1.7, too late */
    near(report(&fixture)->fairness.rows[OCR].slo_hit_rate, 0.5);
    assert_int_equal(fixture.report.fairness.worst, OCR);
    end(&fixture);
}

/* Of jobs, not of workflows: what has many jobs counts for as much more. */
static void priorities_are_summed_over_their_jobs(ATTR_UNUSED void **state)
{
    static const struct fairness fairness = {
        .count = 4,
        .rows =
            {
                {.slowdown = 2,
                 .slo_hit_rate = 1,
                 .priority = 3,
                 .counted = 1,
                 .slo_jobs = 1,
                 .slo_hits = 1},
                {.slowdown = 1, .slo_hit_rate = FIGURE_NONE, .counted = 5},
                {.slowdown = 6, .slo_hit_rate = 0, .priority = 3, .counted = 3, .slo_jobs = 4},
                {.slowdown = FIGURE_NONE, .slo_hit_rate = FIGURE_NONE, .priority = PRIORITY_MAX},
            },
    };
    struct fairness_level levels[PRIORITY_MAX + 1];
    assert_int_equal(fairness_levels(&fairness, levels), 3);
    assert_int_equal(levels[0].priority, PRIORITY_MAX);
    none(levels[0].slowdown);
    none(levels[0].slo_hit_rate);
    assert_int_equal(levels[1].priority, 3);
    near(levels[1].slowdown, 5); /* (2 + 3 * 6) / 4 */
    near(levels[1].slo_hit_rate, 0.2);
    assert_int_equal(levels[2].priority, 0);
    near(levels[2].slowdown, 1);
    none(levels[2].slo_hit_rate);
}

static void an_slo_is_met_to_the_last_nanosecond(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, 0, 0);
    arrive(&fixture, 0, 1, OCR);
    arrive(&fixture, 0, 2, OCR);
    answer(&fixture, 50 * MS, OCR, 50 * MS, REASON_NONE);
    near(report(&fixture)->slo_hit_rate, 1);
    answer(&fixture, 50 * MS + 1, OCR, 50 * MS + 1, REASON_NONE);
    near(report(&fixture)->slo_hit_rate, 0.5);
    end(&fixture);
}

static void quantiles_are_exact(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, 0, 0);
    for (uint32_t i = 0; i < 1000; i++) {
        arrive(&fixture, 0, i + 1, i % 2);
    }
    /* 1..1000 ms, in an order that is neither up nor down. */
    for (uint32_t i = 0; i < 1000; i++) {
        const int64_t latency_ns = (int64_t)(i * 7 % 1000 + 1) * MS;
        answer(&fixture, 1000 * MS + latency_ns, i % 2, latency_ns, REASON_NONE);
    }
    assert_int_equal(report(&fixture)->counted, 1000);
    near(fixture.report.latency_ms.mean, 500.5);
    near(fixture.report.latency_ms.p50, 500);
    near(fixture.report.latency_ms.p95, 950);
    near(fixture.report.latency_ms.p99, 990);
    near(fixture.report.latency_ms.max, 1000);
    end(&fixture);
}

static void jobs_of_the_warm_up_are_run_but_not_counted(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, /* jobs_expected */ 100, /* warmup */ 0.07);
    for (uint32_t i = 0; i < 100; i++) {
        arrive(&fixture, (int64_t)i * MS, i + 1, OCR);
        /* The first seven would be seen at once in any quantile. */
        const int64_t latency_ns = i < 7 ? 900 * MS : 30 * MS;
        answer(&fixture, (int64_t)i * MS + latency_ns, OCR, latency_ns, REASON_NONE);
    }
    assert_int_equal(report(&fixture)->completed, 100);
    assert_int_equal(fixture.report.counted, 93);
    assert_int_equal(fixture.report.warmup_jobs, 7);
    near(fixture.report.latency_ms.max, 30);
    near(fixture.report.slo_hit_rate, 1);
    end(&fixture);
}

static void late_answers_of_the_warm_up_are_not_counted_either(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, /* jobs_expected */ 4, /* warmup */ 0.3); /* Rounded up: two. */
    for (uint32_t i = 0; i < 4; i++) {
        arrive(&fixture, (int64_t)i * 10 * MS, i + 1, OCR);
    }
    answer(&fixture, 40 * MS, OCR, 20 * MS, REASON_NONE);         /* Arrived at 20: counts. */
    answer(&fixture, 41 * MS, OCR, 31 * MS, REASON_NONE);         /* Arrived at 10. */
    answer(&fixture, 42 * MS, OCR, 12 * MS, REASON_NONE);         /* Arrived at 30: counts. */
    answer(&fixture, 43 * MS, OCR, 43 * MS, REASON_BATCH_FAILED); /* Arrived at 0. */
    assert_int_equal(report(&fixture)->counted, 2);
    near(fixture.report.latency_ms.mean, 16);
    near(fixture.report.slo_hit_rate, 1);
    end(&fixture);
}

/* A cold start of 60 slow jobs; one of them fails, one later on is refused. */
static void a_warm_up_can_be_found(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    trace_fixture_init(&fixture.world);
    const struct summary_options options = {
        .fleet = fixture.world.fleet,
        .catalogue = fixture.world.catalogue,
        .profile = fixture.world.profile,
        .jobs_expected = 1000,
        .warmup = 0.5, /* Not asked for. */
        .warmup_auto = true,
    };
    fixture.summary = summary_create(&options);
    for (uint32_t i = 0; i < 1000; i++) {
        const int64_t at_ns = (int64_t)i * 1000 * MS;
        const int64_t latency_ns = i < 60 ? 900 * MS : 30 * MS;
        if (i == 500) {
            const struct record refused = job_record(RECORD_REFUSED, at_ns, 0, OCR);
            summary_add(fixture.summary, &refused);
            continue;
        }
        arrive(&fixture, at_ns, i + 1, OCR);
        answer(
            &fixture, at_ns + latency_ns, OCR, latency_ns,
            i == 10 ? REASON_BATCH_FAILED : REASON_NONE);
    }
    assert_int_equal(report(&fixture)->completed, 998);
    assert_in_range(fixture.report.warmup_jobs, 60, 65); /* Whole batches of completed jobs. */
    assert_int_equal(fixture.report.counted, 999 - fixture.report.warmup_jobs);
    near(fixture.report.latency_ms.max, 30);
    const double counted = (double)fixture.report.counted;
    near(fixture.report.slo_hit_rate, counted / (counted + 1)); /* The refused one. */
    end(&fixture);
}

static void cost_is_run_time_by_share_and_batch(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, 0, 0);
    arrive(&fixture, 0, 1, OCR);
    struct record record = job_record(RECORD_ENDED, 100 * MS, 1, OCR);
    record.worker = 0;
    record.value = 100 * MS;
    record.batch = 2;
    record.gpu = 1; /* A quarter of the device, for two tasks. */
    summary_add(fixture.summary, &record);
    summary_add(fixture.summary, &record);
    record.worker = 1;
    record.batch = 1;
    record.gpu = 0; /* The whole device. */
    summary_add(fixture.summary, &record);
    answer(&fixture, 200 * MS, OCR, 200 * MS, REASON_NONE);

    near(report(&fixture)->cost_per_job, 0.125);
    near(fixture.report.utilisation, 0.125 / (2 * 0.2));
    assert_int_equal(fixture.report.tasks, 3);
    end(&fixture);
}

/* A device is busy for no longer than the run that is reported on. */
static void what_runs_on_after_the_last_answer_is_not_busy_time(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, 0, 0);
    arrive(&fixture, 0, 1, OCR);
    answer(&fixture, 10 * MS, OCR, 10 * MS, REASON_CANCEL);
    struct record record = job_record(RECORD_ENDED, 100 * MS, 1, OCR);
    record.worker = 0;
    record.batch = 1;
    record.value = 96 * MS; /* 6 of them in the 10 for which there was a job. */
    summary_add(fixture.summary, &record);
    record.value = 50 * MS; /* All of it afterwards. */
    summary_add(fixture.summary, &record);
    near(report(&fixture)->utilisation, 6.0 / (2 * 10));
    arrive(&fixture, 150 * MS, 2, OCR); /* They are not afterwards any more. */
    answer(&fixture, 200 * MS, OCR, 50 * MS, REASON_NONE);
    near(report(&fixture)->utilisation, 146.0 / (2 * 200));
    near(fixture.report.cost_per_job, 0.146); /* Who pays, pays for all of it. */
    end(&fixture);
}

static void the_cache_is_judged_by_loads_against_models_needed(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, 0, 0);
    for (uint32_t i = 0; i < 8; i++) {
        add(&fixture, RECORD_STARTED, REASON_NONE);
    }
    add(&fixture, RECORD_LOADING, REASON_DEMAND);
    add(&fixture, RECORD_LOADING, REASON_PREFETCH);
    add(&fixture, RECORD_EVICTED, REASON_ROOM);
    near(report(&fixture)->cache_hit_rate, 0.75);
    assert_int_equal(fixture.report.loads, 2);
    assert_int_equal(fixture.report.evictions, 1);
    assert_int_equal(fixture.report.workers_used, 1);
    for (uint32_t i = 0; i < 10; i++) { /* More loads than uses do not make it negative. */
        add(&fixture, RECORD_LOADING, REASON_PREFETCH);
    }
    near(report(&fixture)->cache_hit_rate, 0);
    end(&fixture);
}

static void moves_are_adjusted_forwarded_and_stolen_tasks(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, 0, 0);
    add(&fixture, RECORD_PLACED, REASON_PLANNED);
    add(&fixture, RECORD_PLACED, REASON_BOUND);
    add(&fixture, RECORD_PLACED, REASON_ADJUSTED);
    add(&fixture, RECORD_PLACED, REASON_FORWARDED);
    add(&fixture, RECORD_STOLEN, REASON_NONE);
    assert_int_equal(report(&fixture)->moved, 3);
    end(&fixture);
}

/* Arrivals every ms; @answers_per_100 of a hundred are answered, at once or never. */
static bool is_stable_when(uint32_t answers_per_100)
{
    struct fixture fixture;
    begin(&fixture, 0, 0);
    for (uint32_t i = 0; i < 1000; i++) {
        arrive(&fixture, (int64_t)i * MS, i + 1, OCR);
        if (i % 100 < answers_per_100) {
            answer(&fixture, (int64_t)i * MS, OCR, 0, REASON_NONE);
        }
    }
    const bool stable = report(&fixture)->stable;
    end(&fixture);
    return stable;
}

static void a_growing_backlog_is_unstable(ATTR_UNUSED void **state)
{
    assert_true(is_stable_when(100));
    assert_true(is_stable_when(99)); /* Two more jobs a quarter: within the slack. */
    assert_false(is_stable_when(70));
    assert_false(is_stable_when(0));
}

/* A burst of 400 in the third quarter, and then none: the backlog shrinks again. */
static void a_backlog_that_shrinks_is_stable_and_one_that_jumps_is_not(ATTR_UNUSED void **state)
{
    for (uint32_t quarter = 2; quarter < 4; quarter++) {
        struct fixture fixture;
        begin(&fixture, 0, 0);
        for (uint32_t i = 0; i < 1600; i++) {
            arrive(&fixture, i, i + 1, OCR);
            if (i / 400 != quarter) {
                answer(&fixture, i, OCR, 0, REASON_NONE);
            }
            if (i == 1199 && quarter == 2) {
                for (uint32_t k = 0; k < 400; k++) {
                    answer(&fixture, i, OCR, 0, REASON_NONE);
                }
            }
        }
        assert_int_equal(report(&fixture)->stable, quarter == 2);
        end(&fixture);
    }
}

static void jobs_in_the_system_obey_little(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, 0, 0);
    arrive(&fixture, 10 * MS, 1, OCR);
    arrive(&fixture, 20 * MS, 2, OCR);
    answer(&fixture, 40 * MS, OCR, 30 * MS, REASON_NONE);
    answer(&fixture, 60 * MS, OCR, 40 * MS, REASON_NONE);
    near(report(&fixture)->in_system_mean, (30.0 + 40.0) / 50.0);
    end(&fixture);
}

/* The trace hash of two records of which one field is changed. */
static uint64_t hash_with(struct fixture *fixture, const struct record *second)
{
    const struct record first = job_record(RECORD_ARRIVED, 5, 1, OCR);
    begin(fixture, 0, 0);
    summary_add(fixture->summary, &first);
    summary_add(fixture->summary, second);
    const uint64_t hash = summary_trace_hash(fixture->summary);
    assert_int_equal(report(fixture)->trace_hash, hash);
    end(fixture);
    return hash;
}

static void every_bit_of_every_field_is_in_the_hash(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    struct record record = plain_record(RECORD_DRAINED, 7);
    const uint64_t plain = hash_with(&fixture, &record);
    assert_int_equal(hash_with(&fixture, &record), plain);
    for (uint32_t bit = 0; bit < 8 * sizeof(record); bit++) {
        struct record changed = record;
        ((uint8_t *)&changed)[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        if (changed.kind >= RECORD_DRAINED) {
            assert_true(hash_with(&fixture, &changed) != plain);
        }
    }
}

static void order_is_in_the_hash(ATTR_UNUSED void **state)
{
    const struct record a = plain_record(RECORD_DRAINING, 1);
    const struct record b = plain_record(RECORD_DRAINED, 1);
    struct fixture fixture;
    begin(&fixture, 0, 0);
    summary_add(fixture.summary, &a);
    summary_add(fixture.summary, &b);
    const uint64_t forward = summary_trace_hash(fixture.summary);
    end(&fixture);
    begin(&fixture, 0, 0);
    summary_add(fixture.summary, &b);
    summary_add(fixture.summary, &a);
    assert_true(summary_trace_hash(fixture.summary) != forward);
    end(&fixture);
}

static void units_cost_while_they_run_and_while_they_are_held(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, /* jobs_expected */ 0, /* warmup */ 0);
    arrive(&fixture, 0, 1, OCR);
    struct record record = job_record(RECORD_ENDED, 100, 1, OCR);
    record.worker = 0;
    record.task = DETECT;
    record.value = INT64_C(1000000000);
    record.batch = 2;
    record.gpu = 2;
    record.cpu = 5;
    summary_add(fixture.summary, &record); /* Half of a second of 2 * 0.01 + 5 * 0.001. */
    record.kind = RECORD_RELEASED;
    record.value = INT64_C(2000000000);
    summary_add(fixture.summary, &record);
    add(&fixture, RECORD_DECLINED, REASON_BUSY);
    add(&fixture, RECORD_CLAIMED, REASON_NONE);
    add(&fixture, RECORD_CLAIMED, REASON_UNPLANNED);
    add(&fixture, RECORD_LOADING, REASON_DEMAND);
    add(&fixture, RECORD_LOADING, REASON_PREFETCH);
    answer(&fixture, 200, OCR, 200, REASON_NONE);
    near(report(&fixture)->price_per_job, 0.0125);
    near(fixture.report.price_reserved, 0.0625);
    assert_int_equal(fixture.report.claims_declined, 1);
    assert_int_equal(fixture.report.plan_misses, 1);
    assert_int_equal(fixture.report.cold_starts, 1);
    end(&fixture);
}

/* Jobs that take 1 to 1000 ms, one of them in the system at a time. */
static void add_jobs(struct fixture *fixture, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const int64_t at_ns = (int64_t)i * 1000000000;
        const int64_t latency_ns = (int64_t)(1 + i % 1000) * 1000000;
        arrive(fixture, at_ns, i + 1, OCR);
        answer(fixture, at_ns + latency_ns, OCR, latency_ns, REASON_NONE);
    }
}

static void within(double value, double expected)
{
    assert_true(value >= expected);
    assert_true(value <= expected * 65 / 64);
}

static void bounded_memory_stays_as_it_is(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    struct fixture exact;
    trace_fixture_init(&fixture.world);
    const struct summary_options options = {
        .fleet = fixture.world.fleet,
        .catalogue = fixture.world.catalogue,
        .profile = fixture.world.profile,
        .bounded = true,
    };
    fixture.summary = summary_create(&options);
    add_jobs(&fixture, /* count */ 100000);
    const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    add_jobs(&fixture, /* count */ 1000000);
    assert_int_equal(mallinfo2().uordblks + mallinfo2().hblkhd, before);

    begin(&exact, 0, 0);
    add_jobs(&exact, /* count */ 100000);
    add_jobs(&exact, /* count */ 1000000);
    (void)report(&fixture);
    (void)report(&exact);
    assert_int_equal(fixture.report.counted, 1100000);
    assert_true(fixture.report.stable);
    near(fixture.report.latency_ms.mean, exact.report.latency_ms.mean);
    near(fixture.report.latency_ms.max, 1000);
    within(fixture.report.latency_ms.p50, exact.report.latency_ms.p50);
    within(fixture.report.latency_ms.p99, exact.report.latency_ms.p99);
    assert_true(fixture.report.slowdown.p50 > exact.report.slowdown.p50 * 0.99);
    assert_true(fixture.report.slowdown.p50 < exact.report.slowdown.p50 * 1.02);
    end(&exact);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_happened_is_a_report_too),
        cmocka_unit_test(answers_are_sorted_by_their_reason),
        cmocka_unit_test(jobs_that_are_not_counted_give_no_figures),
        cmocka_unit_test(empty_histograms_give_no_figures),
        cmocka_unit_test(who_hangs_up_was_not_answered_in_time),
        cmocka_unit_test(slowdown_is_against_the_fastest_device_of_the_fleet),
        cmocka_unit_test(workflows_are_held_against_each_other),
        cmocka_unit_test(priorities_are_summed_over_their_jobs),
        cmocka_unit_test(an_slo_is_met_to_the_last_nanosecond),
        cmocka_unit_test(quantiles_are_exact),
        cmocka_unit_test(jobs_of_the_warm_up_are_run_but_not_counted),
        cmocka_unit_test(late_answers_of_the_warm_up_are_not_counted_either),
        cmocka_unit_test(a_warm_up_can_be_found),
        cmocka_unit_test(cost_is_run_time_by_share_and_batch),
        cmocka_unit_test(what_runs_on_after_the_last_answer_is_not_busy_time),
        cmocka_unit_test(the_cache_is_judged_by_loads_against_models_needed),
        cmocka_unit_test(moves_are_adjusted_forwarded_and_stolen_tasks),
        cmocka_unit_test(a_growing_backlog_is_unstable),
        cmocka_unit_test(a_backlog_that_shrinks_is_stable_and_one_that_jumps_is_not),
        cmocka_unit_test(jobs_in_the_system_obey_little),
        cmocka_unit_test(every_bit_of_every_field_is_in_the_hash),
        cmocka_unit_test(order_is_in_the_hash),
        cmocka_unit_test(units_cost_while_they_run_and_while_they_are_held),
        cmocka_unit_test(bounded_memory_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
