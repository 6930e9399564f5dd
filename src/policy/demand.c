#include "policy/demand.h"

#include "base/numbers.h"
#include "profile/fresh.h"

/* An average over so many gaps. While one lasts longer, a part of what it lasts counts. */
enum { GAPS = 16, IDLE_PARTS = 8 };

static void note(struct demand_gaps *gaps, int64_t now_ns)
{
    const int64_t gap_ns = gaps->last_ns == 0 ? 0 : now_ns - gaps->last_ns;
    gaps->last_ns = now_ns;
    gaps->gap_ns += gaps->gap_ns == 0 ? gap_ns : (gap_ns - gaps->gap_ns) / GAPS;
}

void demand_note_job(struct demand *demand, const struct workflow *graph, int64_t now_ns)
{
    struct model_set seen = {{0}};
    for (uint32_t task = 0; task < graph->task_count; task++) {
        for (uint32_t i = 0; i < graph->tasks[task].model_count; i++) {
            const uint32_t model = graph->tasks[task].models[i];
            if (!model_set_has(&seen, model)) {
                model_set_add(&seen, model);
                note(&demand->models[model], now_ns);
            }
        }
    }
}

void demand_note_load(struct demand *demand, int64_t now_ns)
{
    note(&demand->loads, now_ns);
}

/* How long until the next event is expected. Of what has come once at most, nothing is. */
static double expect_ns(const struct demand_gaps *gaps, int64_t now_ns)
{
    const double idle_ns = (double)(now_ns - gaps->last_ns);
    const double gap_ns = (double)gaps->gap_ns;
    if (gaps->gap_ns == 0) {
        return (double)DURATION_NS_MAX;
    }
    return idle_ns > gap_ns ? gap_ns + (idle_ns - gap_ns) / IDLE_PARTS : gap_ns;
}

int64_t demand_least_loss_ns(const struct demand *demand, const struct demand_place *place)
{
    const double slots = (double)model_set_count(place->held) * place->memory_count;
    const double left_ns = slots * expect_ns(&demand->loads, place->now_ns);
    double least_ns = (double)DURATION_NS_MAX;
    for (uint32_t model = 0; model < place->profile->model_count; model++) {
        if (!model_set_has(place->held, model) || workflow_task_needs(place->kind, model)) {
            continue;
        }
        const double used_ns = expect_ns(&demand->models[model], place->now_ns) + 1;
        const double absent_ns = (double)profile_absent_ns(place->profile, model, place->worker);
        least_ns = min_double(least_ns, absent_ns * (left_ns / (left_ns + used_ns)));
    }
    return least_ns < (double)DURATION_NS_MAX ? (int64_t)least_ns : 0;
}

int64_t demand_stay_ns(
    const struct demand *demand, uint32_t slots, uint32_t node_count, int64_t now_ns)
{
    const double stay_ns = expect_ns(&demand->loads, now_ns) * slots / max_u32(node_count, 1);
    return (int64_t)min_double(stay_ns, (double)DURATION_NS_MAX);
}
