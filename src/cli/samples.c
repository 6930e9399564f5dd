#include "cli/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/distance.h"
#include "document/bytes.h"
#include "document/folder.h"
#include "trace/text.h"

enum { PATH_BYTES = 4096, WRONG_ONE_IN = 4, SAMPLE_BYTES_MAX = 64 << 20 };

#define INPUTS   "inputs"
#define EXPECTED ".txt"

struct sample {
    char *bytes;
    size_t length;
    char *expected; /* NULL: whatever comes is good. */
};

struct workflow_samples {
    uint32_t count;
    uint32_t next;
    struct sample *items;
    struct samples_score score;
};

struct samples {
    const struct catalogue *catalogue;
    struct workflow_samples *workflows;
};

/* "inputs/ocr/page.png" has its text in "inputs/ocr/page.txt". NULL if there is none. */
static const struct folder_entry *expected_of(
    const struct folder *folder, const struct folder_entry *entry)
{
    char name[NAME_BYTES_MAX * 4];
    const char *dot = strrchr(entry->name, '.');
    const size_t stem = dot == NULL ? strlen(entry->name) : (size_t)(dot - entry->name);
    const int length = snprintf(name, sizeof(name), "%.*s" EXPECTED, (int)stem, entry->name);
    return length < (int)sizeof(name) ? folder_find(folder, name) : NULL;
}

static bool is_expected(const struct folder_entry *entry)
{
    const size_t length = strlen(entry->name);
    return length > strlen(EXPECTED) &&
           strcmp(entry->name + length - strlen(EXPECTED), EXPECTED) == 0;
}

static enum weft_status read_sample(
    const struct folder *folder, const struct folder_entry *entry, struct sample *sample_out,
    struct weft_error *error)
{
    const struct folder_entry *expected = expected_of(folder, entry);
    enum weft_status status = bytes_load_large(
        entry->path, SAMPLE_BYTES_MAX, &sample_out->bytes, &sample_out->length, error);
    if (status == WEFT_OK && expected != NULL) {
        size_t length;
        char *bytes = NULL;
        status = bytes_load(expected->path, &bytes, &length, error);
        if (status == WEFT_OK) {
            sample_out->expected = memory_zeroed(length + 1, 1);
            memcpy(sample_out->expected, bytes, length);
        }
        free(bytes);
    }
    return status;
}

static enum weft_status read_workflow(
    struct workflow_samples *own, const struct folder *folder, struct weft_error *error)
{
    own->items = memory_zeroed(folder->count + 1, sizeof(*own->items));
    for (uint32_t i = 0; i < folder->count; i++) {
        const struct folder_entry *entry = &folder->entries[i];
        if (entry->status != WEFT_OK) {
            return error_set(error, entry->status, "%s", entry->problem);
        }
        if (entry->is_folder || is_expected(entry)) {
            continue;
        }
        own->count++;
        const enum weft_status status =
            read_sample(folder, entry, &own->items[own->count - 1], error);
        if (status != WEFT_OK) {
            return status;
        }
    }
    own->score.files = own->count;
    return WEFT_OK;
}

/* Whether a file can be sent to @workflow as it is. */
static bool takes_a_file(const struct workflow *workflow)
{
    const struct workflow_input *input = workflow->inputs;
    return workflow->input_count == 1 && input->dtype == WEFT_UINT8 && input->rank == 1 &&
           input->shape[0] == -1;
}

static enum weft_status read_all(
    struct samples *samples, const char *root, const struct folder *inputs, struct arena *arena,
    struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < inputs->count && status == WEFT_OK; i++) {
        const struct folder_entry *entry = &inputs->entries[i];
        const uint32_t workflow = catalogue_find_workflow(samples->catalogue, entry->name);
        struct folder folder;
        if (!entry->is_folder || entry->status != WEFT_OK || workflow == UINT32_MAX) {
            status = error_set(error, WEFT_INVALID, "%s: no workflow has this name", entry->path);
        } else if (!takes_a_file(samples->catalogue->workflows[workflow])) {
            status = error_set(
                error, WEFT_INVALID, "%s: the workflow does not take one file: UINT8 [-1]",
                entry->path);
        } else {
            status = folder_list(arena, root, entry->path, &folder, error);
            if (status == WEFT_OK) {
                status = read_workflow(&samples->workflows[workflow], &folder, error);
            }
        }
    }
    return status;
}

enum weft_status samples_load(
    const char *folder, const struct catalogue *catalogue, struct samples **samples_out,
    struct weft_error *error)
{
    char path[PATH_BYTES];
    struct arena arena;
    struct folder root;
    struct folder inputs;
    *samples_out = NULL;
    arena_init(&arena);
    (void)snprintf(path, sizeof(path), "%s/" INPUTS, folder);
    enum weft_status status = folder_list(&arena, folder, folder, &root, error);
    if (status == WEFT_OK && folder_find(&root, INPUTS) != NULL) {
        status = folder_list(&arena, folder, path, &inputs, error);
        if (status == WEFT_OK) {
            struct samples *samples = memory_zeroed(1, sizeof(*samples));
            samples->catalogue = catalogue;
            samples->workflows =
                memory_zeroed(catalogue->workflow_count + 1, sizeof(*samples->workflows));
            status = read_all(samples, folder, &inputs, &arena, error);
            if (status == WEFT_OK) {
                *samples_out = samples;
            } else {
                samples_destroy(samples);
            }
        }
    }
    arena_deinit(&arena);
    return status;
}

void samples_destroy(struct samples *samples)
{
    if (samples == NULL) {
        return;
    }
    for (uint32_t i = 0; i < samples->catalogue->workflow_count; i++) {
        struct workflow_samples *own = &samples->workflows[i];
        for (uint32_t k = 0; k < own->count; k++) {
            free(own->items[k].bytes);
            free(own->items[k].expected);
        }
        free(own->items);
    }
    free(samples->workflows);
    free(samples);
}

void samples_mix(const struct samples *samples, struct arrivals *arrivals)
{
    if (samples == NULL) {
        return;
    }
    for (uint32_t i = 0; i < samples->catalogue->workflow_count; i++) {
        arrivals->mix[i] = samples->workflows[i].count > 0 ? 1 : 0;
    }
}

void samples_models(const struct samples *samples, struct model_set *models)
{
    for (uint32_t i = 0; samples != NULL && i < samples->catalogue->workflow_count; i++) {
        const struct workflow *workflow = samples->catalogue->workflows[i];
        for (uint32_t k = 0; samples->workflows[i].count > 0 && k < workflow->task_count; k++) {
            const struct workflow_task *task = &workflow->tasks[k];
            model_set_add(models, task->run);
            for (uint32_t m = 0; m < task->model_count; m++) {
                model_set_add(models, task->models[m]);
            }
        }
    }
}

uint32_t samples_count(const struct samples *samples, uint32_t workflow)
{
    return samples == NULL ? 0 : samples->workflows[workflow].count;
}

struct bundle *samples_request(const struct samples *samples, uint32_t workflow, uint32_t number)
{
    ASSERT(number < samples->workflows[workflow].count);
    struct bundle *bundle = bundle_create();
    if (bundle == NULL) {
        return NULL;
    }
    const struct sample *sample = &samples->workflows[workflow].items[number];
    const struct workflow_input *input = samples->catalogue->workflows[workflow]->inputs;
    struct weft_tensor tensor = {
        .dtype = WEFT_UINT8,
        .rank = 1,
        .shape = {(int64_t)sample->length},
        .bytes = sample->length,
    };
    memcpy(tensor.name, input->name, sizeof(tensor.name));
    void *room = bundle_add(bundle, &tensor);
    if (room == NULL) {
        bundle_destroy(bundle);
        return NULL;
    }
    memcpy(room, sample->bytes, sample->length);
    return bundle;
}

struct bundle *samples_next(const struct samples *samples, uint32_t workflow, uint32_t *number_out)
{
    if (samples_count(samples, workflow) == 0) {
        return NULL;
    }
    struct workflow_samples *own = &samples->workflows[workflow];
    *number_out = own->next;
    own->next = (own->next + 1) % own->count;
    return samples_request(samples, workflow, *number_out);
}

/* The tensor of result @index of @workflow in @answer. NULL if it is not there. */
static const struct weft_tensor *result_of(
    const struct workflow *workflow, uint32_t index, const struct runtime *runtime,
    const struct runtime_answer *answer)
{
    const struct workflow_result *result = &workflow->results[index];
    const uint32_t sink = workflow->tasks[result->task].sink;
    uint64_t bytes;
    if (sink >= answer->output_count) {
        return NULL;
    }
    const struct bundle *bundle = runtime_contents(runtime, answer->outputs[sink], &bytes);
    return bundle == NULL ? NULL : bundle_find(bundle, result->output);
}

/* The first text that @tensor holds, to be freed. NULL if it holds none. */
static char *first_text(const struct weft_tensor *tensor)
{
    uint32_t length = 0;
    if (tensor == NULL || tensor->dtype != WEFT_BYTES || tensor->bytes < sizeof(length) ||
        !tensor_texts_fit(tensor)) {
        return NULL;
    }
    memcpy(&length, tensor->data, sizeof(length));
    char *text = memory_zeroed((size_t)length + 1, 1);
    memcpy(text, (const char *)tensor->data + sizeof(length), length);
    return text;
}

static char *text_of(
    const struct workflow *workflow, const struct runtime *runtime,
    const struct runtime_answer *answer)
{
    char *text = NULL;
    for (uint32_t i = 0; i < workflow->result_count && text == NULL; i++) {
        if (strcmp(workflow->results[i].name, "text") == 0) {
            text = first_text(result_of(workflow, i, runtime, answer));
        }
    }
    for (uint32_t i = 0; i < workflow->result_count && text == NULL; i++) {
        text = first_text(result_of(workflow, i, runtime, answer));
    }
    return text;
}

static void note_failed(struct samples_score *score, const struct runtime_answer *answer)
{
    const bool has_cause = answer->message != NULL && answer->message[0] != '\0';
    if (score->failed == 0) {
        (void)snprintf(
            score->cause, sizeof(score->cause), "%s",
            has_cause ? answer->message : reason_name(answer->reason));
    }
    score->failed++;
}

void samples_judge(
    const struct samples *samples, const struct runtime *runtime, uint32_t workflow,
    uint32_t number, const struct runtime_answer *answer)
{
    struct workflow_samples *own = samples == NULL ? NULL : &samples->workflows[workflow];
    if (own == NULL || own->count == 0) {
        return;
    }
    struct samples_score *score = &own->score;
    const char *expected = own->items[number].expected;
    if (answer->status != WEFT_OK) {
        if (answer->status != WEFT_REFUSED && answer->status != WEFT_CANCELLED) {
            note_failed(score, answer);
        }
        return;
    }
    if (expected == NULL) {
        return;
    }
    char *text = text_of(samples->catalogue->workflows[workflow], runtime, answer);
    const struct distance letters = distance_letters(text == NULL ? "" : text, expected);
    const struct distance words = distance_words(text == NULL ? "" : text, expected);
    free(text);
    score->answers++;
    score->right += letters.edits * WRONG_ONE_IN <= letters.length ? 1 : 0;
    score->letter_edits += letters.edits;
    score->letters += letters.length;
    score->word_edits += words.edits;
    score->words += words.length;
}

const struct samples_score *samples_score(const struct samples *samples, uint32_t workflow)
{
    const struct workflow_samples *own = samples == NULL ? NULL : &samples->workflows[workflow];
    return own == NULL || own->count == 0 ? NULL : &own->score;
}

bool samples_are_right(const struct samples *samples)
{
    bool are_right = true;
    for (uint32_t i = 0; samples != NULL && i < samples->catalogue->workflow_count; i++) {
        const struct samples_score *score = &samples->workflows[i].score;
        are_right = are_right && score->right == score->answers && score->failed == 0;
    }
    return are_right;
}
