/*
 * One bad document a row, with the exact line that a person reads.
 *
 * The files are in test/documents/bad; what is large is made here.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/rng.h"
#include "document/check.h"
#include "document_fixture.h"

#define FOLDER "test/documents/bad/"

enum { LARGE_BYTES = 10 * 1000 * 1000, PATH_BYTES = 256, LINE_BYTES = 512 };

struct bad {
    const char *file;
    const char *line; /* What follows the path of the file. A '*' ends it for names that come. */
};

static const struct bad bad[] = {
    {"alias-bomb.yaml", ":1: anchors and aliases are not supported"},
    {"alias.yaml", ":1: anchors and aliases are not supported"},
    {"anchor.yaml", ":1: anchors and aliases are not supported"},
    {"bad-at-end.yaml", ":1: byte 0xf0 is not valid UTF-8 here"},
    {"bad-name.yaml", ":1: a name has letters, digits, '.', '_' and '-', unlike 'my chat'"},
    {"bandwidth.yaml", ":1: 'h2d' wants a bandwidth such as '10GB/s' or '100Gb/s', not '10GB'"},
    {"builtin-function.yaml", ":3: names that begin with 'weft.' are built in"},
    {"bus-inputs.yaml", ":1: bus_inputs 'yes' is not known; use false or true"},
    {"bytes-of-entry.yaml", ":3: task 'a' has no producer; the request's bytes are 'input'"},
    {"bytes-of-stranger.yaml", ":5: task 'c' does not come after 'b'"},
    {"bytes-per-thing.yaml", ":4: 'bytes' wants a size such as '14GB', not '3MB per thing'"},
    {"control-character.yaml", ":2: control character U+0007 is not allowed"},
    {"cut-four-bytes.yaml", ":1: the file ends inside a UTF-8 character"},
    {"cycle-behind.yaml", ":4: a cycle: 'b' after 'c' after 'b'"},
    {"cycle-long.yaml", ":3: a cycle: 't0' after 't1' after 't2' after 't3' after 't4' after 't5' "
                        "after 't6' after 't7' after 12 more after 't0'"},
    {"cycle.yaml", ":4: a cycle: 'a' after 'c' after 'b' after 'a'"},
    {"deep-block.yaml", ":65: nested more than 64 deep"},
    {"deep.yaml", ":1: nested more than 64 deep"},
    {"devices-too-many.yaml", ":3: more than 16384 devices"},
    {"duplicate-key.json", ":3: key 'models' occurs twice"},
    {"duplicate-key.yaml", ":4: key 'slo' occurs twice"},
    {"duplicate-task.yaml", ":5: key 'a' occurs twice"},
    {"empty-tasks.yaml", ":2: 'tasks' is empty"},
    {"empty.yaml", ":1: the document is empty"},
    {"gives-backwards.yaml", ":3: 'gives' is a range from 20 down to 1"},
    {"gives-half.yaml", ":3: 'gives' wants a whole number such as '8', not '2.5'"},
    {"gives-three.yaml", ":3: 'gives' wants a number or a range such as '[1, 20]'"},
    {"gives-zero.yaml", ":3: 'gives' must be between 1 and 1000000, not '0'"},
    {"input-overflow.yaml", ":2: 'input' must be between 0 and 1TB, not '1e999GB'"},
    {"input-unknown.yaml", ":4: 'imag' is not among the inputs; did you mean 'image'?"},
    {"json-depth.json", ":1: nested more than 64 deep"},
    {"list-as-key.yaml", ":2: a key must be text, not a list or a mapping"},
    {"long-name.yaml",
     ":1: the name 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' is longer than "
     "63 letters"},
    {"machines-empty.yaml", ":1: 'machines' is empty"},
    {"machines-none.yaml", ":1: 'count' must be between 1 and 16384, not '0'"},
    {"machines-too-many.yaml", ":1: 'count' must be between 1 and 16384, not '20000'"},
    {"keep-alive.yaml", ":2: 'keep_alive' must be between 1ms and 240h, not '0'"},
    {"keep-alive-text.yaml", ":2: 'keep_alive' wants a duration such as '300ms', not 'long'"},
    {"memory-missing.yaml", ":1: 'memory' is missing"},
    {"memory-tiny.yaml", ":1: 'memory' must be between 1MB and 1000TB, not '8'"},
    {"merge-key.yaml", ":4: the merge key '<<' is not supported"},
    {"mig-interference.yaml", ":3: instances of 'sharing: mig' have no interference"},
    {"mig-partitions.yaml", ":2: 'partitions' do not go with 'sharing: mig'"},
    {"mig-units.yaml", ":3: 'sharing: mig' wants 'units: 7'"},
    {"sharing.yaml", ":1: sharing 'mps' is not known; use counted, mig or sm"},
    {"model-and-function.yaml", ":3: task 'a' wants either 'model' or 'function', not both"},
    {"model-twice.yaml", ":3: model 'm' is named twice"},
    {"models-with-model.yaml", ":3: 'models' goes with 'function', not with 'model'"},
    {"network-background-both.yaml", ":4: background traffic has one of load and rate"},
    {"network-background-full.yaml", ":4: 'background' is more than 95% of the slowest link"},
    {"network-background-none.yaml", ":2: 'background' needs links with a limit"},
    {"network-background.yaml", ":2: 'background' must be between 0% and 95%, not '100%'"},
    {"network-core.yaml", ":2: 'core' does not go with 'kind: star'"},
    {"network-kind.yaml", ":2: kind 'mesh' is not known; use star, two-tier or bottleneck"},
    {"network-no-core.yaml", ":2: 'core' is missing"},
    {"network-racks.yaml", ":2: a two-tier network has one of racks and per_rack"},
    {"network-sharing.yaml", ":2: sharing 'lottery' is not known; use fifo or fair"},
    {"network-up.yaml", ":2: 'up' must be between 1B/s and 1000TB/s, not '0'"},
    {"no-tasks.yaml", ":1: 'tasks' is missing"},
    {"noise.yaml", ":2: byte 0x93 is not valid UTF-8 here"},
    {"not-a-document.yaml",
     ":1: no 'scenario', 'workflow', 'weft_profile', 'machines' or 'weft': not a document of Weft"},
    {"not-json.json", ":2: not JSON: '}' expected near '\"figures\"'"},
    {"nothing-to-run.yaml", ":3: task 'a' wants either 'model' or 'function'"},
    {"only-comment.yaml", ":1: the document is empty"},
    {"output-from-nowhere.yaml", ":3: 'from' is missing"},
    {"output-half.yaml", ":3: 'shape' is missing"},
    {"output-long.yaml",
     ":5: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is the name of a task "
     "with consumers, and too long for one whose output is an output of the workflow"},
    {"output-of-request.yaml", ":4: an output is made by a task, not by the request"},
    {"output-type.yaml", ":3: dtype 'FP31' is not known; use BOOL, UINT8, UINT16, UINT32, UINT64, "
                         "INT8, INT16, INT32, INT64, FP16, FP32, FP64, BYTES or BF16"},
    {"output-unknown.yaml", ":3: 'b' is not a task"},
    {"overlong-utf8.yaml", ":1: byte 0xc0 is not valid UTF-8 here"},
    {"partitions-none.yaml", ":1: 'partitions' must be between 1 and 64, not '0'"},
    {"path-with-newline.yaml", ":6: 'workflows' holds a control character"},
    {"port-dtype.yaml", ":2: dtype 'FP31' is not known; use BOOL, UINT8, UINT16, UINT32, UINT64, "
                        "INT8, INT16, INT32, INT64, FP16, FP32, FP64, BYTES or BF16"},
    {"port-long.yaml",
     ":3: the name 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...' is longer than "
     "63 letters"},
    {"port-rank.yaml", ":3: 'shape' has more than 8 dimensions"},
    {"port-shape-missing.yaml", ":3: 'shape' is missing"},
    {"port-shape.yaml", ":3: 'shape' wants whole numbers, or -1 for any, not 'any'"},
    {"priority.yaml", ":2: 'priority' must be between 1 and 16, not '17'"},
    {"profile-both.json", ":1: 'points' stands alone, in place of 'ms' and 'sd_ms'"},
    {"profile-distribution.json",
     ":3: distribution 'uniform' is not known; use normal, exponential, gamma or deterministic"},
    {"profile-figures.json",
     ":1: figures 'guessed' is not known; use measured, published or assumed"},
    {"profile-gamma.json", ":3: a gamma distribution wants 'sd_ms'"},
    {"profile-negative-load.json", ":2: 'load' must be between 0 and 1000TB, not '-5'"},
    {"profile-no-points.json", ":1: 'points' is empty"},
    {"profile-quantiles.json", ":3: 'quantiles' wants 13 numbers"},
    {"profile-quantiles-fall.json", ":4: 'quantiles' must not fall"},
    {"profile-no-source.json", ":2: published figures need a 'source'"},
    {"profile-same-point.json", ":4: a second point for items 1, cpu 0, gpu 0"},
    {"profile-version.json", ":1: 'weft_profile' must be 1, the only version known, not '2'"},
    {"profile-zero-time.json", ":2: 'ms' must be more than 0 and at most a day, not '0'"},
    {"reference-unknown.yaml", ":6: 'b2' is not a task"},
    {"reference.yaml", ":4: 'x' wants 'task.output' or 'inputs.name', not 'a'"},
    {"root-list.yaml",
     ":1: no 'scenario', 'workflow', 'weft_profile', 'machines' or 'weft': not a document of Weft"},
    {"scalar.yaml", ":1: a document is a mapping, not 'just words'"},
    {"scenario-cluster-list.yaml",
     ":2: 'cluster' wants a mapping or the path of a file, not a list"},
    {"scenario-fault-kind.yaml", ":17: unknown key 'explode'"},
    {"scenario-fault-none.yaml", ":17: a fault wants a kind, such as crash, stop or slow"},
    {"scenario-fault-two.yaml", ":17: one fault has one kind, such as crash, stop or slow"},
    {"scenario-fault.yaml", ":18: there is no node 2; the last one is 1"},
    {"scenario-jobs.yaml", ":16: 'jobs' must be between 1 and 1000000000, not '1e300'"},
    {"scenario-kind.yaml", ":15: kind 'poison' is not known; use poisson, constant, list, gamma, "
                           "burst, mmpp, diurnal or trace"},
    {"scenario-list-jobs.yaml", ":16: 'jobs' is 2, but the list has only 1"},
    {"scenario-list-rate.yaml", ":15: 'rate' does not go with 'kind: list'"},
    {"scenario-list.yaml", ":16: 'at' goes back in time; the list is by time, ascending"},
    {"scenario-missing-device.yaml", ":8: function 'chat.prompt' of task 'prompt' has no run time "
                                     "on device 'a30' in profile 'scenario-missing-device.yaml'"},
    {"scenario-missing-file.yaml",
     ":6: test/documents/bad/no-such-workflow.yaml: cannot be opened: No such file or directory"},
    {"scenario-missing-function.yaml",
     ":8: function 'chat.prompt' of task 'prompt' has no run time on device 't4' in profile "
     "'scenario-missing-function.yaml'"},
    {"scenario-missing-model.yaml", ":9: model 'llm' of task 'answer' has no run time on device "
                                    "'t4' in profile 'scenario-missing-model.yaml'"},
    {"scenario-missing-weights.yaml",
     ":9: model 'llm' of task 'answer' is not in profile 'scenario-missing-weights.yaml'"},
    {"scenario-missing-kinds.yaml",
     ":10: function 'chat.prompt' of task 'prompt' has no run time on device 't4' or another of "
     "the cluster in profile 'scenario-missing-kinds.yaml'"},
    {"scenario-mixture-kind.yaml",
     ":18: the mixture puts task 'answer' of 'chat' on worker 0, whose device 't4' has no run time "
     "for it"},
    {"scenario-mix-zero.yaml", ":16: 'mix' gives no workflow a weight"},
    {"scenario-mix.yaml", ":16: 'chta' is not one of the workflows; did you mean 'chat'?"},
    {"scenario-model-too-large.yaml",
     ":9: 'llm' of task 'answer' needs 40GB of memory; the largest device has 8GB"},
    {"scenario-items-too-large.yaml",
     ":9: 'llm' of task 'answer' needs 9GB of memory for the 5 items it can have; the largest "
     "device has 8GB"},
    {"scenario-given-too-large.yaml",
     ":10: 'llm' of task 'answer' needs 9GB of memory for the 5 items it can have; the largest "
     "device has 8GB"},
    {"scenario-mixture-memory.yaml",
     ":18: the mixture puts task 'answer' of 'chat' on worker 0, which has 1GB of memory; it needs "
     "4GB"},
    {"scenario-missing-truth.yaml", ":14: 'llm' has a run time on device 't4' in the profile only"},
    {"scenario-no-profile.yaml", ":10: unknown key 'profiles'; did you mean 'profile'?"},
    {"scenario-no-workflows.yaml", ":5: 'workflows' is empty"},
    {"scenario-noise.yaml", ":16: 'noise' must be between 0% and 99%, not '150%'"},
    {"scenario-policy-long.yaml", ":16: 'policy' is longer than 255 letters"},
    {"scenario-policy-option.yaml", ":16: 'speed' wants a number such as '1.5', not 'fast'"},
    {"scenario-policy-role.yaml",
     ":16: role 'plaice' is not known; roles: admit, place, order, dispatch, steal, cache, tick"},
    {"scenario-poison-workflow.yaml", ":18: there is no workflow 1; the last one is 0"},
    {"scenario-poison.yaml",
     ":17: this fault wants 'deputies: true': other requests are not tried again"},
    {"scenario-policy.yaml", ":16: policy 'quickest' is not known; known: *"},
    {"scenario-random-alone.yaml", ":17: random faults spare node 0, and there is no other"},
    {"scenario-random-at.yaml", ":17: unknown key 'at'"},
    {"scenario-random-drain.yaml", ":17: 'drain' cannot be drawn: a random fault ends by itself"},
    {"scenario-random-for.yaml", ":17: 'for' must be between 1us and ten days, not '0'"},
    {"scenario-random-key.yaml", ":17: unknown key 'victims'"},
    {"scenario-random-kind.yaml",
     ":17: kinds 'explode' is not known; use crash, restart, drain, stop, slow, partition, loss, "
     "fail-loads, fail-batches, lose-device, no-directory, poison or version"},
    {"scenario-random-many.yaml", ":17: more than 256 faults are to be expected"},
    {"scenario-random-no-kinds.yaml", ":17: 'kinds' is empty"},
    {"scenario-random-rate.yaml", ":17: 'rate' is missing"},
    {"scenario-random-times.yaml", ":25: more than 8 entries of random faults"},
    {"scenario-random-until.yaml", ":17: 'until' is missing"},
    {"scenario-rate-zero.yaml", ":15: 'rate' must be more than 0 and at most 1e9/s, not '0/s'"},
    {"scenario-rate.yaml", ":15: 'rate' wants a rate such as '2/s', not 'fast'"},
    {"scenario-rows-text.yaml", ":16: 'rows' wants a mapping, not '10ms'"},
    {"scenario-rows.yaml", ":16: 'load' must be between 1us and 1h, not '0ms'"},
    {"scenario-seed.yaml", ":16: 'seeds' must be between 0 and 2^53, not '-2'"},
    {"scenario-seeds.yaml", ":16: 'seeds' has 0 seeds; it must have between 1 and 1024"},
    {"scenario-too-long.yaml", ":15: 1000 jobs at 1e-06/s take more than three years"},
    {"scenario-unknown-key.yaml", ":15: unknown key 'ratee'; did you mean 'rate'?"},
    {"scenario-warmup.yaml", ":16: 'warmup' wants a fraction such as '10%', not 'ten'"},
    {"scenario-workflow-twice.yaml", ":10: a second workflow is called 'chat'"},
    {"self.yaml", ":3: task 'a' comes after itself"},
    {"slo-empty.yaml", ":2: 'slo' wants a duration such as '300ms', not nothing"},
    {"slo-huge.yaml", ":2: 'slo' must be between 1us and 240h, not '1e300s'"},
    {"slo-list.yaml", ":2: 'slo' wants a duration such as '300ms', not a list"},
    {"slo-nan.yaml", ":2: 'slo' wants a duration such as '300ms', not 'nan'"},
    {"slo-negative.yaml", ":2: 'slo' must be between 1us and 240h, not '-300ms'"},
    {"slo-without-unit.yaml", ":2: 'slo' wants a duration such as '300ms', not '300'"},
    {"surrogate-utf8.yaml", ":1: byte 0xed is not valid UTF-8 here"},
    {"tab.yaml", ":3: not YAML: while scanning for the next token, found character that cannot "
                 "start any token"},
    {"tag-on-mapping.yaml", ":2: tags are not supported"},
    {"tag.yaml", ":1: tags are not supported"},
    {"task-called-input.yaml", ":3: 'input' is the request, not the name of a task"},
    {"task-of-answer.yaml", ":3: 'outputs.a' is part of the answer, not the name of a task"},
    {"tasks-list.yaml", ":2: 'tasks' wants a mapping, not a list"},
    {"too-many-models.yaml", ":3: task 'a' names more than 4 models"},
    {"too-many-tasks.yaml", ":1027: more than 1024 tasks"},
    {"trailing.json", ":1: not JSON: end of file expected near 'true'"},
    {"truncated-utf8.yaml", ":2: the file ends inside a UTF-8 character"},
    {"twice-after.yaml", ":4: task 'b' comes after 'a' twice"},
    {"two-documents.yaml", ":3: a second document starts here; a file holds one"},
    {"unclosed.yaml",
     ":3: not YAML: while parsing a flow mapping, did not find expected ',' or '}'"},
    {"unknown-key-far.yaml", ":2: unknown key 'author'"},
    {"unknown-key.yaml", ":2: unknown key 'slow'; did you mean 'slo'?"},
    {"unknown-producer.yaml", ":4: 'detct' is not a task; did you mean 'detect'?"},
    {"unknown-task-key.yaml", ":4: unknown key 'aftr'; did you mean 'after'?"},
    {"utf16.yaml", ":1: byte 0xff is not valid UTF-8 here"},
    {"yaml-in-json.json", ":1: not JSON: '[' or '{' expected near 'weft'"},
    {"zero-byte.yaml", ":1: a text holds a zero byte"},
};

enum { BAD_COUNT = sizeof(bad) / sizeof(bad[0]) };

/* What a listener heard: how many, and the first. */
struct heard {
    uint32_t count;
    struct weft_error first;
};

static void on_error(void *context, const struct weft_error *error)
{
    struct heard *heard = context;
    if (heard->count == 0) {
        heard->first = *error;
    } else {
        print_message("%s\n", error->message);
    }
    heard->count++;
}

static void assert_line(const char *path, const char *expected)
{
    struct heard heard = {.count = 0};
    struct tree_listener listener = {.on_error = on_error, .context = &heard};
    struct weft_error error = {0};
    enum document_kind kind = DOCUMENT_SCENARIO;

    if (document_check(path, NULL, &kind, &error) == WEFT_OK) {
        fail_msg("%s is a good %s", path, document_kind_text(kind));
    }
    /* One mistake is one error: what follows from it is not told. */
    assert_int_equal(document_check(path, &listener, &kind, NULL), error.status);
    assert_string_equal(heard.first.message, error.message);
    assert_int_equal(heard.count, 1);
    if (strchr(expected, '*') != NULL) {
        error.message[strcspn(expected, "*")] = '*';
        error.message[strcspn(expected, "*") + 1] = '\0';
    }
    assert_string_equal(error.message, expected);
    assert_null(strchr(error.message, '\n'));
    /* Listener and error may be NULL. */
    assert_int_equal(document_check(path, NULL, &kind, NULL), error.status);
}

static void each_has_its_line(ATTR_UNUSED void **state)
{
    char path[PATH_BYTES];
    char line[LINE_BYTES];

    for (size_t i = 0; i < BAD_COUNT; i++) {
        (void)snprintf(path, sizeof(path), FOLDER "%s", bad[i].file);
        (void)snprintf(line, sizeof(line), "%s%s", path, bad[i].line);
        assert_line(path, line);
    }
}

static void no_file_is_left_out(ATTR_UNUSED void **state)
{
    DIR *folder = opendir(FOLDER);
    size_t count = 1; /* scenario-bad-file.yaml has a test of its own. */

    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count -= entry->d_name[0] != '.';
    }
    (void)closedir(folder);
    assert_int_equal(count + BAD_COUNT, 0);
}

static void a_file_that_another_names_has_its_own_line(ATTR_UNUSED void **state)
{
    assert_line(
        FOLDER "scenario-bad-file.yaml",
        FOLDER "cycle.yaml:4: a cycle: 'a' after 'c' after 'b' after 'a'");
}

static void what_is_no_file_has_no_line(ATTR_UNUSED void **state)
{
    assert_line("none.yaml", "none.yaml: cannot be opened: No such file or directory");
    assert_line("test/documents", "test/documents: is a directory");
    assert_line("/dev/zero", "/dev/zero: is not a regular file");
    assert_line("CMakeLists.txt/x", "CMakeLists.txt/x: cannot be opened: Not a directory");
}

/* Write @size bytes to a file of this process alone, and expect @line of it. */
static void assert_line_of(const char *bytes, size_t size, const char *line)
{
    char path[PATH_BYTES];
    char expected[LINE_BYTES];

    (void)snprintf(path, sizeof(path), "/tmp/weft-bad-%ld.yaml", (long)getpid());
    (void)snprintf(expected, sizeof(expected), "%s%s", path, line);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_line(path, expected);
    assert_int_equal(remove(path), 0);
}

static void garbage_ends_at_its_first_byte(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(11);
    char *bytes = malloc(LARGE_BYTES);

    assert_non_null(bytes);
    for (size_t i = 0; i < LARGE_BYTES; i++) {
        bytes[i] = (char)rng_next(&rng);
    }
    bytes[0] = '\xff';
    assert_line_of(bytes, LARGE_BYTES, ":1: byte 0xff is not valid UTF-8 here");

    /* The same without what is not ASCII: it gets as far as the parser. */
    for (size_t i = 0; i < LARGE_BYTES; i++) {
        bytes[i] = (char)(' ' + (unsigned char)bytes[i] % 95);
    }
    bytes[0] = '{';
    bytes[1] = '@';
    assert_line_of(
        bytes, LARGE_BYTES,
        ":1: not YAML: while scanning for the next token, found character that cannot start any "
        "token");
    free(bytes);
}

static void ten_megabytes_of_tasks_are_read_and_refused(ATTR_UNUSED void **state)
{
    char *bytes = malloc(LARGE_BYTES + PATH_BYTES);
    size_t size = 0;

    assert_non_null(bytes);
    size += (size_t)snprintf(bytes, PATH_BYTES, "workflow: large\ntasks:\n");
    for (uint32_t i = 0; size < LARGE_BYTES; i++) {
        size += (size_t)snprintf(bytes + size, PATH_BYTES, "  task-number-%06u: {model: m}\n", i);
    }
    assert_line_of(bytes, size, ":1027: more than 1024 tasks");
    free(bytes);
}

static void a_file_past_the_limit_is_not_parsed(ATTR_UNUSED void **state)
{
    const size_t size = (size_t)TREE_BYTES_MAX + 1;
    char *bytes = malloc(size);

    assert_non_null(bytes);
    memset(bytes, '\xff', size);
    assert_line_of(bytes, size, ": longer than 16777216 bytes");
    assert_line_of(bytes, size - 1, ":1: byte 0xff is not valid UTF-8 here");
    free(bytes);
}

static void brackets_without_end_stop_early(ATTR_UNUSED void **state)
{
    char *bytes = malloc(LARGE_BYTES);

    assert_non_null(bytes);
    memset(bytes, '[', LARGE_BYTES);
    assert_line_of(bytes, LARGE_BYTES, ":1: nested more than 64 deep");
    memset(bytes, '{', LARGE_BYTES);
    assert_line_of(bytes, LARGE_BYTES, ":1: a key must be text, not a list or a mapping");
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_line),
        cmocka_unit_test(no_file_is_left_out),
        cmocka_unit_test(a_file_that_another_names_has_its_own_line),
        cmocka_unit_test(what_is_no_file_has_no_line),
        cmocka_unit_test(garbage_ends_at_its_first_byte),
        cmocka_unit_test(ten_megabytes_of_tasks_are_read_and_refused),
        cmocka_unit_test(a_file_past_the_limit_is_not_parsed),
        cmocka_unit_test(brackets_without_end_stop_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
