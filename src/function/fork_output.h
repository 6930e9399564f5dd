/*
 * fork_output.h - what the children of a fork server print, line by line, in the log.
 *
 * A line has the label of its process beside it, is cut at a length, and loses what terminals
 * would obey. Of each process so many lines per second are passed on; the others are counted and
 * dropped. Used by processes with one thread.
 */
#ifndef FUNCTION_FORK_OUTPUT_H
#define FUNCTION_FORK_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

enum { FORK_LINE_BYTES_MAX = 200, FORK_LINES_PER_SECOND = 20 };

struct fork_output {
    int pipe; /* To read from; owned here. -1: none. */
    uint32_t used;
    bool is_cut;    /* The rest of this line is dropped. */
    uint32_t lines; /* Of this second. */
    uint32_t dropped;
    int64_t second;
    const char *printed;
    const char *key;
    char label[32];
    char line[FORK_LINE_BYTES_MAX];
};

/* Begin to pass on what comes out of @pipe, as events @printed that carry @label as @key. The first
 * two texts are borrowed. */
void fork_output_open(
    struct fork_output *output, int pipe, const char *printed, const char *key, const char *label);

/* Pass on what is there; waits for nothing. */
void fork_output_read(struct fork_output *output);

/* Pass on what is left, and close. */
void fork_output_close(struct fork_output *output);

/* Log @event with @text, unless there were too many. */
void fork_output_say(
    struct fork_output *output, enum log_level level, const char *event, const char *text);

/* How lines are written, by this process and those that it will fork. */
void fork_output_set_format(enum log_format format, enum log_level level);

/* Where the log goes: standard error, unless set before the first line. */
void fork_output_set_log(int descriptor);
int fork_output_log(void);

#endif /* FUNCTION_FORK_OUTPUT_H */
