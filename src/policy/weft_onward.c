#include "policy/weft_onward.h"

#include "base/bitset.h"
#include "base/numbers.h"
#include "policy/choose.h"
#include "policy/weft_haste.h"
#include "policy/weft_home_plan.h"
#include "policy/weft_options.h"

/*
 * What is lost counts in full once one unit in so many is busy, and once where none is: nobody else
 * uses the links then, and a job that keeps to one worker waits for itself.
 */
enum { BUSY_ENOUGH = 8 };

static int64_t weight_64ths(const struct policy_input *input)
{
    const int64_t most = compass_64ths(input->options[WEFT_ONWARD]);
    const int64_t least = min_i64(most, compass_64ths(1));
    const int64_t busy = (WEFT_IDLE_ONE - weft_idle_mean(input)) * BUSY_ENOUGH;
    return least + (most - least) * min_i64(busy, WEFT_IDLE_ONE) / WEFT_IDLE_ONE;
}

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
    return sum_ns / 64 * weight_64ths(input);
}
