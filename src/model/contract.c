/*
 * Vertices go by their position in the topological order here. A group is a path of
 * edges, from its head to its tail. What makes contraction cheap is that a group needs
 * exactly what its head needs, and is needed by exactly those that need its tail:
 *
 *      in(head) ──► head ──► … ──► tail ──► out(tail)
 *
 * So the lists of in and out edges are never rewritten: in lists name tails, out lists
 * name heads, and contraction only takes entries away. And as all other producers of b
 * come before a, only the last producer of b can be a.
 */
#include "model/contract.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/bitset.h"
#include "base/memory.h"
#include "model/digraph.h"

/* Positions, ascending. */
struct list {
    uint32_t count;
    uint32_t *items;
};

struct contractor {
    uint32_t count;
    struct list *in;   /* By head: tails of the groups it needs. */
    struct list *out;  /* By tail: heads of the groups that need it. */
    uint32_t *head_of; /* By tail. */
    uint32_t *tail_of; /* By head. */
    uint32_t *into;    /* What a position was contracted into; itself for a head. */

    uint32_t *waiting; /* Heads to be looked at. */
    uint32_t waiting_count;
    bool *is_waiting;
};

static uint32_t last_of(const struct list *list)
{
    return list->items[list->count - 1];
}

/* Whether @list without @skip lies within @larger. */
static bool is_within(const struct list *list, uint32_t skip, const struct list *larger)
{
    uint32_t next = 0;

    if (list->count > larger->count + 1) {
        return false;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i] == skip) {
            continue;
        }
        while (next < larger->count && larger->items[next] < list->items[i]) {
            next++;
        }
        if (next == larger->count || larger->items[next] != list->items[i]) {
            return false;
        }
    }
    return true;
}

static void take_away(struct list *list, uint32_t item)
{
    uint32_t index = 0;
    while (list->items[index] != item) {
        index++;
        ASSERT(index < list->count);
    }
    list->count--;
    memmove(
        &list->items[index], &list->items[index + 1],
        (list->count - index) * sizeof(list->items[0]));
}

/* Write the neighbours of every vertex by position. Going through them in order sorts. */
static void fill_lists(
    struct contractor *contractor, const struct digraph *graph, struct arena *scratch)
{
    uint32_t *position = arena_alloc(scratch, graph->vertex_count * sizeof(*position));
    uint32_t *in_items = arena_alloc(scratch, graph->edge_count * sizeof(*in_items));
    uint32_t *out_items = arena_alloc(scratch, graph->edge_count * sizeof(*out_items));

    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        const struct digraph_vertex *vertex = &graph->vertices[graph->order[i]];
        position[graph->order[i]] = i;
        contractor->in[i].items = in_items + vertex->in_first;
        contractor->out[i].items = out_items + vertex->out_first;
    }
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        const uint32_t vertex = graph->order[i];
        for (uint32_t j = 0; j < graph->vertices[vertex].out_count; j++) {
            struct list *in = &contractor->in[position[digraph_out(graph, vertex, j)->to]];
            in->items[in->count++] = i;
        }
        for (uint32_t j = 0; j < graph->vertices[vertex].in_count; j++) {
            struct list *out = &contractor->out[position[digraph_in(graph, vertex, j)->from]];
            out->items[out->count++] = i;
        }
    }
}

static void contractor_init(
    struct contractor *contractor, const struct digraph *graph, struct arena *scratch)
{
    const uint32_t count = graph->vertex_count;

    *contractor = (struct contractor){
        .count = count,
        .in = arena_alloc(scratch, count * sizeof(*contractor->in)),
        .out = arena_alloc(scratch, count * sizeof(*contractor->out)),
        .head_of = arena_alloc(scratch, count * sizeof(*contractor->head_of)),
        .tail_of = arena_alloc(scratch, count * sizeof(*contractor->tail_of)),
        .into = arena_alloc(scratch, count * sizeof(*contractor->into)),
        .waiting = arena_alloc(scratch, count * sizeof(*contractor->waiting)),
        .is_waiting = arena_alloc(scratch, count * sizeof(*contractor->is_waiting)),
    };
    for (uint32_t i = 0; i < count; i++) {
        contractor->head_of[i] = i;
        contractor->tail_of[i] = i;
        contractor->into[i] = i;
    }
    fill_lists(contractor, graph, scratch);
}

/* Look at the edge from the last producer of @head again. */
static void wait_for(struct contractor *contractor, uint32_t head)
{
    if (!contractor->is_waiting[head]) {
        contractor->is_waiting[head] = true;
        contractor->waiting[contractor->waiting_count++] = head;
    }
}

/*
 * Contract group @b into @a. Where both were named, one name is left; only there, and at
 * the ends of the new group, can an edge have become contractible.
 */
static void merge(struct contractor *contractor, uint32_t a, uint32_t b)
{
    const uint32_t tail_a = contractor->tail_of[a];
    const uint32_t tail_b = contractor->tail_of[b];
    const struct list *needed = &contractor->in[b];
    const struct list *wanted = &contractor->out[tail_a];

    for (uint32_t i = 0; i < wanted->count; i++) {
        const uint32_t consumer = wanted->items[i];
        if (consumer != b) {
            take_away(&contractor->in[consumer], tail_a);
            wait_for(contractor, consumer);
        }
    }
    for (uint32_t i = 0; i < needed->count; i++) {
        const uint32_t producer = needed->items[i];
        if (producer != tail_a) {
            take_away(&contractor->out[producer], b);
            wait_for(contractor, contractor->out[producer].items[0]);
        }
    }
    contractor->into[b] = a;
    contractor->tail_of[a] = tail_b;
    contractor->head_of[tail_b] = a;
    wait_for(contractor, a);
    if (contractor->out[tail_b].count > 0) {
        wait_for(contractor, contractor->out[tail_b].items[0]);
    }
}

static void contract_neighbours(struct contractor *contractor)
{
    for (uint32_t i = contractor->count; i-- > 0;) {
        wait_for(contractor, i);
    }
    while (contractor->waiting_count > 0) {
        const uint32_t b = contractor->waiting[--contractor->waiting_count];
        contractor->is_waiting[b] = false;
        const struct list *needed = &contractor->in[b];
        if (contractor->into[b] != b || needed->count == 0) {
            continue;
        }
        const uint32_t tail_a = last_of(needed);
        const uint32_t a = contractor->head_of[tail_a];
        const struct list *wanted = &contractor->out[tail_a];
        if (is_within(wanted, b, &contractor->out[contractor->tail_of[b]]) &&
            is_within(needed, tail_a, &contractor->in[a])) {
            merge(contractor, a, b);
        }
    }
}

/*
 * In terms of the transitive reduction, the closure rule asks that b is the one consumer
 * of a, and a the one producer of b: other edges at either end are passed by longer ways.
 * Contraction changes no reachability between the others, so one look is enough.
 */
static void contract_closure(struct contractor *contractor, struct arena *scratch)
{
    const uint32_t count = contractor->count;
    const uint32_t words = bitset_words(count);
    uint64_t *reach = arena_alloc(scratch, (size_t)count * words * sizeof(*reach));
    uint32_t *producer_count = arena_alloc(scratch, count * sizeof(*producer_count));
    uint32_t *only_consumer = arena_alloc(scratch, count * sizeof(*only_consumer));

    for (uint32_t i = count; i-- > 0;) {
        uint64_t *reached = reach + (size_t)i * words;
        uint32_t consumer_count = 0;
        for (uint32_t j = 0; j < contractor->out[i].count; j++) {
            const uint32_t to = contractor->out[i].items[j];
            if (bitset_has(reached, to)) {
                continue; /* By a longer way, through a consumer that comes earlier. */
            }
            const uint64_t *beyond = reach + (size_t)to * words;
            for (uint32_t k = to / 64; k < words; k++) { /* It reaches only what follows it. */
                reached[k] |= beyond[k];
            }
            bitset_add(reached, to);
            producer_count[to]++;
            consumer_count++;
            only_consumer[i] = to;
        }
        if (consumer_count != 1) {
            only_consumer[i] = VERTEX_NONE;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (only_consumer[i] != VERTEX_NONE && producer_count[only_consumer[i]] == 1) {
            contractor->into[only_consumer[i]] = i;
        }
    }
}

/* Number the groups by their heads and list their members. Returns the number of groups. */
static uint32_t number_groups(
    struct contraction *contraction, const struct digraph *graph, const uint32_t *into)
{
    const uint32_t count = graph->vertex_count;
    uint32_t *first = contraction->member_first;
    uint32_t group_count = 0;

    for (uint32_t i = 0; i < count; i++) { /* Heads come before what is contracted into them. */
        ASSERT(into[i] <= i);
        contraction->group_of[graph->order[i]] =
            into[i] == i ? group_count++ : contraction->group_of[graph->order[into[i]]];
    }
    /* Counts are kept one place further, so that filling a group moves its first to its end. */
    for (uint32_t i = 0; i < count; i++) {
        first[contraction->group_of[i] + 2]++;
    }
    for (uint32_t i = 2; i < group_count + 1; i++) {
        first[i] += first[i - 1];
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t vertex = graph->order[i];
        contraction->members[first[contraction->group_of[vertex] + 1]++] = vertex;
    }
    return group_count;
}

/* The edges out of one group while they are collected. By consumer: */
struct crossing {
    uint32_t *edge;     /* One more than the index of the edge, if its producer is this group. */
    uint32_t *producer; /* One more than the member last seen to make a tensor for it. */
    uint64_t *bytes;    /* Of that tensor, so far. */
};

/* Let @edge of the original graph, from @group to another, count. */
static void add_crossing(
    struct contraction *contraction, struct crossing *crossing, uint32_t group,
    const struct digraph_edge *edge)
{
    struct digraph *graph = contraction->graph;
    const uint32_t to = contraction->group_of[edge->to];
    const uint32_t index = crossing->edge[to];

    if (index == 0 || graph->edges[index - 1].from != group) {
        const struct digraph_edge added = {.from = group, .to = to};
        const enum weft_status status = digraph_add_edge(graph, &added);
        ASSERT(status == WEFT_OK);
        crossing->edge[to] = graph->edge_count;
    }
    if (crossing->producer[to] != edge->from + 1) {
        crossing->producer[to] = edge->from + 1;
        crossing->bytes[to] = 0;
    }
    if (edge->bytes > crossing->bytes[to]) {
        graph->edges[crossing->edge[to] - 1].bytes += edge->bytes - crossing->bytes[to];
        crossing->bytes[to] = edge->bytes;
    }
}

static void build_graph(
    struct contraction *contraction, const struct digraph *graph, uint32_t group_count,
    struct arena *scratch)
{
    struct crossing crossing = {
        .edge = arena_alloc(scratch, group_count * sizeof(*crossing.edge)),
        .producer = arena_alloc(scratch, group_count * sizeof(*crossing.producer)),
        .bytes = arena_alloc(scratch, group_count * sizeof(*crossing.bytes)),
    };
    uint32_t group;

    contraction->graph = digraph_create();
    for (uint32_t i = 0; i < group_count; i++) {
        int64_t run_ns = 0;
        for (uint32_t j = contraction->member_first[i]; j < contraction->member_first[i + 1]; j++) {
            run_ns += graph->vertices[contraction->members[j]].run_ns;
        }
        const enum weft_status added = digraph_add_vertex(contraction->graph, run_ns, &group);
        ASSERT(added == WEFT_OK);
    }
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        const uint32_t vertex = contraction->members[i];
        group = contraction->group_of[vertex];
        for (uint32_t j = 0; j < graph->vertices[vertex].out_count; j++) {
            const struct digraph_edge *edge = digraph_out(graph, vertex, j);
            if (contraction->group_of[edge->to] != group) {
                add_crossing(contraction, &crossing, group, edge);
            }
        }
    }
    const enum weft_status sealed = digraph_seal(contraction->graph);
    ASSERT(sealed == WEFT_OK); /* Contraction makes no cycle. */
}

struct contraction *contraction_create(const struct digraph *graph, enum contract_rule rule)
{
    const uint32_t count = graph->vertex_count;
    struct contractor contractor;
    struct arena scratch;

    ASSERT(graph->sealed);
    struct contraction *contraction = memory_zeroed(1, sizeof(*contraction));
    contraction->group_of = memory_zeroed(count, sizeof(*contraction->group_of));
    contraction->member_first = memory_zeroed(count + 2, sizeof(*contraction->member_first));
    contraction->members = memory_zeroed(count, sizeof(*contraction->members));
    arena_init(&scratch);
    contractor_init(&contractor, graph, &scratch);
    switch (rule) {
    case CONTRACT_NEIGHBOURS:
        contract_neighbours(&contractor);
        break;
    case CONTRACT_CLOSURE:
        contract_closure(&contractor, &scratch);
        break;
    }
    const uint32_t group_count = number_groups(contraction, graph, contractor.into);
    build_graph(contraction, graph, group_count, &scratch);
    arena_deinit(&scratch);
    return contraction;
}

void contraction_destroy(struct contraction *contraction)
{
    if (contraction == NULL) {
        return;
    }
    digraph_destroy(contraction->graph);
    free(contraction->group_of);
    free(contraction->member_first);
    free(contraction->members);
    free(contraction);
}
