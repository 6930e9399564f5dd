/*
 * bundle.h - named tensors in one piece of memory: what a handle of the runtime names.
 *
 * A request, and every output of a task, is one bundle. Engines make them; the holder
 * of the last handle gives them back with bundle_destroy(). Once handed on a bundle is only
 * read, from any thread, and anyone who needs it for longer than it is lent shares it.
 *
 * Where engines run in processes of their own, large tensors lie in segments, which other
 * processes can read: they are passed on and never copied.
 */
#ifndef ENGINE_BUNDLE_H
#define ENGINE_BUNDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <weft/tensor.h>

#include "model/dtype.h"

enum { BUNDLE_TENSORS_MAX = 256 }; /* A decoder has two for each of its layers, and more. */

struct lender;
struct mapping;
struct segment;

/* Where the data of a tensor lies: on the heap, unless one of these says otherwise. */
struct bundle_memory {
    struct segment *segment; /* Of this process. */
    struct lender *lender;   /* Of another one, as the next two say. */
    struct mapping *mapping;
    uint32_t slot;
    size_t mapped;    /* Bytes of a mapping of its own; 0: there is none. */
    bool is_borrowed; /* It is not the bundle's to release. */
    void *block;      /* What to release, on the heap: the data begins inside. */
};

struct bundle {
    atomic_uint references;
    uint32_t items;
    uint32_t count;
    uint32_t room;  /* For tensors, until the next is added: then they may move. */
    uint64_t bytes; /* Of all tensors. */
    struct weft_tensor *tensors;
    struct bundle_memory *memory;
    struct bundle *whole; /* Whose tensors it borrows; NULL: no other's. */
};

/*
 * From now on tensors of at least @bytes lie in segments, in all bundles of this process; 0: none
 * do, as at first. Where the system gives no segment they lie on the heap all the same.
 */
void bundle_set_segments_from(uint64_t bytes);

/* This process was forked: segments are the parent's affair, and tensors lie on the heap. */
void bundle_forked(void);

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

/* Add @tensor with its data as it is, which must outlive the bundle. False as bundle_add(). */
bool bundle_add_borrowed(struct bundle *bundle, const struct weft_tensor *tensor);

/*
 * A bundle of the tensors of @bundle for which @takes, one per tensor, says so. Nothing is copied:
 * it holds @bundle as long as it lives. The caller owns it. NULL if there is no memory.
 */
struct bundle *bundle_part(const struct bundle *bundle, const bool *takes);

/* Put @count bytes behind the data of tensor @name. False if there is none, or no memory. */
bool bundle_extend(struct bundle *bundle, const char *name, const void *bytes, uint64_t count);

/*
 * Add a tensor like @tensor whose data lies in @mapping, of @lender: both are given back with the
 * last reference to the bundle, and @slot is freed. False as bundle_add(): nothing is taken over.
 */
bool bundle_borrow(
    struct bundle *bundle, const struct weft_tensor *tensor, struct lender *lender,
    struct mapping *mapping, uint32_t slot);

/* The same with data at the beginning of @file, which cannot shrink and stays the caller's. */
bool bundle_map(struct bundle *bundle, const struct weft_tensor *tensor, int file);

/* The file of the segment that holds tensor @index, and its key. -1 if it is in none. */
int bundle_file(const struct bundle *bundle, uint32_t index, uint64_t *key_out);

/*
 * Lend tensor @index, which lies in a segment of this process, to the process that gets its file:
 * the bundle no longer has it. Returns the slot.
 */
uint32_t bundle_lend(struct bundle *bundle, uint32_t index);

/* NULL if there is no such tensor. */
const struct weft_tensor *bundle_find(const struct bundle *bundle, const char *name);

/* The bytes of a tensor of @dtype and @shape. UINT64_MAX for texts, and if they overflow. */
uint64_t tensor_bytes(enum weft_dtype dtype, uint32_t rank, const int64_t *shape);

/*
 * Whether the lengths inside a tensor of texts add up to its bytes and its elements: to be
 * asked of whatever came from outside.
 */
bool tensor_texts_fit(const struct weft_tensor *tensor);

/*
 * Whether a bundle may hold @tensor: a name of its own length, a type, a shape, and the
 * bytes that these need, at most @bytes_max. @error says what is wrong.
 */
enum weft_status bundle_check_tensor(
    const struct weft_tensor *tensor, uint64_t bytes_max, struct weft_error *error);

/* Whether the texts in @bundle are what their lengths say. @error says which are not. */
enum weft_status bundle_check_texts(const struct bundle *bundle, struct weft_error *error);

#endif /* ENGINE_BUNDLE_H */
