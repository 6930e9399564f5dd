/*
 * buffer.h - text that grows, for answers whose length is not known ahead.
 *
 * All zero is an empty buffer. Callers that add must check the result: memory that a client
 * can make us ask for may not be there.
 */
#ifndef PROTOCOL_BUFFER_H
#define PROTOCOL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct buffer {
    char *bytes; /* Owned: free(). NULL while it is empty. */
    size_t length;
    size_t capacity;
};

/* Room for @count bytes at the end, which the caller fills and adds to length. NULL: none. */
char *buffer_room(struct buffer *buffer, size_t count);

/* Append as printf would. False if there is no memory. */
ATTR_PRINTF(2, 3)
bool buffer_add(struct buffer *buffer, const char *format, ...);

/* Append @text as it is, or @number in decimals: quicker. */
bool buffer_put(struct buffer *buffer, const char *text);
bool buffer_put_number(struct buffer *buffer, uint64_t number);

/* Append @text as a string of JSON. */
bool buffer_add_quoted(struct buffer *buffer, const char *text);

#endif /* PROTOCOL_BUFFER_H */
