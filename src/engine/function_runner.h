/* function_runner.h - the main loop of a process that runs the functions of one shared object. */
#ifndef ENGINE_FUNCTION_RUNNER_H
#define ENGINE_FUNCTION_RUNNER_H

#include "engine/function_wire.h"

/* Answer calls of functions of @path over @channel, until its other end is closed. */
void function_runner_main(const struct function_channel *channel, const char *path);

#endif /* ENGINE_FUNCTION_RUNNER_H */
