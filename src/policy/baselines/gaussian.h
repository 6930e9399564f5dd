/*
 * gaussian.h - a Gaussian process: a function guessed from noisy values at a few points.
 *
 * Matérn 5/2 kernel; values are brought to mean 0 and deviation 1. Length and noise are those
 * of a small grid under which the values are most likely. The caller owns the memory; fitting
 * takes the time of a Cholesky decomposition for each entry of the grid.
 */
#ifndef POLICY_BASELINES_GAUSSIAN_H
#define POLICY_BASELINES_GAUSSIAN_H

#include <stdbool.h>
#include <stdint.h>

enum { GAUSSIAN_POINTS_MAX = 96, GAUSSIAN_DIMS_MAX = 48 };

struct gaussian {
    uint32_t count;
    uint32_t dims;
    double length;
    double noise; /* Variance, of values whose own is 1. */
    double mean;
    double scale;
    double points[GAUSSIAN_POINTS_MAX][GAUSSIAN_DIMS_MAX];
    double values[GAUSSIAN_POINTS_MAX]; /* Brought to scale. */
    double factor[GAUSSIAN_POINTS_MAX][GAUSSIAN_POINTS_MAX];
    double weights[GAUSSIAN_POINTS_MAX];
};

struct gaussian_guess {
    double mean;
    double sd;
};

/* Start again, with points of @dims coordinates. */
void gaussian_init(struct gaussian *gaussian, uint32_t dims);

/* Add a point; gaussian_fit() or gaussian_refit() has to follow. False if there is no room. */
bool gaussian_add(struct gaussian *gaussian, const double *point, double value);

/* Choose length and noise. At least one point. */
void gaussian_fit(struct gaussian *gaussian);

/* Take in what was added, with scale, length and noise as they were. */
void gaussian_refit(struct gaussian *gaussian);

/* What the function is believed to be at @point, without noise. */
struct gaussian_guess gaussian_at(const struct gaussian *gaussian, const double *point);

/* What value number @index would have been believed to be without it, with noise. */
void gaussian_leave_one_out(const struct gaussian *gaussian, struct gaussian_guess *guesses_out);

/* The function at all points of a process, together: what draws of it are made of. */
struct gaussian_joint {
    uint32_t count;
    double means[GAUSSIAN_POINTS_MAX];
    double factor[GAUSSIAN_POINTS_MAX][GAUSSIAN_POINTS_MAX];
};

void gaussian_join(const struct gaussian *gaussian, struct gaussian_joint *joint_out);

/* A draw of the function from as many normal draws as there are points. */
void gaussian_draw(const struct gaussian_joint *joint, const double *normals, double *values_out);

#endif /* POLICY_BASELINES_GAUSSIAN_H */
