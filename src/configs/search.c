/*
 * search.c - fronts of sums, cut by two blades, and what is best in front of them.
 */
#include "configs/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/memory.h"

/* What a point of a front must keep within. */
struct blades {
    int64_t time_ns;
    int64_t cost;
};

/* What stages before a front take and cost at least, and if each is as fast as it can be. */
struct floors {
    int64_t time_ns;
    int64_t cost;
    int64_t cost_fastest;
};

/* A choice of a stage that no other makes superfluous. */
struct option {
    int64_t time_ns;
    int64_t cost;
    uint32_t choice;
};

struct points {
    struct search_point *at;
    size_t room;
};

static void make_room(struct points *points, size_t count)
{
    if (count > points->room) {
        free(points->at);
        points->room = count + count / 2;
        points->at = memory_lines(points->room, sizeof(*points->at));
    }
}

static int by_time(const void *left, const void *right)
{
    const struct option *a = left;
    const struct option *b = right;
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    if (a->cost != b->cost) {
        return a->cost < b->cost ? -1 : 1;
    }
    return a->choice < b->choice ? -1 : 1; /* No two are equal. */
}

/* The front of one stage's choices; returns their number. */
static uint32_t cut_stage(const struct search_stage *stage, struct option *options_out)
{
    ASSERT(stage->count > 0 && stage->count <= SEARCH_CHOICES_MAX);
    for (uint32_t i = 0; i < stage->count; i++) {
        options_out[i] = (struct option){
            .time_ns = stage->choices[i].time_ns + stage->extra_ns,
            .cost = stage->choices[i].cost,
            .choice = i,
        };
    }
    qsort(options_out, stage->count, sizeof(*options_out), by_time);
    uint32_t kept = 1;
    for (uint32_t i = 1; i < stage->count; i++) {
        if (options_out[i].cost < options_out[kept - 1].cost) {
            options_out[kept++] = options_out[i];
        }
    }
    return kept;
}

/* The first point of @rest that is cheap enough with @cost in front of it. */
static uint32_t first_within(const struct search_front *rest, int64_t cost, int64_t cost_max)
{
    uint32_t low = 0;
    uint32_t high = rest->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (rest->points[middle].cost + cost <= cost_max) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/*
 * Merge @count points of @from with those of @rest behind @option, by time; of equal ones the
 * former. A point stays if it is cheaper than all faster ones. Returns how many do.
 */
static size_t merge(
    const struct search_point *from, size_t count, const struct search_front *rest,
    const struct option *option, const struct blades *blades, struct search_point *to)
{
    size_t kept = 0;
    size_t i = 0;
    uint32_t j = first_within(rest, option->cost, blades->cost);
    int64_t cost = INT64_MAX; /* Of the last one that stayed. */
    struct search_point point = {.choice = option->choice};
    while (j < rest->count) {
        point.time_ns = rest->points[j].time_ns + option->time_ns;
        point.cost = rest->points[j].cost + option->cost;
        point.next = j;
        if (point.time_ns > blades->time_ns) {
            break;
        }
        while (i < count && (from[i].time_ns < point.time_ns ||
                             (from[i].time_ns == point.time_ns && from[i].cost <= point.cost))) {
            to[kept] = from[i];
            kept += from[i].cost < cost ? 1 : 0;
            cost = from[i].cost < cost ? from[i].cost : cost;
            i++;
        }
        to[kept] = point;
        kept += point.cost < cost ? 1 : 0;
        cost = point.cost < cost ? point.cost : cost;
        j++;
    }
    for (; i < count; i++) {
        to[kept] = from[i];
        kept += from[i].cost < cost ? 1 : 0;
        cost = from[i].cost < cost ? from[i].cost : cost;
    }
    return kept;
}

/* The front of @options before @rest, in @buffers[0]; the other one is for swapping. */
static size_t join(
    const struct option *options, uint32_t option_count, const struct search_front *rest,
    const struct blades *blades, struct points buffers[2], struct search_effort *effort)
{
    size_t count = 0;
    for (uint32_t i = 0; i < option_count; i++) {
        if (rest->count == 0 || options[i].time_ns + rest->points[0].time_ns > blades->time_ns) {
            break; /* All others are slower. */
        }
        make_room(&buffers[1], count + rest->count + 1);
        effort->points += rest->count;
        count = merge(buffers[0].at, count, rest, &options[i], blades, buffers[1].at);
        const struct points swapped = buffers[0];
        buffers[0] = buffers[1];
        buffers[1] = swapped;
    }
    effort->kept += count;
    return count;
}

static void free_buffers(struct points buffers[2])
{
    free(buffers[0].at);
    free(buffers[1].at);
}

static struct search_front copy_front(
    struct arena *arena, const struct search_point *points, size_t count)
{
    const struct search_front front = {
        .count = (uint32_t)count,
        .points = arena_alloc(arena, (count + 1) * sizeof(*points)),
    };
    if (count > 0) {
        ASSERT(points != NULL);
        memcpy(front.points, points, count * sizeof(*points));
    }
    return front;
}

void search_prepare(
    struct arena *arena, const struct search_stage *stages, uint32_t stage_count,
    int64_t horizon_ns, struct search_chain *chain_out)
{
    ASSERT(stage_count <= SEARCH_STAGES_MAX);
    static const struct search_point end;
    const struct blades blades = {.time_ns = horizon_ns, .cost = INT64_MAX};
    struct points buffers[2] = {{NULL, 0}, {NULL, 0}};
    struct search_effort effort = {0};
    struct option *options = memory_lines(SEARCH_CHOICES_MAX, sizeof(*options));
    chain_out->stage_count = stage_count;
    chain_out->fronts[stage_count] = copy_front(arena, &end, 1);
    for (uint32_t stage = stage_count; stage-- > 0;) {
        const uint32_t option_count = cut_stage(&stages[stage], options);
        const size_t count =
            join(options, option_count, &chain_out->fronts[stage + 1], &blades, buffers, &effort);
        chain_out->fronts[stage] = copy_front(arena, buffers[0].at, count);
    }
    free(options);
    free_buffers(buffers);
}

/* What a rest takes for @query that takes @time_ns by its front. */
static int64_t rest_ns(const struct search_query *query, int64_t time_ns)
{
    const int64_t one = SEARCH_REST_ONE;
    if (query->rest == 0 || query->rest == one) {
        return time_ns;
    }
    return time_ns / one * query->rest + time_ns % one * query->rest / one;
}

/* The cheapest point of @front within @left_ns, which the first one is: the last such one. */
static uint32_t find_within(
    const struct search_front *front, const struct search_query *query, int64_t left_ns)
{
    uint32_t low = 0;
    uint32_t high = front->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (rest_ns(query, front->points[middle].time_ns) <= left_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low - 1;
}

/* Keys of a rule: the smaller, then the smaller second, then the lower index, comes first. */
static bool comes_before(
    const struct search_path *path, const struct search_path *other, enum search_rule rule)
{
    const int64_t a = rule == SEARCH_LATE ? path->time_ns : path->cost;
    const int64_t b = rule == SEARCH_LATE ? other->time_ns : other->cost;
    if (a != b) {
        return a < b;
    }
    const int64_t a_then = rule == SEARCH_LATE ? path->cost : path->time_ns;
    const int64_t b_then = rule == SEARCH_LATE ? other->cost : other->time_ns;
    return a_then != b_then ? a_then < b_then : path->first < other->first;
}

static void insert(
    struct search_answer *answer, const struct search_path *path, uint32_t path_count)
{
    uint32_t at = answer->count;
    while (at > 0 && comes_before(path, &answer->paths[at - 1], answer->rule)) {
        at--;
    }
    if (at >= path_count) {
        return;
    }
    answer->count += answer->count < path_count ? 1 : 0;
    for (uint32_t i = answer->count - 1; i > at; i--) {
        answer->paths[i] = answer->paths[i - 1];
    }
    answer->paths[at] = *path;
}

static bool is_asked_for(const struct search_choice *choice, const struct search_query *query)
{
    return choice->batch >= query->batch_min && choice->batch <= query->batch_max;
}

/* Whether @choice can be in time: with the fastest rest. */
static bool is_in_time(
    const struct search_stage *first, const struct search_front *rest,
    const struct search_choice *choice, const struct search_query *query)
{
    const int64_t time_ns = choice->time_ns + first->extra_ns;
    return time_ns + rest_ns(query, rest->points[0].time_ns) <= query->target_ns;
}

/* Whether @choice is too dear for @answer even with the cheapest rest. */
static bool is_too_dear(
    const struct search_choice *choice, const struct search_front *rest,
    const struct search_answer *answer, uint32_t path_count)
{
    return answer->count == path_count &&
           choice->cost + rest->points[rest->count - 1].cost > answer->paths[path_count - 1].cost;
}

/* The choices that are in time, each with the cheapest rest. */
static void find_met(
    const struct search_stage *first, const struct search_front *rests,
    const struct search_query *query, struct search_answer *answer)
{
    answer->rule = SEARCH_MET;
    for (uint32_t i = first->count; i-- > 0;) { /* Slow ones are cheap. */
        const struct search_choice *choice = &first->choices[i];
        const struct search_front *rest = &rests[choice->front];
        if (!is_asked_for(choice, query) || rest->count == 0 ||
            !is_in_time(first, rest, choice, query) ||
            is_too_dear(choice, rest, answer, query->path_count)) {
            continue;
        }
        const int64_t time_ns = choice->time_ns + first->extra_ns;
        const uint32_t at = find_within(rest, query, query->target_ns - time_ns);
        const struct search_path path = {
            .first = i,
            .rest = at,
            .time_ns = time_ns + rest_ns(query, rest->points[at].time_ns),
            .cost = choice->cost + rest->points[at].cost,
        };
        insert(answer, &path, query->path_count);
    }
}

bool search_is_met(
    const struct search_stage *first, const struct search_front *rests,
    const struct search_query *query)
{
    for (uint32_t i = 0; i < first->count; i++) {
        const struct search_choice *choice = &first->choices[i];
        const struct search_front *rest = &rests[choice->front];
        if (is_asked_for(choice, query) && rest->count > 0 &&
            is_in_time(first, rest, choice, query)) {
            return true;
        }
    }
    return false;
}

/* The choices by themselves: what follows is as it is, whichever of them is taken. */
static void find_alone(
    const struct search_stage *first, enum search_rule rule, const struct search_query *query,
    struct search_answer *answer)
{
    answer->rule = rule;
    for (uint32_t i = 0; i < first->count; i++) {
        if (is_asked_for(&first->choices[i], query)) {
            const struct search_path path = {
                .first = i,
                .rest = UINT32_MAX,
                .time_ns = first->choices[i].time_ns + first->extra_ns,
                .cost = first->choices[i].cost,
            };
            insert(answer, &path, query->path_count);
        }
    }
}

void search_best(
    const struct search_stage *first, const struct search_front *rests,
    const struct search_query *query, struct search_answer *answer_out)
{
    ASSERT(query->path_count > 0 && query->path_count <= SEARCH_PATHS_MAX);
    answer_out->count = 0;
    if (query->target_ns <= 0) {
        find_alone(first, SEARCH_LOST, query, answer_out);
        return;
    }
    find_met(first, rests, query, answer_out);
    if (answer_out->count == 0) {
        find_alone(first, SEARCH_LATE, query, answer_out);
    }
}

/* What the middle stages 1 … @stage - 1 take and cost at least. */
static struct floors middle_floors(
    struct option *const *options, const uint32_t *counts, uint32_t stage)
{
    struct floors floors = {0};
    for (uint32_t i = 1; i < stage; i++) {
        floors.time_ns += options[i][0].time_ns;
        floors.cost += options[i][counts[i] - 1].cost;
        floors.cost_fastest += options[i][0].cost;
    }
    return floors;
}

/*
 * How dear a path may be: the last of the paths asked for, if all stages between the first
 * one and @rest take their fastest choice. INT64_MAX if these are too few. The list is made
 * again for each front: a path and its continuation are the same one and must not count twice.
 */
static int64_t cost_bound(
    const struct search_stage *first, const struct search_front *rest, const struct floors *middle,
    const struct search_query *query)
{
    const struct search_query left = {
        .target_ns = query->target_ns - middle->time_ns,
        .batch_min = query->batch_min,
        .batch_max = query->batch_max,
        .path_count = query->path_count,
    };
    struct search_answer known = {.count = 0};
    find_met(first, rest, &left, &known);
    return known.count < query->path_count
               ? INT64_MAX
               : known.paths[known.count - 1].cost + middle->cost_fastest;
}

/* What the first stage takes and costs at least, of what may run. False if nothing may. */
static bool first_floors(
    const struct search_stage *first, const struct search_query *query, struct floors *floors_out)
{
    *floors_out = (struct floors){.time_ns = INT64_MAX, .cost = INT64_MAX};
    for (uint32_t i = 0; i < first->count; i++) {
        const struct search_choice *choice = &first->choices[i];
        const int64_t time_ns = choice->time_ns + first->extra_ns;
        if (is_asked_for(choice, query)) {
            floors_out->time_ns = time_ns < floors_out->time_ns ? time_ns : floors_out->time_ns;
            floors_out->cost = choice->cost < floors_out->cost ? choice->cost : floors_out->cost;
        }
    }
    return floors_out->time_ns != INT64_MAX;
}

/* The front of all stages but the first, in the buffer whose number is returned. */
static struct search_front rest_of(
    const struct search_stage *stages, uint32_t stage_count, const struct search_query *query,
    struct points buffers[3], struct search_effort *effort)
{
    struct option *options[SEARCH_STAGES_MAX] = {NULL};
    uint32_t counts[SEARCH_STAGES_MAX] = {0};
    struct floors least;
    make_room(&buffers[2], 1);
    buffers[2].at[0] = (struct search_point){0};
    struct search_front rest = {.count = 1, .points = buffers[2].at};
    const bool any = first_floors(&stages[0], query, &least);
    for (uint32_t stage = 1; stage < stage_count && any; stage++) {
        options[stage] = memory_lines(stages[stage].count, sizeof(*options[stage]));
        counts[stage] = cut_stage(&stages[stage], options[stage]);
    }
    int64_t bound = INT64_MAX;
    for (uint32_t stage = stage_count; stage-- > 1 && any;) {
        const struct floors after = middle_floors(options, counts, stage + 1);
        const int64_t known = cost_bound(&stages[0], &rest, &after, query);
        bound = known < bound ? known : bound;
        const struct floors middle = middle_floors(options, counts, stage);
        const struct blades blades = {
            .time_ns = query->target_ns - least.time_ns - middle.time_ns,
            .cost = bound == INT64_MAX ? bound : bound - least.cost - middle.cost,
        };
        const size_t count = join(options[stage], counts[stage], &rest, &blades, buffers, effort);
        const struct points swapped = buffers[0];
        buffers[0] = buffers[2];
        buffers[2] = swapped;
        rest = (struct search_front){.count = (uint32_t)count, .points = buffers[2].at};
    }
    for (uint32_t stage = 1; stage < stage_count; stage++) {
        free(options[stage]);
    }
    return rest;
}

void search_run(
    const struct search_stage *stages, uint32_t stage_count, const struct search_query *query,
    struct search_answer *answer_out, struct search_effort *effort_out)
{
    ASSERT(stage_count > 0 && stage_count <= SEARCH_STAGES_MAX);
    struct points buffers[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    struct search_effort effort = {0};
    const struct search_front rest = rest_of(stages, stage_count, query, buffers, &effort);
    search_best(&stages[0], &rest, query, answer_out);
    effort.points += stages[0].count;
    if (effort_out != NULL) {
        *effort_out = effort;
    }
    free_buffers(buffers);
    free(buffers[2].at);
}
