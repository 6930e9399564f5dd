/* operators_language.c - GPT-2's smallest, for one text, in several degrees of detail. */
#include <stdbool.h>

#include "lab/operators_build.h"

enum {
    TOKENS = 128,
    WIDTH = 768,
    HEADS = 12,
    BLOCKS = 12,
    WORDS = 50257,
};

struct gpt2 {
    uint32_t heads; /* 0: attention is one operator, 1: all heads are. */
    bool gelu_in_ops;
};

/* A row for every token is multiplied with a matrix of @columns; @after plain operators. */
static struct tensor_shape linear(
    struct operators_builder *builder, struct tensor_shape from, uint32_t columns, uint32_t after)
{
    return build_plain(builder, build_linear(builder, from, columns), after);
}

/* 0.5 x (1 + tanh(c (x + 0.044715 x^3))), an operator at a time. */
static struct tensor_shape gelu(struct operators_builder *builder, struct tensor_shape from)
{
    const struct tensor_shape sum = build_join(builder, build_plain(builder, from, 2), from);
    const struct tensor_shape bent = build_plain(builder, sum, 3);
    return build_join(builder, bent, build_plain(builder, from, 1));
}

/*
 * @heads heads of @width numbers together: queries, keys and values, each behind @shaped
 * operators that only rearrange, their products, and @after operators between the two.
 */
static struct tensor_shape attention(
    struct operators_builder *builder, struct tensor_shape from, uint32_t heads, uint32_t shaped,
    uint32_t after)
{
    const uint32_t width = WIDTH / HEADS * heads;
    const struct tensor_shape queries = linear(builder, from, width, shaped);
    const struct tensor_shape keys = linear(builder, from, width, shaped + 1);
    const struct tensor_shape values = linear(builder, from, width, shaped);
    struct tensor_shape scores = build_product(builder, queries, keys, TOKENS, heads);

    scores = build_plain(builder, scores, after);
    return build_product(builder, scores, values, WIDTH / HEADS, heads);
}

/* Both projections and what is between them, as three operators. */
static struct tensor_shape fused_attention(
    struct operators_builder *builder, struct tensor_shape from)
{
    struct tensor_shape last = linear(builder, from, 3 * WIDTH, 0);

    last = build_operator(builder, last, from, (uint64_t)2 * TOKENS * TOKENS * WIDTH);
    return linear(builder, last, WIDTH, 0);
}

static struct tensor_shape mix_tokens(
    struct operators_builder *builder, const struct gpt2 *options, struct tensor_shape norm)
{
    if (options->heads == 0) {
        return fused_attention(builder, norm);
    }
    if (options->heads == 1) {
        const struct tensor_shape all = attention(builder, norm, HEADS, 2, 3);
        return linear(builder, build_plain(builder, all, 2), WIDTH, 1);
    }
    struct tensor_shape heads[HEADS];
    for (uint32_t i = 0; i < HEADS; i++) {
        heads[i] = attention(builder, norm, 1, 0, 2);
    }
    const struct tensor_shape all = build_concatenation(builder, heads, HEADS);
    return linear(builder, build_plain(builder, all, 1), WIDTH, 1);
}

static void gpt2(struct operators_builder *builder, const struct gpt2 *options)
{
    const struct tensor_shape tokens = build_input(builder, 1, TOKENS, 1);
    struct tensor_shape rows = tokens;
    rows.channels = WIDTH;
    const struct tensor_shape words = build_operator(builder, tokens, rows, /* macs */ 0);
    const struct tensor_shape places = build_plain(builder, tokens, 1);
    struct tensor_shape last =
        build_join(builder, words, build_operator(builder, places, rows, /* macs */ 0));

    for (uint32_t i = 0; i < BLOCKS; i++) {
        const struct tensor_shape norm = build_plain(builder, last, 1);
        const struct tensor_shape mixed =
            build_join(builder, mix_tokens(builder, options, norm), last);
        const struct tensor_shape wide =
            linear(builder, build_plain(builder, mixed, 1), 4 * WIDTH, 0);
        const struct tensor_shape bent =
            options->gelu_in_ops ? gelu(builder, wide) : build_plain(builder, wide, 1);
        last = build_join(builder, linear(builder, bent, WIDTH, 0), mixed);
    }
    last = build_plain(builder, last, 1);
    last.height = 1; /* The next word follows the last one alone. */
    (void)build_linear(builder, last, WORDS);
}

void build_gpt2(struct operators_builder *builder)
{
    const struct gpt2 options = {.heads = 0};
    gpt2(builder, &options);
}

void build_gpt2_apart(struct operators_builder *builder)
{
    const struct gpt2 options = {.heads = 1};
    gpt2(builder, &options);
}

void build_gpt2_gelu(struct operators_builder *builder)
{
    const struct gpt2 options = {.heads = 1, .gelu_in_ops = true};
    gpt2(builder, &options);
}

void build_gpt2_heads(struct operators_builder *builder)
{
    const struct gpt2 options = {.heads = HEADS};
    gpt2(builder, &options);
}
