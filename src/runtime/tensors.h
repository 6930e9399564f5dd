/*
 * tensors.h - the host's table of tensors: what a handle names, and who holds it.
 *
 * A handle is one reference of one node, or of the host. Several handles may share the same
 * contents, which are given back with the last of them: moving a tensor between nodes of this
 * process copies nothing. Contents may be NULL where an engine only pretends.
 */
#ifndef RUNTIME_TENSORS_H
#define RUNTIME_TENSORS_H

#include <stdint.h>

#include "base/pool.h"
#include "node/event.h"

#define NODE_HOST UINT32_MAX /* On its way between nodes, or with a client. */

struct tensors {
    struct pool handles;
};

/* Called once, when the last handle of @contents is gone. */
typedef void (*tensor_free)(void *contents);

void tensors_init(struct tensors *tensors);

/* Every handle must have been released. */
void tensors_deinit(struct tensors *tensors);

/* A new tensor at @node, which may be NODE_HOST. @give_back may be NULL. */
struct handle tensors_add(
    struct tensors *tensors, uint32_t node, void *contents, uint64_t bytes, tensor_free give_back);

/* Another handle to the contents of @handle, for @node. */
struct handle tensors_share(struct tensors *tensors, struct handle handle, uint32_t node);

/* @handle changes hands. */
void tensors_pass(struct tensors *tensors, struct handle handle, uint32_t node);

/* Borrowed as long as @handle is held. NULL if the contents are only pretended. */
const void *tensors_contents(
    const struct tensors *tensors, struct handle handle, uint64_t *bytes_out);

/* Give up @handle, which must be live. */
void tensors_release(struct tensors *tensors, struct handle handle);

/* Release everything at @node, which is gone. */
void tensors_forget(struct tensors *tensors, uint32_t node);

uint32_t tensors_count(const struct tensors *tensors);

#endif /* RUNTIME_TENSORS_H */
