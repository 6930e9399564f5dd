#include "service/journal.h"

#include "base/units.h"
#include "runtime/runtime.h"
#include "trace/text.h"

#define TELL_NS (10 * NS_PER_S)

static void note_task(struct journal *journal, const struct record *record)
{
    journal->failed[journal->failed_count % JOURNAL_TASKS] =
        (struct journal_task){.job = record->job, .task = record->task};
    journal->failed_count++;
}

/* The name of the task that failed last, of the job of @record. "" if it is not known. */
static const char *find_task(const struct journal *journal, const struct record *record)
{
    const struct workflow *workflow = journal->catalogue->workflows[record->workflow];
    for (uint64_t i = 1; i <= JOURNAL_TASKS && i <= journal->failed_count; i++) {
        const struct journal_task *failed =
            &journal->failed[(journal->failed_count - i) % JOURNAL_TASKS];
        if (job_equal(failed->job, record->job) && failed->task < workflow->task_count) {
            return workflow->tasks[failed->task].name;
        }
    }
    return "";
}

static void say_job(struct journal *journal, const struct record *record)
{
    const enum reason reason = (enum reason)record->reason;
    const struct log_field fields[] = {
        log_text("workflow", journal->catalogue->workflows[record->workflow]->name),
        log_text("task", find_task(journal, record)),
        log_text("reason", reason_name(reason)),
        log_text("cause", runtime_cause(journal->runtime, record->job, record->workflow, reason)),
        log_number("ms", record->value / 1000000),
    };
    log_say(journal->log, LOG_WARN, "job failed", 5, fields);
}

static void say_load(struct journal *journal, const struct record *record)
{
    const struct log_field fields[] = {
        log_text("model", journal->catalogue->models[record->model]),
        log_number("worker", record->worker),
    };
    log_say(journal->log, LOG_WARN, "load failed", 2, fields);
}

static void note_answer(struct journal *journal, const struct record *record)
{
    switch (record->reason) {
    case REASON_NONE:
    case REASON_CANCEL: /* The client knows. */
        return;
    case REASON_INVALID:
    case REASON_UNAVAILABLE:
        journal->refused[record->reason]++;
        return;
    default:
        say_job(journal, record);
        return;
    }
}

void journal_add(struct journal *journal, const struct record *record)
{
    if (journal->log == NULL) {
        return;
    }
    if (record->kind == RECORD_FAILED) {
        note_task(journal, record);
    } else if (record->kind == RECORD_ANSWERED) {
        note_answer(journal, record);
    } else if (record->kind == RECORD_REFUSED) {
        journal->refused[record->reason]++;
    } else if (record->kind == RECORD_LOAD_FAILED) {
        say_load(journal, record);
    }
}

/* Engine processes tell of themselves. */
static void look_at_engine(struct journal *journal)
{
    struct engine_counts now;
    runtime_engine_counts(journal->runtime, &now);
    const uint64_t count = now.function_crashes - journal->engine.function_crashes;
    const struct log_field fields[] = {log_number("count", (int64_t)count)};
    if (count > 0) {
        log_say(journal->log, LOG_ERROR, "function process crashed", 1, fields);
    }
    journal->engine = now;
}

void journal_tick(struct journal *journal, int64_t now_ns, bool is_end)
{
    if (journal->log == NULL) {
        return;
    }
    look_at_engine(journal);
    if (is_end || now_ns - journal->told_ns >= TELL_NS) {
        for (uint32_t i = 0; i < REASON_COUNT; i++) {
            const struct log_field fields[] = {
                log_text("reason", reason_name((enum reason)i)),
                log_number("count", (int64_t)journal->refused[i]),
            };
            if (journal->refused[i] > 0) {
                /* What clients do wrong is not the server's fault. */
                log_say(
                    journal->log, i == REASON_INVALID ? LOG_INFO : LOG_WARN, "requests refused", 2,
                    fields);
            }
            journal->refused[i] = 0;
        }
        journal->told_ns = now_ns;
    }
    log_flush(journal->log, is_end);
}
