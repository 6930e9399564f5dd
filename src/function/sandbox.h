/*
 * sandbox.h - what a process that runs functions gives up before it runs any.
 *
 * Two steps, since a shared object may need libraries from anywhere: the first before it is
 * loaded, so that the code that runs then is held as well; the second after it.
 *
 *     function_sandbox_enter(folder, &limits, true);
 *     ... dlopen() ...
 *     function_sandbox_close(folder, &limits, true);
 *
 * For a process with one thread. What the kernel does not offer is left out, and said on
 * standard error where @says.
 */
#ifndef FUNCTION_SANDBOX_H
#define FUNCTION_SANDBOX_H

#include "function/limits.h"

/* Sanitizers need memory of a thousand times the size, and to read /proc/self: programs that are
 * built with one have no limit of memory here, keep their user, and may read /proc. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEFT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEFT_SANITIZED 1
#endif
#endif

/* Limits; and, unless the sandbox is off, another user, no capabilities, the filter. */
void function_sandbox_enter(const char *folder, const struct function_limits *limits, bool says);

/* No files but those of @folder and the system's libraries. */
void function_sandbox_close(const char *folder, const struct function_limits *limits, bool says);

/* Forget the environment but for what libraries may need: the values too are wiped. */
void function_sandbox_environment(void);

/* The processor time that a process may use in all: more than any call within its time. */
int64_t function_sandbox_cpu_s(const struct function_limits *limits);

#endif /* FUNCTION_SANDBOX_H */
