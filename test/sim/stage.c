#include "stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/text.h"

void stage_open(struct stage *stage, uint32_t node_count, uint64_t memory_bytes)
{
    *stage = (struct stage){0};
    stage->fleet = fleet_create();
    stage->catalogue = catalogue_create();
    stage->profile = profile_create(MODELS_MAX);
    stage->fleet->network.latency_ns = MS(1);
    const struct fleet_worker device = {
        .device = fleet_device(stage->fleet, "gpu"),
        .memory_bytes = memory_bytes,
        .bus_bytes_per_s = MB(1000),
        .gpu_units = 1,
    };
    for (uint32_t i = 0; i < node_count; i++) {
        assert_true(fleet_add_machine(stage->fleet, &device, 1, /* cpu_units */ 8));
    }
    stage->arrivals.kind = ARRIVALS_LIST;
    stage->options = (struct sim_options){
        .fleet = stage->fleet,
        .catalogue = stage->catalogue,
        .profile = stage->profile,
        .policies = &stage->policies,
        .arrivals = &stage->arrivals,
        .seed = 1,
        .row_load_ns = MS(10),
        .row_cache_ns = MS(20),
        .faults = stage->faults,
        .check = true,
        .context = stage,
    };
    stage->trace_bytes = malloc(STAGE_TRACE_BYTES);
    assert_non_null(stage->trace_bytes);
    text_init(&stage->trace, stage->trace_bytes, STAGE_TRACE_BYTES);
}

void stage_close(struct stage *stage)
{
    sim_destroy(stage->sim);
    catalogue_destroy(stage->catalogue);
    profile_destroy(stage->profile);
    fleet_destroy(stage->fleet);
    free(stage->trace_bytes);
}

uint32_t stage_model(struct stage *stage, const char *name, uint64_t bytes, int64_t run_ns)
{
    const uint32_t model = catalogue_model(stage->catalogue, name);
    const struct profile_point point = {.items = 1, .run_ns = run_ns};
    stage->profile->models[model].load_bytes = bytes;
    stage->profile->models[model].resident_bytes = bytes;
    assert_int_equal(profile_add_point(stage->profile, model, 0, &point), WEFT_OK);
    return model;
}

static uint32_t add_task(
    struct stage *stage, struct workflow *workflow, const char *name, const char *model)
{
    struct workflow_task task = {0};
    uint32_t number = 0;
    (void)snprintf(task.name, sizeof(task.name), "%s", name);
    task.run = catalogue_find_model(stage->catalogue, model);
    assert_int_not_equal(task.run, MODEL_NONE);
    if (stage->profile->models[task.run].resident_bytes > 0) {
        task.models[0] = task.run;
        task.model_count = 1;
    }
    assert_int_equal(workflow_add_task(workflow, &task, &number), WEFT_OK);
    return number;
}

static uint32_t seal(struct stage *stage, struct workflow *workflow)
{
    struct weft_error error;
    assert_int_equal(workflow_seal(workflow, &error), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(stage->catalogue, workflow), WEFT_OK);
    return stage->catalogue->workflow_count - 1;
}

uint32_t stage_chain(struct stage *stage, const char *name, const char *tasks)
{
    struct workflow *workflow = workflow_create(name);
    char model[NAME_BYTES_MAX];
    uint32_t count = 0;
    while (sscanf(tasks, " %63s", model) == 1) {
        (void)add_task(stage, workflow, model, model);
        if (count > 0) {
            const struct workflow_edge edge = {.from = count - 1, .to = count, .bytes = MB(1)};
            assert_int_equal(workflow_add_edge(workflow, &edge), WEFT_OK);
        }
        count++;
        tasks = strstr(tasks, model) + strlen(model);
    }
    return seal(stage, workflow);
}

uint32_t stage_diamond(struct stage *stage, const char *name, const char *const models[4])
{
    static const char *const names[4] = {"fork", "left", "right", "join"};
    static const uint32_t edges[4][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
    struct workflow *workflow = workflow_create(name);
    for (uint32_t i = 0; i < 4; i++) {
        (void)add_task(stage, workflow, names[i], models[i]);
    }
    for (uint32_t i = 0; i < 4; i++) {
        const struct workflow_edge edge = {.from = edges[i][0], .to = edges[i][1], .bytes = MB(1)};
        assert_int_equal(workflow_add_edge(workflow, &edge), WEFT_OK);
    }
    return seal(stage, workflow);
}

static void on_record(void *context, const struct record *record)
{
    struct stage *stage = context;
    char line[TRACE_LINE_BYTES_MAX];
    (void)trace_text(record, stage->catalogue, line, sizeof(line));
    text_add(&stage->trace, "%s\n", line);
    assert_false(stage->trace.cut);
}

static void start(struct stage *stage)
{
    stage->options.on_record = on_record;
    stage->sim = sim_create(&stage->options);
}

void stage_start(struct stage *stage, const char *policies)
{
    struct weft_error error;
    assert_int_equal(policy_set_parse(policies, &stage->policies, &error), WEFT_OK);
    start(stage);
}

void stage_start_with(struct stage *stage, const struct policy *policy)
{
    policy_set_single(policy, &stage->policies);
    start(stage);
}

void stage_request(struct stage *stage, int64_t at_ns, uint32_t node, uint32_t workflow)
{
    const struct arrival arrival = {.at_ns = at_ns, .workflow = workflow, .items = 1};
    sim_request(stage->sim, at_ns, node, &arrival);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return NULL;
    }
    char *bytes = calloc(1, STAGE_TRACE_BYTES);
    assert_non_null(bytes);
    const size_t length = fread(bytes, 1, STAGE_TRACE_BYTES - 1, file);
    bytes[length] = '\0';
    (void)fclose(file);
    return bytes;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Whether WEFT_WRITE_GOLDEN asks for golden @name: by its name, or "all". */
static bool is_rewritten(const char *name)
{
    const char *wanted = getenv("WEFT_WRITE_GOLDEN");
    return wanted != NULL && (strcmp(wanted, name) == 0 || strcmp(wanted, "all") == 0);
}

/* Show how @trace differs from the golden at @path, and how to accept it. */
static void explain(const char *path, const char *name, const char *trace)
{
    char command[1024];
    char program[256] = "";
    (void)snprintf(
        command, sizeof(command), "diff -u --label %s --label 'the trace now' %s - >&2", path,
        path);
    FILE *diff = popen(command, "w");
    assert_non_null(diff);
    (void)fputs(trace, diff);
    (void)pclose(diff);
    assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
    (void)fprintf(stderr, "to accept it: WEFT_WRITE_GOLDEN=%s %s\n", name, program);
}

void stage_expect(struct stage *stage, const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "test/sim/golden/%s.txt", name);
    sim_run(stage->sim);
    if (is_rewritten(name)) {
        write_file(path, stage->trace_bytes);
    }
    char *expected = read_file(path);
    const bool is_equal = expected != NULL && strcmp(expected, stage->trace_bytes) == 0;
    free(expected);
    if (!is_equal) {
        explain(path, name, stage->trace_bytes);
        fail_msg("the trace is not %s", path);
    }
}
