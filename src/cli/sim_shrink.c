#include "cli/sim_shrink.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "console/whole_file.h"
#include "document/scenario.h"
#include "lab/checked_run.h"
#include "lab/shrink.h"

enum { SECONDS_MAX = 30 };

/* Everything that the callbacks of a shrink need. */
struct shrinking {
    struct shrink shrink;
    struct checked_run checked;
    char failure[CHECKED_RUN_FAILURE_BYTES_MAX]; /* How the scenario failed at first. */
    enum weft_status status;                     /* Of the checked runs themselves. */
    struct weft_error *error;
    bool is_watched; /* stderr is a terminal. */
};

static bool fails(void *context, const struct scenario *scenario)
{
    struct shrinking *shrinking = context;
    shrinking->status = checked_run_do(&shrinking->checked, scenario, shrinking->error);
    if (shrinking->status != WEFT_OK) {
        shrinking->shrink.stop = true;
        return false;
    }
    return strcmp(shrinking->checked.failure, shrinking->failure) == 0;
}

static uint64_t piece_count(const struct scenario *scenario, enum scenario_part part)
{
    return part == CUT_JOBS ? scenario->jobs : scenario_cut_count(scenario, part);
}

static bool is_counted(enum scenario_part part)
{
    return scenario_cut_name(part) != NULL && !scenario_cut_is_other_way(part);
}

static void on_smaller(void *context, const struct scenario *scenario, uint32_t tries)
{
    const struct shrinking *shrinking = context;
    if (!shrinking->is_watched) {
        return;
    }
    (void)fprintf(stderr, "\r\033[K%" PRIu32 " tries:", tries);
    for (uint32_t part = 0; part < CUT_PARTS; part++) {
        if (is_counted((enum scenario_part)part)) {
            (void)fprintf(
                stderr, " %" PRIu64 " %s", piece_count(scenario, (enum scenario_part)part),
                scenario_cut_name((enum scenario_part)part));
        }
    }
    (void)fflush(stderr);
}

static enum weft_status write_out(
    const struct scenario *scenario, const char *path, struct weft_error *error)
{
    struct whole_file file;
    enum weft_status status = whole_file_open(&file, path, error);
    if (status != WEFT_OK) {
        return status;
    }
    status = scenario_write(scenario, file.stream, error);
    if (status != WEFT_OK) {
        whole_file_discard(&file);
        return status;
    }
    return whole_file_commit(&file, error);
}

static void print_smaller(
    const struct shrinking *shrinking, const struct scenario *before, const struct scenario *after,
    const struct sim_shrink_options *options)
{
    (void)printf("%s fails: %s\n", before->name, shrinking->failure);
    for (uint32_t part = 0; part < CUT_PARTS; part++) {
        const uint64_t had = piece_count(before, (enum scenario_part)part);
        const uint64_t has = piece_count(after, (enum scenario_part)part);
        if (is_counted((enum scenario_part)part) && had > 0) {
            (void)printf(
                "  %-10s %" PRIu64 " -> %" PRIu64 "\n", scenario_cut_name((enum scenario_part)part),
                had, has);
        }
    }
    (void)printf("  policy     %s -> %s\n", before->policy, after->policy);
    (void)printf(
        "  tries      %" PRIu32 "%s\n", shrinking->shrink.tries,
        shrinking->shrink.tries < options->tries_max ? "" : ", all that were allowed");
    (void)printf("repeat it with: weft sim %s --check", options->out);
    if (options->events_given) {
        (void)printf(" --events-max %" PRIu64, options->events_max);
    }
    (void)printf("\n");
    (void)fflush(stdout); /* An interrupt ends the program as it is. */
}

/* The scenario fails: find a smaller one, and write it even if an interrupt came. */
static enum weft_status cut_down(
    struct shrinking *shrinking, const struct scenario *scenario,
    const struct sim_shrink_options *options)
{
    struct scenario *smallest = shrink_run(&shrinking->shrink, scenario);
    if (shrinking->is_watched) {
        (void)fputs("\r\033[K", stderr);
    }
    enum weft_status status = shrinking->status;
    if (status == WEFT_OK || status == WEFT_CANCELLED) {
        const enum weft_status written = write_out(smallest, options->out, shrinking->error);
        status = written == WEFT_OK ? status : written;
        if (written == WEFT_OK) {
            print_smaller(shrinking, scenario, smallest, options);
        }
    }
    scenario_destroy(smallest);
    return status;
}

enum weft_status sim_shrink(
    const struct scenario *scenario, const struct sim_shrink_options *options, bool *has_failed_out,
    struct weft_error *error)
{
    struct shrinking shrinking = {
        .shrink = {.fails = fails, .on_smaller = on_smaller, .tries_max = options->tries_max},
        .checked = {.events_max = options->events_max, .seconds_max = SECONDS_MAX},
        .error = error,
        .is_watched = isatty(STDERR_FILENO) == 1,
    };
    shrinking.shrink.context = &shrinking;
    const enum weft_status status = checked_run_do(&shrinking.checked, scenario, error);
    if (status != WEFT_OK) {
        return status;
    }
    *has_failed_out = shrinking.checked.failure[0] != '\0';
    if (!*has_failed_out) {
        (void)printf("%s does not fail: nothing to cut down\n", scenario->name);
        return WEFT_OK;
    }
    memcpy(shrinking.failure, shrinking.checked.failure, sizeof(shrinking.failure));
    return cut_down(&shrinking, scenario, options);
}
