/*
 * bitset.h - sets of small numbers as bits: of models, and over words of the caller's.
 *
 * The caller of the bitset_ functions owns the words and knows how many there
 * are: bitset_words() says how many a set needs. Indices are checked for models
 * only, whose number is fixed.
 */
#ifndef BASE_BITSET_H
#define BASE_BITSET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/limits.h"

enum { MODEL_SET_WORDS = 4 };

_Static_assert(MODELS_MAX == 64 * MODEL_SET_WORDS, "a model set has a bit for every model");

/* All zero is the empty set. */
struct model_set {
    uint64_t words[MODEL_SET_WORDS];
};

/* Words for a set of @bits bits. */
static inline uint32_t bitset_words(uint32_t bits)
{
    return bits / 64 + (bits % 64 != 0 ? 1 : 0);
}

static inline bool bitset_has(const uint64_t *words, uint32_t bit)
{
    return (words[bit / 64] >> (bit % 64) & 1) != 0;
}

static inline void bitset_add(uint64_t *words, uint32_t bit)
{
    words[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static inline void bitset_remove(uint64_t *words, uint32_t bit)
{
    words[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

/* How many bits are set in @word_count words. */
static inline uint32_t bitset_count(const uint64_t *words, uint32_t word_count)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < word_count; i++) {
        count += (uint32_t)__builtin_popcountll(words[i]);
    }
    return count;
}

static inline bool model_set_has(const struct model_set *set, uint32_t model)
{
    ASSERT(model < MODELS_MAX);
    return bitset_has(set->words, model);
}

static inline void model_set_add(struct model_set *set, uint32_t model)
{
    ASSERT(model < MODELS_MAX);
    bitset_add(set->words, model);
}

static inline void model_set_remove(struct model_set *set, uint32_t model)
{
    ASSERT(model < MODELS_MAX);
    bitset_remove(set->words, model);
}

static inline uint32_t model_set_count(const struct model_set *set)
{
    return bitset_count(set->words, MODEL_SET_WORDS);
}

static inline bool model_set_is_empty(const struct model_set *set)
{
    return (set->words[0] | set->words[1] | set->words[2] | set->words[3]) == 0;
}

static inline struct model_set model_set_union(
    const struct model_set *left, const struct model_set *right)
{
    struct model_set both;
    for (uint32_t i = 0; i < MODEL_SET_WORDS; i++) {
        both.words[i] = left->words[i] | right->words[i];
    }
    return both;
}

#endif /* BASE_BITSET_H */
