#include "mixture_oracle.h"

#include <math.h>

#include "mixture/draft.h"

#ifdef WITH_IPOPT

#include <stdlib.h>

#include <stdio.h>

#include <IpStdCInterface.h>

#include "base/memory.h"
#include "mixture/workload.h"

#define NS_PER_MS 1e6

/* Of callbacks whose parameters are not ours to choose. */
#define JACOBIAN_PARAMETERS                                                                        \
    Index n, Number *x, Bool is_new, Index m, Index count, Index *rows, Index *columns,            \
        Number *values, UserDataPtr data
#define PUSH         1e-8 /* Away from the bounds, at the start. */
#define BARRIER_NEAR 1e-8

#define HESSIAN_PARAMETERS                                                                         \
    Index n, Number *x, Bool is_new, Number factor, Index m, Number *lambda, Bool new_lambda,      \
        Index count, Index *rows, Index *columns, Number *values, UserDataPtr data

/* What the callbacks see: the last point is evaluated once for value and slopes. */
struct oracle {
    struct draft *draft;
    double *shares;
};

static bool evaluate(struct oracle *oracle, Number *x)
{
    for (uint32_t i = 0; i < oracle->draft->patterns.count; i++) {
        oracle->shares[i] = x[i] > 0 ? x[i] : 0;
    }
    return !isinf(congestion_evaluate(&oracle->draft->congestion, oracle->shares));
}

static Bool eval_f(Index n, Number *x, Bool is_new, Number *value, UserDataPtr data)
{
    struct oracle *oracle = data;
    (void)n;
    (void)is_new;
    if (!evaluate(oracle, x)) {
        return FALSE;
    }
    *value = oracle->draft->congestion.mean_ns / NS_PER_MS;
    return TRUE;
}

static Bool eval_grad_f(Index n, Number *x, Bool is_new, Number *gradient, UserDataPtr data)
{
    struct oracle *oracle = data;
    const struct workload *workload = oracle->draft->workload;
    (void)is_new;
    if (!evaluate(oracle, x)) {
        return FALSE;
    }
    congestion_slopes(&oracle->draft->congestion);
    for (Index i = 0; i < n; i++) {
        const uint32_t stream = oracle->draft->patterns.items[i].stream;
        gradient[i] = workload->streams[stream].rate / workload->rate *
                      oracle->draft->congestion.slopes[i] / NS_PER_MS;
    }
    return TRUE;
}

/* The shares of each stream sum to 1. */
static Bool eval_g(Index n, Number *x, Bool is_new, Index m, Number *g, UserDataPtr data)
{
    const struct oracle *oracle = data;
    (void)is_new;
    for (Index i = 0; i < m; i++) {
        g[i] = 0;
    }
    for (Index i = 0; i < n; i++) {
        g[oracle->draft->patterns.items[i].stream] += x[i];
    }
    return TRUE;
}

static Bool eval_jac_g(JACOBIAN_PARAMETERS)
{
    const struct oracle *oracle = data;
    (void)x;
    (void)is_new;
    (void)m;
    (void)count;
    for (Index i = 0; i < n; i++) {
        if (values != NULL) {
            values[i] = 1;
        } else {
            rows[i] = (Index)oracle->draft->patterns.items[i].stream;
            columns[i] = i;
        }
    }
    return TRUE;
}

static Bool eval_h(HESSIAN_PARAMETERS)
{
    (void)n;
    (void)x;
    (void)is_new;
    (void)factor;
    (void)m;
    (void)lambda;
    (void)new_lambda;
    (void)count;
    (void)rows;
    (void)columns;
    (void)values;
    (void)data;
    return FALSE; /* Approximated. */
}

static void set_text(IpoptProblem problem, const char *name, const char *value)
{
    char name_copy[64];
    char value_copy[64];
    (void)snprintf(name_copy, sizeof(name_copy), "%s", name);
    (void)snprintf(value_copy, sizeof(value_copy), "%s", value);
    (void)AddIpoptStrOption(problem, name_copy, value_copy);
}

static void set_number(IpoptProblem problem, const char *name, double value)
{
    char name_copy[64];
    (void)snprintf(name_copy, sizeof(name_copy), "%s", name);
    (void)AddIpoptNumOption(problem, name_copy, value);
}

bool mixture_oracle_is_there(void)
{
    return true;
}

double mixture_oracle_solve(struct draft *draft, double seconds, bool near, bool *ended_out)
{
    const uint32_t n = draft->patterns.count;
    const uint32_t m = draft->workload->stream_count;
    struct oracle oracle = {.draft = draft};
    oracle.shares = memory_zeroed(n, sizeof(double));
    double *bounds = memory_zeroed(4 * ((size_t)n + m), sizeof(*bounds));
    double *low = bounds;
    double *high = low + n;
    double *sums = high + n;
    double *x = sums + m;
    double *lambda = x + n;
    for (uint32_t i = 0; i < n; i++) {
        high[i] = 1;
        x[i] = draft->descent.shares[i];
    }
    for (uint32_t i = 0; i < m; i++) {
        sums[i] = 1;
    }
    IpoptProblem problem = CreateIpoptProblem(
        (Index)n, low, high, (Index)m, sums, sums, (Index)n, 0, 0, eval_f, eval_g, eval_grad_f,
        eval_jac_g, eval_h);
    set_text(problem, "hessian_approximation", "limited-memory");
    set_text(problem, "mu_strategy", near ? "monotone" : "adaptive");
    if (near) {
        set_number(problem, "mu_init", BARRIER_NEAR);
        set_number(problem, "slack_bound_push", PUSH);
    }
    set_text(problem, "sb", "yes");
    set_number(problem, "bound_push", PUSH);
    set_number(problem, "bound_frac", PUSH);
    set_number(problem, "tol", 1e-7);
    set_number(problem, "max_cpu_time", seconds);
    (void)AddIpoptIntOption(problem, (char[]){"print_level"}, 0);
    (void)AddIpoptIntOption(problem, (char[]){"max_iter"}, 1000000);
    double value;
    const enum ApplicationReturnStatus status =
        IpoptSolve(problem, x, NULL, &value, lambda, NULL, NULL, &oracle);
    *ended_out = status == Solve_Succeeded || status == Solved_To_Acceptable_Level;
    FreeIpoptProblem(problem);
    for (uint32_t i = 0; i < n; i++) { /* Sums are 1 within Ipopt's tolerance only. */
        draft->descent.shares[i] = x[i] > 0 ? x[i] : 0;
    }
    descent_normalise(&draft->descent);
    value = congestion_evaluate(&draft->congestion, draft->descent.shares);
    free(bounds);
    free(oracle.shares);
    return value;
}

#else

bool mixture_oracle_is_there(void)
{
    return false;
}

double mixture_oracle_solve(struct draft *draft, double seconds, bool near, bool *ended_out)
{
    (void)draft;
    (void)seconds;
    (void)near;
    *ended_out = false;
    return (double)INFINITY;
}

#endif /* WITH_IPOPT */
