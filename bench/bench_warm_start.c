/*
 * How fast the program over placements is solved again after a change of the rates, and how
 * near the result comes to what more work would give.
 *
 *     bench_restart [MACHINES [SEEDS]]
 *
 * Every other workflow comes more often, the rest less, by 5 or by 20 %. References of the same
 * run: a long descent over the placements of the old solution, and the program from nothing.
 * Mean times of jobs are relative to these, on average over the seeds and with the worst of them.
 * What was taken is of the processor, the best of some rounds, on average over the seeds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mixture/draft_mixture.h"
#include "mixture/mixture.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "mixture_case.h"

enum {
    ROUNDS = 5,
    MACHINES_DEFAULT = 80,
    MACHINES_MAX = 10000,
    SEEDS_DEFAULT = 2,
    SEEDS_MAX = 100,
    DESCENTS = 4, /* Between them what joins cost is counted anew. */
    STEPS = 500,
};

struct solved {
    struct mixture *mixture;
    double seconds;
};

static struct solved solve(const struct mixture_case *the, const struct program_options *options)
{
    struct solved solved = {0};
    struct weft_error error;
    const double start = mixture_case_seconds();
    if (program_solve(&the->input, options, &solved.mixture, NULL, &error) != WEFT_OK) {
        (void)fprintf(stderr, "%s\n", error.message);
        exit(EXIT_FAILURE);
    }
    solved.seconds = mixture_case_seconds() - start;
    return solved;
}

/* The old placements at the new rates, their shares improved until nothing helps. */
static double descend(const struct mixture_case *the, const struct program_options *options)
{
    struct workload *workload;
    struct weft_error error;
    double mean_ns = (double)INFINITY;
    if (workload_create(&the->input, 1, &workload, &error) != WEFT_OK) {
        exit(EXIT_FAILURE);
    }
    struct sites *sites = draft_sites_of(options->start, &the->input, /* joined */ true);
    sites_add_ingress(sites, workload);
    struct draft *draft = draft_create(workload, sites);
    draft->plain_joins = options->plain_joins;
    draft->response.plain_joins = options->plain_joins;
    draft->patterns_max = 0;
    if (draft_from_mixture(draft, options->start, 0, &error) == WEFT_OK &&
        draft_find_feasible(draft)) {
        for (uint32_t i = 0; i < DESCENTS; i++) {
            (void)draft_settle(draft);
            (void)descent_run(&draft->descent, STEPS, 1e-9);
        }
        mean_ns = draft_settle(draft);
    }
    draft_destroy(draft);
    workload_destroy(workload);
    return mean_ns;
}

/* How much longer jobs take, relative: over all seeds together, and with the worst. */
struct excess {
    double sum;
    double worst;
};

struct row {
    double seconds;
    double anew_seconds;
    struct excess descent; /* Over the long descent, */
    struct excess anew;    /* and over the program from nothing. */
    double placements;
};

static void change(struct mixture_case *the, double share)
{
    for (uint32_t i = 0; i < CASE_WORKFLOWS; i++) {
        the->rates[i] *= i % 2 == 0 ? 1 + share : 1 - share;
    }
}

static void add(struct excess *excess, double value)
{
    excess->sum += value;
    excess->worst = value > excess->worst ? value : excess->worst;
}

static void run_seed(
    struct mixture_case_options how, double share, bool plain_joins, struct row *row)
{
    struct mixture_case the;
    mixture_case_open(&the, &how);
    const struct program_options cold = {.plain_joins = plain_joins};
    struct solved old = solve(&the, &cold);
    change(&the, share);
    const struct program_options warm = {.plain_joins = plain_joins, .start = old.mixture};
    double seconds = (double)INFINITY;
    double mean_ns = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct solved again = solve(&the, &warm);
        seconds = again.seconds < seconds ? again.seconds : seconds;
        mean_ns = again.mixture->mean_ns;
        mixture_destroy(again.mixture);
    }
    struct solved anew = solve(&the, &cold);
    row->seconds += seconds;
    row->anew_seconds += anew.seconds;
    add(&row->descent, mean_ns / descend(&the, &warm) - 1);
    add(&row->anew, mean_ns / anew.mixture->mean_ns - 1);
    for (uint32_t i = 0; i < CASE_WORKFLOWS; i++) {
        row->placements += old.mixture->workflows[i].pattern_count;
    }
    mixture_destroy(old.mixture);
    mixture_destroy(anew.mixture);
    mixture_case_close(&the);
}

static uint32_t read_count(const char *text, uint32_t most)
{
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    if (*end != '\0' || value == 0 || value > most) {
        (void)fprintf(stderr, "usage: bench_restart [MACHINES [SEEDS]]\n");
        exit(EXIT_FAILURE);
    }
    return (uint32_t)value;
}

int main(int argc, char **argv)
{
    static const double loads[] = {0.5, 0.7, 0.85};
    static const double shares[] = {0.05, 0.2};
    const uint32_t machines =
        argc > 1 ? read_count(argv[1], MACHINES_MAX) : (uint32_t)MACHINES_DEFAULT;
    const uint32_t seeds = argc > 2 ? read_count(argv[2], SEEDS_MAX) : (uint32_t)SEEDS_DEFAULT;
    (void)printf(
        "%u machines, %u seeds: mean and worst\n"
        "machines   joins  load  change  placements   restart      anew   of a descent"
        "         of anew\n",
        machines, seeds);
    for (uint32_t i = 0; i < 24; i++) {
        const bool unequal = i % 2 == 1;
        const bool plain_joins = i / 2 % 2 == 1;
        const double share = shares[i / 4 % 2];
        const double load = loads[i / 8];
        struct row row = {
            .descent.worst = (double)-INFINITY,
            .anew.worst = (double)-INFINITY,
        };
        for (uint32_t seed = 1; seed <= seeds; seed++) {
            const struct mixture_case_options how = {
                .machines = machines, .load = load, .seed = seed, .unequal = unequal};
            run_seed(how, share, plain_joins, &row);
        }
        (void)printf(
            "%-9s %6s  %4.2f %5.0f %%  %10.0f %6.2f ms %6.0f ms  %+7.2f %+6.2f %%  %+7.2f %+6.2f "
            "%%\n",
            unequal ? "different" : "equal", plain_joins ? "plain" : "mean", load, 100 * share,
            row.placements / seeds, 1e3 * row.seconds / seeds, 1e3 * row.anew_seconds / seeds,
            100 * row.descent.sum / seeds, 100 * row.descent.worst, 100 * row.anew.sum / seeds,
            100 * row.anew.worst);
        (void)fflush(stdout);
    }
    return EXIT_SUCCESS;
}
