
#include <stdlib.h>

#include "document/workflow_document.h"
#include "document_fixture.h"
#include "lab/shapes.h"

enum { TEXT_BYTES = 1 << 20 };

/* What workflow_print() makes of @workflow. The caller owns it: free(). */
static char *written(const struct workflow *workflow, const struct catalogue *catalogue)
{
    char *text = calloc(TEXT_BYTES, 1);
    FILE *file = tmpfile();

    assert_non_null(text);
    assert_non_null(file);
    workflow_print(workflow, catalogue, file);
    rewind(file);
    assert_true(fread(text, 1, TEXT_BYTES - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

static struct workflow *read_text(const char *text, struct catalogue *catalogue)
{
    struct tree *tree = parsed(text);
    struct workflow *workflow = NULL;
    struct weft_error error = {0};

    assert_good(workflow_read(tree->root, catalogue, &workflow, &error), &error);
    tree_destroy(tree);
    return workflow;
}

/* Everything that a document can say is written as it was read. */
static void a_document_is_written_as_it_is(ATTR_UNUSED void **state)
{
    static const char text[] =
        "workflow: ocr\n"
        "slo: 300ms\n"
        "priority: 3\n"
        "input: 3MB\n"
        "tasks:\n"
        "  resize: {function: ocr.resize, bytes: {inputs: 2MB}}\n"
        "  detect: {model: ppocr-det, after: [resize], bytes: {resize: 4900KB}}\n"
        "  crop: {function: ocr.crop, after: [detect], gives: [1, 20]}\n"
        "  read: {model: ppocr-rec, after: [crop], bytes: {crop: 60KB per item}}\n"
        "  look: {model: ppocr-rec, after: [crop, detect], bytes: {crop: 0, detect: 7}}\n"
        "  text: {function: ocr.decode, models: [lexicon, grammar], after: [read, look, crop],\n"
        "      bytes: {read: 1GB, look: 1001, crop: 2KB}, gives: 1}\n";
    struct catalogue *catalogue = catalogue_create();
    struct workflow *workflow = read_text(text, catalogue);
    char *again = written(workflow, catalogue);

    assert_string_equal(again, text);
    free(again);
    workflow_destroy(workflow);
    catalogue_destroy(catalogue);
}

static void names_are_written_as_they_are(ATTR_UNUSED void **state)
{
    static const char text[] =
        "workflow: ocr\n"
        "input: 3MB\n"
        "inputs:\n"
        "  image: {dtype: UINT8, shape: [-1, -1, 3]}\n"
        "  \"lang:0\": {dtype: BYTES, shape: []}\n"
        "tasks:\n"
        "  resize: {function: ocr.resize, in: {image: inputs.image}}\n"
        "  detect: {model: ppocr-det, in: {x: resize.out}, bytes: {resize: 4900KB}}\n"
        "  crop: {function: ocr.crop, in: {image: inputs.image, map: detect.y}}\n"
        "  sort: {function: ocr.sort, after: [crop, inputs]}\n"
        "  read: {model: ppocr-rec, after: [sort], in: {x: crop.lines, \"l/0\": "
        "\"inputs.lang:0\"},\n"
        "      bytes: {sort: 0, crop: 60KB per item, inputs: 1KB}}\n"
        "outputs:\n"
        "  text: read.out\n"
        "  map: detect.y\n"
        "  boxes: {from: detect.boxes, dtype: FP32, shape: [-1, 4]}\n"
        "  \"n:0\": {from: read.n, dtype: INT64, shape: []}\n";
    struct catalogue *catalogue = catalogue_create();
    struct workflow *workflow = read_text(text, catalogue);
    char *again = written(workflow, catalogue);

    assert_string_equal(again, text);
    free(again);
    workflow_destroy(workflow);
    catalogue_destroy(catalogue);
}

static void assert_same(
    const struct workflow *left, const struct catalogue *left_names, const struct workflow *right,
    const struct catalogue *right_names)
{
    assert_string_equal(left->name, right->name);
    assert_int_equal(left->slo_ns, right->slo_ns);
    assert_int_equal(left->input_bytes, right->input_bytes);
    assert_int_equal(left->task_count, right->task_count);
    assert_int_equal(left->edge_count, right->edge_count);
    for (uint32_t i = 0; i < left->task_count; i++) {
        const struct workflow_task *one = &left->tasks[i];
        const struct workflow_task *other = &right->tasks[i];
        assert_string_equal(one->name, other->name);
        assert_string_equal(left_names->models[one->run], right_names->models[other->run]);
        assert_int_equal(one->model_count, other->model_count);
        assert_int_equal(one->in_count, other->in_count);
        for (uint32_t k = 0; k < one->in_count; k++) {
            assert_int_equal(workflow_in(left, i, k)->from, workflow_in(right, i, k)->from);
            assert_int_equal(workflow_in(left, i, k)->bytes, workflow_in(right, i, k)->bytes);
        }
    }
}

static void drawn_workflows_come_back(ATTR_UNUSED void **state)
{
    const struct shapes_options options = {.tasks_max = 199};

    for (uint64_t seed = 0; seed < 100; seed++) {
        struct catalogue *catalogue = catalogue_create();
        struct catalogue *other = catalogue_create();
        struct shapes shapes;
        shapes_init(&shapes, &options, catalogue, seed);
        struct workflow *workflow = shapes_draw(&shapes, "drawn");
        char *text = written(workflow, catalogue);
        struct workflow *again = read_text(text, other);
        assert_same(workflow, catalogue, again, other);
        free(text);
        workflow_destroy(workflow);
        workflow_destroy(again);
        catalogue_destroy(catalogue);
        catalogue_destroy(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_is_written_as_it_is),
        cmocka_unit_test(names_are_written_as_they_are),
        cmocka_unit_test(drawn_workflows_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
