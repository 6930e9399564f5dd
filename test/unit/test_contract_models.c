/*
 * Covers: src/model/contract.c on the operators of well-known networks, op by op. The
 * numbers of vertices and edges, before and after, are those of the traced networks.
 */
#include "model/contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "random_digraph.h"

enum { INPUTS_MAX = 64 };

/* @count operators one after another, behind @from; returns the last. */
static uint32_t chain(struct digraph *graph, uint32_t from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t next = vertex(graph, /* run_ns */ 1);
        if (from != VERTEX_NONE) {
            arc(graph, from, next, /* bytes */ 1);
        }
        from = next;
    }
    return from;
}

/* An operator with two inputs. */
static uint32_t join(struct digraph *graph, uint32_t left, uint32_t right)
{
    const uint32_t next = chain(graph, left, 1);
    arc(graph, right, next, /* bytes */ 1);
    return next;
}

/* Branches of the given lengths from @from to one operator. A length of 0 ends the list. */
static uint32_t branches(struct digraph *graph, uint32_t from, const uint32_t *lengths)
{
    uint32_t ends[INPUTS_MAX];
    uint32_t count = 0;

    for (; lengths[count] != 0; count++) {
        ends[count] = chain(graph, from, lengths[count]);
    }
    const uint32_t next = vertex(graph, /* run_ns */ 1);
    for (uint32_t i = 0; i < count; i++) {
        arc(graph, ends[i], next, /* bytes */ 1);
    }
    return next;
}

static void alexnet(struct digraph *graph)
{
    (void)chain(graph, VERTEX_NONE, 23);
}

static void vgg16(struct digraph *graph)
{
    (void)chain(graph, VERTEX_NONE, 41);
}

static void densenet121(struct digraph *graph)
{
    static const uint32_t layers[] = {6, 12, 24, 16};
    uint32_t last = chain(graph, VERTEX_NONE, 5);

    for (uint32_t i = 0; i < 4; i++) {
        uint32_t features[INPUTS_MAX] = {last};
        for (uint32_t count = 1; count <= layers[i] + 1; count++) {
            last = vertex(graph, /* run_ns */ 1); /* All so far, side by side. */
            for (uint32_t j = 0; j < count; j++) {
                arc(graph, features[j], last, /* bytes */ 1);
            }
            if (count <= layers[i]) {
                features[count] = chain(graph, last, 6);
            }
        }
        last = chain(graph, last, i < 3 ? 4 : 5);
    }
}

/* Residual blocks of @length operators; @skips_first: the first layer has no convolved skip. */
static void resnet(struct digraph *graph, const uint32_t *blocks, uint32_t length, bool skips_first)
{
    uint32_t last = chain(graph, VERTEX_NONE, 5);

    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t j = 0; j < blocks[i]; j++) {
            const bool has_downsample = j == 0 && (i > 0 || !skips_first);
            const uint32_t main = chain(graph, last, length);
            const uint32_t skip = has_downsample ? chain(graph, last, 2) : last;
            last = chain(graph, join(graph, main, skip), 1);
        }
    }
    (void)chain(graph, last, 3);
}

static void resnet18(struct digraph *graph)
{
    static const uint32_t blocks[] = {2, 2, 2, 2};
    resnet(graph, blocks, 5, /* skips_first */ true);
}

static void resnet50(struct digraph *graph)
{
    static const uint32_t blocks[] = {3, 4, 6, 3};
    resnet(graph, blocks, 8, /* skips_first */ false);
}

static void mobilenet_v2(struct digraph *graph)
{
    static const uint32_t repeats[] = {2, 3, 4, 3, 3, 1};
    uint32_t last = chain(graph, VERTEX_NONE, 1 + 3 + 5);

    for (uint32_t i = 0; i < 6; i++) {
        for (uint32_t j = 0; j < repeats[i]; j++) {
            const uint32_t end = chain(graph, last, 8);
            last = j == 0 ? end : join(graph, end, last);
        }
    }
    (void)chain(graph, last, 3 + 4);
}

static void googlenet(struct digraph *graph)
{
    static const uint32_t module[] = {3, 6, 6, 4, 0};
    uint32_t last = chain(graph, VERTEX_NONE, 1 + 3 + 1 + 3 + 3 + 1);

    for (uint32_t i = 0; i < 9; i++) {
        last = branches(graph, last, module);
        if (i == 1 || i == 6) {
            last = chain(graph, last, 1); /* Pooling. */
        }
    }
    (void)chain(graph, last, 4);
}

/* The last kind of module of Inception v3, whose branches fork again. */
static uint32_t inception_e(struct digraph *graph, uint32_t from)
{
    static const uint32_t pair[] = {3, 3, 0};
    const uint32_t first = chain(graph, from, 3);
    const uint32_t second = branches(graph, chain(graph, from, 3), pair);
    const uint32_t third = branches(graph, chain(graph, from, 6), pair);
    const uint32_t fourth = chain(graph, from, 4);
    const uint32_t next = join(graph, first, second);

    arc(graph, third, next, /* bytes */ 1);
    arc(graph, fourth, next, /* bytes */ 1);
    return next;
}

static void inception_v3(struct digraph *graph)
{
    static const uint32_t a[] = {3, 6, 9, 4, 0};
    static const uint32_t b[] = {3, 9, 1, 0};
    static const uint32_t c[] = {3, 9, 15, 4, 0};
    static const uint32_t d[] = {6, 12, 1, 0};
    static const uint32_t *const modules[] = {a, a, a, b, c, c, c, c, d};
    uint32_t last = chain(graph, VERTEX_NONE, 1 + 9 + 1 + 6 + 1);

    for (uint32_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        last = branches(graph, last, modules[i]);
    }
    last = inception_e(graph, last);
    last = inception_e(graph, last);
    (void)chain(graph, last, 4);
}

/* 0.5 x (1 + tanh(c (x + 0.044715 x^3))), an operator at a time. */
static uint32_t gelu_in_ops(struct digraph *graph, uint32_t from)
{
    const uint32_t sum = join(graph, chain(graph, from, 2), from);
    return join(graph, chain(graph, sum, 3), chain(graph, from, 1));
}

/* Queries, keys and values of @length operators each, their products, and @after more. */
static uint32_t attention(struct digraph *graph, uint32_t from, uint32_t length, uint32_t after)
{
    const uint32_t queries = chain(graph, from, length);
    const uint32_t keys = chain(graph, from, length + 1);
    const uint32_t values = chain(graph, from, length);
    const uint32_t scores = chain(graph, join(graph, queries, keys), after);
    return join(graph, scores, values);
}

struct gpt2 {
    uint32_t heads; /* 0: attention is one operator, 1: all heads are. */
    bool gelu_in_ops;
};

static uint32_t gpt2_attention(struct digraph *graph, const struct gpt2 *options, uint32_t norm)
{
    if (options->heads == 0) {
        return chain(graph, norm, 3); /* With both projections. */
    }
    if (options->heads == 1) {
        return chain(graph, attention(graph, norm, 3, 3), 4);
    }
    const uint32_t all = vertex(graph, /* run_ns */ 1);
    for (uint32_t i = 0; i < options->heads; i++) {
        arc(graph, attention(graph, norm, 1, 2), all, /* bytes */ 1);
    }
    return chain(graph, all, 3);
}

static void gpt2(struct digraph *graph, const struct gpt2 *options)
{
    const uint32_t tokens = chain(graph, VERTEX_NONE, 1);
    uint32_t last = join(graph, chain(graph, tokens, 1), chain(graph, tokens, 2));

    for (uint32_t i = 0; i < 12; i++) {
        const uint32_t norm = chain(graph, last, 1);
        const uint32_t mixed = join(graph, gpt2_attention(graph, options, norm), last);
        const uint32_t wide = chain(graph, mixed, 2);
        const uint32_t bent =
            options->gelu_in_ops ? gelu_in_ops(graph, wide) : chain(graph, wide, 1);
        last = join(graph, chain(graph, bent, 1), mixed);
    }
    (void)chain(graph, last, 2);
}

static void gpt2_fused(struct digraph *graph)
{
    const struct gpt2 options = {.heads = 0};
    gpt2(graph, &options);
}

static void gpt2_apart(struct digraph *graph)
{
    const struct gpt2 options = {.heads = 1};
    gpt2(graph, &options);
}

static void gpt2_gelu(struct digraph *graph)
{
    const struct gpt2 options = {.heads = 1, .gelu_in_ops = true};
    gpt2(graph, &options);
}

static void gpt2_heads(struct digraph *graph)
{
    const struct gpt2 options = {.heads = 12};
    gpt2(graph, &options);
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
        void (*build)(struct digraph *graph);
        struct size before;
        struct size plain;
        struct size closure;
    } networks[] = {
        {"alexnet", alexnet, {23, 22}, {1, 0}, {1, 0}},
        {"vgg16", vgg16, {41, 40}, {1, 0}, {1, 0}},
        {"densenet121", densenet121, {432, 966}, {1, 0}, {1, 0}},
        {"resnet18", resnet18, {70, 77}, {10, 12}, {10, 12}},
        {"resnet50", resnet50, {176, 191}, {13, 16}, {13, 16}},
        {"mobilenet_v2", mobilenet_v2, {154, 163}, {1, 0}, {1, 0}},
        {"googlenet", googlenet, {198, 224}, {46, 72}, {46, 72}},
        {"inception_v3", inception_v3, {315, 349}, {66, 100}, {66, 100}},
        {"gpt2_fused", gpt2_fused, {127, 151}, {4, 4}, {4, 4}},
        {"gpt2_apart", gpt2_apart, {319, 367}, {88, 124}, {64, 100}},
        {"gpt2_gelu", gpt2_gelu, {403, 475}, {148, 208}, {100, 160}},
        {"gpt2_heads", gpt2_heads, {1291, 1735}, {760, 1192}, {736, 1168}},
    };

    for (uint32_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
        struct digraph *graph = digraph_create();
        networks[i].build(graph);
        check_size(sealed(graph), networks[i].before, networks[i].name);
        struct contraction *plain = contraction_create(graph, CONTRACT_NEIGHBOURS);
        struct contraction *wide = contraction_create(graph, CONTRACT_CLOSURE);
        check_size(plain->graph, networks[i].plain, networks[i].name);
        check_size(wide->graph, networks[i].closure, networks[i].name);
        assert_int_equal(plain->graph->run_ns, graph->run_ns);
        contraction_destroy(plain);
        contraction_destroy(wide);
        digraph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_contract_to_known_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
