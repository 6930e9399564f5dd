/*
 * memory.h - memory from the system, or the end of the program.
 *
 * These calls never return NULL. The containers of this layer are sized from
 * configured limits at start-up and between steps; where even that does not fit,
 * no placement the node could still decide would be worth a null check in every
 * caller, and on systems that overcommit the check would never run. So the
 * program says how much it asked for, in one line, and stops.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

/* @count zeroed elements of @element_bytes. The caller owns them: free(). */
void *memory_zeroed(size_t count, size_t element_bytes);

/* The same with unspecified contents, starting on a cache line. At least one element. */
void *memory_lines(size_t count, size_t element_bytes);

/*
 * @memory, which has room for @before elements by memory_lines(), with room for @count, which
 * are more. The first @before are what they were, the rest is unspecified. It may move. Large
 * blocks are not copied where the system can do without: then none of both is there for nothing.
 */
void *memory_lines_more(void *memory, size_t before, size_t count, size_t element_bytes);

#endif /* BASE_MEMORY_H */
