/*
 * Covers: src/lab/operators.c, src/lab/operators_vision.c,
 * src/lab/operators_language.c, and src/model/contract.c on what they build. The numbers
 * of vertices and edges, before and after, and the work are those of the traced networks.
 */
#include "model/contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "lab/operators.h"
#include "model/digraph.h"

static const struct operators_speed defaults = {0};

static void assert_near(double value, double expected, double margin)
{
    if (value < expected - margin || value > expected + margin) {
        fail_msg("%g is not %g", value, expected);
    }
}

struct size {
    uint32_t vertices;
    uint32_t edges;
};

static void check_size(const struct digraph *graph, struct size expected, const char *name)
{
    if (graph->vertex_count != expected.vertices || graph->edge_count != expected.edges) {
        fail_msg(
            "%s has %u/%u, expected %u/%u", name, graph->vertex_count, graph->edge_count,
            expected.vertices, expected.edges);
    }
}

static void networks_contract_to_known_sizes(ATTR_UNUSED void **state)
{
    static const struct {
        const char *name;
        struct size before;
        struct size plain;
        struct size closure;
    } networks[] = {
        {"alexnet", {23, 22}, {1, 0}, {1, 0}},
        {"vgg16", {41, 40}, {1, 0}, {1, 0}},
        {"densenet121", {432, 966}, {1, 0}, {1, 0}},
        {"resnet18", {70, 77}, {10, 12}, {10, 12}},
        {"resnet50", {176, 191}, {13, 16}, {13, 16}},
        {"mobilenet-v2", {154, 163}, {1, 0}, {1, 0}},
        {"hydra", {112, 120}, {12, 16}, {12, 16}},
        {"googlenet", {198, 224}, {46, 72}, {46, 72}},
        {"inception-v3", {315, 349}, {66, 100}, {66, 100}},
        {"gpt2", {127, 151}, {4, 4}, {4, 4}},
        {"gpt2-apart", {319, 367}, {88, 124}, {64, 100}},
        {"gpt2-gelu", {403, 475}, {148, 208}, {100, 160}},
        {"gpt2-heads", {1291, 1735}, {760, 1192}, {736, 1168}},
    };

    for (uint32_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
        assert_string_equal(operators_names[i], networks[i].name);
        struct operators *made = operators_create(networks[i].name, &defaults);
        check_size(made->graph, networks[i].before, networks[i].name);
        struct contraction *plain = contraction_create(made->graph, CONTRACT_NEIGHBOURS);
        struct contraction *wide = contraction_create(made->graph, CONTRACT_CLOSURE);
        check_size(plain->graph, networks[i].plain, networks[i].name);
        check_size(wide->graph, networks[i].closure, networks[i].name);
        assert_int_equal(plain->graph->run_ns, made->graph->run_ns);
        contraction_destroy(plain);
        contraction_destroy(wide);
        operators_destroy(made);
    }
    assert_null(operators_names[sizeof(networks) / sizeof(networks[0])]);
}

/* The work on the way with most of it. */
static double critical_macs(const struct digraph *graph, const uint64_t *macs)
{
    double until[GRAPH_VERTICES_MAX] = {0};
    double most = 0;

    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        const uint32_t vertex = graph->order[i];
        double before = 0;
        for (uint32_t k = 0; k < graph->vertices[vertex].in_count; k++) {
            const double other = until[digraph_in(graph, vertex, k)->from];
            before = other > before ? other : before;
        }
        until[vertex] = before + (double)macs[vertex];
        most = until[vertex] > most ? until[vertex] : most;
    }
    return most;
}

/* What the groups of a contraction do together. */
static void sum_groups(const struct contraction *groups, const uint64_t *macs, uint64_t *macs_out)
{
    for (uint32_t group = 0; group < groups->graph->vertex_count; group++) {
        macs_out[group] = 0;
        for (uint32_t i = groups->member_first[group]; i < groups->member_first[group + 1]; i++) {
            macs_out[group] += macs[groups->members[i]];
        }
    }
}

static void networks_have_the_known_work(ATTR_UNUSED void **state)
{
    static const struct {
        const char *name;
        double total; /* 1e9 multiplications, */
        double critical;
    } networks[] = {
        {"alexnet", 0.714, 0.714},    {"vgg16", 15.47, 15.47},          {"densenet121", 2.83, 2.83},
        {"resnet18", 1.814, 1.795},   {"resnet50", 4.09, 3.73},         {"googlenet", 1.50, 1.21},
        {"inception-v3", 5.71, 3.78}, {"mobilenet-v2", 0.3008, 0.3008},
    };

    for (uint32_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
        struct operators *made = operators_create(networks[i].name, &defaults);
        uint64_t grouped[GRAPH_VERTICES_MAX];
        double total = 0;
        for (uint32_t vertex = 0; vertex < made->graph->vertex_count; vertex++) {
            total += (double)made->macs[vertex];
        }
        assert_near(total / 1e9, networks[i].total, 0.005 * networks[i].total);
        const double critical = critical_macs(made->graph, made->macs);
        assert_near(critical / 1e9, networks[i].critical, 0.005 * networks[i].critical);
        /* Contraction takes no parallelism away. */
        struct contraction *plain = contraction_create(made->graph, CONTRACT_NEIGHBOURS);
        sum_groups(plain, made->macs, grouped);
        assert_near(critical_macs(plain->graph, grouped), critical, 1);
        contraction_destroy(plain);
        operators_destroy(made);
    }
}

/* ResNet18: 4.2 MB cross the twelve edges; a downsampled skip runs 6.4 beside 173 million. */
static void tensors_have_the_known_sizes(ATTR_UNUSED void **state)
{
    struct operators *made = operators_create("resnet18", &defaults);
    struct contraction *groups = contraction_create(made->graph, CONTRACT_NEIGHBOURS);
    uint64_t macs[GRAPH_VERTICES_MAX];
    uint64_t bytes = 0;
    uint32_t skips = 0;

    sum_groups(groups, made->macs, macs);
    for (uint32_t i = 0; i < groups->graph->edge_count; i++) {
        bytes += groups->graph->edges[i].bytes;
    }
    assert_near((double)bytes / 1e6, 4.2, 0.05);
    for (uint32_t group = 0; group < groups->graph->vertex_count; group++) {
        skips += macs[group] > 6300000 && macs[group] < 6500000 ? 1 : 0;
    }
    assert_int_equal(skips, 3);
    assert_int_equal(made->input_bytes, 3 * 224 * 224 * 4);
    contraction_destroy(groups);
    operators_destroy(made);
}

static void times_follow_the_speed(ATTR_UNUSED void **state)
{
    const struct operators_speed writing = {.macs_per_s = 1e30, .bytes_per_s = 1e9};
    const struct operators_speed counting = {.macs_per_s = 1e9, .bytes_per_s = 1e30};
    struct operators *written = operators_create("alexnet", &writing);
    struct operators *counted = operators_create("alexnet", &counting);

    assert_int_equal(written->graph->vertices[0].run_ns, 3 * 224 * 224 * 4);
    assert_int_equal(counted->graph->vertices[0].run_ns, 0);
    assert_int_equal(counted->graph->vertices[1].run_ns, 64 * 55 * 55 * 3 * 11 * 11);
    assert_null(operators_create("alexnet2", &defaults));
    operators_destroy(written);
    operators_destroy(counted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_contract_to_known_sizes),
        cmocka_unit_test(networks_have_the_known_work),
        cmocka_unit_test(tensors_have_the_known_sizes),
        cmocka_unit_test(times_follow_the_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
