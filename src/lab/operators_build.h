/*
 * operators_build.h - layers, one call each, for the files that describe networks.
 *
 * A tensor is the result of an operator and its shape. Every function adds the operators of
 * a layer behind a tensor and returns what the last of them makes.
 */
#ifndef LAB_OPERATORS_BUILD_H
#define LAB_OPERATORS_BUILD_H

#include <stdint.h>

#include "lab/operators.h"

enum { JOIN_INPUTS_MAX = 64 };

struct tensor_shape {
    uint32_t vertex;
    uint32_t channels;
    uint32_t height;
    uint32_t width;
};

struct operators_builder {
    struct operators *made;
    struct operators_speed speed;
};

/* A window that moves over an image. */
struct window {
    uint32_t height;
    uint32_t width;
    uint32_t stride;
    uint32_t pad_height;
    uint32_t pad_width;
};

/* A square window of @size with a stride of 1 that leaves the size of the image. */
struct window window_same(uint32_t size);
/* One that is not padded. */
struct window window_plain(uint32_t size, uint32_t stride);

/* The request itself. */
struct tensor_shape build_input(
    struct operators_builder *builder, uint32_t channels, uint32_t height, uint32_t width);

/* An operator with @macs of work whose result has the shape @of. */
struct tensor_shape build_operator(
    struct operators_builder *builder, struct tensor_shape from, struct tensor_shape of,
    uint64_t macs);

/* @count operators one after the other that leave the shape and multiply nothing. */
struct tensor_shape build_plain(
    struct operators_builder *builder, struct tensor_shape from, uint32_t count);

struct tensor_shape build_convolution(
    struct operators_builder *builder, struct tensor_shape from, uint32_t channels,
    struct window window);

/* The same for each channel by itself. */
struct tensor_shape build_depthwise(
    struct operators_builder *builder, struct tensor_shape from, struct window window);

/* Convolution, normalisation and activation. */
struct tensor_shape build_unit(
    struct operators_builder *builder, struct tensor_shape from, uint32_t channels,
    struct window window);

struct tensor_shape build_pool(
    struct operators_builder *builder, struct tensor_shape from, struct window window);

/* Pool whatever there is to @size by @size. */
struct tensor_shape build_pool_to(
    struct operators_builder *builder, struct tensor_shape from, uint32_t size);

/* One row for all: channels times height times width. */
struct tensor_shape build_flat(struct operators_builder *builder, struct tensor_shape from);

/* Every row of @from.channels numbers becomes one of @channels: height counts the rows. */
struct tensor_shape build_linear(
    struct operators_builder *builder, struct tensor_shape from, uint32_t channels);

/* An operator of two tensors that multiplies nothing, with the shape of the first. */
struct tensor_shape build_join(
    struct operators_builder *builder, struct tensor_shape left, struct tensor_shape right);

/* A matrix by a matrix: as many rows as @left, and @columns for each of @heads pairs. */
struct tensor_shape build_product(
    struct operators_builder *builder, struct tensor_shape left, struct tensor_shape right,
    uint32_t columns, uint32_t heads);

/* All side by side, by channels. */
struct tensor_shape build_concatenation(
    struct operators_builder *builder, const struct tensor_shape *parts, uint32_t count);

/* operators_vision.c and operators_language.c: the networks. */
void build_alexnet(struct operators_builder *builder);
void build_vgg16(struct operators_builder *builder);
void build_densenet121(struct operators_builder *builder);
void build_resnet18(struct operators_builder *builder);
void build_resnet50(struct operators_builder *builder);
void build_mobilenet_v2(struct operators_builder *builder);
void build_hydra(struct operators_builder *builder);
void build_googlenet(struct operators_builder *builder);
void build_inception_v3(struct operators_builder *builder);
void build_gpt2(struct operators_builder *builder);
void build_gpt2_apart(struct operators_builder *builder);
void build_gpt2_gelu(struct operators_builder *builder);
void build_gpt2_heads(struct operators_builder *builder);

#endif /* LAB_OPERATORS_BUILD_H */
