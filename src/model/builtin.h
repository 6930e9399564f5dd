/*
 * builtin.h - functions that are part of Weft itself.
 *
 * weft.pass hands its one input on as it is: nothing is computed or copied, and no profile
 * speaks of it. Documents add tasks of it where a graph alone cannot say what its names do:
 *
 *   inputs          takes the request to tasks that have producers as well
 *   outputs.TASK    takes to the client what TASK, which has consumers as well, makes
 */
#ifndef MODEL_BUILTIN_H
#define MODEL_BUILTIN_H

#include <stdbool.h>
#include <string.h>

#define BUILTIN_PREFIX "weft." /* No other model or function is called so. */
#define BUILTIN_PASS   "weft.pass"

#define BUILTIN_REQUEST_TASK "inputs"
#define BUILTIN_ANSWER_TASK  "outputs." /* And the name of the task. */

static inline bool builtin_is_reserved(const char *name)
{
    return strncmp(name, BUILTIN_PREFIX, sizeof(BUILTIN_PREFIX) - 1) == 0;
}

#endif /* MODEL_BUILTIN_H */
