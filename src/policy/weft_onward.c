#include "policy/weft_onward.h"

#include "base/bitset.h"
#include "base/numbers.h"
#include "policy/choose.h"
#include "policy/weft_home_plan.h"
#include "policy/weft_options.h"

int64_t weft_onward_ns(const struct weft_hop *hop, uint32_t worker)
{
    const struct policy_input *input = hop->input;
    const struct weft_plan *plan = input->plan;
    const struct workflow *graph = hop->facts->job->graph;
    const uint32_t words = bitset_words(graph->task_count);
    int64_t sum_ns = 0;
    for (uint32_t task = 0; task < graph->task_count; task++) {
        const uint64_t *before = graph->ancestors + (size_t)task * words;
        if (task != hop->facts->task && bitset_has(before, hop->facts->task)) {
            const int64_t way_ns = plan->esg->queues[graph->queue_first + task].transfer_ns;
            const int64_t load_ns = choose_missing_load_ns(input, &graph->tasks[task], worker);
            sum_ns = min_i64(sum_ns + min_i64(load_ns, way_ns), DURATION_NS_MAX);
        }
    }
    return sum_ns / 64 * compass_64ths(input->options[WEFT_ONWARD]);
}
