#include "engine/bundle.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/lender.h"
#include "engine/segment.h"

enum { ALIGNMENT = 64, TENSORS_FIRST = 4 };

static atomic_uint_fast64_t segments_from; /* 0: never. */

void bundle_set_segments_from(uint64_t bytes)
{
    atomic_store(&segments_from, bytes);
}

void bundle_forked(void)
{
    bundle_set_segments_from(0);
    segments_forked();
}

struct bundle *bundle_create(void)
{
    struct bundle *bundle = memory_reserved_zeroed(1, sizeof(*bundle));
    if (bundle != NULL) {
        atomic_init(&bundle->references, 1);
        bundle->items = 1;
    }
    return bundle;
}

static void release(const struct weft_tensor *tensor, const struct bundle_memory *memory)
{
    if (memory->segment != NULL) {
        segment_give(memory->segment);
    } else if (memory->lender != NULL) {
        lender_unmap(memory->lender, memory->mapping);
        lender_free(memory->lender, memory->slot);
        lender_release(memory->lender);
    } else if (memory->mapped > 0) {
        (void)munmap(tensor->data, memory->mapped); /* It is our mapping. */
    } else if (!memory->is_borrowed) {
        free(memory->block);
    }
}

void bundle_destroy(void *bundle_or_null)
{
    struct bundle *bundle = bundle_or_null;
    if (bundle == NULL || atomic_fetch_sub(&bundle->references, 1) > 1) {
        return;
    }
    for (uint32_t i = 0; i < bundle->count; i++) {
        release(&bundle->tensors[i], &bundle->memory[i]);
    }
    free(bundle->tensors);
    free(bundle->memory);
    bundle_destroy(bundle->whole); /* A part is of a whole: no deeper than that. */
    free(bundle);
}

struct bundle *bundle_share(const struct bundle *bundle)
{
    struct bundle *shared = (struct bundle *)(uintptr_t)bundle; /* Only the count changes. */
    const unsigned before = atomic_fetch_add(&shared->references, 1);
    ASSERT(before > 0);
    return shared;
}

/* Let there be room for twice as many tensors. */
static bool grow(struct bundle *bundle)
{
    const uint32_t room = bundle->room == 0 ? TENSORS_FIRST : 2 * bundle->room;
    struct weft_tensor *tensors =
        memory_reserved_more(bundle->tensors, room * sizeof(*bundle->tensors));
    bundle->tensors = tensors == NULL ? bundle->tensors : tensors;
    struct bundle_memory *memory =
        memory_reserved_more(bundle->memory, room * sizeof(*bundle->memory));
    bundle->memory = memory == NULL ? bundle->memory : memory;
    bundle->room = tensors == NULL || memory == NULL ? bundle->room : room;
    return bundle->room == room;
}

/* Whether @bundle can take one more tensor, like @tensor. */
static bool has_room(struct bundle *bundle, const struct weft_tensor *tensor)
{
    ASSERT(tensor->rank <= WEFT_RANK_MAX);
    ASSERT(tensor->dtype < WEFT_DTYPES);
    return bundle->count < BUNDLE_TENSORS_MAX && bundle_find(bundle, tensor->name) == NULL &&
           tensor->bytes <= SIZE_MAX / 2 && (bundle->count < bundle->room || grow(bundle));
}

static void append(
    struct bundle *bundle, const struct weft_tensor *tensor, void *data,
    const struct bundle_memory *memory)
{
    bundle->tensors[bundle->count] = *tensor;
    bundle->tensors[bundle->count].data = data;
    bundle->memory[bundle->count] = *memory;
    bundle->count++;
    bundle->bytes += tensor->bytes;
}

/* Room for the data of a tensor of @bytes; NULL if there is none. */
static void *make_room(uint64_t bytes, struct bundle_memory *memory_out)
{
    const uint64_t from = atomic_load_explicit(&segments_from, memory_order_relaxed);
    *memory_out = (struct bundle_memory){.segment = NULL};
    if (from > 0 && bytes >= from) {
        memory_out->segment = segment_take((size_t)bytes);
        if (memory_out->segment != NULL) {
            return memory_out->segment->data;
        }
    }
    return memory_aligned((size_t)bytes, ALIGNMENT, &memory_out->block);
}

void *bundle_add(struct bundle *bundle, const struct weft_tensor *tensor)
{
    struct bundle_memory memory;
    void *data = has_room(bundle, tensor) ? make_room(tensor->bytes, &memory) : NULL;
    if (data != NULL) {
        append(bundle, tensor, data, &memory);
    }
    return data;
}

bool bundle_add_borrowed(struct bundle *bundle, const struct weft_tensor *tensor)
{
    const struct bundle_memory memory = {.is_borrowed = true};
    const bool is_added = has_room(bundle, tensor);
    if (is_added) {
        append(bundle, tensor, tensor->data, &memory);
    }
    return is_added;
}

struct bundle *bundle_part(const struct bundle *bundle, const bool *takes)
{
    struct bundle *part = bundle_create();
    if (part == NULL) {
        return NULL;
    }
    part->items = bundle->items;
    for (uint32_t i = 0; i < bundle->count; i++) {
        if (takes[i] && !bundle_add_borrowed(part, &bundle->tensors[i])) {
            bundle_destroy(part);
            return NULL;
        }
    }
    part->whole = bundle_share(bundle->whole == NULL ? bundle : bundle->whole);
    return part;
}

bool bundle_extend(struct bundle *bundle, const char *name, const void *bytes, uint64_t count)
{
    const struct weft_tensor *found = bundle_find(bundle, name);
    struct bundle_memory memory;
    uint8_t *data = found == NULL || count > SIZE_MAX / 2 - found->bytes
                        ? NULL
                        : make_room(found->bytes + count, &memory);
    if (data == NULL) {
        return false;
    }
    struct weft_tensor *tensor = &bundle->tensors[found - bundle->tensors];
    memcpy(data, tensor->data, tensor->bytes);
    memcpy(data + tensor->bytes, bytes, count);
    release(tensor, &bundle->memory[found - bundle->tensors]);
    bundle->memory[found - bundle->tensors] = memory;
    tensor->data = data;
    tensor->bytes += count;
    bundle->bytes += count;
    return true;
}

bool bundle_borrow(
    struct bundle *bundle, const struct weft_tensor *tensor, struct lender *lender,
    struct mapping *mapping, uint32_t slot)
{
    ASSERT(tensor->bytes <= mapping->bytes);
    if (!has_room(bundle, tensor)) {
        return false;
    }
    const struct bundle_memory memory = {
        .lender = lender_share(lender), .mapping = mapping, .slot = slot};
    append(bundle, tensor, mapping->data, &memory);
    return true;
}

bool bundle_map(struct bundle *bundle, const struct weft_tensor *tensor, int file)
{
    const struct bundle_memory memory = {.mapped = (size_t)tensor->bytes};
    if (!has_room(bundle, tensor) || tensor->bytes == 0) {
        return false;
    }
    void *data =
        mmap(NULL, memory.mapped, PROT_READ, MAP_SHARED | MAP_POPULATE, file, /* offset */ 0);
    if (data == MAP_FAILED) {
        return false;
    }
    append(bundle, tensor, data, &memory);
    return true;
}

int bundle_file(const struct bundle *bundle, uint32_t index, uint64_t *key_out)
{
    ASSERT(index < bundle->count);
    const struct bundle_memory *memory = &bundle->memory[index];
    if (memory->segment != NULL) {
        *key_out = memory->segment->key;
        return memory->segment->file;
    }
    if (memory->mapping != NULL) {
        *key_out = memory->mapping->key;
        return memory->mapping->file;
    }
    return -1;
}

uint32_t bundle_lend(struct bundle *bundle, uint32_t index)
{
    ASSERT(index < bundle->count);
    struct bundle_memory *memory = &bundle->memory[index];
    ASSERT(memory->segment != NULL);
    const uint32_t slot = memory->segment->slot;
    segment_lend(memory->segment);
    *memory = (struct bundle_memory){.segment = NULL};
    bundle->tensors[index].data = NULL;
    return slot;
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

uint64_t tensor_bytes(enum weft_dtype dtype, uint32_t rank, const int64_t *shape)
{
    uint64_t bytes = dtype_bytes(dtype);
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

enum weft_status bundle_check_tensor(
    const struct weft_tensor *tensor, uint64_t bytes_max, struct weft_error *error)
{
    const size_t length = strnlen(tensor->name, sizeof(tensor->name));
    if (length == 0 || length == sizeof(tensor->name)) {
        return error_set(
            error, WEFT_INVALID, "the name of a tensor has %zu bytes; 1 to %d are allowed", length,
            WEFT_TENSOR_NAME_BYTES_MAX - 1);
    }
    if ((uint32_t)tensor->dtype >= WEFT_DTYPES || tensor->rank > WEFT_RANK_MAX) {
        return error_set(
            error, WEFT_INVALID, "'%s' has no type, or more than %d dimensions", tensor->name,
            WEFT_RANK_MAX);
    }
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] < 0) {
            return error_set(error, WEFT_INVALID, "'%s' has a negative dimension", tensor->name);
        }
    }
    const bool is_texts = tensor->dtype == WEFT_BYTES;
    const uint64_t bytes = tensor_bytes(tensor->dtype, tensor->rank, tensor->shape);
    if (!is_texts && (bytes == UINT64_MAX || bytes > bytes_max)) {
        return error_set(
            error, WEFT_LIMIT, "'%s' is larger than what is left of the limit, %llu bytes",
            tensor->name, (unsigned long long)bytes_max);
    }
    if (is_texts ? tensor->bytes > bytes_max : tensor->bytes != bytes) {
        return error_set(
            error, is_texts ? WEFT_LIMIT : WEFT_INVALID, "'%s' cannot have %llu bytes",
            tensor->name, (unsigned long long)tensor->bytes);
    }
    return WEFT_OK;
}

enum weft_status bundle_check_texts(const struct bundle *bundle, struct weft_error *error)
{
    for (uint32_t i = 0; i < bundle->count; i++) {
        const struct weft_tensor *tensor = &bundle->tensors[i];
        if (tensor->dtype == WEFT_BYTES && !tensor_texts_fit(tensor)) {
            return error_set(
                error, WEFT_FAILED, "the lengths of the texts of '%s' do not add up", tensor->name);
        }
    }
    return WEFT_OK;
}
