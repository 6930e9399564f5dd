#include "runtime/busy.h"

#include "base/assert.h"
#include "base/numbers.h"

void busy_init(struct busy *busy, const struct fleet *fleet, uint32_t node)
{
    const struct fleet_node *spec = &fleet->nodes[node];
    *busy = (struct busy){.processors = 0};
    for (uint32_t i = 0; i < spec->worker_count; i++) {
        busy->processors += fleet->workers[spec->worker_first + i].splits ? 1 : 0;
    }
}

static void settle(struct busy *busy, int64_t now_ns)
{
    if (busy->threads > 0) {
        const struct slowing met = slowing_of(busy->threads, busy->processors);
        const double passed_ns = (double)(now_ns - busy->since_ns);
        busy->sum.beside += met.beside * passed_ns;
        busy->sum.crowded += met.crowded * passed_ns;
    }
    busy->since_ns = now_ns;
}

struct slowing busy_begin(struct busy *busy, int64_t now_ns, uint32_t threads)
{
    ASSERT(busy->processors > 0);
    settle(busy, now_ns);
    busy->threads += threads;
    return busy->sum;
}

struct slowing busy_end(
    struct busy *busy, int64_t now_ns, uint32_t threads, struct slowing begun, int64_t took_ns)
{
    ASSERT(busy->threads >= threads);
    settle(busy, now_ns);
    busy->threads -= threads;
    if (took_ns <= 0) {
        return (struct slowing){.beside = 0};
    }
    return (struct slowing){
        .beside = min_double((busy->sum.beside - begun.beside) / (double)took_ns, 1),
        .crowded = (busy->sum.crowded - begun.crowded) / (double)took_ns,
    };
}
