/* fake_torch.h - what the fake libtorch and the fake package share. */
#ifndef FAKES_FAKE_TORCH_H
#define FAKES_FAKE_TORCH_H

#include <stddef.h>
#include <stdint.h>

enum { FAKE_RANK_MAX = 8 };

struct AtenTensorOpaque {
    uint64_t magic; /* FAKE_TENSOR while it is one. */
    void *data;
    int64_t rank;
    int64_t shape[FAKE_RANK_MAX];
    int32_t type;
    void *block; /* Of the allocator; NULL: memory of others. */
};

#define FAKE_TENSOR UINT64_C(0x746e736f72)

/* A tensor of @count floats in memory for what runs on @stream. NULL if there is none. */
__attribute__((visibility("default"))) struct AtenTensorOpaque *fake_torch_empty(
    void *stream, int64_t count);

/* Forget all cached memory: what it came from is gone. */
__attribute__((visibility("default"))) void fake_torch_forget(void);

#endif /* FAKES_FAKE_TORCH_H */
