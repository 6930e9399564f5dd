/*
 * bundle.h - named tensors in one piece of memory: what a handle of the runtime names.
 *
 * A request, and every output of a task, is one bundle. Engines make them; whoever holds
 * the last handle gives them back with bundle_destroy(). Once handed on a bundle is only
 * read, from any thread, and anyone who needs it for longer than it is lent shares it.
 */
#ifndef ENGINE_BUNDLE_H
#define ENGINE_BUNDLE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <weft/tensor.h>

enum { BUNDLE_TENSORS_MAX = 64 };

struct bundle {
    atomic_uint references;
    uint32_t items;
    uint32_t count;
    uint64_t bytes; /* Of all tensors. */
    struct weft_tensor tensors[BUNDLE_TENSORS_MAX];
};

/* An empty bundle; the caller owns it. NULL if there is no memory. */
struct bundle *bundle_create(void);

/* Give back one reference; with the last, release @bundle and the data of its tensors. NULL is
 * allowed; for use as a tensor_free. */
void bundle_destroy(void *bundle);

/* One more reference to @bundle, which is only read from now on. Returns it. */
struct bundle *bundle_share(const struct bundle *bundle);

/*
 * Add a tensor like @tensor, without its data, and give it room of @tensor->bytes, 64-byte
 * aligned and not initialised. Returns the room, or NULL if there is none, or if the
 * bundle is full, or a name is used twice.
 */
void *bundle_add(struct bundle *bundle, const struct weft_tensor *tensor);

/* NULL if there is no such tensor. */
const struct weft_tensor *bundle_find(const struct bundle *bundle, const char *name);

/* The bytes of a tensor of @dtype and @shape. UINT64_MAX for texts, and if they overflow. */
uint64_t tensor_bytes(enum weft_dtype dtype, uint32_t rank, const int64_t *shape);

/* As the Open Inference Protocol writes it, and back; WEFT_DTYPES if it is no type. */
const char *dtype_name(enum weft_dtype dtype);
enum weft_dtype dtype_parse(const char *name);

/*
 * Whether the lengths inside a tensor of texts add up to its bytes and its elements: to be
 * asked of whatever came from outside.
 */
bool tensor_texts_fit(const struct weft_tensor *tensor);

#endif /* ENGINE_BUNDLE_H */
