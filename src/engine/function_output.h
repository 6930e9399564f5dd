/*
 * function_output.h - what functions print, line by line, in the log of the server.
 *
 * A line has the name of its shared object beside it, is cut at a length, and loses what
 * terminals would obey. Of each process so many lines a second are passed on; the others are
 * counted and dropped. Used by one process with one thread.
 */
#ifndef ENGINE_FUNCTION_OUTPUT_H
#define ENGINE_FUNCTION_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

enum { FUNCTION_LINE_BYTES_MAX = 200, FUNCTION_LINES_A_SECOND = 20 };

struct function_output {
    int pipe; /* To read from; owned here. -1: none. */
    uint32_t used;
    bool is_cut;    /* The rest of this line is dropped. */
    uint32_t lines; /* Of this second. */
    uint32_t dropped;
    int64_t second;
    char name[32];
    char line[FUNCTION_LINE_BYTES_MAX];
};

/* Begin to pass on what comes out of @pipe, of the shared object @path. */
void function_output_open(struct function_output *output, int pipe, const char *path);

/* Pass on what is there; waits for nothing. */
void function_output_read(struct function_output *output);

/* Pass on what is left, and close. */
void function_output_close(struct function_output *output);

/* Log @event with @text, unless there were too many. */
void function_output_say(
    struct function_output *output, enum log_level level, const char *event, const char *text);

/* How lines are written, by this process and those that it will fork: to standard error. */
void function_output_set_log(enum log_format format, enum log_level level);

#endif /* ENGINE_FUNCTION_OUTPUT_H */
