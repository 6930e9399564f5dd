#include "policy/weft_sources.h"

int64_t weft_sources_ns(const struct weft_hop *hop, uint32_t worker)
{
    const struct task_facts *facts = hop->facts;
    const struct workflow *graph = facts->job->graph;
    const uint32_t device = hop->input->view->fleet->workers[worker].device;
    int64_t sum_ns = 0;
    if (graph->tasks[facts->task].in_count > 0 || facts->placement == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < graph->source_count; i++) {
        const uint32_t source = graph->sources[i];
        if (source != facts->task && facts->placement[source] == worker) {
            sum_ns += profile_run_alone_ns(
                hop->input->profile, graph->tasks[source].run, device, facts->items);
        }
    }
    return sum_ns;
}
