/*
 * whole_file.h - a file that is there whole or not at all.
 *
 * What is written goes to a new file beside @path, which takes its name at
 * whole_file_commit(). "-" is standard output. Devices and pipes are written directly.
 */
#ifndef CONSOLE_WHOLE_FILE_H
#define CONSOLE_WHOLE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include <weft/status.h>

struct whole_file {
    FILE *stream;
    int cause;       /* Why the first write that failed did; 0: none has. */
    char *path;      /* Where it is to be; owned. NULL for standard output. */
    char *temporary; /* Where it is; owned. NULL if it is written directly. */
};

/* Errors: WEFT_IO; @error names the path and the cause. */
enum weft_status whole_file_open(
    struct whole_file *whole, const char *path, struct weft_error *error);

/* Write to the stream, and remember why if that fails: whole_file_commit() will say. */
void whole_file_write(struct whole_file *whole, const void *bytes, size_t count);

/*
 * Close the file and give it its name.
 *
 * Errors: WEFT_IO, also for anything that could not be written before; nothing is left then.
 */
enum weft_status whole_file_commit(struct whole_file *whole, struct weft_error *error);

/* Close the file and remove it. For one that is closed already, nothing. */
void whole_file_discard(struct whole_file *whole);

#endif /* CONSOLE_WHOLE_FILE_H */
