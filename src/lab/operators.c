#include "lab/operators.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/units.h"
#include "lab/operators_build.h"
#include "model/digraph.h"

#define MACS_PER_S  1e11
#define BYTES_PER_S 2e10
#define FLOAT_BYTES 4

struct network {
    const char *name;
    void (*build)(struct operators_builder *builder);
};

static const struct network networks[] = {
    {"alexnet", build_alexnet},
    {"vgg16", build_vgg16},
    {"densenet121", build_densenet121},
    {"resnet18", build_resnet18},
    {"resnet50", build_resnet50},
    {"mobilenet-v2", build_mobilenet_v2},
    {"hydra", build_hydra},
    {"googlenet", build_googlenet},
    {"inception-v3", build_inception_v3},
    {"gpt2", build_gpt2},
    {"gpt2-apart", build_gpt2_apart},
    {"gpt2-gelu", build_gpt2_gelu},
    {"gpt2-heads", build_gpt2_heads},
};

enum { NETWORKS = ARRAY_COUNT(networks) };

const char *const operators_names[] = {
    "alexnet",   "vgg16",        "densenet121", "resnet18",   "resnet50",  "mobilenet-v2", "hydra",
    "googlenet", "inception-v3", "gpt2",        "gpt2-apart", "gpt2-gelu", "gpt2-heads",   NULL,
};

_Static_assert(NETWORKS + 1 == ARRAY_COUNT(operators_names), "every one has a name");

static uint64_t numbers_of(struct tensor_shape shape)
{
    return (uint64_t)shape.channels * shape.height * shape.width;
}

static uint64_t bytes_of(struct tensor_shape shape)
{
    return numbers_of(shape) * FLOAT_BYTES;
}

static void connect(
    struct operators_builder *builder, struct tensor_shape from, struct tensor_shape to)
{
    const struct digraph_edge edge = {
        .from = from.vertex, .to = to.vertex, .bytes = bytes_of(from)};
    const enum weft_status status = digraph_add_edge(builder->made->graph, &edge);
    ASSERT(status == WEFT_OK); /* The networks are ours, and within the limits. */
}

/* An operator without inputs yet. */
static struct tensor_shape add(
    struct operators_builder *builder, struct tensor_shape shape, uint64_t macs)
{
    struct operators *made = builder->made;
    const double run_s = (double)macs / builder->speed.macs_per_s +
                         (double)bytes_of(shape) / builder->speed.bytes_per_s;
    const enum weft_status status =
        digraph_add_vertex(made->graph, (int64_t)(run_s * NS_PER_S + 0.5), &shape.vertex);
    ASSERT(status == WEFT_OK);
    made->macs[shape.vertex] = macs;
    return shape;
}

struct window window_same(uint32_t size)
{
    return (struct window){
        .height = size, .width = size, .stride = 1, .pad_height = size / 2, .pad_width = size / 2};
}

struct window window_plain(uint32_t size, uint32_t stride)
{
    return (struct window){.height = size, .width = size, .stride = stride};
}

struct tensor_shape build_input(
    struct operators_builder *builder, uint32_t channels, uint32_t height, uint32_t width)
{
    const struct tensor_shape shape = {.channels = channels, .height = height, .width = width};
    builder->made->input_bytes = bytes_of(shape);
    return add(builder, shape, /* macs */ 0);
}

struct tensor_shape build_operator(
    struct operators_builder *builder, struct tensor_shape from, struct tensor_shape of,
    uint64_t macs)
{
    const struct tensor_shape next = add(builder, of, macs);
    connect(builder, from, next);
    return next;
}

struct tensor_shape build_plain(
    struct operators_builder *builder, struct tensor_shape from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        from = build_operator(builder, from, from, /* macs */ 0);
    }
    return from;
}

/* The image that @window makes of one. */
static struct tensor_shape slide(struct tensor_shape from, struct window window)
{
    from.height = (from.height + 2 * window.pad_height - window.height) / window.stride + 1;
    from.width = (from.width + 2 * window.pad_width - window.width) / window.stride + 1;
    return from;
}

struct tensor_shape build_convolution(
    struct operators_builder *builder, struct tensor_shape from, uint32_t channels,
    struct window window)
{
    struct tensor_shape shape = slide(from, window);
    shape.channels = channels;
    return build_operator(
        builder, from, shape, numbers_of(shape) * from.channels * window.height * window.width);
}

struct tensor_shape build_depthwise(
    struct operators_builder *builder, struct tensor_shape from, struct window window)
{
    const struct tensor_shape shape = slide(from, window);
    return build_operator(builder, from, shape, numbers_of(shape) * window.height * window.width);
}

struct tensor_shape build_unit(
    struct operators_builder *builder, struct tensor_shape from, uint32_t channels,
    struct window window)
{
    return build_plain(builder, build_convolution(builder, from, channels, window), 2);
}

struct tensor_shape build_pool(
    struct operators_builder *builder, struct tensor_shape from, struct window window)
{
    return build_operator(builder, from, slide(from, window), /* macs */ 0);
}

struct tensor_shape build_pool_to(
    struct operators_builder *builder, struct tensor_shape from, uint32_t size)
{
    struct tensor_shape shape = from;
    shape.height = size;
    shape.width = size;
    return build_operator(builder, from, shape, /* macs */ 0);
}

struct tensor_shape build_flat(struct operators_builder *builder, struct tensor_shape from)
{
    const struct tensor_shape shape = {
        .channels = (uint32_t)numbers_of(from), .height = 1, .width = 1};
    return build_operator(builder, from, shape, /* macs */ 0);
}

struct tensor_shape build_linear(
    struct operators_builder *builder, struct tensor_shape from, uint32_t channels)
{
    struct tensor_shape shape = from;
    shape.channels = channels;
    return build_operator(builder, from, shape, numbers_of(shape) * from.channels);
}

struct tensor_shape build_join(
    struct operators_builder *builder, struct tensor_shape left, struct tensor_shape right)
{
    const struct tensor_shape next = build_operator(builder, left, left, /* macs */ 0);
    connect(builder, right, next);
    return next;
}

struct tensor_shape build_product(
    struct operators_builder *builder, struct tensor_shape left, struct tensor_shape right,
    uint32_t columns, uint32_t heads)
{
    struct tensor_shape shape = left;
    shape.channels = columns * heads;
    const uint64_t macs = numbers_of(left) * columns;
    const struct tensor_shape next = build_operator(builder, left, shape, macs);
    connect(builder, right, next);
    return next;
}

struct tensor_shape build_concatenation(
    struct operators_builder *builder, const struct tensor_shape *parts, uint32_t count)
{
    struct tensor_shape shape = parts[0];
    for (uint32_t i = 1; i < count; i++) {
        shape.channels += parts[i].channels;
    }
    shape = add(builder, shape, /* macs */ 0);
    for (uint32_t i = 0; i < count; i++) {
        connect(builder, parts[i], shape);
    }
    return shape;
}

struct operators *operators_create(const char *name, const struct operators_speed *speed)
{
    uint32_t index = 0;
    while (index < NETWORKS && strcmp(networks[index].name, name) != 0) {
        index++;
    }
    if (index == NETWORKS) {
        return NULL;
    }
    struct operators *made = memory_zeroed(1, sizeof(*made));
    struct operators_builder builder = {.made = made, .speed = *speed};
    if (builder.speed.macs_per_s == 0) {
        builder.speed.macs_per_s = MACS_PER_S;
    }
    if (builder.speed.bytes_per_s == 0) {
        builder.speed.bytes_per_s = BYTES_PER_S;
    }
    made->graph = digraph_create();
    made->macs = memory_zeroed(GRAPH_VERTICES_MAX, sizeof(*made->macs));
    networks[index].build(&builder);
    const enum weft_status status = digraph_seal(made->graph);
    ASSERT(status == WEFT_OK);
    return made;
}

void operators_destroy(struct operators *operators)
{
    if (operators == NULL) {
        return;
    }
    digraph_destroy(operators->graph);
    free(operators->macs);
    free(operators);
}
