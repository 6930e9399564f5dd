#include "service/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "document/bytes.h"
#include "document/folder.h"
#include "service/expected.h"
#include "trace/text.h"

enum { PATH_BYTES = 4096, SAMPLE_BYTES_MAX = 64 << 20 };

#define INPUTS  "inputs"
#define TEXT    ".txt"
#define OUTPUTS ".yaml"

struct sample {
    char name[NAME_BYTES_MAX];
    char *bytes;
    size_t length;
    struct expected *expected; /* NULL: whatever comes is good. */
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

/* The file beside @entry that has its name and this ending. NULL if there is none. */
static const char *beside(
    const struct folder *folder, const struct folder_entry *entry, const char *ending)
{
    char name[NAME_BYTES_MAX * 4];
    const char *dot = strrchr(entry->name, '.');
    const size_t stem = dot == NULL ? strlen(entry->name) : (size_t)(dot - entry->name);
    const int length = snprintf(name, sizeof(name), "%.*s%s", (int)stem, entry->name, ending);
    const struct folder_entry *found =
        length < (int)sizeof(name) ? folder_find(folder, name) : NULL;
    return found == NULL ? NULL : found->path;
}

static bool ends_in(const struct folder_entry *entry, const char *ending)
{
    const size_t length = strlen(entry->name);
    return length > strlen(ending) && strcmp(entry->name + length - strlen(ending), ending) == 0;
}

static enum weft_status read_sample(
    const struct folder *folder, const struct folder_entry *entry, const struct workflow *workflow,
    struct sample *sample_out, struct weft_error *error)
{
    const char *text = beside(folder, entry, TEXT);
    const char *outputs = beside(folder, entry, OUTPUTS);
    (void)snprintf(sample_out->name, sizeof(sample_out->name), "%.60s", entry->name);
    enum weft_status status = bytes_load_large(
        entry->path, SAMPLE_BYTES_MAX, &sample_out->bytes, &sample_out->length, error);
    if (status == WEFT_OK && (text != NULL || outputs != NULL)) {
        status = expected_load(text, outputs, workflow, &sample_out->expected, error);
    }
    return status;
}

static enum weft_status read_workflow(
    struct workflow_samples *own, const struct folder *folder, const struct workflow *workflow,
    struct weft_error *error)
{
    own->items = memory_zeroed(folder->count + 1, sizeof(*own->items));
    for (uint32_t i = 0; i < folder->count; i++) {
        const struct folder_entry *entry = &folder->entries[i];
        if (entry->status != WEFT_OK) {
            return error_set(error, entry->status, "%s", entry->problem);
        }
        if (entry->is_folder || ends_in(entry, TEXT) || ends_in(entry, OUTPUTS)) {
            continue;
        }
        own->count++;
        const enum weft_status status =
            read_sample(folder, entry, workflow, &own->items[own->count - 1], error);
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
                error, WEFT_INVALID, "%s: the workflow does not take exactly one file, UINT8 [-1]",
                entry->path);
        } else {
            status = folder_list(arena, root, entry->path, &folder, error);
            if (status == WEFT_OK) {
                status = read_workflow(
                    &samples->workflows[workflow], &folder, samples->catalogue->workflows[workflow],
                    error);
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
            expected_destroy(own->items[k].expected);
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
    ASSERT(samples == NULL || workflow < samples->catalogue->workflow_count);
    return samples == NULL ? 0 : samples->workflows[workflow].count;
}

const char *samples_first(const struct samples *samples, uint32_t workflow)
{
    return samples_count(samples, workflow) == 0 ? NULL
                                                 : samples->workflows[workflow].items[0].name;
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

/* An answer, for expected_judge(). */
struct answered {
    const struct workflow *workflow;
    const struct runtime *runtime;
    const struct runtime_answer *answer;
};

static const struct weft_tensor *find_output(const void *context, const char *name)
{
    const struct answered *answered = context;
    const struct workflow *workflow = answered->workflow;
    for (uint32_t i = 0; i < workflow->result_count; i++) {
        const struct workflow_result *result = &workflow->results[i];
        const uint32_t sink = workflow->tasks[result->task].sink;
        uint64_t bytes;
        if (strcmp(result->name, name) != 0 || sink >= answered->answer->output_count) {
            continue;
        }
        const struct bundle *bundle =
            runtime_contents(answered->runtime, answered->answer->outputs[sink], &bytes);
        return bundle == NULL ? NULL : bundle_find(bundle, result->output);
    }
    return NULL;
}

static void note_unanswered(struct samples_score *score, const struct runtime_answer *answer)
{
    const bool has_cause = answer->message != NULL && answer->message[0] != '\0';
    if (answer->status == WEFT_REFUSED) {
        score->refused++;
    } else if (answer->status == WEFT_CANCELLED) {
        score->given_up++;
    } else {
        if (score->failed == 0) {
            (void)snprintf(
                score->cause, sizeof(score->cause), "%s",
                has_cause ? answer->message : reason_name(answer->reason));
        }
        score->failed++;
    }
}

static void note_compared(
    struct samples_score *score, const char *name, const struct judgement *judgement)
{
    if (!judgement->is_right && score->right == score->answers) {
        (void)snprintf(score->wrong, sizeof(score->wrong), "%s: %s", name, judgement->cause);
    }
    score->answers++;
    score->right += judgement->is_right ? 1 : 0;
    score->letter_edits += judgement->letters.edits;
    score->letters += judgement->letters.length;
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
    const struct sample *sample = &own->items[number];
    if (answer->status != WEFT_OK) {
        note_unanswered(score, answer);
        return;
    }
    if (sample->expected == NULL) {
        return;
    }
    struct judgement judgement;
    const struct answered answered = {
        .workflow = samples->catalogue->workflows[workflow], .runtime = runtime, .answer = answer};
    const struct answer_outputs found = {.find = find_output, .context = &answered};
    expected_judge(sample->expected, answered.workflow, &found, &judgement);
    note_compared(score, sample->name, &judgement);
}

const struct samples_score *samples_score(const struct samples *samples, uint32_t workflow)
{
    ASSERT(samples == NULL || workflow < samples->catalogue->workflow_count);
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
