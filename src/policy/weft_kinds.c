#include "policy/weft_kinds.h"

#include "base/arena.h"
#include "base/numbers.h"

static uint32_t count_of(const struct configs *configs, uint32_t kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < configs->count; i++) {
        count += configs->choices[i].device == kind ? 1 : 0;
    }
    return count;
}

static struct weft_kind kind_of(struct arena *arena, const struct esg_queue *queue, uint32_t kind)
{
    const struct configs *configs = &queue->configs;
    const uint32_t count = count_of(configs, kind);
    struct search_choice *choices = arena_alloc(arena, (count + 1) * sizeof(*choices));
    uint32_t *numbers = arena_alloc(arena, (count + 1) * sizeof(*numbers));
    uint32_t kept = 0;
    for (uint32_t i = 0; i < configs->count; i++) {
        if (configs->choices[i].device == kind) {
            choices[kept] = configs->weights[i];
            numbers[kept] = i;
            kept++;
        }
    }
    return (struct weft_kind){
        .stage = {.count = count, .choices = choices, .extra_ns = queue->stage.extra_ns},
        .numbers = numbers,
    };
}

const struct weft_kind *weft_kinds_plan(
    struct arena *arena, const struct esg_queue *queue, uint32_t kind_count)
{
    struct weft_kind *kinds = arena_alloc(arena, kind_count * sizeof(*kinds));
    for (uint32_t kind = 0; kind < kind_count; kind++) {
        kinds[kind] = kind_of(arena, queue, kind);
    }
    return kinds;
}

/* Put @path among those of @answer, by cost; of equal ones it comes last. */
static void insert(struct search_answer *answer, const struct search_path *path)
{
    uint32_t at = answer->count++;
    for (; at > 0 && answer->paths[at - 1].cost > path->cost; at--) {
        answer->paths[at] = answer->paths[at - 1];
    }
    answer->paths[at] = *path;
}

bool weft_kinds_find(
    const struct weft_kind *kinds, uint32_t kind_count, const struct esg_queue *known,
    const struct queue_facts *queue, const struct esg_found *found, struct esg_found *others_out)
{
    const struct search_query query = {
        .target_ns = found->target_ns,
        .batch_min = min_u32(queue->head_items, known->batch_max),
        .batch_max = esg_most_items(known, queue),
        .path_count = max_u32(SEARCH_PATHS_MAX / kind_count, 1),
        .rest = found->rest,
    };
    *others_out = *found;
    others_out->answer = (struct search_answer){.rule = SEARCH_MET};
    for (uint32_t kind = 0; kind < kind_count && query.target_ns > 0; kind++) {
        struct search_answer answer;
        search_best(&kinds[kind].stage, known->rests, &query, &answer);
        const uint32_t room = SEARCH_PATHS_MAX - others_out->answer.count;
        const uint32_t count = answer.rule == SEARCH_MET ? min_u32(answer.count, room) : 0;
        for (uint32_t i = 0; i < count; i++) {
            answer.paths[i].first = kinds[kind].numbers[answer.paths[i].first];
            insert(&others_out->answer, &answer.paths[i]);
        }
    }
    return others_out->answer.count > 0;
}
