#include "model/contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "random_digraph.h"

enum { GRAPHS = 3000, ORDERS = 6, LARGE_GRAPHS = 300, LARGE_ORDERS = 2, LARGE_VERTICES_MAX = 60 };

#define BIT(index) (UINT64_C(1) << (index))

/* A graph of sets, one bit a vertex; what has been contracted is gone from them. */
struct sets {
    uint32_t count;
    uint64_t before[64];
    uint64_t after[64];
    uint64_t members[64]; /* Of the original graph. 0: gone. */
};

static void copy_graph(const struct digraph *graph, struct sets *sets_out)
{
    *sets_out = (struct sets){.count = graph->vertex_count};
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        sets_out->members[i] = BIT(i);
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        sets_out->before[graph->edges[i].to] |= BIT(graph->edges[i].from);
        sets_out->after[graph->edges[i].from] |= BIT(graph->edges[i].to);
    }
}

/* All that can be reached from @start through @links, @start excluded unless on a cycle. */
static uint64_t closure(const struct sets *sets, const uint64_t *links, uint32_t start)
{
    uint64_t reached = links[start];
    uint64_t looked_at = 0;

    while (reached != looked_at) {
        const uint32_t next = (uint32_t)__builtin_ctzll(reached & ~looked_at);
        assert_true(next < sets->count);
        looked_at |= BIT(next);
        reached |= links[next];
    }
    return reached;
}

/* The rule as it is written. */
static bool may_contract(const struct sets *sets, enum contract_rule rule, uint32_t a, uint32_t b)
{
    if ((sets->after[a] & BIT(b)) == 0) {
        return false;
    }
    const bool wide = rule == CONTRACT_CLOSURE;
    const uint64_t before = wide ? closure(sets, sets->before, a) : sets->before[a];
    const uint64_t after = wide ? closure(sets, sets->after, b) : sets->after[b];
    return (sets->before[b] & ~BIT(a) & ~before) == 0 && (sets->after[a] & ~BIT(b) & ~after) == 0;
}

static void contract_pair(struct sets *sets, uint32_t a, uint32_t b)
{
    const uint64_t both = BIT(a) | BIT(b);

    sets->before[a] = (sets->before[a] | sets->before[b]) & ~both;
    sets->after[a] = (sets->after[a] | sets->after[b]) & ~both;
    sets->members[a] |= sets->members[b];
    sets->before[b] = 0;
    sets->after[b] = 0;
    sets->members[b] = 0;
    for (uint32_t i = 0; i < sets->count; i++) {
        if ((sets->before[i] & BIT(b)) != 0) {
            sets->before[i] = (sets->before[i] & ~BIT(b)) | BIT(a);
        }
        if ((sets->after[i] & BIT(b)) != 0) {
            sets->after[i] = (sets->after[i] & ~BIT(b)) | BIT(a);
        }
    }
    for (uint32_t i = 0; i < sets->count; i++) { /* Never a cycle. */
        assert_true((closure(sets, sets->after, i) & BIT(i)) == 0);
    }
}

/* Contract edges as they are drawn from @rng until none is left that may be. */
static void contract_at_random(struct sets *sets, enum contract_rule rule, struct rng *rng)
{
    for (;;) {
        uint32_t choices = 0;
        uint32_t chosen_a = 0;
        uint32_t chosen_b = 0;
        for (uint32_t a = 0; a < sets->count; a++) {
            for (uint64_t left = sets->after[a]; left != 0; left &= left - 1) {
                const uint32_t b = (uint32_t)__builtin_ctzll(left);
                if (!may_contract(sets, rule, a, b)) {
                    continue;
                }
                choices++;
                if (rng_below(rng, choices) == 0) {
                    chosen_a = a;
                    chosen_b = b;
                }
            }
        }
        if (choices == 0) {
            return;
        }
        contract_pair(sets, chosen_a, chosen_b);
    }
}

static uint64_t members_of(const struct contraction *contraction, uint32_t group)
{
    uint64_t set = 0;
    for (uint32_t i = contraction->member_first[group]; i < contraction->member_first[group + 1];
         i++) {
        assert_int_equal(contraction->group_of[contraction->members[i]], group);
        set |= BIT(contraction->members[i]);
    }
    return set;
}

static void check_partition(
    const struct digraph *graph, const struct contraction *contraction, const struct sets *sets)
{
    uint32_t group_count = 0;

    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        if (sets->members[i] != 0) {
            assert_int_equal(members_of(contraction, contraction->group_of[i]), sets->members[i]);
            group_count++;
        }
    }
    assert_int_equal(contraction->graph->vertex_count, group_count);
    assert_int_equal(contraction->member_first[0], 0);
    assert_int_equal(contraction->member_first[group_count], graph->vertex_count);
}

/* Each tensor once, at the largest size that a member of the consumer's group wants. */
static uint64_t crossing_bytes(
    const struct digraph *graph, const struct contraction *contraction, uint32_t from, uint32_t to)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        uint64_t largest = 0;
        for (uint32_t j = 0; j < graph->edge_count; j++) {
            const struct digraph_edge *edge = &graph->edges[j];
            if (edge->from == i && contraction->group_of[i] == from &&
                contraction->group_of[edge->to] == to && edge->bytes > largest) {
                largest = edge->bytes;
            }
        }
        all += largest;
    }
    return all;
}

/* Times, edges and bytes of the contracted graph, and the order of groups and members. */
static void check_graph(const struct digraph *graph, const struct contraction *contraction)
{
    const struct digraph *small = contraction->graph;
    uint32_t crossing_count = 0;
    uint64_t linked[64] = {0};
    uint32_t place[64] = {0};

    assert_true(small->sealed);
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        place[contraction->members[i]] = i;
    }
    for (uint32_t i = 0; i < small->vertex_count; i++) {
        int64_t run_ns = 0;
        for (uint32_t j = 0; j < graph->vertex_count; j++) {
            run_ns += contraction->group_of[j] == i ? graph->vertices[j].run_ns : 0;
        }
        assert_int_equal(small->vertices[i].run_ns, run_ns);
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const uint32_t from = contraction->group_of[graph->edges[i].from];
        const uint32_t to = contraction->group_of[graph->edges[i].to];
        assert_true(from <= to);
        assert_true(place[graph->edges[i].from] < place[graph->edges[i].to]);
        crossing_count += from != to && (linked[from] & BIT(to)) == 0;
        linked[from] |= from != to ? BIT(to) : 0;
    }
    assert_int_equal(small->edge_count, crossing_count);
    for (uint32_t i = 0; i < small->edge_count; i++) {
        const struct digraph_edge *edge = &small->edges[i];
        assert_true((linked[edge->from] & BIT(edge->to)) != 0);
        assert_int_equal(edge->bytes, crossing_bytes(graph, contraction, edge->from, edge->to));
    }
}

static void check_contraction(
    const struct digraph *graph, enum contract_rule rule, uint32_t orders, struct rng *rng)
{
    struct contraction *contraction = contraction_create(graph, rule);
    struct sets sets;

    for (uint32_t i = 0; i < orders; i++) {
        copy_graph(graph, &sets);
        contract_at_random(&sets, rule, rng);
        check_partition(graph, contraction, &sets);
    }
    check_graph(graph, contraction);
    contraction_destroy(contraction);
}

static void every_order_gives_the_same_groups(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(1);

    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct digraph *graph = random_digraph(&rng);
        check_contraction(graph, CONTRACT_NEIGHBOURS, ORDERS, &rng);
        check_contraction(graph, CONTRACT_CLOSURE, ORDERS, &rng);
        digraph_destroy(graph);
    }
}

/* Chains, skips and forks put one after another, with a few edges across. */
static struct digraph *random_blocks(struct rng *rng)
{
    struct digraph *graph = digraph_create();
    const uint32_t count = 20 + rng_below(rng, LARGE_VERTICES_MAX - 19);
    const uint32_t span = 1 + rng_below(rng, 6);
    const uint32_t extra = rng_below(rng, 40);

    (void)vertex(graph, 1);
    for (uint32_t i = 1; i < count; i++) {
        const int64_t run_ns = rng_below(rng, 10);
        const uint32_t nearest = i > span ? i - span : 0;
        const uint32_t from = nearest + rng_below(rng, i - nearest);
        const bool has_skip = rng_below(rng, 100) < extra;
        const uint32_t skipped = rng_below(rng, i);
        const uint64_t bytes = rng_below(rng, 10);
        (void)vertex(graph, run_ns);
        arc(graph, from, i, bytes);
        if (has_skip && skipped != from) {
            arc(graph, skipped, i, bytes / 2);
        }
    }
    return sealed(graph);
}

static void larger_graphs_contract_as_the_rule_says(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(2);

    for (uint32_t i = 0; i < LARGE_GRAPHS; i++) {
        struct digraph *graph = random_blocks(&rng);
        check_contraction(graph, CONTRACT_NEIGHBOURS, LARGE_ORDERS, &rng);
        check_contraction(graph, CONTRACT_CLOSURE, LARGE_ORDERS, &rng);
        digraph_destroy(graph);
    }
}

static void the_closure_joins_whole_groups_of_the_plain_rule(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(3);

    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct digraph *graph = random_digraph(&rng);
        struct contraction *plain = contraction_create(graph, CONTRACT_NEIGHBOURS);
        struct contraction *wide = contraction_create(graph, CONTRACT_CLOSURE);
        for (uint32_t j = 0; j < plain->graph->vertex_count; j++) {
            const uint64_t small = members_of(plain, j);
            const uint32_t group = wide->group_of[__builtin_ctzll(small)];
            assert_true((small & ~members_of(wide, group)) == 0);
        }
        contraction_destroy(plain);
        contraction_destroy(wide);
        digraph_destroy(graph);
    }
}

static void the_worked_cases(ATTR_UNUSED void **state)
{
    static const struct {
        const char *edges;
        uint32_t vertices; /* After the plain rule, */
        uint32_t arcs;
        uint32_t closure; /* and vertices after the closure rule. */
    } cases[] = {
        {"ab bc cd de ef", 1, 0, 1},                /* Chain. */
        {"ab bc cd ad", 1, 0, 1},                   /* Identity skip. */
        {"ab ac bd cd", 4, 4, 4},                   /* Diamond. */
        {"ab bc ch ad de ef fh hg", 4, 4, 4},       /* Long arms, and a tail. */
        {"ab ac bd cd ad", 4, 5, 4},                /* Diamond and a skip. */
        {"ab ac bd cd bc", 1, 0, 1},                /* Diamond and an edge across. */
        {"ab ac ad ae bc bd be cd ce de", 1, 0, 1}, /* Complete. */
        {"ab ac", 3, 2, 3},                         /* Fork. */
        {"ac bc", 3, 2, 3},                         /* Join. */
        {"ac bc bd", 4, 3, 4},                      /* N. */
        {"ac ad bc bd", 4, 4, 4},                   /* K2,2. */
        {"ab ac ad be ce ef df", 6, 7, 6},          /* Attention. */
        {"ab ac bd cd de ae", 5, 6, 4},             /* x->{y,z}->a->b and x->b. */
    };

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct digraph *graph = drawn(cases[i].edges);
        struct contraction *plain = contraction_create(graph, CONTRACT_NEIGHBOURS);
        struct contraction *wide = contraction_create(graph, CONTRACT_CLOSURE);
        assert_int_equal(plain->graph->vertex_count, cases[i].vertices);
        assert_int_equal(plain->graph->edge_count, cases[i].arcs);
        assert_int_equal(wide->graph->vertex_count, cases[i].closure);
        contraction_destroy(plain);
        contraction_destroy(wide);
        digraph_destroy(graph);
    }
    contraction_destroy(NULL);
}

/*
 *   a -> b -> c       b -> c and d -> e are contracted. The tensor of a crosses to {d, e}
 *   |\               once, at its larger size; two tensors of {b, c} cross to f both.
 *   | `-> d -> e
 *   b -> f <- c  and  e -> f
 */
static void a_tensor_crosses_once_and_different_ones_add_up(ATTR_UNUSED void **state)
{
    struct digraph *graph = digraph_create();
    for (uint32_t i = 0; i < 6; i++) {
        (void)vertex(graph, /* run_ns */ 1 << i);
    }
    arc(graph, 0, 1, 10);
    arc(graph, 1, 2, 1000);
    arc(graph, 0, 3, 20);
    arc(graph, 0, 4, 30);
    arc(graph, 3, 4, 1000);
    arc(graph, 1, 5, 5);
    arc(graph, 2, 5, 7);
    arc(graph, 4, 5, 9);
    struct contraction *contraction = contraction_create(sealed(graph), CONTRACT_NEIGHBOURS);
    const struct digraph *small = contraction->graph;

    assert_int_equal(small->vertex_count, 4);
    const uint32_t left = contraction->group_of[1];
    const uint32_t right = contraction->group_of[3];
    assert_int_equal(contraction->group_of[2], left);
    assert_int_equal(contraction->group_of[4], right);
    assert_int_equal(small->vertices[left].run_ns, 2 + 4);
    assert_int_equal(small->vertices[right].run_ns, 8 + 16);
    assert_int_equal(small->edge_count, 4);
    assert_int_equal(digraph_in(small, left, 0)->bytes, 10);
    assert_int_equal(digraph_in(small, right, 0)->bytes, 30);
    assert_int_equal(digraph_out(small, left, 0)->bytes, 5 + 7);
    assert_int_equal(digraph_out(small, right, 0)->bytes, 9);
    contraction_destroy(contraction);
    digraph_destroy(graph);
}

static void check_whole(struct digraph *graph)
{
    for (uint32_t rule = CONTRACT_NEIGHBOURS; rule <= CONTRACT_CLOSURE; rule++) {
        struct contraction *contraction = contraction_create(graph, (enum contract_rule)rule);
        assert_int_equal(contraction->graph->vertex_count, 1);
        assert_int_equal(contraction->graph->edge_count, 0);
        assert_int_equal(contraction->graph->run_ns, graph->run_ns);
        contraction_destroy(contraction);
    }
    digraph_destroy(graph);
}

static void the_largest_graphs_contract_to_one(ATTR_UNUSED void **state)
{
    enum { DENSE = 256 };
    struct digraph *chain = digraph_create();
    struct digraph *dense = digraph_create();

    for (uint32_t i = 0; i < GRAPH_VERTICES_MAX; i++) {
        (void)vertex(chain, INT64_MAX / GRAPH_VERTICES_MAX);
        if (i > 0) {
            arc(chain, i - 1, i, 1);
        }
    }
    for (uint32_t i = 0; i < DENSE; i++) {
        (void)vertex(dense, 1);
        for (uint32_t j = 0; j < i; j++) {
            arc(dense, j, i, 1);
        }
    }
    check_whole(sealed(chain));
    check_whole(sealed(dense));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_gives_the_same_groups),
        cmocka_unit_test(larger_graphs_contract_as_the_rule_says),
        cmocka_unit_test(the_closure_joins_whole_groups_of_the_plain_rule),
        cmocka_unit_test(the_worked_cases),
        cmocka_unit_test(a_tensor_crosses_once_and_different_ones_add_up),
        cmocka_unit_test(the_largest_graphs_contract_to_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
