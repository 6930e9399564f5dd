/* operators_vision.c - networks that look at one image: torchvision's, layer by layer. */
#include <stdbool.h>

#include "base/units.h"
#include "lab/operators_build.h"

enum { IMAGE = 224, CLASSES = 1000 };

static struct window window_of(uint32_t size, uint32_t stride, uint32_t pad)
{
    return (struct window){
        .height = size, .width = size, .stride = stride, .pad_height = pad, .pad_width = pad};
}

/* One row high or one column wide, and the image stays as large as it is. */
static struct window window_line(uint32_t height, uint32_t width)
{
    return (struct window){
        .height = height,
        .width = width,
        .stride = 1,
        .pad_height = height / 2,
        .pad_width = width / 2,
    };
}

/* Pooling, and one layer that knows all classes. @dropout: an operator between them. */
static void classify(struct operators_builder *builder, struct tensor_shape last, uint32_t dropout)
{
    last = build_flat(builder, build_pool_to(builder, last, 1));
    (void)build_linear(builder, build_plain(builder, last, dropout), CLASSES);
}

void build_alexnet(struct operators_builder *builder)
{
    const struct window pool = window_plain(3, 2);
    struct tensor_shape last = build_input(builder, 3, IMAGE, IMAGE);

    last = build_plain(builder, build_convolution(builder, last, 64, window_of(11, 4, 2)), 1);
    last = build_pool(builder, last, pool);
    last = build_plain(builder, build_convolution(builder, last, 192, window_same(5)), 1);
    last = build_pool(builder, last, pool);
    last = build_plain(builder, build_convolution(builder, last, 384, window_same(3)), 1);
    last = build_plain(builder, build_convolution(builder, last, 256, window_same(3)), 1);
    last = build_plain(builder, build_convolution(builder, last, 256, window_same(3)), 1);
    last = build_pool(builder, last, pool);
    last = build_flat(builder, build_pool_to(builder, last, 6));
    last = build_linear(builder, build_plain(builder, last, 1), 4096);
    last = build_linear(builder, build_plain(builder, last, 2), 4096);
    (void)build_linear(builder, build_plain(builder, last, 1), CLASSES);
}

void build_vgg16(struct operators_builder *builder)
{
    static const struct {
        uint32_t layers;
        uint32_t channels;
    } parts[] = {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};
    struct tensor_shape last = build_input(builder, 3, IMAGE, IMAGE);

    for (uint32_t i = 0; i < ARRAY_COUNT(parts); i++) {
        for (uint32_t k = 0; k < parts[i].layers; k++) {
            last = build_convolution(builder, last, parts[i].channels, window_same(3));
            last = build_plain(builder, last, 1);
        }
        last = build_pool(builder, last, window_plain(2, 2));
    }
    last = build_flat(builder, build_pool_to(builder, last, 7));
    last = build_plain(builder, build_linear(builder, last, 4096), 2);
    last = build_plain(builder, build_linear(builder, last, 4096), 2);
    (void)build_linear(builder, last, CLASSES);
}

/* A layer of a dense block: normalised and convolved twice. */
static struct tensor_shape dense_layer(
    struct operators_builder *builder, struct tensor_shape all, uint32_t growth)
{
    struct tensor_shape last = build_plain(builder, all, 2);
    last = build_plain(builder, build_convolution(builder, last, 4 * growth, window_same(1)), 2);
    return build_convolution(builder, last, growth, window_same(3));
}

void build_densenet121(struct operators_builder *builder)
{
    static const uint32_t layers[] = {6, 12, 24, 16};
    struct tensor_shape last = build_input(builder, 3, IMAGE, IMAGE);

    last = build_unit(builder, last, 64, window_of(7, 2, 3));
    last = build_pool(builder, last, window_of(3, 2, 1));
    for (uint32_t i = 0; i < 4; i++) {
        struct tensor_shape features[JOIN_INPUTS_MAX] = {last};
        for (uint32_t count = 1; count <= layers[i]; count++) {
            const struct tensor_shape all = build_concatenation(builder, features, count);
            features[count] = dense_layer(builder, all, 32);
        }
        last = build_concatenation(builder, features, layers[i] + 1);
        last = build_plain(builder, last, 2);
        if (i < 3) {
            last = build_convolution(builder, last, last.channels / 2, window_same(1));
            last = build_pool(builder, last, window_plain(2, 2));
        }
    }
    classify(builder, last, /* dropout */ 0);
}

struct residual {
    uint32_t blocks[4];
    bool is_bottleneck; /* Three narrow layers a block, and wide results, not two. */
};

static struct tensor_shape residual_block(
    struct operators_builder *builder, struct tensor_shape from, uint32_t width, uint32_t stride,
    bool is_bottleneck)
{
    const uint32_t channels = is_bottleneck ? 4 * width : width;
    struct tensor_shape main = from;
    struct tensor_shape skip = from;

    if (is_bottleneck) {
        main = build_unit(builder, main, width, window_same(1));
        main = build_unit(builder, main, width, window_of(3, stride, 1));
        main = build_plain(builder, build_convolution(builder, main, channels, window_same(1)), 1);
    } else {
        main = build_unit(builder, main, width, window_of(3, stride, 1));
        main = build_plain(builder, build_convolution(builder, main, width, window_same(3)), 1);
    }
    if (stride != 1 || from.channels != channels) {
        skip = build_convolution(builder, from, channels, window_plain(1, stride));
        skip = build_plain(builder, skip, 1);
    }
    return build_plain(builder, build_join(builder, main, skip), 1);
}

/* The first @parts of the four parts of a residual network. */
static struct tensor_shape residual_trunk(
    struct operators_builder *builder, const struct residual *shape, uint32_t parts)
{
    struct tensor_shape last = build_input(builder, 3, IMAGE, IMAGE);

    last = build_unit(builder, last, 64, window_of(7, 2, 3));
    last = build_pool(builder, last, window_of(3, 2, 1));
    for (uint32_t i = 0; i < parts; i++) {
        for (uint32_t k = 0; k < shape->blocks[i]; k++) {
            const uint32_t stride = i > 0 && k == 0 ? 2 : 1;
            last = residual_block(builder, last, 64U << i, stride, shape->is_bottleneck);
        }
    }
    return last;
}

void build_resnet18(struct operators_builder *builder)
{
    static const struct residual shape = {.blocks = {2, 2, 2, 2}};
    classify(builder, residual_trunk(builder, &shape, 4), /* dropout */ 0);
}

void build_resnet50(struct operators_builder *builder)
{
    static const struct residual shape = {.blocks = {3, 4, 6, 3}, .is_bottleneck = true};
    classify(builder, residual_trunk(builder, &shape, 4), /* dropout */ 0);
}

/*
 * Not of torchvision: three quarters of ResNet18 under four heads, as where one camera feeds
 * several tasks. The heads have nothing to do with each other until they are reported.
 */
void build_hydra(struct operators_builder *builder)
{
    static const struct residual shape = {.blocks = {2, 2, 2, 2}};
    static const uint32_t layers[] = {5, 4, 4, 3};
    const struct tensor_shape trunk = residual_trunk(builder, &shape, 3);
    struct tensor_shape heads[4];

    for (uint32_t i = 0; i < 4; i++) {
        struct tensor_shape last = trunk;
        for (uint32_t k = 0; k < layers[i]; k++) {
            last = build_unit(builder, last, 256, window_same(3));
        }
        heads[i] =
            build_linear(builder, build_flat(builder, build_pool_to(builder, last, 1)), CLASSES);
    }
    (void)build_concatenation(builder, heads, 4);
}

/* Widened, filtered and narrowed again, with a way around it where the shape allows. */
static struct tensor_shape inverted_block(
    struct operators_builder *builder, struct tensor_shape from, uint32_t channels, uint32_t stride)
{
    struct tensor_shape last = build_unit(builder, from, 6 * from.channels, window_same(1));

    last = build_plain(builder, build_depthwise(builder, last, window_of(3, stride, 1)), 2);
    last = build_plain(builder, build_convolution(builder, last, channels, window_same(1)), 1);
    if (stride != 1 || from.channels != channels) {
        return last;
    }
    return build_join(builder, last, from);
}

void build_mobilenet_v2(struct operators_builder *builder)
{
    static const struct {
        uint32_t channels;
        uint32_t repeats;
        uint32_t stride;
    } parts[] = {{24, 2, 2}, {32, 3, 2}, {64, 4, 2}, {96, 3, 1}, {160, 3, 2}, {320, 1, 1}};
    struct tensor_shape last = build_input(builder, 3, IMAGE, IMAGE);

    last = build_unit(builder, last, 32, window_of(3, 2, 1));
    last = build_plain(builder, build_depthwise(builder, last, window_same(3)), 2);
    last = build_plain(builder, build_convolution(builder, last, 16, window_same(1)), 1);
    for (uint32_t i = 0; i < ARRAY_COUNT(parts); i++) {
        for (uint32_t k = 0; k < parts[i].repeats; k++) {
            last = inverted_block(builder, last, parts[i].channels, k == 0 ? parts[i].stride : 1);
        }
    }
    last = build_unit(builder, last, 1280, window_same(1));
    classify(builder, last, /* dropout */ 1);
}

/* A module of GoogLeNet: channels of its six convolutions. */
static struct tensor_shape inception(
    struct operators_builder *builder, struct tensor_shape from, const uint32_t *channels)
{
    const struct tensor_shape second = build_unit(builder, from, channels[1], window_same(1));
    const struct tensor_shape third = build_unit(builder, from, channels[3], window_same(1));
    const struct tensor_shape fourth = build_pool(builder, from, window_same(3));
    const struct tensor_shape parts[] = {
        build_unit(builder, from, channels[0], window_same(1)),
        build_unit(builder, second, channels[2], window_same(3)),
        build_unit(builder, third, channels[4], window_same(3)),
        build_unit(builder, fourth, channels[5], window_same(1)),
    };
    return build_concatenation(builder, parts, 4);
}

void build_googlenet(struct operators_builder *builder)
{
    static const uint32_t modules[9][6] = {
        {64, 96, 128, 16, 32, 32},     {128, 128, 192, 32, 96, 64},   {192, 96, 208, 16, 48, 64},
        {160, 112, 224, 24, 64, 64},   {128, 128, 256, 24, 64, 64},   {112, 144, 288, 32, 64, 64},
        {256, 160, 320, 32, 128, 128}, {256, 160, 320, 32, 128, 128}, {384, 192, 384, 48, 128, 128},
    };
    /* Rounded up where torchvision rounds up. */
    const struct window pool = window_of(3, 2, 1);
    struct tensor_shape last = build_input(builder, 3, IMAGE, IMAGE);

    last = build_pool(builder, build_unit(builder, last, 64, window_of(7, 2, 3)), pool);
    last = build_unit(builder, last, 64, window_same(1));
    last = build_pool(builder, build_unit(builder, last, 192, window_same(3)), pool);
    for (uint32_t i = 0; i < 9; i++) {
        last = inception(builder, last, modules[i]);
        if (i == 1 || i == 6) {
            last = build_pool(builder, last, pool);
        }
    }
    classify(builder, last, /* dropout */ 1);
}

/* Modules of Inception v3, by the letters of their authors. */
static struct tensor_shape inception_a(
    struct operators_builder *builder, struct tensor_shape from, uint32_t pool_channels)
{
    struct tensor_shape parts[4];

    parts[0] = build_unit(builder, from, 64, window_same(1));
    parts[1] = build_unit(builder, from, 48, window_same(1));
    parts[1] = build_unit(builder, parts[1], 64, window_same(5));
    parts[2] = build_unit(builder, from, 64, window_same(1));
    parts[2] = build_unit(builder, parts[2], 96, window_same(3));
    parts[2] = build_unit(builder, parts[2], 96, window_same(3));
    parts[3] = build_pool(builder, from, window_same(3));
    parts[3] = build_unit(builder, parts[3], pool_channels, window_same(1));
    return build_concatenation(builder, parts, 4);
}

static struct tensor_shape inception_b(struct operators_builder *builder, struct tensor_shape from)
{
    struct tensor_shape parts[3];

    parts[0] = build_unit(builder, from, 384, window_plain(3, 2));
    parts[1] = build_unit(builder, from, 64, window_same(1));
    parts[1] = build_unit(builder, parts[1], 96, window_same(3));
    parts[1] = build_unit(builder, parts[1], 96, window_plain(3, 2));
    parts[2] = build_pool(builder, from, window_plain(3, 2));
    return build_concatenation(builder, parts, 3);
}

static struct tensor_shape inception_c(
    struct operators_builder *builder, struct tensor_shape from, uint32_t width)
{
    struct tensor_shape parts[4];

    parts[0] = build_unit(builder, from, 192, window_same(1));
    parts[1] = build_unit(builder, from, width, window_same(1));
    parts[1] = build_unit(builder, parts[1], width, window_line(1, 7));
    parts[1] = build_unit(builder, parts[1], 192, window_line(7, 1));
    parts[2] = build_unit(builder, from, width, window_same(1));
    parts[2] = build_unit(builder, parts[2], width, window_line(7, 1));
    parts[2] = build_unit(builder, parts[2], width, window_line(1, 7));
    parts[2] = build_unit(builder, parts[2], width, window_line(7, 1));
    parts[2] = build_unit(builder, parts[2], 192, window_line(1, 7));
    parts[3] = build_pool(builder, from, window_same(3));
    parts[3] = build_unit(builder, parts[3], 192, window_same(1));
    return build_concatenation(builder, parts, 4);
}

static struct tensor_shape inception_d(struct operators_builder *builder, struct tensor_shape from)
{
    struct tensor_shape parts[3];

    parts[0] = build_unit(builder, from, 192, window_same(1));
    parts[0] = build_unit(builder, parts[0], 320, window_plain(3, 2));
    parts[1] = build_unit(builder, from, 192, window_same(1));
    parts[1] = build_unit(builder, parts[1], 192, window_line(1, 7));
    parts[1] = build_unit(builder, parts[1], 192, window_line(7, 1));
    parts[1] = build_unit(builder, parts[1], 192, window_plain(3, 2));
    parts[2] = build_pool(builder, from, window_plain(3, 2));
    return build_concatenation(builder, parts, 3);
}

/* A row and a column of the same image, side by side. */
static struct tensor_shape inception_cross(
    struct operators_builder *builder, struct tensor_shape from)
{
    const struct tensor_shape parts[] = {
        build_unit(builder, from, 384, window_line(1, 3)),
        build_unit(builder, from, 384, window_line(3, 1)),
    };
    return build_concatenation(builder, parts, 2);
}

static struct tensor_shape inception_e(struct operators_builder *builder, struct tensor_shape from)
{
    struct tensor_shape parts[4];

    parts[0] = build_unit(builder, from, 320, window_same(1));
    parts[1] = build_unit(builder, from, 384, window_same(1));
    parts[1] = inception_cross(builder, parts[1]);
    parts[2] = build_unit(builder, from, 448, window_same(1));
    parts[2] = build_unit(builder, parts[2], 384, window_same(3));
    parts[2] = inception_cross(builder, parts[2]);
    parts[3] = build_pool(builder, from, window_same(3));
    parts[3] = build_unit(builder, parts[3], 192, window_same(1));
    return build_concatenation(builder, parts, 4);
}

void build_inception_v3(struct operators_builder *builder)
{
    struct tensor_shape last = build_input(builder, 3, 299, 299);

    last = build_unit(builder, last, 32, window_plain(3, 2));
    last = build_unit(builder, last, 32, window_plain(3, 1));
    last = build_unit(builder, last, 64, window_same(3));
    last = build_pool(builder, last, window_plain(3, 2));
    last = build_unit(builder, last, 80, window_same(1));
    last = build_unit(builder, last, 192, window_plain(3, 1));
    last = build_pool(builder, last, window_plain(3, 2));
    last = inception_a(builder, last, 32);
    last = inception_a(builder, last, 64);
    last = inception_a(builder, last, 64);
    last = inception_b(builder, last);
    last = inception_c(builder, last, 128);
    last = inception_c(builder, last, 160);
    last = inception_c(builder, last, 160);
    last = inception_c(builder, last, 192);
    last = inception_d(builder, last);
    last = inception_e(builder, inception_e(builder, last));
    classify(builder, last, /* dropout */ 1);
}
