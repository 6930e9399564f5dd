/*
 * editions.h - under which edition of its repository a runtime accepts requests: view/editions.h.
 */
#ifndef RUNTIME_EDITIONS_H
#define RUNTIME_EDITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

struct artifact_versions;
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

/* What came of a revision; @message says why it failed. */
typedef void runtime_revised(void *context, enum weft_status status, const char *message);

/*
 * Let the engine have @versions of @model beside what runs, before nodes can run editions that mean
 * them; or no more than those: engine_ops.revise. One at a time. @revised is called when it is
 * done. False, and it never is, if loads do all of this.
 */
bool runtime_revise(
    struct runtime *runtime, uint32_t model, const struct artifact_versions *versions,
    runtime_revised *revised, void *context);

#endif /* RUNTIME_EDITIONS_H */
