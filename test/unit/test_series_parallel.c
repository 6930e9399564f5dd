#include "model/series_parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "random_digraph.h"

enum {
    GRAPHS = 6000,
    ENDS = 2, /* The virtual ones. */
    EDGES_MAX = RANDOM_VERTICES_MAX * (RANDOM_VERTICES_MAX - 1) / 2,
    LEAVES_MAX = RANDOM_VERTICES_MAX + EDGES_MAX,
    PARTS_MAX = 2 * LEAVES_MAX - 1,
};

/* How many edges lead from one vertex to another; the last two are entry and exit. */
struct multigraph {
    uint32_t count;
    uint32_t edges[RANDOM_VERTICES_MAX + ENDS][RANDOM_VERTICES_MAX + ENDS];
};

static void copy_graph(const struct digraph *graph, struct multigraph *copy_out)
{
    const uint32_t entry = graph->vertex_count;
    const uint32_t exit = graph->vertex_count + 1;

    *copy_out = (struct multigraph){.count = graph->vertex_count + ENDS};
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        copy_out->edges[graph->edges[i].from][graph->edges[i].to] = 1;
    }
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        copy_out->edges[entry][i] = graph->vertices[i].in_count == 0;
        copy_out->edges[i][exit] = graph->vertices[i].out_count == 0;
    }
}

/* Take out @vertex if it has one edge in and one out. */
static bool splice(struct multigraph *graph, uint32_t vertex)
{
    uint32_t in_count = 0;
    uint32_t out_count = 0;
    uint32_t from = 0;
    uint32_t to = 0;

    for (uint32_t i = 0; i < graph->count; i++) {
        in_count += graph->edges[i][vertex];
        out_count += graph->edges[vertex][i];
        from = graph->edges[i][vertex] > 0 ? i : from;
        to = graph->edges[vertex][i] > 0 ? i : to;
    }
    if (in_count != 1 || out_count != 1) {
        return false;
    }
    graph->edges[from][vertex] = 0;
    graph->edges[vertex][to] = 0;
    graph->edges[from][to]++;
    return true;
}

/* Reduce the whole graph wherever it can be, in no order at all, until it cannot. */
static bool reduces_to_one_edge(const struct digraph *graph, struct rng *rng)
{
    struct multigraph left;
    uint32_t edge_count = 0;
    bool changed = true;

    copy_graph(graph, &left);
    while (changed) {
        const uint32_t start = rng_below(rng, graph->vertex_count);
        changed = false;
        for (uint32_t i = 0; i < graph->vertex_count; i++) {
            changed |= splice(&left, (start + i) % graph->vertex_count);
        }
        for (uint32_t i = 0; i < left.count * left.count; i++) {
            uint32_t *edges = &left.edges[i / left.count][i % left.count];
            changed |= *edges > 1;
            *edges = *edges > 1 ? 1 : *edges;
        }
    }
    for (uint32_t i = 0; i < left.count * left.count; i++) {
        edge_count += left.edges[i / left.count][i % left.count];
    }
    return edge_count == 1;
}

/* Vertices, then edges. Whether a way leads from leaf @a to leaf @b. */
static bool comes_before(
    const struct digraph *graph, const struct ways *ways, uint32_t a, uint32_t b)
{
    const bool a_is_edge = a >= graph->vertex_count;
    const bool b_is_edge = b >= graph->vertex_count;
    const uint32_t end = a_is_edge ? graph->edges[a - graph->vertex_count].to : a;
    const uint32_t start = b_is_edge ? graph->edges[b - graph->vertex_count].from : b;

    return ways->to[end][start] || (end == start && (a_is_edge || b_is_edge));
}

/* Every leaf of @left must stand to every leaf of @right as @kind says. */
static void check_pair(
    const struct digraph *graph, enum part_kind kind, const bool *left, const bool *right)
{
    const uint32_t leaf_count = graph->vertex_count + graph->edge_count;
    struct ways ways;

    find_ways(graph, VERTEX_NONE, &ways);
    for (uint32_t i = 0; i < leaf_count; i++) {
        for (uint32_t j = 0; j < leaf_count; j++) {
            if (left[i] && right[j]) {
                assert_int_not_equal(i, j);
                assert_int_equal(comes_before(graph, &ways, i, j), kind == PART_SERIES);
                assert_false(comes_before(graph, &ways, j, i));
            }
        }
    }
}

/* The order of all vertices and edges, which the tree tells, is the order in the graph. */
static void check_tree(const struct digraph *graph, const struct series_parallel *tree)
{
    static bool holds[PARTS_MAX][LEAVES_MAX]; /* By part: its leaves. */
    const uint32_t leaf_count = graph->vertex_count + graph->edge_count;

    assert_int_equal(tree->part_count, 2 * leaf_count - 1);
    memset(holds, 0, sizeof(holds));
    for (uint32_t i = 0; i < tree->part_count; i++) {
        const struct part *part = &tree->parts[i];
        if (part->kind == PART_VERTEX || part->kind == PART_EDGE) {
            const uint32_t skipped = part->kind == PART_EDGE ? graph->vertex_count : 0;
            assert_true(part->index + skipped < leaf_count);
            holds[i][part->index + skipped] = true;
            continue;
        }
        assert_true(part->left < i);
        assert_true(part->right < i);
        check_pair(graph, part->kind, holds[part->left], holds[part->right]);
        for (uint32_t j = 0; j < leaf_count; j++) {
            holds[i][j] = holds[part->left][j] || holds[part->right][j];
        }
    }
    for (uint32_t i = 0; i < leaf_count; i++) {
        assert_true(holds[tree->root][i]);
    }
}

/* Returns whether @graph, which is destroyed, is series-parallel. */
static bool agrees(struct digraph *graph, struct rng *rng)
{
    struct series_parallel *tree = series_parallel_create(graph);
    const bool nests = tree != NULL;

    assert_int_equal(nests, reduces_to_one_edge(graph, rng));
    if (nests) {
        check_tree(graph, tree);
    }
    series_parallel_destroy(tree);
    digraph_destroy(graph);
    return nests;
}

static void random_graphs_are_recognised_as_by_reduction(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(1);
    uint32_t count = 0;

    for (uint32_t i = 0; i < GRAPHS; i++) {
        count += agrees(random_digraph(&rng), &rng);
    }
    assert_in_range(count, GRAPHS / 10, GRAPHS * 9 / 10); /* Both answers were tried. */
}

/* A graph that is put together from one edge by doubling and splitting edges. */
struct growth {
    uint32_t vertex_count;
    bool edges[RANDOM_VERTICES_MAX][RANDOM_VERTICES_MAX];
};

static void grow_nested(struct growth *growth, struct rng *rng)
{
    const uint32_t target = 2 + rng_below(rng, RANDOM_VERTICES_MAX - 1);

    *growth = (struct growth){.vertex_count = 2};
    growth->edges[0][1] = true;
    while (growth->vertex_count < target) {
        const uint32_t from = rng_below(rng, growth->vertex_count);
        const uint32_t to = rng_below(rng, growth->vertex_count);
        const bool doubles = rng_below(rng, 2) == 1;
        if (growth->edges[from][to]) {
            growth->edges[from][to] = doubles;
            growth->edges[from][growth->vertex_count] = true;
            growth->edges[growth->vertex_count][to] = true;
            growth->vertex_count++;
        }
    }
}

/* The graph with its vertices numbered anew at random. */
static struct digraph *shuffled(const struct growth *growth, struct rng *rng)
{
    struct digraph *graph = digraph_create();
    uint32_t names[RANDOM_VERTICES_MAX];

    for (uint32_t i = 0; i < growth->vertex_count; i++) {
        const uint32_t other = rng_below(rng, i + 1);
        names[i] = names[other];
        names[other] = vertex(graph, /* run_ns */ 1);
    }
    for (uint32_t i = 0; i < growth->vertex_count; i++) {
        for (uint32_t j = 0; j < growth->vertex_count; j++) {
            if (growth->edges[i][j]) {
                arc(graph, names[i], names[j], /* bytes */ 1);
            }
        }
    }
    return sealed(graph);
}

static void what_is_put_together_can_be_taken_apart(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(2);
    struct growth growth;

    for (uint32_t i = 0; i < GRAPHS; i++) {
        grow_nested(&growth, &rng);
        assert_true(agrees(shuffled(&growth, &rng), &rng));
    }
}

/* At most RANDOM_VERTICES_MAX deep: there is no cycle. */
static bool has_way(const struct growth *growth, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < growth->vertex_count; i++) {
        if (growth->edges[from][i] && (i == to || has_way(growth, i, to))) {
            return true;
        }
    }
    return false;
}

static void one_edge_more_or_less_is_noticed(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(3);
    struct growth growth;
    uint32_t count = 0;

    for (uint32_t i = 0; i < GRAPHS; i++) {
        grow_nested(&growth, &rng);
        const uint32_t from = rng_below(&rng, growth.vertex_count);
        const uint32_t to = rng_below(&rng, growth.vertex_count);
        if (from != to && !has_way(&growth, to, from)) {
            growth.edges[from][to] = !growth.edges[from][to];
        }
        count += agrees(shuffled(&growth, &rng), &rng);
    }
    assert_in_range(count, GRAPHS / 10, GRAPHS * 9 / 10);
}

static void known_shapes(ATTR_UNUSED void **state)
{
    static const struct {
        const char *edges;
        bool nests;
    } shapes[] = {
        {"ab", true},
        {"ab bc", true},
        {"ab ac", true},                   /* Fork. */
        {"ac bc", true},                   /* Join. */
        {"ab cd", true},                   /* Two chains. */
        {"ab ac bd cd", true},             /* Diamond. */
        {"ab ac bd cd ad", true},          /* With a skip. */
        {"ab bc cd ad", true},             /* Identity skip. */
        {"ab ac ad be ce ef df", true},    /* Attention. */
        {"ab ac bd cd bc", false},         /* Wheatstone bridge. */
        {"ac bc bd", false},               /* N. */
        {"ac ad bc bd", false},            /* K2,2. */
        {"ab ac bd cd be", false},         /* A result from within a branch. */
        {"ab ac bd cd de df eg fg", true}, /* Two diamonds. */
    };
    struct rng rng = rng_from_seed(4);

    for (uint32_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        assert_int_equal(agrees(drawn(shapes[i].edges), &rng), shapes[i].nests);
    }
    series_parallel_destroy(NULL);
}

static void vertices_without_edges_lie_side_by_side(ATTR_UNUSED void **state)
{
    struct digraph *graph = digraph_create();
    (void)vertex(graph, 1);
    struct series_parallel *tree = series_parallel_create(sealed(graph));

    assert_int_equal(tree->part_count, 1);
    assert_int_equal(tree->parts[tree->root].kind, PART_VERTEX);
    series_parallel_destroy(tree);
    digraph_destroy(graph);

    graph = digraph_create();
    (void)vertex(graph, 1);
    (void)vertex(graph, 1);
    tree = series_parallel_create(sealed(graph));
    assert_int_equal(tree->part_count, 3);
    assert_int_equal(tree->parts[tree->root].kind, PART_PARALLEL);
    series_parallel_destroy(tree);
    digraph_destroy(graph);
}

/* The longest path by a loop over the parts, on as many diamonds as fit. */
static void a_program_over_the_largest_graph_is_a_loop(ATTR_UNUSED void **state)
{
    enum { DIAMONDS = (GRAPH_VERTICES_MAX - 1) / 3 };
    struct digraph *graph = digraph_create();
    uint32_t last = vertex(graph, 1);

    for (uint32_t i = 0; i < DIAMONDS; i++) {
        const uint32_t left = vertex(graph, 5);
        const uint32_t right = vertex(graph, 7);
        const uint32_t next = vertex(graph, 1);
        arc(graph, last, left, 1);
        arc(graph, last, right, 1);
        arc(graph, left, next, 1);
        arc(graph, right, next, 1);
        last = next;
    }
    struct series_parallel *tree = series_parallel_create(sealed(graph));
    assert_non_null(tree);
    int64_t *long_ns = test_calloc(tree->part_count, sizeof(*long_ns));
    for (uint32_t i = 0; i < tree->part_count; i++) {
        const struct part *part = &tree->parts[i];
        if (part->kind == PART_VERTEX) {
            long_ns[i] = graph->vertices[part->index].run_ns;
        } else if (part->kind == PART_SERIES) {
            long_ns[i] = long_ns[part->left] + long_ns[part->right];
        } else if (part->kind == PART_PARALLEL) {
            const int64_t left_ns = long_ns[part->left];
            const int64_t right_ns = long_ns[part->right];
            long_ns[i] = left_ns > right_ns ? left_ns : right_ns;
        }
    }
    assert_int_equal(long_ns[tree->root], 1 + 8 * DIAMONDS);
    test_free(long_ns);
    series_parallel_destroy(tree);
    digraph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_are_recognised_as_by_reduction),
        cmocka_unit_test(what_is_put_together_can_be_taken_apart),
        cmocka_unit_test(one_edge_more_or_less_is_noticed),
        cmocka_unit_test(known_shapes),
        cmocka_unit_test(vertices_without_edges_lie_side_by_side),
        cmocka_unit_test(a_program_over_the_largest_graph_is_a_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
