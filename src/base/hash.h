/*
 * hash.h - 64-bit hashes that are the same on every machine and in every run.
 *
 * Good enough for tables and for comparing traces; no defence against someone
 * who wants collisions.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

/*
 * Fold @value into @hash. Order matters, and so do zeros: (0, 0) is not 0. Only
 * one multiplication waits for @hash, which keeps long chains fast.
 */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
    uint64_t mixed = (hash ^ (value * UINT64_C(0x9e3779b97f4a7c15))) + UINT64_C(0xd1b54a32d192ed03);
    mixed ^= mixed >> 32;
    mixed *= UINT64_C(0xd6e8feb86659fd93);
    return mixed ^ (mixed >> 29);
}

__extension__ typedef unsigned __int128 hash_product;

/* Both halves of a product of two words, each first moved off zero by a secret. */
static inline uint64_t hash_pair(uint64_t a, uint64_t b, uint64_t secret)
{
    const hash_product product = (hash_product)(a ^ secret) * (b ^ ~(secret << 1));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * Fold six words into @hash. The words do not wait for each other, nor for @hash: one
 * step of the chain instead of six. For what is hashed millions of times a second.
 */
static inline uint64_t hash_mix_six(uint64_t hash, const uint64_t words[static 6])
{
    const uint64_t first = hash_pair(words[0], words[1], UINT64_C(0xa0761d6478bd642f));
    const uint64_t second = hash_pair(words[2], words[3], UINT64_C(0xe7037ed1a0b428db));
    const uint64_t third = hash_pair(words[4], words[5], UINT64_C(0x8ebc6af09c88c6e3));
    return hash_mix(hash, first ^ second ^ third);
}

/* FNV-1a over the bytes, then mixed, because FNV leaves its upper bits weak on short texts. */
static inline uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *c = text; *c != '\0'; c++) {
        hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
    }
    return hash_mix(hash, 0);
}

#endif /* BASE_HASH_H */
