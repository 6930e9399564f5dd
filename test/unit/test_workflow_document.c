/* Covers: src/document/edges.c, src/document/ports.c, src/document/reference.c,
 * src/document/cycle.c */
#include "document/workflow_document.h"

#include "document_fixture.h"
#include "model/builtin.h"

/* The workflow of @text; the test fails if it is not good. */
static struct workflow *read_good(const char *text, struct catalogue *catalogue)
{
    struct tree *tree = parsed(text);
    struct workflow *workflow = NULL;
    struct weft_error error = {0};

    assert_good(workflow_read(tree->root, catalogue, &workflow, &error), &error);
    tree_destroy(tree);
    return workflow;
}

static const struct workflow_edge *edge_between(
    const struct workflow *workflow, const char *from, const char *to)
{
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        const struct workflow_edge *edge = &workflow->edges[i];
        if (strcmp(workflow->tasks[edge->from].name, from) == 0 &&
            strcmp(workflow->tasks[edge->to].name, to) == 0) {
            return edge;
        }
    }
    return NULL;
}

static const char short_form[] =
    "workflow: ocr\n"
    "slo: 300ms\n"
    "input: 3MB\n"
    "tasks:\n"
    "  resize: {function: ocr.resize, after: [input]}\n"
    "  detect: {model: ppocr-det, after: [resize], bytes: {resize: 4.9MB}}\n"
    "  crop: {function: ocr.crop, after: [detect], gives: 8}\n"
    "  read: {model: ppocr-rec, after: [crop], bytes: 60KB per item, gives: [1, 20], work: 1.5}\n"
    "  text: {function: ocr.decode, models: [a, b], after: [read, input], bytes: 2KB}\n";

static void the_short_form_is_read(ATTR_UNUSED void **state)
{
    struct catalogue *catalogue = catalogue_create();
    struct workflow *workflow = read_good(short_form, catalogue);

    assert_string_equal(workflow->name, "ocr");
    assert_int_equal(workflow->slo_ns, 300000000);
    assert_int_equal(workflow->input_bytes, 3000000);
    assert_true(workflow->sealed);
    assert_int_equal(workflow->task_count, 5);
    assert_int_equal(workflow->edge_count, 4);
    assert_int_equal(workflow->source_count, 1);

    const struct workflow_task *detect = &workflow->tasks[1];
    assert_string_equal(catalogue->models[detect->run], "ppocr-det");
    assert_int_equal(detect->model_count, 1);
    assert_int_equal(detect->models[0], detect->run);
    const struct workflow_task *text = &workflow->tasks[4];
    assert_string_equal(catalogue->models[text->run], "ocr.decode");
    assert_int_equal(text->model_count, 2);
    assert_string_equal(catalogue->models[text->models[1]], "b");
    assert_int_equal(workflow->tasks[0].model_count, 0);

    assert_int_equal(edge_between(workflow, "resize", "detect")->bytes, 4900000);
    assert_false(edge_between(workflow, "resize", "detect")->per_item);
    assert_int_equal(edge_between(workflow, "detect", "crop")->bytes, 0);
    assert_int_equal(edge_between(workflow, "crop", "read")->bytes, 60000);
    assert_true(edge_between(workflow, "crop", "read")->per_item);
    assert_int_equal(edge_between(workflow, "read", "text")->bytes, 2000);

    assert_int_equal(workflow->tasks[0].gives.low, 0);
    assert_int_equal(workflow->tasks[2].gives.low, 8);
    assert_int_equal(workflow->tasks[2].gives.high, 8);
    assert_int_equal(workflow->tasks[3].gives.low, 1);
    assert_int_equal(workflow->tasks[3].gives.high, 20);
    assert_true(workflow->tasks[2].work == 1);
    assert_true(workflow->tasks[3].work == 1.5);
    workflow_destroy(workflow);
    catalogue_destroy(catalogue);
}

static const char full_form[] =
    "workflow: ocr\n"
    "inputs: {image: {dtype: UINT8, shape: [-1, -1, 3]}}\n"
    "tasks:\n"
    "  text.v2: {function: ocr.decode, in: {logits: read.y}}\n"
    "  read: {model: ppocr-rec, in: {x: crop.lines, mask: crop.mask}, after: detect}\n"
    "  crop: {function: ocr.crop, in: {image: inputs.image, map: detect.y}}\n"
    "  detect: {model: ppocr-det, in: {x: inputs.image}}\n"
    "outputs: {text: text.v2.out}\n";

static void references_become_edges(ATTR_UNUSED void **state)
{
    struct catalogue *catalogue = catalogue_create();
    struct workflow *workflow = read_good(full_form, catalogue);

    assert_int_equal(workflow->edge_count, 5);
    assert_non_null(edge_between(workflow, "read", "text.v2"));
    assert_non_null(edge_between(workflow, "crop", "read"));
    assert_non_null(edge_between(workflow, "detect", "read"));
    assert_non_null(edge_between(workflow, "detect", "crop"));
    assert_int_equal(workflow->slo_ns, 0);
    workflow_destroy(workflow);
    catalogue_destroy(catalogue);
}

static const struct workflow_port *port_of(
    const struct workflow *workflow, const char *task, const char *name)
{
    for (uint32_t i = 0; i < workflow->port_count; i++) {
        const struct workflow_port *port = &workflow->ports[i];
        if (strcmp(workflow->tasks[port->task].name, task) == 0 && strcmp(port->name, name) == 0) {
            return port;
        }
    }
    fail_msg("task %s has no port %s", task, name);
    return NULL;
}

static void names_are_kept(ATTR_UNUSED void **state)
{
    struct catalogue *catalogue = catalogue_create();
    struct workflow *workflow = read_good(full_form, catalogue);

    assert_int_equal(workflow->input_count, 1);
    assert_string_equal(workflow->inputs[0].name, "image");
    assert_int_equal(workflow->inputs[0].dtype, WEFT_UINT8);
    assert_int_equal(workflow->inputs[0].rank, 3);
    assert_int_equal(workflow->inputs[0].shape[0], -1);
    assert_int_equal(workflow->inputs[0].shape[2], 3);
    assert_int_equal(workflow->port_count, 6);
    const struct workflow_port *logits = port_of(workflow, "text.v2", "logits");
    assert_int_equal(logits->from, workflow_find_task(workflow, "read"));
    assert_string_equal(logits->output, "y");
    assert_string_equal(port_of(workflow, "read", "mask")->output, "mask");
    assert_int_equal(workflow->result_count, 1);
    assert_string_equal(workflow->results[0].name, "text");
    assert_string_equal(workflow->results[0].output, "out");
    assert_int_equal(workflow->results[0].task, 0); /* The task is text.v2, not text. */
    workflow_destroy(workflow);
    catalogue_destroy(catalogue);
}

/* Only sources are given the request; a task with producers gets it through a task of its own. */
static void the_request_reaches_tasks_with_producers(ATTR_UNUSED void **state)
{
    struct catalogue *catalogue = catalogue_create();
    struct workflow *workflow = read_good(full_form, catalogue);
    const uint32_t request = workflow_find_task(workflow, "inputs");

    assert_int_equal(request, 4); /* Behind those of the document. */
    assert_string_equal(catalogue->models[workflow->tasks[request].run], BUILTIN_PASS);
    assert_int_equal(workflow->tasks[request].model_count, 0);
    assert_int_equal(workflow->source_count, 2);
    assert_int_equal(workflow->sources[0], 3); /* detect takes the request itself. */
    assert_int_equal(workflow->sources[1], request);
    assert_int_equal(workflow->tasks[request].out_count, 1);
    assert_non_null(edge_between(workflow, "inputs", "crop"));
    assert_int_equal(port_of(workflow, "crop", "image")->from, request);
    assert_string_equal(port_of(workflow, "crop", "image")->output, "image");
    assert_int_equal(port_of(workflow, "detect", "x")->from, TASK_NONE);
    workflow_destroy(workflow);
    catalogue_destroy(catalogue);
}

static void the_request_has_its_bytes(ATTR_UNUSED void **state)
{
    struct catalogue *catalogue = catalogue_create();
    struct workflow *workflow = read_good(
        "workflow: w\ninput: 3MB\ntasks:\n"
        "  a: {model: m}\n"
        "  b: {model: m, after: [a, inputs]}\n"
        "  c: {model: m, after: [b, inputs], bytes: {inputs: 1KB}}\n"
        "  d: {model: m, after: [c, input]}\n"
        "  e: {model: m, after: inputs}\n"
        "  f: {model: m, bytes: {inputs: 2KB}}\n",
        catalogue);

    assert_int_equal(edge_between(workflow, "inputs", "b")->bytes, 3000000);
    assert_int_equal(edge_between(workflow, "inputs", "c")->bytes, 1000);
    assert_null(edge_between(workflow, "inputs", "d")); /* For simulations: it costs nothing. */
    assert_null(edge_between(workflow, "inputs", "e")); /* It is given the request itself, */
    const uint32_t e = workflow_find_task(workflow, "e");
    const uint32_t f = workflow_find_task(workflow, "f"); /* or a part of it. */
    assert_int_equal(workflow_part_bytes(workflow, e, 3000000), 3000000);
    assert_int_equal(workflow_part_bytes(workflow, f, 3000000), 2000);
    assert_int_equal(workflow_part_bytes(workflow, f, 7), 7);
    workflow_destroy(workflow);
    catalogue_destroy(catalogue);
}

/* Only sinks answer; what others make goes through a sink of its own. */
static void results_of_tasks_with_consumers_are_passed_on(ATTR_UNUSED void **state)
{
    struct catalogue *catalogue = catalogue_create();
    struct workflow *workflow = read_good(
        "workflow: w\ntasks:\n"
        "  a: {model: m, in: {x: inputs.x}}\n"
        "  b: {model: n, in: {x: a.y}}\n"
        "outputs:\n"
        "  boxes: {from: a.boxes, dtype: FP32, shape: [-1, 4]}\n"
        "  scores: a.scores.0\n"
        "  text: {from: b.y, dtype: BYTES, shape: []}\n",
        catalogue);
    const uint32_t passed = workflow_find_task(workflow, "outputs.a");

    assert_int_equal(workflow->task_count, 3);
    assert_int_equal(workflow->sink_count, 2);
    assert_int_equal(workflow->results[0].task, passed);
    assert_int_equal(workflow->results[1].task, passed);
    assert_string_equal(workflow->results[1].output, "scores.0");
    assert_int_equal(workflow->results[2].task, 1);
    assert_true(workflow->results[0].is_declared);
    assert_int_equal(workflow->results[0].dtype, WEFT_FP32);
    assert_int_equal(workflow->results[0].rank, 2);
    assert_int_equal(workflow->results[0].shape[0], -1);
    assert_int_equal(workflow->results[0].shape[1], 4);
    assert_false(workflow->results[1].is_declared);
    assert_true(workflow->results[2].is_declared);
    assert_int_equal(workflow->results[2].rank, 0);
    assert_non_null(edge_between(workflow, "a", "outputs.a"));
    workflow_destroy(workflow);
    catalogue_destroy(catalogue);
}

static void a_model_of_two_tasks_is_one_model(ATTR_UNUSED void **state)
{
    struct catalogue *catalogue = catalogue_create();
    struct workflow *workflow = read_good(
        "workflow: w\ntasks: {a: {model: m}, b: {function: f, models: [m], after: a}}\n",
        catalogue);

    assert_int_equal(catalogue->model_count, 2);
    assert_int_equal(workflow->tasks[0].run, workflow->tasks[1].models[0]);
    workflow_destroy(workflow);
    catalogue_destroy(catalogue);
}

static void a_failure_gives_no_workflow(ATTR_UNUSED void **state)
{
    struct catalogue *catalogue = catalogue_create();
    struct workflow *workflow = NULL;
    struct tree *tree =
        parsed("workflow: w\ntasks: {a: {model: m, after: b}, b: {model: n, after: a}}\n");
    struct weft_error error = {0};

    assert_int_equal(workflow_read(tree->root, catalogue, &workflow, &error), WEFT_INVALID);
    assert_string_equal(error.message, "t.yaml:2: a cycle: 'a' after 'b' after 'a'");
    assert_null(workflow);
    tree_destroy(tree);
    catalogue_destroy(catalogue);
}

static void models_are_limited_over_all_workflows(ATTR_UNUSED void **state)
{
    struct catalogue *catalogue = catalogue_create();
    struct workflow *workflow = NULL;
    struct tree *tree = parsed("workflow: w\ntasks:\n  a: {model: m}\n  b: {model: one-more}\n");
    struct weft_error error = {0};
    char name[] = "m000";

    for (int i = 0; i < MODELS_MAX - 1; i++) {
        name[1] = (char)('0' + i / 100);
        name[2] = (char)('0' + i / 10 % 10);
        name[3] = (char)('0' + i % 10);
        assert_int_equal(catalogue_model(catalogue, name), i);
    }
    assert_int_equal(workflow_read(tree->root, catalogue, &workflow, &error), WEFT_INVALID);
    assert_string_equal(error.message, "t.yaml:4: more than 256 models and functions");
    tree_destroy(tree);
    catalogue_destroy(catalogue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_short_form_is_read),
        cmocka_unit_test(references_become_edges),
        cmocka_unit_test(names_are_kept),
        cmocka_unit_test(the_request_reaches_tasks_with_producers),
        cmocka_unit_test(the_request_has_its_bytes),
        cmocka_unit_test(results_of_tasks_with_consumers_are_passed_on),
        cmocka_unit_test(a_model_of_two_tasks_is_one_model),
        cmocka_unit_test(a_failure_gives_no_workflow),
        cmocka_unit_test(models_are_limited_over_all_workflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
