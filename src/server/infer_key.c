/* infer_key.c - what a client calls its request, and the inputs that it must not change. */
#include <string.h>

#include <openssl/evp.h>

#include "base/hash.h"
#include "server/infer.h"

enum { KEY_BYTES_MAX = 255, WORDS = 6 };

/* Clients with different tokens cannot meet each other's requests. */
static struct request_key key_of(struct http_span text, const struct http_span *token)
{
    static const struct http_span none = {"", 0};
    const struct http_span parts[] = {token == NULL ? none : *token, {"\n", 1}, text};
    unsigned char digest[EVP_MAX_MD_SIZE] = {0};
    struct request_key key;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_good = context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;
    for (size_t i = 0; i < 3 && is_good; i++) {
        is_good = EVP_DigestUpdate(context, parts[i].bytes, parts[i].length) == 1;
    }
    is_good = is_good && EVP_DigestFinal_ex(context, digest, NULL) == 1;
    EVP_MD_CTX_free(context);
    memcpy(key.words, digest, sizeof(key.words));
    return is_good ? key : (struct request_key){{0}}; /* Without memory: as without a key. */
}

const char *infer_key_read(const struct http_head *head, struct infer_head *infer_out)
{
    const struct http_span *text = http_head_find(head, "idempotency-key");
    const struct http_span *attempt = http_head_find(head, "weft-attempt");
    uint64_t number = 1;
    if (text != NULL && (text->length == 0 || text->length > KEY_BYTES_MAX)) {
        return "Idempotency-Key must have 1 to 255 characters";
    }
    if (attempt != NULL && (!http_span_number(*attempt, &number) || number == 0)) {
        return "weft-attempt is not a number from 1";
    }
    infer_out->is_retry = number > 1;
    if (text != NULL) {
        infer_out->key = key_of(*text, http_head_find(head, "authorization"));
    }
    return NULL;
}

static uint64_t hash_bytes(uint64_t hash, const void *data, uint64_t count)
{
    const uint8_t *bytes = data;
    uint64_t words[WORDS];
    for (; count >= sizeof(words); count -= sizeof(words), bytes += sizeof(words)) {
        memcpy(words, bytes, sizeof(words));
        hash = hash_mix_six(hash, words);
    }
    memset(words, 0, sizeof(words));
    if (count > 0) {
        memcpy(words, bytes, (size_t)count);
    }
    return hash_mix(hash_mix_six(hash, words), count);
}

uint64_t infer_inputs_hash(const struct bundle *bundle)
{
    uint64_t hash = bundle->items;
    for (uint32_t i = 0; i < bundle->count; i++) {
        const struct weft_tensor *tensor = &bundle->tensors[i];
        hash = hash_mix(hash, hash_text(tensor->name));
        hash = hash_mix(hash, (uint64_t)tensor->dtype);
        hash = hash_bytes(hash, tensor->shape, tensor->rank * sizeof(tensor->shape[0]));
        hash = hash_bytes(hash, tensor->data, tensor->bytes);
    }
    return hash;
}
