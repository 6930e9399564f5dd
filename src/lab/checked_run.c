#include "lab/checked_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "document/scenario.h"
#include "lab/child_work.h"
#include "lab/run.h"

enum { LINE_BYTES_MAX = 512 };

/* What a child says if it lives. */
struct verdict {
    char failure[RUN_INVARIANTS_BYTES_MAX];
};

struct child {
    struct checked_run *checked;
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

/* In the child. If it lives to its end, the verdict says how the run went. */
static void run_one(void *context, uint32_t index, void *result)
{
    const struct child *child = context;
    const struct rlimit none = {0};
    struct verdict *verdict = result;
    struct policy_set policies;
    struct weft_error error;
    (void)index;
    (void)setrlimit(RLIMIT_CORE, &none); /* Hundreds may die, and their cores are useless. */
    if (dup2(fileno(child->words), STDERR_FILENO) < 0) {
        return;
    }
    (void)alarm(child->checked->seconds_max);
    struct scenario *scenario = through_document(child->scenario);
    if (scenario == NULL || policy_set_parse(scenario->policy, &policies, &error) != WEFT_OK) {
        return;
    }
    const struct run_options options = {
        .policies = &policies,
        .seed = scenario->seeds[0],
        .check = true,
        .events_max = child->checked->events_max,
    };
    struct run_result run;
    const bool is_finished = run_simulate(scenario, &options, &run);
    ASSERT(is_finished); /* A child does not catch interrupts. */
    (void)snprintf(verdict->failure, sizeof(verdict->failure), "%s", run.broken);
}

/* The first line that speaks of an assertion, without its end. False if there is none. */
static bool find_assertion(FILE *words, char out[CHECKED_RUN_FAILURE_BYTES_MAX])
{
    char line[LINE_BYTES_MAX];
    rewind(words);
    while (fgets(line, sizeof(line), words) != NULL) {
        if (strstr(line, "assertion failed: ") != NULL) {
            line[strcspn(line, "\n")] = '\0';
            (void)snprintf(
                out, CHECKED_RUN_FAILURE_BYTES_MAX, "%.*s", CHECKED_RUN_FAILURE_BYTES_MAX - 1,
                line);
            return true;
        }
    }
    return false;
}

static void done(void *context, uint32_t index, const void *result, const char *death)
{
    const struct child *child = context;
    struct checked_run *checked = child->checked;
    const struct verdict *verdict = result;
    (void)index;
    if (verdict != NULL) {
        (void)snprintf(checked->failure, sizeof(checked->failure), "%s", verdict->failure);
    } else if (find_assertion(child->words, checked->failure)) {
        return;
    } else if (strncmp(death, "signal 14 ", strlen("signal 14 ")) == 0) {
        (void)snprintf(
            checked->failure, sizeof(checked->failure), "no end after %u s", checked->seconds_max);
    } else {
        (void)snprintf(checked->failure, sizeof(checked->failure), "%s", death);
    }
}

enum weft_status checked_run_do(
    struct checked_run *checked, const struct scenario *scenario, struct weft_error *error)
{
    ASSERT(checked->seconds_max > 0);
    struct child child = {.checked = checked, .scenario = scenario, .words = tmpfile()};
    checked->failure[0] = '\0';
    if (child.words == NULL) {
        return error_set(error, WEFT_IO, "a temporary file: %s", strerror(errno));
    }
    const struct child_work work = {
        .count = 1,
        .parallel = 1,
        .result_bytes = sizeof(struct verdict),
        .context = &child,
        .run = run_one,
        .done = done,
    };
    const enum weft_status status = child_work_run(&work, error);
    (void)fclose(child.words); /* It is read, and gone. */
    return status;
}
