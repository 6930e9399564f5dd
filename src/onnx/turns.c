#include "onnx/turns.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/numbers.h"

enum {
    WAIT_MIN = 256, /* Batches between two rounds; doubled while nothing changes. */
    WAIT_MAX = 16384,
    FORMAT = 1, /* Of files. */
};

#define HOPELESS 1.5F  /* Times the best: smaller turns are worse still. */
#define NOTABLE  1.1F  /* Times the best: a batch that took so long is no example of others. */
#define ALIKE    1.03F /* Times the best: then larger turns, which are fewer calls. */
#define RISE     0.25F /* Of the way to a cost above the one that is known. */
#define COST_MAX 1000000000.0F

/* One for all models: it is held for some comparisons. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The largest power of two that is not above @number, as an exponent of at most @most. */
static uint32_t exponent_of(uint64_t number, uint32_t most)
{
    uint32_t exponent = 0;
    while (exponent < most && number >> (exponent + 1) > 0) {
        exponent++;
    }
    return exponent;
}

/* The size of which the best is known below; or @top, if nothing is. */
static uint32_t best_of(const struct onnx_turn_class *class, uint32_t top)
{
    float least = INFINITY;
    uint32_t best = top;
    for (uint32_t i = 0; i <= top; i++) {
        if (class->cost[i] > 0 && class->cost[i] < least) {
            least = class->cost[i];
        }
    }
    for (uint32_t i = 0; i <= top; i++) {
        if (class->cost[i] > 0 && class->cost[i] <= least * ALIKE) {
            best = i;
        }
    }
    return best;
}

static bool is_hopeless(const struct onnx_turn_class *class, uint32_t size, uint32_t top)
{
    const float best = class->cost[best_of(class, top)];
    return class->trials[size] > 0 && class->cost[size] > best * HOPELESS;
}

/* The size up to @top that is to be tried next; false if all have been. */
static bool find_trial(const struct onnx_turn_class *class, uint32_t top, uint32_t *size_out)
{
    const uint32_t best = best_of(class, top);
    uint32_t fewest = TURN_TRIALS;
    for (uint32_t i = top + 1; i-- > 0;) {
        const bool is_far = is_hopeless(class, i, top);
        if (is_far && i < best) {
            break;
        }
        if (!is_far && class->trials[i] < fewest) {
            fewest = class->trials[i];
            *size_out = i;
        }
    }
    return fewest < TURN_TRIALS;
}

/* One more trial of what may be the best, and one of all else. */
static void start_round(struct onnx_turn_class *class, uint32_t top)
{
    for (uint32_t i = 0; i <= top; i++) {
        const bool is_far = is_hopeless(class, i, top);
        class->trials[i] = is_far ? 0 : (uint8_t)min_u32(class->trials[i], TURN_TRIALS - 1);
    }
    class->waited = 0;
}

static struct onnx_turn make_turn(
    uint32_t class, uint32_t size, uint32_t top, uint64_t rows, uint64_t rows_max)
{
    const uint64_t wanted = size == top ? rows : UINT64_C(1) << size;
    return (struct onnx_turn){
        .rows = min_u64(wanted, rows_max), .size = size, .top = top, .class = class};
}

struct onnx_turn onnx_turns_best(
    struct onnx_turns *turns, uint64_t rows, uint64_t row_bytes, uint64_t rows_max)
{
    const uint32_t number = exponent_of(row_bytes, TURN_CLASSES - 1);
    const uint32_t top = exponent_of(min_u64(rows, rows_max), TURN_SIZES - 1);
    (void)pthread_mutex_lock(&lock);
    const uint32_t size = best_of(&turns->classes[number], top);
    (void)pthread_mutex_unlock(&lock);
    return make_turn(number, size, top, rows, rows_max);
}

struct onnx_turn onnx_turns_choose(
    struct onnx_turns *turns, uint64_t rows, uint64_t row_bytes, uint64_t rows_max)
{
    const uint32_t number = exponent_of(row_bytes, TURN_CLASSES - 1);
    const uint32_t top = exponent_of(min_u64(rows, rows_max), TURN_SIZES - 1);
    struct onnx_turn_class *class = &turns->classes[number];
    uint32_t size = top;
    (void)pthread_mutex_lock(&lock);
    const uint32_t wait = class->wait == 0 ? WAIT_MIN : class->wait;
    if (++class->waited >= wait) {
        start_round(class, top);
    }
    const bool is_trial = top > 0 && find_trial(class, top, &size);
    if (is_trial) {
        class->trials[size]++;
    } else {
        size = best_of(class, top);
    }
    (void)pthread_mutex_unlock(&lock);
    struct onnx_turn turn = make_turn(number, size, top, rows, rows_max);
    turn.is_trial = is_trial;
    return turn;
}

/* A round has ended: how long the next one may wait depends on whether it has changed anything. */
static void end_round(struct onnx_turn_class *class, uint32_t best)
{
    const uint32_t wait = max_u32(class->wait, WAIT_MIN);
    class->wait = best == class->best ? min_u32(wait * 2, WAIT_MAX) : WAIT_MIN;
    class->best = (uint8_t)best;
}

struct onnx_trial onnx_turns_tell(
    struct onnx_turns *turns, const struct onnx_turn *turn, int64_t took_ns, uint64_t bytes)
{
    struct onnx_turn_class *class = &turns->classes[turn->class];
    struct onnx_trial trial = {.is_worse = false};
    uint32_t next;
    (void)pthread_mutex_lock(&lock);
    const float cost = (float)max_i64(took_ns, 1) / (float)max_u64(bytes, 1);
    float *known = &class->cost[turn->size];
    *known = *known == 0 || cost < *known ? cost : *known + (cost - *known) * RISE;
    trial.is_worse = cost > class->cost[best_of(class, turn->top)] * NOTABLE;
    trial.is_over = !find_trial(class, turn->top, &next);
    if (trial.is_over) {
        end_round(class, best_of(class, TURN_SIZES - 1));
    }
    (void)pthread_mutex_unlock(&lock);
    return trial;
}

void onnx_turns_forget(struct onnx_turns *turns)
{
    (void)pthread_mutex_lock(&lock);
    memset(turns, 0, sizeof(*turns));
    (void)pthread_mutex_unlock(&lock);
}

static void write_classes(const struct onnx_turns *turns, FILE *file)
{
    (void)fprintf(file, "turns %d\n", FORMAT);
    for (uint32_t i = 0; i < TURN_CLASSES; i++) {
        for (uint32_t k = 0; k < TURN_SIZES; k++) {
            if (turns->classes[i].cost[k] > 0) {
                (void)fprintf(file, "%u %u %.9g\n", i, k, (double)turns->classes[i].cost[k]);
            }
        }
    }
}

void onnx_turns_save(struct onnx_turns *turns, const char *path)
{
    static atomic_uint tries; /* Two threads may write the same file at once. */
    char made[PATH_MAX];
    struct onnx_turns copy;
    (void)pthread_mutex_lock(&lock);
    copy = *turns;
    (void)pthread_mutex_unlock(&lock);
    const int length = snprintf(
        made, sizeof(made), "%s.%lld-%u", path, (long long)getpid(), atomic_fetch_add(&tries, 1));
    FILE *file = length < (int)sizeof(made) ? fopen(made, "wxe") : NULL;
    if (file == NULL) {
        return; /* It is found out again. */
    }
    write_classes(&copy, file);
    const bool is_written = ferror(file) == 0;
    if (fclose(file) != 0 || !is_written || rename(made, path) != 0) {
        (void)unlink(made); /* The same. */
    }
}

void onnx_turns_load(struct onnx_turns *turns, const char *path)
{
    struct onnx_turns read = {.classes = {{.wait = 0}}};
    FILE *file = fopen(path, "re");
    int format = 0;
    uint32_t number;
    uint32_t size;
    float cost;
    if (file == NULL) {
        return;
    }
    int count;
    bool is_good = fscanf(file, "turns %d\n", &format) == 1 && format == FORMAT;
    while (is_good && (count = fscanf(file, "%u %u %f\n", &number, &size, &cost)) != EOF) {
        is_good =
            count == 3 && number < TURN_CLASSES && size < TURN_SIZES && cost > 0 && cost < COST_MAX;
        if (is_good) {
            read.classes[number].cost[size] = cost;
            read.classes[number].trials[size] = TURN_TRIALS;
        }
    }
    (void)fclose(file); /* Nothing was written to it. */
    if (is_good) {
        (void)pthread_mutex_lock(&lock);
        *turns = read;
        (void)pthread_mutex_unlock(&lock);
    }
}
