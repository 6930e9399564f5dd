#include "lab/trial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "document/scenario_save.h"
#include "lab/crew.h"
#include "lab/run.h"

enum { LINE_BYTES_MAX = 512 };

/* What a child says if it lives. */
struct outcome {
    char failure[VERDICT_BYTES_MAX];
};

struct attempt {
    struct trial *trial;
    const struct scenario *scenario;
    FILE *words; /* What the child said on stderr. */
};

/* @scenario as a file would give it back. NULL if that is refused. The caller owns it. */
static struct scenario *through_document(const struct scenario *scenario)
{
    char *text = NULL;
    size_t size = 0;
    struct weft_error error;
    struct tree *tree = NULL;
    struct scenario *again = NULL;
    FILE *file = open_memstream(&text, &size);
    ASSERT(file != NULL); /* Only memory can be missing: see base/memory.h. */
    const bool is_written = scenario_write(scenario, file, &error) == WEFT_OK;
    const bool is_closed = fclose(file) == 0;
    if (is_written && is_closed && tree_parse("cut", text, size, &tree, &error) == WEFT_OK &&
        scenario_read(tree->root, &again, &error) != WEFT_OK) {
        again = NULL;
    }
    tree_destroy(tree);
    free(text);
    return again;
}

/* In the child. If it lives to its end, the outcome says how the run went. */
static void work(void *context, uint32_t index, void *result)
{
    const struct attempt *attempt = context;
    const struct rlimit none = {0};
    struct outcome *outcome = result;
    struct policy_set policies;
    struct weft_error error;
    (void)index;
    (void)setrlimit(RLIMIT_CORE, &none); /* Hundreds may die; nobody wants their cores. */
    if (dup2(fileno(attempt->words), STDERR_FILENO) < 0) {
        return;
    }
    (void)alarm(attempt->trial->seconds_max);
    struct scenario *scenario = through_document(attempt->scenario);
    if (scenario == NULL || policy_set_parse(scenario->policy, &policies, &error) != WEFT_OK) {
        return;
    }
    const struct run_options options = {
        .policies = &policies,
        .seed = scenario->seeds[0],
        .check = true,
        .events_max = attempt->trial->events_max,
    };
    struct run_result run;
    const bool is_finished = run_simulate(scenario, &options, &run);
    ASSERT(is_finished); /* Nobody catches interrupts in a child. */
    (void)snprintf(outcome->failure, sizeof(outcome->failure), "%s", run.broken);
}

/* The first line that speaks of an assertion, without its end. False if there is none. */
static bool find_assertion(FILE *words, char out[TRIAL_FAILURE_BYTES_MAX])
{
    char line[LINE_BYTES_MAX];
    rewind(words);
    while (fgets(line, sizeof(line), words) != NULL) {
        if (strstr(line, "assertion failed: ") != NULL) {
            line[strcspn(line, "\n")] = '\0';
            (void)snprintf(out, TRIAL_FAILURE_BYTES_MAX, "%.*s", TRIAL_FAILURE_BYTES_MAX - 1, line);
            return true;
        }
    }
    return false;
}

static void done(void *context, uint32_t index, const void *result, const char *death)
{
    const struct attempt *attempt = context;
    struct trial *trial = attempt->trial;
    const struct outcome *outcome = result;
    (void)index;
    if (outcome != NULL) {
        (void)snprintf(trial->failure, sizeof(trial->failure), "%s", outcome->failure);
    } else if (find_assertion(attempt->words, trial->failure)) {
        return;
    } else if (strncmp(death, "signal 14 ", strlen("signal 14 ")) == 0) {
        (void)snprintf(
            trial->failure, sizeof(trial->failure), "no end after %u s", trial->seconds_max);
    } else {
        (void)snprintf(trial->failure, sizeof(trial->failure), "%s", death);
    }
}

enum weft_status trial_run(
    struct trial *trial, const struct scenario *scenario, struct weft_error *error)
{
    struct attempt attempt = {.trial = trial, .scenario = scenario, .words = tmpfile()};
    trial->failure[0] = '\0';
    if (attempt.words == NULL) {
        return error_set(error, WEFT_IO, "a temporary file: %s", strerror(errno));
    }
    const struct crew crew = {
        .count = 1,
        .parallel = 1,
        .result_bytes = sizeof(struct outcome),
        .context = &attempt,
        .work = work,
        .done = done,
    };
    const enum weft_status status = crew_run(&crew, error);
    (void)fclose(attempt.words); /* It is read, and gone. */
    return status;
}
