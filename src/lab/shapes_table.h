/* shapes_table.h - figures that shapes.c draws from; see shapes_table.c. */
#ifndef LAB_SHAPES_TABLE_H
#define LAB_SHAPES_TABLE_H

enum {
    SHAPES_QUANTILES = 12,
    SHAPES_TASKS_STEPS = 48,
    SHAPES_LEVELS_FIRST = 2, /* Tasks of the first row; a graph of one has one level. */
    SHAPES_LEVELS_ROWS = 34, /* The last stands for more tasks, too. */
    SHAPES_LEVEL_ROWS = 19,  /* From one level on. */
};

struct shapes_step {
    double value;
    double part; /* How many are at most that. */
};

extern const struct shapes_step shapes_tasks[SHAPES_TASKS_STEPS];
extern const double shapes_quantiles[SHAPES_QUANTILES];
extern const double shapes_levels[SHAPES_LEVELS_ROWS][SHAPES_QUANTILES];
extern const double shapes_level[SHAPES_LEVEL_ROWS][SHAPES_QUANTILES];
extern const double shapes_run[SHAPES_QUANTILES];

#endif /* LAB_SHAPES_TABLE_H */
