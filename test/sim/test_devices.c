/*
 * Devices: what crosses a bus, what shares a device, and how that slows it down.
 *
 * Buses carry 1 MB a millisecond and links are free, so that every time below can be
 * checked in the head.
 *
 * Covers: src/sim/device_bus.c src/sim/device_runs.c
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "stage.h"

enum { NOTES_MAX = 64 };

/* The records that say when something was over. */
struct notes {
    uint32_t count;
    struct record records[NOTES_MAX];
    int64_t latency_sum_ns;
};

static struct notes notes;

static void note(ATTR_UNUSED void *context, const struct record *record)
{
    if (record->kind == RECORD_ANSWERED) {
        notes.latency_sum_ns += record->value;
    }
    if (record->kind == RECORD_LOADED || record->kind == RECORD_ENDED ||
        record->kind == RECORD_ANSWERED) {
        assert_true(notes.count < NOTES_MAX);
        notes.records[notes.count] = *record;
        notes.count++;
    }
}

/* The @nth record of @kind about workflow or, of loads, about model @subject. */
static const struct record *find(enum record_kind kind, uint32_t subject, uint32_t nth)
{
    for (uint32_t i = 0; i < notes.count; i++) {
        const struct record *record = &notes.records[i];
        const uint32_t about = kind == RECORD_LOADED ? record->model : record->workflow;
        if (record->kind == kind && about == subject && nth-- == 0) {
            return record;
        }
    }
    fail_msg("there is no such record");
    return NULL;
}

static void expect_ended(uint32_t workflow, uint32_t nth, int64_t at_ns, int64_t run_ns)
{
    assert_int_equal(find(RECORD_ENDED, workflow, nth)->at_ns, at_ns);
    assert_int_equal(find(RECORD_ENDED, workflow, nth)->value, run_ns);
}

/* Jobs of workflow i run on worker hand_worker[i], as many at once as there are units. */
static uint16_t hand_worker[4];

static void place_by_hand(
    ATTR_UNUSED const struct policy_input *input, const struct job_facts *job,
    uint16_t *placement_out)
{
    for (uint32_t i = 0; i < job->graph->task_count; i++) {
        placement_out[i] = hand_worker[job->workflow];
    }
}

static void one_unit_each(
    ATTR_UNUSED const struct policy_input *input, ATTR_UNUSED const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    *answer_out = (struct dispatch_answer){.count = 1, .configs = {{.batch = 1, .gpu = 1}}};
}

static const struct policy by_hand = {
    .name = "by-hand",
    .place_job = place_by_hand,
    .dispatch = one_unit_each,
};

/* One machine with @worker_count workers like the stage's, on devices as @like says. */
static void open_machine(
    struct stage *stage, uint32_t worker_count, const struct fleet_worker *like)
{
    stage_open(stage, /* node_count */ 0, MB(1000));
    struct fleet_worker device = *like;
    device.memory_bytes = MB(1000);
    device.bus_bytes_per_s = MB(1000);
    device.gpu_units = like->gpu_units == 0 ? 1 : like->gpu_units;
    const uint32_t devices = worker_count / fleet_partitions(&device);
    assert_true(fleet_add_machine(stage->fleet, &device, devices, /* cpu_units */ 8));
    assert_int_equal(stage->fleet->worker_count, worker_count);
    for (uint16_t i = 0; i < 4; i++) {
        hand_worker[i] = (uint16_t)(i < worker_count ? i : 0);
    }
}

/* A workflow of one function, or of one model if it has bytes, whose requests bring @input. */
static uint32_t add_workflow(
    struct stage *stage, const char *name, uint64_t bytes, uint64_t input, int64_t run_ns)
{
    (void)stage_model(stage, name, bytes, run_ns);
    const uint32_t workflow = stage_chain(stage, name, name);
    stage->catalogue->workflows[workflow]->input_bytes = input;
    return workflow;
}

static bool always(ATTR_UNUSED const double *options)
{
    return true;
}

static const struct policy by_hand_pooled = {
    .name = "by-hand-pooled",
    .place_job = place_by_hand,
    .dispatch = one_unit_each,
    .pools = always,
};

static void begin_with(struct stage *stage, const struct policy *policy)
{
    notes = (struct notes){0};
    policy_set_single(policy, &stage->policies);
    stage->options.on_record = note;
    stage->sim = sim_create(&stage->options);
}

static void begin(struct stage *stage)
{
    begin_with(stage, &by_hand);
}

/* To the end, where checkers find nothing left; Little's law holds. */
static void end(struct stage *stage)
{
    struct report report;
    sim_run(stage->sim);
    sim_report(stage->sim, &report);
    const double area_ns = report.in_system_mean * report.duration_s * 1e9;
    assert_true(fabs(area_ns - (double)notes.latency_sum_ns) < 1);
}

/* By what the profile says, once after every load, and for nothing else. */
static void the_first_run_after_a_load_takes_longer(ATTR_UNUSED void **state)
{
    struct stage stage;
    open_machine(&stage, 1, &(struct fleet_worker){0});
    const uint32_t a = add_workflow(&stage, "a", MB(600), 0, MS(10));
    const uint32_t b = add_workflow(&stage, "b", MB(600), 0, MS(10)); /* Not beside a. */
    stage.profile->models[a].curves[0].first_run_ns = MS(4);
    begin(&stage);
    stage_request(&stage, MS(0), 0, a);
    stage_request(&stage, MS(1000), 0, a);
    stage_request(&stage, MS(2000), 0, b);
    stage_request(&stage, MS(4000), 0, a);
    end(&stage);
    assert_int_equal(find(RECORD_ENDED, a, 0)->value, MS(14));
    assert_int_equal(find(RECORD_ENDED, a, 1)->value, MS(10));
    assert_int_equal(find(RECORD_ENDED, b, 0)->value, MS(10));
    assert_int_equal(find(RECORD_ENDED, a, 2)->value, MS(14));
    stage_close(&stage);
}

/* 600 ms; all that is drawn is half of that, of one model, and three times as long of the other. */
static void loads_scatter_as_the_profile_says(ATTR_UNUSED void **state)
{
    struct stage stage;
    open_machine(&stage, 1, &(struct fleet_worker){0});
    const uint32_t a = add_workflow(&stage, "a", MB(600), 0, MS(10));
    const uint32_t b = add_workflow(&stage, "b", MB(600), 0, MS(10));
    for (uint32_t i = 0; i < PROFILE_QUANTILES; i++) {
        stage.profile->models[a].curves[0].load_quantiles[i] = 0.5;
        stage.profile->models[b].curves[0].load_quantiles[i] = 3;
    }
    begin(&stage);
    stage_request(&stage, MS(0), 0, a);
    stage_request(&stage, MS(2000), 0, b);
    end(&stage);
    assert_int_equal(find(RECORD_LOADED, a, 0)->at_ns, MS(300));
    assert_int_equal(find(RECORD_LOADED, b, 0)->at_ns, MS(2000 + 1800));
    stage_close(&stage);
}

static void inputs_cross_the_bus_only_if_asked_for(ATTR_UNUSED void **state)
{
    for (uint32_t asked = 0; asked < 2; asked++) {
        struct stage stage;
        const struct fleet_worker like = {.bus_inputs = asked == 1};
        open_machine(&stage, 1, &like);
        const uint32_t plain = add_workflow(&stage, "plain", 0, MB(5), MS(10));
        begin(&stage);
        stage_request(&stage, 0, 0, plain);
        end(&stage);
        /* The copy is no part of the run. */
        expect_ended(plain, 0, asked == 1 ? MS(15) : MS(10), MS(10));
        stage_close(&stage);
    }
}

static void inputs_of_every_task_of_a_job_cross_the_bus(ATTR_UNUSED void **state)
{
    struct stage stage;
    const struct fleet_worker like = {.bus_inputs = true};
    open_machine(&stage, 1, &like);
    (void)stage_model(&stage, "a", 0, MS(10));
    (void)stage_model(&stage, "b", 0, MS(20));
    const uint32_t chain = stage_chain(&stage, "chain", "a b"); /* 1 MB between them. */
    begin(&stage);
    stage_request(&stage, 0, 0, chain);
    end(&stage);
    expect_ended(chain, 0, MS(10), MS(10)); /* The request brings nothing. */
    expect_ended(chain, 1, MS(10) + MS(1) + MS(20), MS(20));
    stage_close(&stage);
}

/* Both the device and what slow-downs are measured by; loads stay as the profile has them. */
static void batches_take_what_the_truth_says(ATTR_UNUSED void **state)
{
    struct stage stage;
    struct report report;
    const struct fleet_worker like = {0};
    open_machine(&stage, 1, &like);
    const uint32_t twice = add_workflow(&stage, "twice", MB(50), 0, MS(10));
    struct profile *truth = profile_create(stage.catalogue->model_count);
    const struct profile_point point = {.items = 1, .run_ns = MS(20)};
    assert_int_equal(profile_add_point(truth, 0, 0, &point), WEFT_OK);
    stage.options.truth = truth;
    begin(&stage);
    stage_request(&stage, 0, 0, twice);
    stage_request(&stage, MS(100), 0, twice);
    end(&stage);
    assert_int_equal(find(RECORD_LOADED, 0, 0)->at_ns, MS(50));
    expect_ended(twice, 0, MS(70), MS(20));
    expect_ended(twice, 1, MS(120), MS(20));
    sim_report(stage.sim, &report);
    assert_true(fabs(report.slowdown.mean - (70.0 + 20) / 2 / 20) < 1e-9);
    stage_close(&stage);
    profile_destroy(truth);
}

/* A load of 50 ms at 0; inputs of 5 ms at 1; another worker of the device loads at 2. */
static void open_busy_bus(struct stage *stage)
{
    const struct fleet_worker like = {.bus_inputs = true, .partitions = 2};
    open_machine(stage, 2, &like);
    (void)add_workflow(stage, "large", MB(50), 0, MS(10));
    (void)add_workflow(stage, "plain", 0, MB(5), MS(10));
    (void)add_workflow(stage, "small", MB(20), 0, MS(10));
    hand_worker[1] = 0;
    hand_worker[2] = 1;
    begin(stage);
    stage_request(stage, 0, 0, 0);
    stage_request(stage, MS(1), 0, 1);
    stage_request(stage, MS(2), 0, 2);
}

static void the_bus_of_a_device_serves_loads_and_inputs_in_turn(ATTR_UNUSED void **state)
{
    struct stage stage;
    open_busy_bus(&stage);
    end(&stage);
    assert_int_equal(find(RECORD_LOADED, 0, 0)->at_ns, MS(50));
    expect_ended(1, 0, MS(55) + MS(10), MS(10));
    assert_int_equal(find(RECORD_LOADED, 2, 0)->at_ns, MS(75));
    expect_ended(2, 0, MS(85), MS(10));
    /* The first job's worker was taken by the second, which waited for its inputs there. */
    expect_ended(0, 0, MS(75), MS(10));
    stage_close(&stage);
}

static void what_is_cancelled_leaves_the_bus_to_the_next(ATTR_UNUSED void **state)
{
    struct stage stage;
    open_busy_bus(&stage);
    sim_cancel(stage.sim, MS(10), /* nth */ 0); /* The load, on its way. */
    end(&stage);
    expect_ended(1, 0, MS(15) + MS(10), MS(10));
    assert_int_equal(find(RECORD_LOADED, 2, 0)->at_ns, MS(35));
    stage_close(&stage);

    open_busy_bus(&stage);
    sim_cancel(stage.sim, MS(10), /* nth */ 1); /* The inputs, which wait. */
    end(&stage);
    assert_int_equal(find(RECORD_LOADED, 0, 0)->at_ns, MS(50));
    assert_int_equal(find(RECORD_LOADED, 2, 0)->at_ns, MS(70));
    stage_close(&stage);

    open_busy_bus(&stage);
    sim_cancel(stage.sim, MS(53), /* nth */ 1); /* The inputs, on their way. */
    sim_cancel(stage.sim, MS(10), /* nth */ 2); /* The last that waits. */
    stage_request(&stage, MS(60), 0, 2);
    end(&stage);
    expect_ended(0, 0, MS(63), MS(10)); /* The worker is free at once. */
    assert_int_equal(find(RECORD_LOADED, 2, 0)->at_ns, MS(80));
    stage_close(&stage);
}

static void what_comes_after_a_cancel_crosses_the_bus_in_its_turn(ATTR_UNUSED void **state)
{
    struct stage stage;
    open_busy_bus(&stage);
    sim_cancel(stage.sim, MS(10), /* nth */ 2); /* The last that waits, */
    stage_request(&stage, MS(20), 0, 2);        /* and another in its place. */
    end(&stage);
    assert_int_equal(find(RECORD_LOADED, 0, 0)->at_ns, MS(50));
    assert_int_equal(find(RECORD_LOADED, 2, 0)->at_ns, MS(75));
    stage_close(&stage);

    open_busy_bus(&stage);
    sim_cancel(stage.sim, MS(10), /* nth */ 0); /* It would have been there at 50, */
    stage_request(&stage, MS(40), 0, 0);        /* when this is on its way. */
    end(&stage);
    assert_int_equal(find(RECORD_LOADED, 0, 0)->at_ns, MS(90));
    stage_close(&stage);
}

static void a_crash_empties_the_bus(ATTR_UNUSED void **state)
{
    for (uint32_t at_ms = 5; at_ms < 90; at_ms += 17) {
        struct stage stage;
        const struct fleet_worker like = {.bus_inputs = true, .partitions = 2, .interference = 0.5};
        open_machine(&stage, 2, &like);
        struct fleet_worker other = stage.fleet->workers[0];
        assert_true(fleet_add_machine(stage.fleet, &other, 1, /* cpu_units */ 8));
        const uint32_t large = add_workflow(&stage, "large", MB(50), MB(5), MS(30));
        const uint32_t plain = add_workflow(&stage, "plain", 0, MB(5), MS(30));
        stage.faults[0].at_ns = MS(at_ms);
        stage.faults[0].kind = FAULT_CRASH;
        stage.faults[1].at_ns = MS(at_ms + 20);
        stage.faults[1].kind = FAULT_RESTART;
        stage.options.fault_count = 2;
        begin(&stage);
        for (uint32_t i = 0; i < 4; i++) {
            stage_request(&stage, MS(i), 0, i % 2 == 0 ? large : plain);
            stage_request(&stage, MS(at_ms + 30 + i), 0, i % 2 == 0 ? large : plain);
        }
        end(&stage); /* The checkers of the stage count what is left. */
        stage_close(&stage);
    }
}

/* Two workers that load 50 MB each, from the same time on. */
static void only_partitions_share_a_bus(ATTR_UNUSED void **state)
{
    for (uint32_t partitions = 1; partitions <= 2; partitions++) {
        struct stage stage;
        const struct fleet_worker like = {.partitions = partitions};
        open_machine(&stage, 2, &like);
        (void)add_workflow(&stage, "left", MB(50), 0, MS(10));
        (void)add_workflow(&stage, "right", MB(50), 0, MS(10));
        begin(&stage);
        stage_request(&stage, 0, 0, 0);
        stage_request(&stage, 0, 0, 1);
        end(&stage);
        assert_int_equal(find(RECORD_LOADED, 0, 0)->at_ns, MS(50));
        assert_int_equal(find(RECORD_LOADED, 1, 0)->at_ns, partitions == 1 ? MS(50) : MS(100));
        stage_close(&stage);
    }
}

static void batches_on_one_device_slow_each_other(ATTR_UNUSED void **state)
{
    struct stage stage;
    const struct fleet_worker like = {.partitions = 2, .interference = 0.5};
    open_machine(&stage, 4, &like);
    for (uint32_t i = 0; i < 3; i++) {
        static const char *const names[] = {"left", "right", "alone"};
        (void)add_workflow(&stage, names[i], 0, 0, MS(10));
    }
    begin(&stage);
    stage_request(&stage, 0, 0, 0);
    stage_request(&stage, MS(5), 0, 1);
    stage_request(&stage, MS(5), 0, 2); /* On the other device. */
    end(&stage);
    /* 5 ms alone, 5 ms in half as much time again; then the same for the other. */
    expect_ended(0, 0, MS(12.5), MS(12.5));
    expect_ended(1, 0, MS(17.5), MS(12.5));
    expect_ended(2, 0, MS(15), MS(10));
    stage_close(&stage);
}

/* The same on processors, where it is the model that has the interference. */
static void processors_of_a_node_slow_each_other(ATTR_UNUSED void **state)
{
    struct stage stage;
    const struct fleet_worker like = {.splits = true};
    open_machine(&stage, 2, &like);
    const uint32_t left = add_workflow(&stage, "left", 0, 0, MS(10));
    const uint32_t right = add_workflow(&stage, "right", 0, 0, MS(10));
    stage.profile->models[0].curves[0].interference = 0.5;
    stage.profile->models[1].curves[0].interference = 0.25;
    begin(&stage);
    stage_request(&stage, 0, 0, left);
    stage_request(&stage, MS(5), 0, right);
    stage_request(&stage, MS(50), 0, right);
    end(&stage);
    expect_ended(left, 0, MS(12.5), MS(12.5));
    expect_ended(right, 0, MS(16.5), MS(11.5)); /* In 7.5 ms it came as far as 6. */
    expect_ended(right, 1, MS(60), MS(10));
    stage_close(&stage);
}

/* What was learnt while others ran is not slowed twice. */
static void what_was_learnt_beside_others_is_shorter_alone(ATTR_UNUSED void **state)
{
    struct stage stage;
    const struct fleet_worker like = {.splits = true};
    open_machine(&stage, 2, &like);
    const uint32_t left = add_workflow(&stage, "left", 0, 0, MS(15));
    const uint32_t right = add_workflow(&stage, "right", 0, 0, MS(12));
    stage.profile->models[0].curves[0].interference = 0.5;
    stage.profile->models[0].curves[0].points[0].slowing.beside = 1;
    stage.profile->models[1].curves[0].points[0].slowing.crowded = 0.2;
    begin(&stage);
    stage_request(&stage, 0, 0, left);
    stage_request(&stage, MS(30), 0, left);
    stage_request(&stage, MS(30), 0, right);
    end(&stage);
    expect_ended(left, 0, MS(10), MS(10));
    expect_ended(right, 0, MS(40), MS(10));
    expect_ended(left, 1, MS(40) + MS(10) / 3, MS(10) + MS(10) / 3);
    stage_close(&stage);
}

/* Four items in two parts, from 2 to 22 ms; at 12 ms a third thread comes for two processors. */
static void a_split_batch_is_in_the_way_of_others(ATTR_UNUSED void **state)
{
    struct stage stage;
    const struct fleet_worker like = {.splits = true};
    open_machine(&stage, 2, &like);
    (void)stage_model(&stage, "cut", 0, MS(1));
    (void)stage_model(&stage, "read", MB(1), MS(10));
    const uint32_t pages = stage_chain(&stage, "pages", "cut read");
    stage.catalogue->workflows[pages]->tasks[0].gives = (struct items_rule){.low = 4, .high = 4};
    const uint32_t other = add_workflow(&stage, "other", 0, 0, MS(10));
    begin_with(&stage, &by_hand_pooled);
    stage_request(&stage, 0, 0, pages);
    stage_request(&stage, MS(12), 0, other);
    stage_request(&stage, MS(50), 0, pages);
    end(&stage);
    expect_ended(pages, 1, MS(27), MS(25)); /* 10 ms and, in thirds of two processors, 15. */
    expect_ended(other, 0, MS(27), MS(15));
    expect_ended(pages, 3, MS(71), MS(20));
    stage_close(&stage);
}

/* A load is another busy processor, and one thread too many if both were busy. */
static void a_load_keeps_a_processor_busy(ATTR_UNUSED void **state)
{
    struct stage stage;
    const struct fleet_worker like = {.splits = true};
    open_machine(&stage, 2, &like);
    const uint32_t left = add_workflow(&stage, "left", 0, 0, MS(10));
    const uint32_t right = add_workflow(&stage, "right", 0, 0, MS(10));
    const uint32_t first = add_workflow(&stage, "first", MB(6), 0, MS(10));
    const uint32_t second = add_workflow(&stage, "second", MB(6), 0, MS(10));
    stage.profile->models[left].curves[0].interference = 0.5;
    begin(&stage);
    stage_request(&stage, 0, 0, left);
    stage_request(&stage, MS(2), 0, first);
    stage_request(&stage, MS(50), 0, left);
    stage_request(&stage, MS(50), 0, right);
    stage_request(&stage, MS(50), 0, second);
    end(&stage);
    expect_ended(left, 0, MS(12), MS(12)); /* 6 ms beside a load: it came as far as 4. */
    expect_ended(first, 0, MS(22), MS(10));
    expect_ended(right, 0, MS(62), MS(12)); /* 6 ms in thirds of two processors: as far as 4. */
    expect_ended(left, 1, MS(50) + MS(46) / 3, MS(46) / 3);
    expect_ended(second, 0, MS(60) + MS(46) / 3, MS(10));
    stage_close(&stage);
}

/* The machine goes down in the middle of a load, and comes back idle. */
static void a_load_that_is_lost_keeps_no_processor_busy(ATTR_UNUSED void **state)
{
    struct stage stage;
    const struct fleet_worker like = {.splits = true};
    open_machine(&stage, 2, &like);
    const uint32_t left = add_workflow(&stage, "left", 0, 0, MS(10));
    const uint32_t right = add_workflow(&stage, "right", MB(40), 0, MS(10));
    stage.profile->models[left].curves[0].interference = 0.5;
    stage.faults[0] = (struct fault){.at_ns = MS(20), .kind = FAULT_CRASH};
    stage.faults[1] = (struct fault){.at_ns = MS(40), .kind = FAULT_RESTART};
    stage.options.fault_count = 2;
    begin(&stage);
    stage_request(&stage, 0, 0, right);
    stage_request(&stage, MS(3000), 0, left);
    end(&stage);
    expect_ended(left, 0, MS(3010), MS(10));
    stage_close(&stage);
}

static void some_requests_are_more_work_than_others(ATTR_UNUSED void **state)
{
    struct stage stage;
    const struct fleet_worker like = {.splits = false};
    open_machine(&stage, 1, &like);
    const uint32_t usual = add_workflow(&stage, "usual", 0, 0, MS(10));
    const uint32_t large = stage_chain(&stage, "large", "usual");
    stage.catalogue->workflows[large]->tasks[0].work = 2.5;
    begin(&stage);
    stage_request(&stage, 0, 0, usual);
    stage_request(&stage, MS(50), 0, large);
    end(&stage);
    expect_ended(usual, 0, MS(10), MS(10));
    expect_ended(large, 0, MS(75), MS(25));
    stage_close(&stage);
}

static double factors[] = {1, 2, 4};

static void begin_with_pace(struct stage *stage, uint64_t seed)
{
    stage->options.seed = seed;
    stage->options.pace = (struct pace){.every_ns = MS(100), .count = 3, .factors = factors};
    begin(stage);
}

/* What the run of @workflow took that began in piece @nth of the pace. */
static double factor_of(uint32_t workflow, uint32_t nth)
{
    return (double)find(RECORD_ENDED, workflow, nth)->value / (double)MS(10);
}

/* All workers of a machine at once, one factor after the other, again and again. */
static void a_machine_runs_at_its_pace(ATTR_UNUSED void **state)
{
    struct stage stage;
    open_machine(&stage, 2, &(struct fleet_worker){0});
    const uint32_t a = add_workflow(&stage, "a", 0, 0, MS(10));
    const uint32_t b = add_workflow(&stage, "b", 0, 0, MS(10));
    begin_with_pace(&stage, 1);
    for (uint32_t i = 0; i < 4; i++) {
        stage_request(&stage, MS(100.0 * i), 0, a);
        stage_request(&stage, MS(100.0 * i + 40), 0, b);
    }
    end(&stage);
    uint32_t first = 0;
    while (factors[first] != factor_of(a, 0)) {
        first++;
        assert_true(first < 3);
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(factor_of(a, i) == factors[(first + i) % 3]);
        assert_true(factor_of(b, i) == factors[(first + i) % 3]);
    }
    stage_close(&stage);
}

/* Machines are not slow together, and seeds differ. */
static void where_a_pace_begins_is_drawn(ATTR_UNUSED void **state)
{
    enum { SEEDS = 64 };
    uint32_t differs = 0;
    bool is_seen[3] = {false};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct stage stage;
        stage_open(&stage, /* node_count */ 2, MB(1000));
        const uint32_t a = add_workflow(&stage, "a", 0, 0, MS(10));
        const uint32_t b = add_workflow(&stage, "b", 0, 0, MS(10));
        hand_worker[a] = 0;
        hand_worker[b] = 1;
        begin_with_pace(&stage, seed);
        stage_request(&stage, 0, 0, a);
        stage_request(&stage, 0, 1, b);
        end(&stage);
        differs += factor_of(a, 0) != factor_of(b, 0) ? 1 : 0;
        for (uint32_t i = 0; i < 3; i++) {
            is_seen[i] = is_seen[i] || factor_of(a, 0) == factors[i];
        }
        stage_close(&stage);
    }
    assert_in_range(differs, SEEDS / 3, SEEDS - 1);
    assert_true(is_seen[0] && is_seen[1] && is_seen[2]);
}

static void without_interference_they_do_not(ATTR_UNUSED void **state)
{
    struct stage stage;
    const struct fleet_worker like = {.partitions = 2};
    open_machine(&stage, 2, &like);
    (void)add_workflow(&stage, "left", 0, 0, MS(10));
    (void)add_workflow(&stage, "right", 0, 0, MS(10));
    begin(&stage);
    stage_request(&stage, 0, 0, 0);
    stage_request(&stage, MS(5), 0, 1);
    end(&stage);
    expect_ended(0, 0, MS(10), MS(10));
    expect_ended(1, 0, MS(15), MS(10));
    stage_close(&stage);
}

/* What a run was told before another one left comes after its end, and is ignored. */
static void a_run_that_ends_sooner_than_it_was_told_ends_once(ATTR_UNUSED void **state)
{
    struct stage stage;
    const struct fleet_worker like = {.partitions = 2, .interference = 0.5};
    open_machine(&stage, 2, &like);
    (void)add_workflow(&stage, "left", 0, 0, MS(9));
    (void)add_workflow(&stage, "right", 0, 0, MS(9));
    stage.faults[0] =
        (struct fault){.at_ns = MS(500), .for_ns = MS(1), .kind = FAULT_STOP, .victim = 0};
    stage.options.fault_count = 1; /* So that the host asks who hears of what. */
    begin(&stage);
    stage_request(&stage, 0, 0, 0);
    stage_request(&stage, 0, 0, 1);
    sim_cancel(stage.sim, MS(6), /* nth */ 1);
    end(&stage);
    expect_ended(0, 0, MS(11), MS(11)); /* Two thirds of 6 ms, then 5 alone: not at 13.5. */
    stage_close(&stage);
}

/* Three shares of one worker; the profile knows only the whole, so a third takes thrice. */
static void shares_of_one_worker_slow_each_other_too(ATTR_UNUSED void **state)
{
    struct stage stage;
    const struct fleet_worker like = {.gpu_units = 3, .interference = 0.1};
    open_machine(&stage, 1, &like);
    const uint32_t model = stage_model(&stage, "a", 0, MS(10));
    const struct profile_point third = {.items = 1, .gpu = 1, .run_ns = MS(30)};
    assert_int_equal(profile_add_point(stage.profile, model, 0, &third), WEFT_OK);
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    begin(&stage);
    for (uint32_t i = 0; i < 3; i++) {
        stage_request(&stage, 0, 0, chain);
    }
    end(&stage);
    for (uint32_t i = 0; i < 3; i++) { /* All three together: two others, 20 % more. */
        expect_ended(chain, i, MS(36), MS(36));
    }
    stage_close(&stage);
}

/* Three batches that have a third of the device each end after @end_ns. */
static void expect_thirds(double interference, int64_t end_ns)
{
    struct stage stage;
    const struct fleet_worker like = {.gpu_units = 3, .interference = 0.3, .sharing = SHARES_SM};
    open_machine(&stage, 1, &like);
    const uint32_t model = stage_model(&stage, "a", 0, MS(10));
    const struct profile_point third = {
        .items = 1, .gpu = 1, .run_ns = MS(30), .interference = interference};
    assert_int_equal(profile_add_point(stage.profile, model, 0, &third), WEFT_OK);
    const uint32_t chain = stage_chain(&stage, "chain", "a");
    begin(&stage);
    for (uint32_t i = 0; i < 3; i++) {
        stage_request(&stage, 0, 0, chain);
    }
    end(&stage);
    for (uint32_t i = 0; i < 3; i++) {
        expect_ended(chain, i, end_ns, end_ns);
    }
    stage_close(&stage);
}

/* Two others slow a batch by two thirds of the coefficient. */
static void units_of_processors_slow_others_by_their_number(ATTR_UNUSED void **state)
{
    expect_thirds(/* interference: the device's */ 0, MS(36));
}

static void others_slow_a_batch_as_was_measured_of_it(ATTR_UNUSED void **state)
{
    expect_thirds(/* interference */ 1.5, MS(60));
}

static void a_cancelled_run_slows_no_other_any_more(ATTR_UNUSED void **state)
{
    struct stage stage;
    const struct fleet_worker like = {.partitions = 2, .interference = 1};
    open_machine(&stage, 2, &like);
    (void)add_workflow(&stage, "left", 0, 0, MS(10));
    (void)add_workflow(&stage, "right", 0, 0, MS(10));
    begin(&stage);
    stage_request(&stage, 0, 0, 0);
    stage_request(&stage, 0, 0, 1);
    sim_cancel(stage.sim, MS(8), /* nth */ 1);
    end(&stage);
    expect_ended(0, 0, MS(8) + MS(6), MS(14)); /* In 8 ms it came as far as 4. */
    stage_close(&stage);
}

/* Inputs on their way hold a share but compute nothing. */
static void only_what_runs_slows_others(ATTR_UNUSED void **state)
{
    struct stage stage;
    const struct fleet_worker like = {.partitions = 2, .interference = 1, .bus_inputs = true};
    open_machine(&stage, 2, &like);
    (void)add_workflow(&stage, "left", 0, 0, MS(10));
    (void)add_workflow(&stage, "right", 0, MB(8), MS(10));
    begin(&stage);
    stage_request(&stage, 0, 0, 0);
    stage_request(&stage, 0, 0, 1);
    end(&stage);
    expect_ended(0, 0, MS(12), MS(12)); /* Alone for 8 ms, then at half speed. */
    expect_ended(1, 0, MS(20), MS(12)); /* From 8: half speed for 4 ms, then alone. */
    stage_close(&stage);
}

static void each_kind_of_device_has_its_own_times(ATTR_UNUSED void **state)
{
    struct stage stage;
    struct report report;
    stage_open(&stage, /* node_count */ 1, MB(1000));
    struct fleet_worker fast = stage.fleet->workers[0];
    fast.device = fleet_device(stage.fleet, "fast");
    fast.bus_bytes_per_s = MB(5000);
    assert_true(fleet_add_machine(stage.fleet, &fast, 1, /* cpu_units */ 8));
    const struct profile_point point = {.items = 1, .run_ns = MS(4)};
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t workflow = add_workflow(&stage, i == 0 ? "x" : "y", MB(50), 0, MS(10));
        assert_int_equal(profile_add_point(stage.profile, workflow, fast.device, &point), WEFT_OK);
        hand_worker[workflow] = (uint16_t)i;
    }
    begin(&stage);
    stage_request(&stage, 0, 0, 0);
    stage_request(&stage, 0, 1, 1);
    end(&stage);
    expect_ended(0, 0, MS(60), MS(10));
    expect_ended(1, 0, MS(14), MS(4));
    sim_report(stage.sim, &report);
    assert_true(fabs(report.slowdown.max - 15) < 1e-9); /* 60 ms against 4 on the fast one. */
    stage_close(&stage);
}

/* Whether jobs of a workflow of one task that comes every 10 ms prefer the fast device. */
static void a_policy_that_knows_run_times_prefers_the_fast_device(ATTR_UNUSED void **state)
{
    struct stage stage;
    struct weft_error error;
    stage_open(&stage, /* node_count */ 1, MB(1000));
    struct fleet_worker fast = stage.fleet->workers[0];
    fast.device = fleet_device(stage.fleet, "fast");
    assert_true(fleet_add_machine(stage.fleet, &fast, 1, /* cpu_units */ 8));
    const uint32_t workflow = add_workflow(&stage, "x", 0, 0, MS(20));
    const struct profile_point point = {.items = 1, .run_ns = MS(5)};
    assert_int_equal(profile_add_point(stage.profile, workflow, fast.device, &point), WEFT_OK);
    notes = (struct notes){0};
    assert_int_equal(policy_set_parse("heft", &stage.policies, &error), WEFT_OK);
    stage.options.on_record = note;
    stage.sim = sim_create(&stage.options);
    for (uint32_t i = 0; i < 20; i++) {
        stage_request(&stage, MS(10 * i), i % 2, workflow);
    }
    end(&stage);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(find(RECORD_ENDED, workflow, i)->worker, 1);
    }
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_run_after_a_load_takes_longer),
        cmocka_unit_test(loads_scatter_as_the_profile_says),
        cmocka_unit_test(inputs_cross_the_bus_only_if_asked_for),
        cmocka_unit_test(inputs_of_every_task_of_a_job_cross_the_bus),
        cmocka_unit_test(batches_take_what_the_truth_says),
        cmocka_unit_test(the_bus_of_a_device_serves_loads_and_inputs_in_turn),
        cmocka_unit_test(what_is_cancelled_leaves_the_bus_to_the_next),
        cmocka_unit_test(what_comes_after_a_cancel_crosses_the_bus_in_its_turn),
        cmocka_unit_test(a_crash_empties_the_bus),
        cmocka_unit_test(only_partitions_share_a_bus),
        cmocka_unit_test(batches_on_one_device_slow_each_other),
        cmocka_unit_test(processors_of_a_node_slow_each_other),
        cmocka_unit_test(what_was_learnt_beside_others_is_shorter_alone),
        cmocka_unit_test(a_split_batch_is_in_the_way_of_others),
        cmocka_unit_test(a_load_keeps_a_processor_busy),
        cmocka_unit_test(a_load_that_is_lost_keeps_no_processor_busy),
        cmocka_unit_test(some_requests_are_more_work_than_others),
        cmocka_unit_test(a_machine_runs_at_its_pace),
        cmocka_unit_test(where_a_pace_begins_is_drawn),
        cmocka_unit_test(without_interference_they_do_not),
        cmocka_unit_test(a_run_that_ends_sooner_than_it_was_told_ends_once),
        cmocka_unit_test(units_of_processors_slow_others_by_their_number),
        cmocka_unit_test(others_slow_a_batch_as_was_measured_of_it),
        cmocka_unit_test(shares_of_one_worker_slow_each_other_too),
        cmocka_unit_test(a_cancelled_run_slows_no_other_any_more),
        cmocka_unit_test(only_what_runs_slows_others),
        cmocka_unit_test(each_kind_of_device_has_its_own_times),
        cmocka_unit_test(a_policy_that_knows_run_times_prefers_the_fast_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
