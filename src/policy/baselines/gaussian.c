/*
 * gaussian.c - Gaussian processes by Cholesky decomposition (Rasmussen and Williams, 2006,
 * algorithm 2.1; leaving one out: equations 5.10 to 5.12).
 */
#include "policy/baselines/gaussian.h"

#include <math.h>

#include "base/assert.h"
#include "base/exact.h"
#include "base/numbers.h"
#include "base/units.h"

typedef double matrix[GAUSSIAN_POINTS_MAX][GAUSSIAN_POINTS_MAX];

static const double lengths[] = {0.15, 0.3, 0.6, 1.2, 2.4, 4.8};
static const double noises[] = {1e-4, 1e-2, 5e-2};

static double kernel(const struct gaussian *gaussian, const double *a, const double *b)
{
    double square = 0;
    for (uint32_t i = 0; i < gaussian->dims; i++) {
        square += (a[i] - b[i]) * (a[i] - b[i]);
    }
    const double far = sqrt(5 * square) / gaussian->length;
    return (1 + far + far * far / 3) * exact_exp(-far);
}

/* The lower triangle of @a, in place, such that it times itself turned is @a. */
static void decompose(matrix a, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            double sum = a[i][j];
            for (uint32_t k = 0; k < j; k++) {
                sum -= a[i][k] * a[j][k];
            }
            if (i == j) {
                a[i][i] = sqrt(max_double(sum, 1e-12));
            } else {
                a[i][j] = sum / a[j][j];
            }
        }
    }
}

/* Solve L x = b in place. */
static void solve_lower(const struct gaussian *gaussian, double *x)
{
    const uint32_t count = gaussian->count;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            x[i] -= gaussian->factor[i][k] * x[k];
        }
        x[i] /= gaussian->factor[i][i];
    }
}

/* Solve L' x = b in place. */
static void solve_upper(const struct gaussian *gaussian, double *x)
{
    const uint32_t count = gaussian->count;
    for (uint32_t i = count; i-- > 0;) {
        for (uint32_t k = i + 1; k < count; k++) {
            x[i] -= gaussian->factor[k][i] * x[k];
        }
        x[i] /= gaussian->factor[i][i];
    }
}

void gaussian_init(struct gaussian *gaussian, uint32_t dims)
{
    ASSERT(dims > 0 && dims <= GAUSSIAN_DIMS_MAX);
    gaussian->count = 0;
    gaussian->dims = dims;
    gaussian->mean = 0;
    gaussian->scale = 1;
}

bool gaussian_add(struct gaussian *gaussian, const double *point, double value)
{
    if (gaussian->count == GAUSSIAN_POINTS_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < gaussian->dims; i++) {
        gaussian->points[gaussian->count][i] = point[i];
    }
    gaussian->values[gaussian->count++] = (value - gaussian->mean) / gaussian->scale;
    return true;
}

/* Bring the values to mean 0 and deviation 1. */
static void standardise(struct gaussian *gaussian)
{
    double sum = 0;
    double squares = 0;
    for (uint32_t i = 0; i < gaussian->count; i++) {
        gaussian->values[i] = gaussian->values[i] * gaussian->scale + gaussian->mean;
        sum += gaussian->values[i];
    }
    gaussian->mean = sum / gaussian->count;
    for (uint32_t i = 0; i < gaussian->count; i++) {
        const double off = gaussian->values[i] - gaussian->mean;
        squares += off * off;
    }
    const double sd = sqrt(squares / gaussian->count);
    gaussian->scale = sd > 1e-9 ? sd : 1;
    for (uint32_t i = 0; i < gaussian->count; i++) {
        gaussian->values[i] = (gaussian->values[i] - gaussian->mean) / gaussian->scale;
    }
}

/* The lower triangle of the kernel of all points with each other, without noise. */
static void relate(const struct gaussian *gaussian, matrix kernel_out)
{
    for (uint32_t i = 0; i < gaussian->count; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            kernel_out[i][j] = kernel(gaussian, gaussian->points[i], gaussian->points[j]);
        }
    }
}

/* Decompose @related with the noise that is set; returns how likely the values are. */
static double condition(struct gaussian *gaussian, matrix related)
{
    const uint32_t count = gaussian->count;
    double likely = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            gaussian->factor[i][j] = related[i][j] + (i == j ? gaussian->noise : 0);
        }
        gaussian->weights[i] = gaussian->values[i];
    }
    decompose(gaussian->factor, count);
    solve_lower(gaussian, gaussian->weights);
    solve_upper(gaussian, gaussian->weights);
    for (uint32_t i = 0; i < count; i++) {
        likely -= gaussian->values[i] * gaussian->weights[i] / 2;
        likely -= exact_log(gaussian->factor[i][i]);
    }
    return likely;
}

void gaussian_refit(struct gaussian *gaussian)
{
    matrix related;
    relate(gaussian, related);
    (void)condition(gaussian, related); /* How likely it is does not matter here. */
}

void gaussian_fit(struct gaussian *gaussian)
{
    ASSERT(gaussian->count > 0);
    double best = 0;
    double best_length = 0;
    double best_noise = 0;
    matrix related;
    standardise(gaussian);
    for (uint32_t i = 0; i < ARRAY_COUNT(lengths); i++) {
        gaussian->length = lengths[i];
        relate(gaussian, related);
        for (uint32_t k = 0; k < ARRAY_COUNT(noises); k++) {
            gaussian->noise = noises[k];
            const double likely = condition(gaussian, related);
            if (best_length == 0 || likely > best) {
                best = likely;
                best_length = lengths[i];
                best_noise = noises[k];
            }
        }
    }
    gaussian->length = best_length;
    gaussian->noise = best_noise;
    gaussian_refit(gaussian);
}

struct gaussian_guess gaussian_at(const struct gaussian *gaussian, const double *point)
{
    double row[GAUSSIAN_POINTS_MAX];
    double mean = 0;
    double known = 0;
    for (uint32_t i = 0; i < gaussian->count; i++) {
        row[i] = kernel(gaussian, point, gaussian->points[i]);
        mean += row[i] * gaussian->weights[i];
    }
    solve_lower(gaussian, row);
    for (uint32_t i = 0; i < gaussian->count; i++) {
        known += row[i] * row[i];
    }
    const double variance = 1 - known;
    return (struct gaussian_guess){
        .mean = gaussian->mean + gaussian->scale * mean,
        .sd = gaussian->scale * sqrt(max_double(variance, 1e-12)),
    };
}

void gaussian_leave_one_out(const struct gaussian *gaussian, struct gaussian_guess *guesses_out)
{
    for (uint32_t i = 0; i < gaussian->count; i++) {
        double column[GAUSSIAN_POINTS_MAX] = {0};
        column[i] = 1;
        solve_lower(gaussian, column);
        double inverse = 0; /* Element i, i of the inverse. */
        for (uint32_t k = i; k < gaussian->count; k++) {
            inverse += column[k] * column[k];
        }
        const double mean = gaussian->values[i] - gaussian->weights[i] / inverse;
        guesses_out[i] = (struct gaussian_guess){
            .mean = gaussian->mean + gaussian->scale * mean,
            .sd = gaussian->scale * sqrt(1 / inverse),
        };
    }
}

void gaussian_join(const struct gaussian *gaussian, struct gaussian_joint *joint_out)
{
    const uint32_t count = gaussian->count;
    matrix solved; /* Rows: the factor's inverse times a column of the kernel. */
    relate(gaussian, joint_out->factor);
    joint_out->count = count;
    for (uint32_t i = 0; i < count; i++) {
        double mean = 0;
        for (uint32_t k = 0; k < count; k++) {
            solved[i][k] = k <= i ? joint_out->factor[i][k] : joint_out->factor[k][i];
            mean += solved[i][k] * gaussian->weights[k];
        }
        joint_out->means[i] = gaussian->mean + gaussian->scale * mean;
        solve_lower(gaussian, solved[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            for (uint32_t k = 0; k < count; k++) {
                joint_out->factor[i][j] -= solved[i][k] * solved[j][k];
            }
        }
        joint_out->factor[i][i] += 1e-8;
    }
    decompose(joint_out->factor, count);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k <= i; k++) {
            joint_out->factor[i][k] *= gaussian->scale;
        }
    }
}

void gaussian_draw(const struct gaussian_joint *joint, const double *normals, double *values_out)
{
    for (uint32_t i = 0; i < joint->count; i++) {
        values_out[i] = joint->means[i];
        for (uint32_t k = 0; k <= i; k++) {
            values_out[i] += joint->factor[i][k] * normals[k];
        }
    }
}
