/*
 * Random clusters, workflows, loads, policies and faults; only invariants are expected.
 *
 * Every choice comes from the seed, and every seed is run twice: the traces must be equal.
 * A run that breaks an invariant stops the program, which then prints the command that
 * repeats it, and those that cut it down to something small:
 *
 *     test_swarm                     seeds 1 to 300, or a hundred others (test/CMakeLists.txt)
 *     test_swarm SEED                that one, with its trace
 *     test_swarm --save SEED FILE    that one as a scenario, for weft sim FILE --check
 *     test_swarm --seeds N FIRST     N seeds from FIRST on
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "document/scenario.h"
#include "swarm.h"
#include "trace/text.h"

/* Other builds run other seeds: see test/CMakeLists.txt. */
#ifndef SEED_FIRST
#define SEED_FIRST    1
#define SEEDS_PER_RUN 300
#endif

enum { EVENTS_MAX = 30000000 };

static const char *program;
static char repeat[1024];

/* What a run is watched for. */
struct watch {
    const struct catalogue *shown; /* NULL: nothing is printed. */
    double latency_sum_ns;         /* Of all jobs, however they ended. */
    uint32_t silences;             /* Jobs that ran again because nothing was heard of them. */
};

static void on_record(void *context, const struct record *record)
{
    struct watch *watch = context;
    assert_int_not_equal(record->reason, REASON_TOO_LARGE); /* Every task fits somewhere. */
    if (record->kind == RECORD_ANSWERED) {
        watch->latency_sum_ns += (double)record->value;
    }
    if (record->kind == RECORD_REPEATED && record->reason == REASON_SILENCE) {
        watch->silences++;
    }
    if (watch->shown == NULL) {
        return;
    }
    char line[TRACE_LINE_BYTES_MAX];
    (void)trace_text(record, watch->shown, line, sizeof(line));
    (void)puts(line);
}

/* An ASSERT stops the program, or it has taken too long: say how to see it again. */
static void on_end(int signal_number)
{
    const ssize_t written = write(STDERR_FILENO, repeat, strlen(repeat));
    (void)written;
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
}

static uint64_t run_seed(uint64_t seed, bool shown)
{
    struct swarm swarm;
    struct report report;
    (void)snprintf(
        repeat, sizeof(repeat),
        "seed %" PRIu64 " broke an invariant; repeat it with: %s %" PRIu64 "\n"
        "cut it down with: %s --save %" PRIu64 " seed.yaml && "
        "weft sim seed.yaml --check --shrink small.yaml\n",
        seed, program, seed, program, seed);
    swarm_draw(&swarm, seed);
    if (shown) {
        swarm_print(&swarm);
    }
    struct watch watch = {.shown = shown ? swarm.catalogue : NULL};
    swarm.options.on_record = on_record;
    swarm.options.context = &watch;
    struct sim *sim = sim_create(&swarm.options);
    if (sim_run_some(sim, EVENTS_MAX)) {
        (void)fprintf(stderr, "seed %" PRIu64 ": no end after %d events\n", seed, EVENTS_MAX);
        abort(); /* Progress is an invariant too. */
    }
    sim_report(sim, &report);
    assert_int_equal(
        report.completed + report.refused + report.failed + report.cancelled, report.jobs);
    if (swarm.options.fault_count == 0 && swarm.options.fault_random_count == 0) {
        /* Every task fits somewhere: where nothing breaks no job fails, nor is one run twice. */
        const bool admits = swarm.policies.roles[ROLE_ADMIT].policy != NULL;
        assert_int_equal(report.failed + (admits ? 0 : report.refused), 0);
        assert_int_equal(report.repeated, 0);
    }
    if (!sim_may_be_silent(&swarm.options)) { /* Nobody has to find out by waiting. */
        assert_int_equal(watch.silences, 0);
    }
    /* Little's law: jobs in the system over all time are the times of all jobs in it. */
    const double area_ns = report.in_system_mean * report.duration_s * 1e9;
    assert_true(fabs(area_ns - watch.latency_sum_ns) <= 1 + 1e-9 * area_ns);
    sim_destroy(sim);
    swarm_free(&swarm);
    return report.trace_hash;
}

static void run_twice(uint64_t seed)
{
    const uint64_t first = run_seed(seed, /* shown */ false);
    const uint64_t second = run_seed(seed, /* shown */ false);
    if (first != second) {
        (void)fprintf(stderr, "seed %" PRIu64 ": two runs, two traces\n", seed);
        abort();
    }
}

static void no_seed_breaks_an_invariant(void **state)
{
    (void)state;
    for (uint64_t seed = SEED_FIRST; seed < SEED_FIRST + SEEDS_PER_RUN; seed++) {
        run_twice(seed);
    }
    repeat[0] = '\0';
}

/* What did not stop the program still has to say which seed it was. */
static int say_seed(void **state)
{
    (void)state;
    (void)fputs(repeat, stderr);
    return 0;
}

/* An expectation ends the program where no test runs. */
static void say_at_exit(void)
{
    (void)fputs(repeat, stderr);
}

static int soak(uint64_t count, uint64_t first)
{
    (void)atexit(say_at_exit);
    for (uint64_t seed = first; seed < first + count; seed++) {
        run_twice(seed);
    }
    repeat[0] = '\0';
    (void)printf("seeds %" PRIu64 " to %" PRIu64 ": passed\n", first, first + count - 1);
    return EXIT_SUCCESS;
}

static int save(uint64_t seed, const char *path)
{
    struct swarm swarm;
    struct weft_error error = {0};
    swarm_draw(&swarm, seed);
    struct scenario *scenario = swarm_to_scenario(&swarm);
    FILE *file = fopen(path, "w");
    bool saved = file != NULL && scenario_write(scenario, file, &error) == WEFT_OK;
    saved = file != NULL && fclose(file) == 0 && saved;
    if (!saved) {
        (void)fprintf(stderr, "%s: cannot be written: %s\n", path, error.message);
    }
    scenario_destroy(scenario);
    return saved ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    program = argv[0];
    (void)signal(SIGABRT, on_end);
    (void)signal(SIGXCPU, on_end);
    if (argc == 4 && strcmp(argv[1], "--seeds") == 0) {
        return soak(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    }
    if (argc == 4 && strcmp(argv[1], "--save") == 0) {
        return save(strtoull(argv[2], NULL, 10), argv[3]);
    }
    if (argc == 2) {
        (void)run_seed(strtoull(argv[1], NULL, 10), /* shown */ true);
        return EXIT_SUCCESS;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(no_seed_breaks_an_invariant, say_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
