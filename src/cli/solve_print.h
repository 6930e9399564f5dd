/* solve_print.h - what a mixture is expected to do, for people and for programs. */
#ifndef CLI_SOLVE_PRINT_H
#define CLI_SOLVE_PRINT_H

#include <stdio.h>

struct mixture;
struct program_report;
struct scenario;

/* A solved mixture, what the solver said of it, and how long it took. */
struct solution {
    const struct scenario *scenario;
    const struct mixture *mixture;
    const struct program_report *report;
    double wall_s;
};

void solve_print(const struct solution *solution, FILE *file);
void solve_print_json(const struct solution *solution, FILE *file);

#endif /* CLI_SOLVE_PRINT_H */
