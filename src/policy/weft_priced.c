#include "policy/weft_priced.h"

#include "base/numbers.h"
#include "policy/esg_search.h"
#include "policy/weft_home.h"
#include "policy/weft_quick.h"

bool weft_priced_is_on(const struct policy_input *input, const struct queue_facts *queue)
{
    const struct weft_plan *plan = input->plan;
    return input->view->fleet->prices.gpu > 0 && !plan->has_slos &&
           queue->head_deadline_ns == INT64_MAX && !queue->put_off;
}

double weft_priced_value(const struct search_path *path, int64_t more_ns)
{
    return (double)path->cost * ((double)path->time_ns + (double)more_ns);
}

/* What @price is with what others wait for, which is @others_ns for a path that takes @time_ns. */
static int64_t with_toll(int64_t price, double others_ns, int64_t time_ns)
{
    const double whole = (double)price * (1 + others_ns / (double)max_i64(time_ns, 1));
    return (int64_t)min_double(whole, 0x1p60);
}

/* Config @number of @known, whose run makes others wait for @others_ns, with the best rest. */
static struct search_path path_of(const struct esg_queue *known, uint32_t number, double others_ns)
{
    const struct search_choice *weights = &known->configs.weights[number];
    const struct search_front *front = &known->rests[weights->front];
    struct search_path best = {.rest = UINT32_MAX};
    for (uint32_t i = 0; i < front->count; i++) {
        const int64_t time_ns = weights->time_ns + known->stage.extra_ns + front->points[i].time_ns;
        const struct search_path path = {
            .first = number,
            .rest = i,
            .time_ns = time_ns,
            .cost = with_toll(weights->cost + front->points[i].cost, others_ns, time_ns),
        };
        if (i == 0 || weft_priced_value(&path, 0) < weft_priced_value(&best, 0)) {
            best = path;
        }
    }
    return best;
}

/* Put @path among the best @most of those of @answer from @first on. */
static void insert(
    struct search_answer *answer, uint32_t first, uint32_t most, const struct search_path *path)
{
    const double value = weft_priced_value(path, 0);
    uint32_t at = answer->count;
    while (at > first && weft_priced_value(&answer->paths[at - 1], 0) > value) {
        at--;
    }
    if (at >= first + most) {
        return;
    }
    answer->count = min_u32(answer->count + 1, first + most);
    for (uint32_t i = answer->count - 1; i > at; i--) {
        answer->paths[i] = answer->paths[i - 1];
    }
    answer->paths[at] = *path;
}

void weft_priced_find(
    const struct policy_input *input, const struct queue_facts *queue,
    const struct esg_queue *known, struct search_answer *answer_out)
{
    const struct configs *configs = &known->configs;
    const uint32_t head = min_u32(queue->head_items, known->batch_max);
    const uint32_t items_max = esg_most_items(known, queue);
    const struct weft_quick *seen = weft_quick_look(input);
    const uint32_t kind_count = min_u32(input->view->fleet->device_count, SEARCH_PATHS_MAX);
    *answer_out = (struct search_answer){.rule = SEARCH_MET};
    for (uint32_t device = 0; device < kind_count; device++) {
        const struct weft_quick_kind *kind = &seen->kinds[device];
        const uint32_t first = answer_out->count;
        for (uint32_t i = 0; i < configs->count; i++) {
            const struct configs_choice *choice = &configs->choices[i];
            const uint32_t batch = choice->config.batch;
            if (choice->device != device || kind->units == 0 || batch < head || batch > items_max) {
                continue;
            }
            const double toll = weft_quick_toll(input, kind, &choice->config) - 1;
            const double run_ns = (double)configs->weights[i].time_ns;
            const struct search_path path = path_of(known, i, run_ns * toll);
            if (path.rest != UINT32_MAX) {
                insert(answer_out, first, SEARCH_PATHS_MAX / kind_count, &path);
            }
        }
    }
}
