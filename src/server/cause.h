/*
 * cause.h - what a client is told went wrong, made fit to leave the machine.
 *
 * Texts come from engines, functions and libraries. Valid UTF-8 stays; control characters and
 * what is not UTF-8 become '?'; of a file's absolute path its name is left, because clients
 * have no business with folders of the server.
 */
#ifndef SERVER_CAUSE_H
#define SERVER_CAUSE_H

#include <stddef.h>

enum { CAUSE_BYTES_MAX = 512 }; /* With the zero at its end; the rest is cut. */

/* Write what may be told of @text to @out. */
void cause_write(const char *text, char out[static CAUSE_BYTES_MAX]);

#endif /* SERVER_CAUSE_H */
