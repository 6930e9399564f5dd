#include "service/rehearsal.h"

#include "base/assert.h"
#include "base/log.h"
#include "console/progress.h"
#include "engine/engine.h"
#include "model/builtin.h"
#include "service/clustered.h"
#include "trace/text.h"

struct rehearsal {
    const struct samples *samples;
    const struct scenario *scenario;
    const struct service_parts *parts;
    struct runtime *runtime;
    struct progress progress;
    struct log *log;
    uint32_t count_max; /* Of each workflow. */
    bool is_silent;
    uint32_t workflow; /* Whose sample is next. */
    uint32_t index;    /* Of that sample, among those that are run. */
    uint32_t done;
    uint32_t total;
};

static uint32_t count_of(const struct rehearsal *rehearsal, uint32_t workflow)
{
    const uint32_t count = samples_count(rehearsal->samples, workflow);
    return count < rehearsal->count_max ? count : rehearsal->count_max;
}

bool rehearsal_is_needed(
    const struct samples *samples, const struct catalogue *catalogue, const struct profile *profile)
{
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        for (uint32_t k = 0; samples_count(samples, i) > 0 && k < workflow->task_count; k++) {
            const uint32_t model = workflow->tasks[k].run;
            if (!builtin_is_reserved(catalogue->models[model]) &&
                profile->models[model].kinds == 0) {
                return true;
            }
        }
    }
    return false;
}

static void send_next(struct rehearsal *rehearsal);

static void on_answered(void *context, const struct runtime_answer *answer)
{
    struct rehearsal *rehearsal = context;
    if (answer->status == WEFT_OK && rehearsal->parts->on_rehearsed != NULL) {
        rehearsal->parts->on_rehearsed(
            rehearsal->parts->context, rehearsal->runtime, rehearsal->workflow, answer);
    }
    for (uint32_t i = 0; i < answer->output_count; i++) {
        runtime_release(rehearsal->runtime, answer->outputs[i]);
    }
    if (answer->status != WEFT_OK) {
        const bool has_cause = answer->message != NULL && answer->message[0] != '\0';
        progress_clear(&rehearsal->progress);
        const struct log_field fields[] = {
            log_text(
                "workflow", rehearsal->scenario->catalogue->workflows[rehearsal->workflow]->name),
            log_text("cause", has_cause ? answer->message : reason_name(answer->reason)),
        };
        log_say(rehearsal->log, LOG_WARN, "sample failed", 2, fields);
    }
    rehearsal->done++;
    rehearsal->index++;
    send_next(rehearsal);
}

/* One at a time: nothing else should slow it down. After the last one the runtime is stopped. */
static void send_next(struct rehearsal *rehearsal)
{
    const struct catalogue *catalogue = rehearsal->scenario->catalogue;
    while (rehearsal->workflow < catalogue->workflow_count &&
           rehearsal->index == count_of(rehearsal, rehearsal->workflow)) {
        rehearsal->workflow++;
        rehearsal->index = 0;
    }
    if (rehearsal->workflow == catalogue->workflow_count) {
        runtime_stop(rehearsal->runtime); /* It would be idle only after its audits, in 10 s. */
        return;
    }
    const uint32_t workflow = rehearsal->workflow;
    const uint64_t spread =
        (uint64_t)rehearsal->index * samples_count(rehearsal->samples, workflow);
    const uint32_t count = count_of(rehearsal, workflow);
    ASSERT(rehearsal->index < count);
    const uint32_t number = (uint32_t)(spread / count);
    struct bundle *bundle = samples_request(rehearsal->samples, workflow, number);
    const struct runtime_request request = {
        .workflow = workflow,
        .inputs = runtime_tensor(
            rehearsal->runtime, bundle, bundle == NULL ? 0 : bundle->bytes, bundle_destroy),
        .answered = on_answered,
        .context = rehearsal,
    };
    if (!rehearsal->is_silent) {
        rehearsal->progress.item = catalogue->workflows[workflow]->name;
        progress_show(&rehearsal->progress, rehearsal->done, rehearsal->total);
    }
    if (rehearsal->index == 0 && !rehearsal->progress.is_watched) {
        const struct log_field name = log_text("workflow", catalogue->workflows[workflow]->name);
        log_say(rehearsal->log, LOG_INFO, "rehearsing", 1, &name);
    }
    (void)runtime_request(
        rehearsal->runtime, rehearsal->done % rehearsal->scenario->fleet->node_count, &request);
}

enum weft_status rehearsal_open(
    const struct service_options *options, struct runtime **runtime_out, struct weft_error *error)
{
    const struct scenario *scenario = options->scenario;
    struct policy_set policies = *options->policies;
    service_admit_all(&policies); /* What is measured here corrects what would be refused. */
    struct runtime_options runtime = {
        .fleet = scenario->fleet,
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
        .policies = &policies,
        .clock = CLOCK_KIND_REAL,
        .seed = options->seed,
        .row_load_ns = scenario->rows.load_ns,
        .row_cache_ns = scenario->rows.cache_ns,
        .remote = options->cluster == NULL ? NULL : &options->cluster->remote,
    };
    if (options->parts != NULL) {
        runtime.engine = options->parts->engine;
    }
    return runtime_create(&runtime, runtime_out, error);
}

void rehearsal_close(const struct service_options *options, struct runtime *runtime)
{
    if (options->parts != NULL && options->parts->close != NULL) {
        options->parts->close(options->parts->context);
    }
    runtime_destroy(runtime);
}

enum weft_status rehearsal_run(
    const struct samples *samples, const struct service_options *options, uint32_t count_max,
    struct weft_error *error)
{
    ASSERT(samples != NULL);
    ASSERT(count_max > 0 && count_max <= REHEARSAL_SAMPLES_MAX);
    const struct scenario *scenario = options->scenario;
    struct rehearsal rehearsal = {
        .samples = samples,
        .scenario = scenario,
        .parts = options->parts,
        .log = options->log,
        .count_max = count_max,
        .is_silent = options->silent,
    };
    const enum weft_status status = rehearsal_open(options, &rehearsal.runtime, error);
    if (status != WEFT_OK) {
        return status;
    }
    for (uint32_t i = 0; i < scenario->catalogue->workflow_count; i++) {
        rehearsal.total += count_of(&rehearsal, i);
    }
    progress_start(&rehearsal.progress, "rehearsing");
    send_next(&rehearsal);
    runtime_run(rehearsal.runtime);
    progress_clear(&rehearsal.progress);
    rehearsal_close(options, rehearsal.runtime);
    return WEFT_OK;
}
