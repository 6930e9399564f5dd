/*
 * Covers: src/document/repository.c, src/document/repository_scan.c,
 * src/document/served_workflow.c, src/document/folder.c, src/document/settings.c
 */
#include "document/repository.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "document_fixture.h"
#include "model/builtin.h"

enum { PATH_BYTES = 512, PROBLEMS_MAX = 16, PROBLEM_BYTES = 256 };

/* A repository that is made for one test. */
struct place {
    char folder[64];
    uint32_t problem_count;
    char problems[PROBLEMS_MAX][PROBLEM_BYTES]; /* Without the folder. */
    uint32_t ignored_count;
};

static char *in_place(const struct place *place, const char *name, char out[PATH_BYTES])
{
    (void)snprintf(out, PATH_BYTES, "%s/%s", place->folder, name);
    return out;
}

static void put(const struct place *place, const char *name, const char *text)
{
    char path[PATH_BYTES];
    (void)in_place(place, name, path);
    for (char *slash = strchr(path + strlen(place->folder) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700); /* It may be there. */
        *slash = '/';
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static const char ocr[] =
    "workflow: ocr\n"
    "inputs: {image: {dtype: UINT8, shape: [-1, -1, 3]}}\n"
    "tasks:\n"
    "  resize: {function: img.resize, in: {image: inputs.image}}\n"
    "  detect: {model: det, in: {x: resize.out}}\n"
    "  crop: {function: img.v2.crop, models: [rec], in: {image: inputs.image, map: detect.y}}\n"
    "outputs: {text: crop.text}\n";

static void open_place(struct place *place)
{
    *place = (struct place){.folder = "/tmp/weft-repository-XXXXXX"};
    assert_non_null(mkdtemp(place->folder));
    put(place, "det/1/model.onnx", "one");
    put(place, "det/12/model.onnx", "twelve");
    put(place, "det/9/model.onnx", "nine");
    put(place, "rec/3/model.onnx", "r");
    put(place, "functions/img.so", "");
    put(place, "functions/img.v2.so", "");
    put(place, "functions/12/img.v2.so", "newest");
    put(place, "functions/9/img.v2.so", "");
    put(place, "functions/9/other.so", "");
    put(place, "ocr.workflow.yaml", ocr);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void close_place(const struct place *place)
{
    assert_int_equal(nftw(place->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void on_problem(void *context, const char *message)
{
    struct place *place = context;
    const size_t length = strlen(place->folder);
    assert_true(place->problem_count < PROBLEMS_MAX);
    if (strncmp(message, place->folder, length) == 0) {
        message += length;
    }
    (void)snprintf(place->problems[place->problem_count], PROBLEM_BYTES, "%s", message);
    place->problem_count++;
}

static void on_ignored(void *context, const char *path)
{
    struct place *place = context;
    (void)path;
    place->ignored_count++;
}

static struct repository *load(struct place *place)
{
    const struct repository_listener listener = {
        .on_problem = on_problem, .on_ignored = on_ignored, .context = place};
    struct repository *repository = NULL;
    struct weft_error error = {0};
    const enum weft_status status = repository_load(place->folder, &listener, &repository, &error);
    assert_true((status == WEFT_OK) == (place->problem_count == 0));
    assert_true((status == WEFT_OK) == (repository != NULL));
    assert_true((status == WEFT_OK) == (error.message[0] == '\0'));
    return repository;
}

static struct repository *load_good(struct place *place)
{
    struct repository *repository = load(place);
    if (repository == NULL) {
        fail_msg("%s", place->problems[0]);
    }
    return repository;
}

/* Replace or add one file of a good repository: one problem, which begins like this. */
static void expect_problem(const char *name, const char *text, const char *problem)
{
    struct place place;
    open_place(&place);
    put(&place, name, text);
    assert_null(load(&place));
    if (strlen(problem) < strlen(place.problems[0])) {
        place.problems[0][strlen(problem)] = '\0';
    }
    assert_string_equal(place.problems[0], problem);
    assert_int_equal(place.problem_count, 1);
    close_place(&place);
}

static void everything_is_found(ATTR_UNUSED void **state)
{
    struct place place;
    char path[PATH_BYTES];
    open_place(&place);
    struct repository *repository = load_good(&place);
    const struct catalogue *catalogue = repository->catalogue;

    assert_int_equal(repository->written, 1);
    assert_int_equal(catalogue->workflow_count, 3);
    assert_string_equal(catalogue->workflows[0]->name, "ocr");
    assert_string_equal(catalogue->workflows[1]->name, "det");
    assert_false(repository_is_alone(repository, 0));
    assert_true(repository_is_alone(repository, 1));
    assert_int_equal(catalogue->workflows[1]->task_count, 1);
    assert_int_equal(catalogue->workflows[1]->tasks[0].models[0], 0);

    assert_int_equal(catalogue->model_count, 5);
    assert_int_equal(repository->files[0].kind, REPOSITORY_MODEL);
    assert_int_equal(repository->files[0].version, 12); /* Not 9, which sorts last as text. */
    assert_int_equal(repository->files[0].bytes, 6);
    assert_string_equal(repository->files[0].path, in_place(&place, "det/12/model.onnx", path));
    const uint32_t crop = catalogue_find_model(catalogue, "img.v2.crop");
    assert_int_equal(repository->files[crop].kind, REPOSITORY_FUNCTION);
    assert_string_equal(repository->files[crop].function, "crop");
    assert_string_equal(
        repository->files[crop].path, in_place(&place, "functions/12/img.v2.so", path));
    assert_int_equal(repository->files[crop].version, 12);
    assert_int_equal(repository->files[crop].bytes, 6);
    const uint32_t resize = catalogue_find_model(catalogue, "img.resize");
    assert_string_equal(repository->files[resize].path, in_place(&place, "functions/img.so", path));
    assert_int_equal(repository->files[resize].version, 1);
    const uint32_t pass = catalogue_find_model(catalogue, BUILTIN_PASS);
    assert_int_equal(repository->files[pass].kind, REPOSITORY_BUILTIN);
    assert_null(repository->files[pass].path);
    repository_destroy(repository);
    close_place(&place);
}

/* Beside the ONNX file, and without one. */
static void models_may_have_a_form_for_gpus(ATTR_UNUSED void **state)
{
    struct place place;
    char path[PATH_BYTES];
    open_place(&place);
    put(&place, "det/12/model.cuda/weights.bin", "12345");
    put(&place, "card/1/model.cuda/manifest", "");
    struct repository *repository = load_good(&place);
    const struct repository_file *card =
        &repository->files[catalogue_find_model(repository->catalogue, "card")];
    const struct repository_file *det =
        &repository->files[catalogue_find_model(repository->catalogue, "det")];
    assert_int_equal(card->kind, REPOSITORY_MODEL);
    assert_null(card->path);
    assert_string_equal(card->cuda, in_place(&place, "card/1/model.cuda", path));
    assert_int_equal(card->cuda_bytes, 0);
    assert_string_equal(det->path, in_place(&place, "det/12/model.onnx", path));
    assert_string_equal(det->cuda, in_place(&place, "det/12/model.cuda", path));
    assert_int_equal(det->cuda_bytes, 5);
    assert_null(repository->files[catalogue_find_model(repository->catalogue, BUILTIN_PASS)].cuda);
    repository_destroy(repository);
    close_place(&place);
}

static void settings_apply(ATTR_UNUSED void **state)
{
    struct place place;
    open_place(&place);
    put(&place, "fast/workflow.yaml",
        "workflow: fast\nslo: 1ms\ninputs: {x: {dtype: FP32, shape: [4]}}\n"
        "tasks: {a: {model: det, in: {x: inputs.x}}}\noutputs: {y: a.y}\n");
    put(&place, "weft.yaml",
        "weft: here\nnodes: 2\nworkers: 3\nmemory: 2GB\nthreads: 1\nslo: 50ms\njobs: 9\n"
        "policy: {place: heft, cache: lru}\nrows: {load: 1ms, cache: 2ms}\ndevice: cpu\n"
        "admission: off\npriority: ignore\n"
        "functions: {time: 5s, memory: 1GB, output: 10MB, sandbox: false}\n"
        "models: {det: {batch: 8, pinned: true}, img.resize: {batch: 1, time: 2s}}\n");
    struct repository *repository = load_good(&place);
    const struct settings *settings = &repository->settings;

    assert_string_equal(settings->name, "here");
    assert_int_equal(settings->nodes, 2);
    assert_int_equal(settings->workers, 3);
    assert_int_equal(settings->memory_bytes, 2000000000);
    assert_int_equal(settings->jobs_max, 9);
    assert_int_equal(settings->rows.load_ns, 1000000);
    assert_int_equal(settings->rows.cache_ns, 2000000);
    assert_int_equal(settings->functions.time_ns, 5000000000);
    assert_int_equal(settings->functions.memory_bytes, 1000000000);
    assert_int_equal(settings->functions.output_bytes, 10000000);
    assert_true(settings->functions.is_open);
    assert_int_equal(
        repository->files[catalogue_find_model(repository->catalogue, "img.resize")].time_ns,
        2000000000);
    assert_string_equal(settings->device, "cpu");
    assert_true(settings->admits_all);
    assert_true(settings->ignores_priority);
    assert_string_equal(settings->policy, "place=heft,cache=lru");
    assert_int_equal(repository->written, 2);
    assert_int_equal(repository->catalogue->workflows[0]->slo_ns, 1000000);  /* Its own. */
    assert_int_equal(repository->catalogue->workflows[1]->slo_ns, 50000000); /* The default. */
    assert_int_equal(repository->catalogue->workflows[2]->slo_ns, 50000000);
    assert_int_equal(repository->files[0].batch_max, 8);
    assert_true(repository->files[0].pinned);
    assert_int_equal(repository->files[1].batch_max, 0);
    repository_destroy(repository);
    close_place(&place);
}

static void members_have_names_or_a_number(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        uint32_t count; /* 0: it is wrong. */
        bool is_open;
        const char *last;
    } cases[] = {
        {"[a, b]", 2, false, "b"},  {"3", 3, true, "#3"},    {"256", 256, true, "#256"},
        {"0", 0, false, NULL},      {"257", 0, false, NULL}, {"a", 0, false, NULL},
        {"['#1']", 0, false, NULL},
    };
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct place place;
        char text[128];
        open_place(&place);
        (void)snprintf(text, sizeof(text), "weft: here\nmembers: %s\n", cases[i].text);
        put(&place, "det/1/model.onnx", "");
        put(&place, "weft.yaml", text);
        struct repository *repository = load(&place);
        assert_int_equal(repository != NULL, cases[i].count > 0);
        if (repository != NULL) {
            const struct settings *settings = &repository->settings;
            assert_int_equal(settings->member_count, cases[i].count);
            assert_int_equal(settings->has_open_members, cases[i].is_open);
            assert_string_equal(settings->members[cases[i].count - 1], cases[i].last);
            repository_destroy(repository);
        }
        close_place(&place);
    }
}

static void without_settings_there_are_defaults(ATTR_UNUSED void **state)
{
    struct place place;
    open_place(&place);
    put(&place, "README", "");
    put(&place, ".hidden/1/model.onnx", "");
    put(&place, "notes/1999", "");
    struct repository *repository = load_good(&place);

    assert_int_equal(repository->settings.nodes, 1);
    assert_int_equal(repository->settings.workers, 0); /* The machine decides. */
    assert_false(repository->settings.functions.is_open);
    assert_int_equal(repository->settings.functions.time_ns, 0); /* The engine decides. */
    assert_string_equal(repository->settings.policy, SETTINGS_POLICY_DEFAULT);
    assert_int_equal(repository->settings.isolate, ISOLATE_ALL);
    assert_int_equal(repository->settings.rows.load_ns, 10000000);
    assert_int_equal(repository->settings.rows.cache_ns, 100000000);
    assert_false(repository->settings.admits_all);
    assert_false(repository->settings.ignores_priority);
    assert_int_equal(place.ignored_count, 2); /* What is hidden is not even seen. */
    repository_destroy(repository);
    close_place(&place);
}

#define HEAD  "workflow: w\ninputs: {x: {dtype: FP32, shape: [1]}}\n"
#define TASKS "tasks: {a: {model: det, in: {x: inputs.x}}}\n"
#define TAIL  "outputs: {y: a.y}\n"

static void bad_files_are_named(ATTR_UNUSED void **state)
{
    expect_problem(
        "weft.yaml", "weft: a\nwrokers: 2\n",
        "/weft.yaml:2: unknown key 'wrokers'; did you mean 'workers'?");
    expect_problem("weft.yaml", "workers: 2\n", "/weft.yaml:1: 'weft' is missing");
    expect_problem(
        "weft.yaml", "weft: a\nfunctions: {time: 0ms}\n",
        "/weft.yaml:2: 'time' must be between 1ms and 240h");
    expect_problem(
        "weft.yaml", "weft: a\nfunctions: {sandbx: false}\n",
        "/weft.yaml:2: unknown key 'sandbx'; did you mean 'sandbox'?");
    expect_problem(
        "weft.yaml", "weft: a\nmodels: {det: {time: 1s}}\n",
        "/weft.yaml:2: 'time' is for functions, and 'det' is a model");
    expect_problem(
        "weft.yaml", "weft: a\nthreads: 2\n",
        "/weft.yaml:2: 'threads' must be 1: a batch runs on one thread, not '2'");
    expect_problem(
        "weft.yaml", "weft: a\nworkers: 65\n",
        "/weft.yaml:2: 'workers' must be between 1 and 64, not '65'");
    expect_problem(
        "weft.yaml", "weft: a\npolicy: fastest\n",
        "/weft.yaml:2: policy 'fastest' is not known; known: ");
    expect_problem(
        "weft.yaml", "weft: a\nmodels:\n  dett: {batch: 2}\n",
        "/weft.yaml:3: 'dett' is neither a model of the repository nor a function in use; did you "
        "mean 'det'?");
    expect_problem(
        "det/13/model.bin", "",
        "/det/13: there is no file 'model.onnx' and no folder 'model.cuda'");
    expect_problem(
        "new/model.onnx", "",
        "/new/model.onnx: a model lies in the folder of its version; move it to ");
    expect_problem(
        "my model/1/model.onnx", "",
        "/my model: a model has a name of letters, digits, '.', '_' and '-' that does not begin "
        "with 'weft.'");
    expect_problem(
        "profiles/a.profile.json", "{\"weft_profile\": 2, \"models\": {}}",
        "/profiles/a.profile.json:1: 'weft_profile' must be 1, ");
}

static void bad_workflows_are_named(ATTR_UNUSED void **state)
{
    expect_problem(
        "w/workflow.yaml", HEAD "tasks: {a: {model: de, in: {x: inputs.x}}}\n" TAIL,
        "/w/workflow.yaml:3: model 'de' is not in the repository; did you mean 'det'?");
    expect_problem(
        "w.workflow.yaml", HEAD "tasks: {a: {function: f, in: {x: inputs.x}}}\n" TAIL,
        "/w.workflow.yaml:3: a function is called FILE.NAME, as in functions/FILE.so, not 'f'");
    expect_problem(
        "w.workflow.yaml", HEAD "tasks: {a: {function: ../img.f, in: {x: inputs.x}}}\n" TAIL,
        "/w.workflow.yaml:3: a name has letters, digits, '.', '_' and '-', unlike '../img.f'");
    expect_problem(
        "w.workflow.yaml", HEAD "tasks: {a: {function: im.f, in: {x: inputs.x}}}\n" TAIL,
        "/w.workflow.yaml:3: function 'im.f' wants functions/im.so, which is not there");
    expect_problem(
        "w.workflow.yaml",
        HEAD "tasks: {a: {function: img.f, models: [no], in: {x: inputs.x}}}\n" TAIL,
        "/w.workflow.yaml:3: model 'no' is not in the repository");
    expect_problem(
        "w.workflow.yaml", HEAD "tasks: {a: {model: det}}\n" TAIL,
        "/w.workflow.yaml:3: task 'a' does not say what it takes; add 'in: {PORT: TASK.OUTPUT}', "
        "or 'inputs.NAME' for a part of the request");
    expect_problem(
        "w.workflow.yaml", "workflow: w\n" TASKS TAIL,
        "/w.workflow.yaml:1: 'inputs' is missing; add what a request brings, such as 'inputs: {x: "
        "{dtype: FP32, shape: [-1, 3]}}'");
    expect_problem(
        "w.workflow.yaml", HEAD TASKS,
        "/w.workflow.yaml:1: 'outputs' is missing; add what a job gives back, such as 'outputs: "
        "{y: a.y}'");
    expect_problem(
        "w.workflow.yaml",
        HEAD "tasks:\n  a: {model: det, in: {x: b.y}}\n  b: {model: det, in: {x: a.y}}\n" TAIL,
        "/w.workflow.yaml:4: a cycle: 'a' after 'b' after 'a'");
    expect_problem(
        "w.workflow.yaml", "workflow: det\ninputs: {x: {dtype: FP32, shape: [1]}}\n" TASKS TAIL,
        "/w.workflow.yaml:1: 'det' is a model of the repository; give the workflow another name");
    expect_problem(
        "w.workflow.yaml", "workflow: ocr\ninputs: {x: {dtype: FP32, shape: [1]}}\n" TASKS TAIL,
        "/w.workflow.yaml:1: a second workflow is called 'ocr'");
}

static void version_1_of_functions_has_no_folder(ATTR_UNUSED void **state)
{
    expect_problem("functions/1/img.so", "", "/functions/1: version 1 of functions lies in ");
}

/* Each file says what is wrong with it, and nothing is loaded. */
static void all_bad_files_are_told_of(ATTR_UNUSED void **state)
{
    struct place place;
    open_place(&place);
    put(&place, "a.workflow.yaml", "workflow: a\n");
    put(&place, "b.workflow.yaml", "workflow: [\n");
    put(&place, "weft.yaml", "{}\n");
    assert_null(load(&place));
    assert_int_equal(place.problem_count, 3);
    close_place(&place);
}

static void nothing_is_read_from_outside(ATTR_UNUSED void **state)
{
    static const struct {
        const char *target;
        const char *name;
        const char *problem;
    } links[] = {
        {"/etc", "etc", "/etc: a link that leads out of the repository"},
        {"/etc/passwd", "functions/evil.so",
         "/functions/evil.so: a link that leads out of the repository"},
        {"../../..", "det/20", "/det/20: a link that leads out of the repository"},
        {"loop.workflow.yaml", "loop.workflow.yaml",
         "/loop.workflow.yaml: a link that leads in a circle"},
        {"gone", "det/20", "/det/20: a link that leads nowhere"},
    };
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        struct place place;
        char path[PATH_BYTES];
        open_place(&place);
        assert_int_equal(symlink(links[i].target, in_place(&place, links[i].name, path)), 0);
        assert_null(load(&place));
        assert_string_equal(place.problems[0], links[i].problem);
        close_place(&place);
    }
}

static void links_inside_are_followed(ATTR_UNUSED void **state)
{
    struct place place;
    char path[PATH_BYTES];
    open_place(&place);
    assert_int_equal(symlink("1", in_place(&place, "det/20", path)), 0);
    struct repository *repository = load_good(&place);
    assert_int_equal(repository->files[0].version, 20);
    assert_int_equal(repository->files[0].bytes, 3);
    repository_destroy(repository);
    close_place(&place);
}

static void there_must_be_something_to_serve(ATTR_UNUSED void **state)
{
    struct place place = {.folder = "/tmp/weft-repository-XXXXXX"};
    struct repository *repository = NULL;
    struct weft_error error = {0};
    assert_non_null(mkdtemp(place.folder));
    assert_null(load(&place));
    assert_string_equal(
        place.problems[0], ": nothing to serve: no MODEL/1/model.onnx and no workflow.yaml");
    close_place(&place);
    assert_int_equal(repository_load("/no/such/folder", NULL, &repository, &error), WEFT_IO);
    assert_string_equal(error.message, "/no/such/folder: No such file or directory");
    assert_false(repository_is_folder("/no/such/folder"));
    assert_false(repository_is_folder("/etc/passwd"));
    assert_true(repository_is_folder("/etc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_found),
        cmocka_unit_test(models_may_have_a_form_for_gpus),
        cmocka_unit_test(settings_apply),
        cmocka_unit_test(members_have_names_or_a_number),
        cmocka_unit_test(without_settings_there_are_defaults),
        cmocka_unit_test(bad_files_are_named),
        cmocka_unit_test(bad_workflows_are_named),
        cmocka_unit_test(version_1_of_functions_has_no_folder),
        cmocka_unit_test(all_bad_files_are_told_of),
        cmocka_unit_test(nothing_is_read_from_outside),
        cmocka_unit_test(links_inside_are_followed),
        cmocka_unit_test(there_must_be_something_to_serve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
