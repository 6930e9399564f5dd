/*
 * editions.h - under which edition of its repository a runtime accepts requests: view/editions.h.
 */
#ifndef RUNTIME_EDITIONS_H
#define RUNTIME_EDITIONS_H

#include <stdint.h>

struct runtime;

/*
 * The nodes of @runtime can run the @count editions of @held, at most EDITIONS_MAX, and accept
 * requests under @serves, which is one of them. Before the first call there is only edition 0. Who
 * runs models has been told before what they mean.
 */
void runtime_set_editions(
    struct runtime *runtime, uint32_t serves, const uint32_t *held, uint32_t count);

/* The oldest edition that anything here names. UINT32_MAX: nothing names any. */
uint32_t runtime_oldest_edition(const struct runtime *runtime);

#endif /* RUNTIME_EDITIONS_H */
