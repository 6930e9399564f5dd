#include "trace/warmup.h"

/* The mean of the batch of @values that has this number. */
static double batch_mean(const double *values, uint64_t batch)
{
    double sum = 0;
    for (uint32_t i = 0; i < WARMUP_BATCH; i++) {
        sum += values[batch * WARMUP_BATCH + i];
    }
    return sum / WARMUP_BATCH;
}

uint64_t warmup_of(const double *values, uint64_t count)
{
    const uint64_t batch_count = count / WARMUP_BATCH;
    if (batch_count < 2) {
        return 0;
    }
    /* From the end, one batch more at a time: mean and squares as Welford adds them up. */
    double mean = 0;
    double squares = 0;
    double best = 0;
    uint64_t best_first = batch_count;
    for (uint64_t first = batch_count; first-- > 0;) {
        const double size = (double)(batch_count - first);
        const double value = batch_mean(values, first);
        const double distance = value - mean;
        mean += distance / size;
        squares += distance * (value - mean);
        const double error = squares / (size * size);
        if (2 * first <= batch_count && (best_first == batch_count || error <= best)) {
            best = error;
            best_first = first;
        }
    }
    return best_first * WARMUP_BATCH;
}
