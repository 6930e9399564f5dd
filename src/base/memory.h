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

/*
 * @memory by memory_zeroed(), or NULL, with room for @count elements: the first @used, not more
 * than @count, are what they were, the rest is zero. It moves.
 */
void *memory_zeroed_more(void *memory, size_t used, size_t count, size_t element_bytes);

/* @count elements, unspecified, starting on a cache line. At least one. */
void *memory_lines(size_t count, size_t element_bytes);

/*
 * @memory, which has room for @before elements by memory_lines() or is NULL for 0, with room
 * for @count, which are more. The first @before are what they were, the rest is unspecified. It
 * may move. The pages of large blocks are moved, not copied, where the system can: the old and
 * the new block are then never there at once.
 */
void *memory_lines_more(void *memory, size_t before, size_t count, size_t element_bytes);

#endif /* BASE_MEMORY_H */
