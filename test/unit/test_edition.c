/*
 * Editions as text, and the versions that are found in a folder.
 *
 * Covers: src/service/edition.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "document/repository.h"
#include "service/edition.h"

enum { FIRST, BUILT_IN, SECOND, ON_GPUS, FUNCTION, MODELS };

/* Models of files, one of which GPUs run, too; and one whose version cannot change. */
static struct repository_file files[MODELS] = {
    [FIRST] = {.kind = REPOSITORY_MODEL, .path = "m/first/3/model.onnx", .version = 3},
    [BUILT_IN] = {.kind = REPOSITORY_BUILTIN},
    [SECOND] = {.kind = REPOSITORY_MODEL, .path = "m/second/1/model.onnx", .version = 1},
    [ON_GPUS] =
        {.kind = REPOSITORY_MODEL,
         .path = "m/g/1/model.onnx",
         .cuda = "m/g/1/model.cuda",
         .version = 1},
    [FUNCTION] = {.kind = REPOSITORY_FUNCTION, .path = "m/functions/f.so", .version = 1},
};
static struct catalogue catalogue = {.model_count = MODELS};
static const struct repository repository = {.catalogue = &catalogue, .files = files};

static struct edition sample(void)
{
    struct edition edition = {.number = 0};
    edition.models[FIRST] = (struct edition_model){3, 0x12ab};
    edition.models[SECOND] = (struct edition_model){20240131, 0xffffffff};
    edition.models[ON_GPUS] = (struct edition_model){7, 0x1};
    edition.models[FUNCTION] = (struct edition_model){2, 0x1};
    edition.closed[1] = true;
    edition.closed[WORKFLOWS_MAX - 1] = true;
    model_set_add(&edition.unloaded, SECOND);
    return edition;
}

static void what_is_written_is_read(ATTR_UNUSED void **state)
{
    char text[512];
    struct edition read;
    const struct edition edition = sample();
    assert_true(edition_write(&edition, &repository, text, sizeof(text)));
    assert_non_null(strstr(text, ";3:000012ab,20240131:ffffffff,7:00000001,2:00000001"));
    assert_true(edition_read(text, &repository, &read));
    assert_true(edition_is_same(&edition, &read, &repository));
    assert_memory_equal(&edition, &read, sizeof(edition));
    assert_false(edition_write(&edition, &repository, text, strlen(text) + 1)); /* Too short. */
}

static void what_differs_is_not_the_same(ATTR_UNUSED void **state)
{
    const struct edition edition = sample();
    struct edition other = edition;
    other.models[FIRST].version++;
    assert_false(edition_is_same(&edition, &other, &repository));
    other = edition;
    other.models[SECOND].hash++;
    assert_false(edition_is_same(&edition, &other, &repository));
    other = edition;
    model_set_add(&other.unloaded, FIRST);
    assert_false(edition_is_same(&edition, &other, &repository));
    other = edition;
    other.closed[0] = true;
    assert_false(edition_is_same(&edition, &other, &repository));
}

static void other_texts_are_refused(ATTR_UNUSED void **state)
{
    char text[512];
    char bad[1024];
    struct edition read;
    const struct edition edition = sample();
    assert_true(edition_write(&edition, &repository, text, sizeof(text)));
    const size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) { /* Cut off anywhere. */
        (void)snprintf(bad, sizeof(bad), "%.*s", (int)i, text);
        assert_false(edition_read(bad, &repository, &read));
    }
    (void)snprintf(bad, sizeof(bad), "%s,1:00000001", text); /* One model more. */
    assert_false(edition_read(bad, &repository, &read));
    for (size_t i = 0; i < length; i++) {
        (void)snprintf(bad, sizeof(bad), "%s", text);
        bad[i] = '!';
        assert_false(edition_read(bad, &repository, &read));
    }
    assert_false(edition_read("", &repository, &read));
}

static void write_version(const char *folder, const char *version, bool has_file)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/first/%s", folder, version);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/first/%s/model.onnx", folder, version);
    FILE *file = has_file ? fopen(path, "we") : NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void put(const char *folder, const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fclose(file);
}

/* Functions of version 1 lie in the folder of all, and others below it. */
static void find_functions(const char *folder)
{
    static const char *const folders[] = {"functions", "functions/2", "functions/10"};
    char path[256];
    const char *before = files[FUNCTION].path;
    for (uint32_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    put(folder, "functions/f.so");
    (void)snprintf(path, sizeof(path), "%s/functions/f.so", folder);
    files[FUNCTION].path = path;
    assert_int_equal(edition_find_version(&repository, FUNCTION), 1);
    put(folder, "functions/2/f.so");
    put(folder, "functions/10/g.so");
    assert_int_equal(edition_find_version(&repository, FUNCTION), 2);
    (void)snprintf(path, sizeof(path), "%s/functions/2/f.so", folder); /* Found at the start. */
    files[FUNCTION].version = 2;
    put(folder, "functions/10/f.so");
    assert_int_equal(edition_find_version(&repository, FUNCTION), 10);
    files[FUNCTION].version = 1;
    files[FUNCTION].path = before;
}

static void the_highest_version_with_a_file_is_found(ATTR_UNUSED void **state)
{
    char folder[] = "/tmp/weft-test-XXXXXX";
    char path[256];
    char command[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/first", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/first/3/model.onnx", folder);
    const char *before = files[FIRST].path;
    files[FIRST].path = path;
    assert_int_equal(edition_find_version(&repository, FIRST), 3); /* Even if it is gone. */
    write_version(folder, "3", true);
    write_version(folder, "12", true);
    write_version(folder, "13", false);
    write_version(folder, "014", true);
    write_version(folder, "15-old", true);
    assert_int_equal(edition_find_version(&repository, FIRST), 12);
    assert_int_equal(edition_find_version(&repository, BUILT_IN), 0);
    files[FIRST].path = before;
    find_functions(folder);
    (void)snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void versions_have_the_forms_of_the_first(ATTR_UNUSED void **state)
{
    char forms[EDITION_FORMS][PATH_MAX];
    struct edition_paths paths;
    struct repository_file file;
    assert_int_equal(edition_forms(&repository, FIRST, 5, forms), 1);
    assert_string_equal(forms[0], "m/first/5/model.onnx");
    assert_int_equal(edition_forms(&repository, ON_GPUS, 2, forms), 2);
    assert_string_equal(forms[0], "m/g/2/model.onnx");
    assert_string_equal(forms[1], "m/g/2/model.cuda/sha256");
    assert_true(edition_file(&repository, ON_GPUS, 3, &paths, &file));
    assert_string_equal(file.path, "m/g/3/model.onnx");
    assert_string_equal(file.cuda, "m/g/3/model.cuda");
    assert_true(edition_file(&repository, FUNCTION, 3, &paths, &file));
    assert_string_equal(file.path, "m/functions/3/f.so");
    assert_int_equal(edition_forms(&repository, FUNCTION, 1, forms), 1);
    assert_string_equal(forms[0], "m/functions/f.so");
    assert_true(edition_file(&repository, ON_GPUS, 0, &paths, &file));
    assert_string_equal(file.path, "m/g/1/model.onnx");
    const char *before = files[ON_GPUS].path;
    files[ON_GPUS].path = NULL; /* On GPUs alone. */
    assert_int_equal(edition_forms(&repository, ON_GPUS, 2, forms), 1);
    assert_string_equal(forms[0], "m/g/2/model.cuda/sha256");
    assert_true(edition_has_versions(&repository, ON_GPUS));
    files[ON_GPUS].path = before;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_differs_is_not_the_same),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(the_highest_version_with_a_file_is_found),
        cmocka_unit_test(versions_have_the_forms_of_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
