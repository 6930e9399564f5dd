/* landlock.h - the files that a function may read. */
#ifndef FUNCTION_LANDLOCK_H
#define FUNCTION_LANDLOCK_H

#include <stdbool.h>

/*
 * From here on this process may read the files of @folder and those of the system's libraries,
 * and what tells of the machine and its time; nothing else, and write nothing. Descriptors that
 * are open stay so. It cannot be undone.
 *
 * False if the kernel has no Landlock, with errno.
 */
bool function_landlock_enter(const char *folder);

#endif /* FUNCTION_LANDLOCK_H */
