/* inside_tensor.h - tensors that a node holds, and inputs of its tasks. For this layer alone. */
#ifndef NODE_INSIDE_TENSOR_H
#define NODE_INSIDE_TENSOR_H

#include <stdint.h>

#include "node/event.h"

struct tensor {
    struct handle handle;
    uint32_t references;
    uint32_t items;
    uint64_t bytes;
};

/* An input that is here. */
struct input {
    uint32_t next;   /* Of the same task, or of the job's answer. */
    uint32_t number; /* Which input; of an answer: which sink. */
    uint32_t tensor;
    uint32_t items;
    uint64_t bytes; /* Of its edge: what forwarding it would move. */
};

#endif /* NODE_INSIDE_TENSOR_H */
