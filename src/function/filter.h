/* filter.h - the system calls that a function may make. */
#ifndef FUNCTION_FILTER_H
#define FUNCTION_FILTER_H

#include <stdbool.h>

/*
 * From here on this process may only read files, use its own memory, threads and descriptors,
 * and end: no sockets, no programs, no processes, no other process, no file to be written. A
 * call that is not allowed fails (EPERM, or ENOSYS where the C library has another way); one
 * by another architecture's numbers ends the process. It cannot be undone.
 *
 * False if the kernel has no filters, with errno.
 */
bool function_filter_enter(void);

#endif /* FUNCTION_FILTER_H */
