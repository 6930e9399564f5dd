/*
 * trace_fixture.h - two devices, two workflows and records written by hand.
 *
 * Workflow 0, "ocr" (SLO 50 ms), is a chain detect -> read with critical path 10 + 20 ms;
 * workflow 1, "tag", is one task of 5 ms without an SLO. The slow device takes double.
 */
#ifndef UNIT_TRACE_FIXTURE_H
#define UNIT_TRACE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "model/catalogue.h"
#include "model/fleet.h"
#include "node/record.h"
#include "profile/profile.h"

enum { OCR = 0, TAG = 1, DETECT = 0, READ = 1 };

#define MS INT64_C(1000000)

struct trace_fixture {
    struct catalogue *catalogue;
    struct fleet *fleet;
    struct profile *profile;
};

static inline void trace_fixture_task(
    struct trace_fixture *fixture, struct workflow *workflow, const char *name, const char *model)
{
    struct workflow_task task = {.model_count = 1};
    (void)strncpy(task.name, name, sizeof(task.name) - 1);
    task.run = catalogue_model(fixture->catalogue, model);
    task.models[0] = task.run;
    uint32_t index = 0;
    assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
}

static inline void trace_fixture_time(
    struct trace_fixture *fixture, uint32_t model, int64_t fast_ns)
{
    struct profile_point point = {.items = 1, .run_ns = 2 * fast_ns};
    assert_int_equal(profile_add_point(fixture->profile, model, 0, &point), WEFT_OK);
    point.run_ns = fast_ns;
    assert_int_equal(profile_add_point(fixture->profile, model, 1, &point), WEFT_OK);
}

static inline void trace_fixture_init(struct trace_fixture *fixture)
{
    fixture->catalogue = catalogue_create();
    fixture->fleet = fleet_create();
    struct workflow *ocr = workflow_create("ocr");
    trace_fixture_task(fixture, ocr, "detect", "ppocr-det");
    trace_fixture_task(fixture, ocr, "read", "ppocr-rec");
    const struct workflow_edge edge = {.from = DETECT, .to = READ};
    assert_int_equal(workflow_add_edge(ocr, &edge), WEFT_OK);
    ocr->slo_ns = 50 * MS;
    struct workflow *tag = workflow_create("tag");
    trace_fixture_task(fixture, tag, "label", "tagger");
    assert_int_equal(workflow_seal(ocr, NULL), WEFT_OK);
    assert_int_equal(workflow_seal(tag, NULL), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(fixture->catalogue, ocr), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(fixture->catalogue, tag), WEFT_OK);

    struct fleet_worker device = {.memory_bytes = 1 << 20, .gpu_units = 4};
    device.device = fleet_device(fixture->fleet, "slow");
    assert_true(fleet_add_machine(fixture->fleet, &device, /* device_count */ 1, 8));
    device.device = fleet_device(fixture->fleet, "fast");
    assert_true(fleet_add_machine(fixture->fleet, &device, /* device_count */ 1, 8));

    fixture->fleet->prices = (struct fleet_prices){.cpu = 3.6, .gpu = 36};
    fixture->profile = profile_create(fixture->catalogue->model_count);
    trace_fixture_time(fixture, /* model */ 0, 10 * MS);
    trace_fixture_time(fixture, /* model */ 1, 20 * MS);
    trace_fixture_time(fixture, /* model */ 2, 5 * MS);
}

static inline void trace_fixture_deinit(struct trace_fixture *fixture)
{
    profile_destroy(fixture->profile);
    fleet_destroy(fixture->fleet);
    catalogue_destroy(fixture->catalogue);
}

/* A record of @kind with nothing else in it. */
static inline struct record plain_record(enum record_kind kind, int64_t at_ns)
{
    return (struct record){
        .at_ns = at_ns,
        .task = TASK_NONE,
        .worker = WORKER_NONE,
        .workflow = RECORD_NONE,
        .model = RECORD_NONE,
        .kind = (uint8_t)kind,
    };
}

/* One about job 0.@number of @workflow. */
static inline struct record job_record(
    enum record_kind kind, int64_t at_ns, uint32_t number, uint32_t workflow)
{
    struct record record = plain_record(kind, at_ns);
    record.job.number = number;
    record.workflow = (uint16_t)workflow;
    return record;
}

#endif /* UNIT_TRACE_FIXTURE_H */
