#include "engine/bundle.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

enum { ALIGNMENT = 64 };

struct bundle *bundle_create(void)
{
    struct bundle *bundle = malloc(sizeof(*bundle));
    if (bundle == NULL) {
        return NULL;
    }
    atomic_init(&bundle->references, 1);
    bundle->items = 1;
    bundle->count = 0;
    bundle->bytes = 0;
    return bundle;
}

void bundle_destroy(void *bundle_or_null)
{
    struct bundle *bundle = bundle_or_null;
    if (bundle == NULL || atomic_fetch_sub(&bundle->references, 1) > 1) {
        return;
    }
    for (uint32_t i = 0; i < bundle->count; i++) {
        free(bundle->tensors[i].data);
    }
    free(bundle);
}

struct bundle *bundle_share(const struct bundle *bundle)
{
    struct bundle *shared = (struct bundle *)(uintptr_t)bundle; /* Only the count changes. */
    const unsigned before = atomic_fetch_add(&shared->references, 1);
    ASSERT(before > 0);
    return shared;
}

void *bundle_add(struct bundle *bundle, const struct weft_tensor *tensor)
{
    ASSERT(tensor->rank <= WEFT_RANK_MAX);
    ASSERT(tensor->dtype < WEFT_DTYPES);
    if (bundle->count == BUNDLE_TENSORS_MAX || bundle_find(bundle, tensor->name) != NULL ||
        tensor->bytes > SIZE_MAX - ALIGNMENT) {
        return NULL;
    }
    const size_t blocks = ((size_t)tensor->bytes + ALIGNMENT - 1) / ALIGNMENT;
    void *data = aligned_alloc(ALIGNMENT, (blocks == 0 ? 1 : blocks) * ALIGNMENT);
    if (data == NULL) {
        return NULL;
    }
    struct weft_tensor *copy = &bundle->tensors[bundle->count];
    *copy = *tensor;
    copy->data = data;
    bundle->count++;
    bundle->bytes += tensor->bytes;
    return data;
}

const struct weft_tensor *bundle_find(const struct bundle *bundle, const char *name)
{
    for (uint32_t i = 0; i < bundle->count; i++) {
        if (strcmp(bundle->tensors[i].name, name) == 0) {
            return &bundle->tensors[i];
        }
    }
    return NULL;
}

static const uint8_t dtype_widths[WEFT_DTYPES] = {
#define X(name, bytes, text) [name] = (bytes),
    WEFT_DTYPE_MAP(X)
#undef X
};

static const char *const dtype_names[WEFT_DTYPES] = {
#define X(name, bytes, text) [name] = (text),
    WEFT_DTYPE_MAP(X)
#undef X
};

uint64_t tensor_bytes(enum weft_dtype dtype, uint32_t rank, const int64_t *shape)
{
    uint64_t bytes = dtype_widths[dtype];
    bool is_known = bytes > 0;
    bool is_empty = false;
    for (uint32_t i = 0; i < rank; i++) {
        is_known = is_known && shape[i] >= 0;
        is_empty = is_empty || shape[i] == 0;
    }
    for (uint32_t i = 0; i < rank && is_known && !is_empty; i++) {
        is_known = !__builtin_mul_overflow(bytes, (uint64_t)shape[i], &bytes);
    }
    if (!is_known) {
        return UINT64_MAX;
    }
    return is_empty ? 0 : bytes;
}

const char *dtype_name(enum weft_dtype dtype)
{
    ASSERT(dtype < WEFT_DTYPES);
    return dtype_names[dtype];
}

enum weft_dtype dtype_parse(const char *name)
{
    enum weft_dtype dtype = WEFT_BOOL;
    while (dtype < WEFT_DTYPES && strcmp(dtype_names[dtype], name) != 0) {
        dtype++;
    }
    return dtype;
}

bool tensor_texts_fit(const struct weft_tensor *tensor)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] < 0 ||
            __builtin_mul_overflow(count, (uint64_t)tensor->shape[i], &count)) {
            return false;
        }
    }
    const uint8_t *bytes = tensor->data;
    uint64_t at = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t length;
        if (tensor->bytes - at < sizeof(length)) {
            return false;
        }
        memcpy(&length, bytes + at, sizeof(length));
        at += sizeof(length);
        if (tensor->bytes - at < length) {
            return false;
        }
        at += length;
    }
    return at == tensor->bytes;
}
