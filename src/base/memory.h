/*
 * memory.h - memory from the system, or the end of the program.
 *
 * These calls never return NULL. The containers of this layer are sized from
 * configured limits at start-up and between steps; where even that does not fit,
 * no placement the node could still decide would be worth a null check in every
 * caller, and on systems that overcommit the check would never run. So the
 * program says how much it asked for, in one line, and stops.
 *
 * A program that serves others asks for a reserve first. When memory runs out, the reserve is
 * given up and the call goes on with that; memory_has_reserve() then says that nothing new should
 * be begun until there is enough for another. All functions may be called by any thread.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

enum { MEMORY_RESERVE_PIECES = 64, MEMORY_RESERVE_PIECE_BYTES = 65536 };

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

/*
 * @bytes, unspecified, at a multiple of @alignment; *block_out is what the caller gives to free().
 * NULL for both if there are none: the reserve is left alone. aligned_alloc() of glibc cuts every
 * block out of a larger one, and never takes one that the thread has just released; this does.
 */
void *memory_aligned(size_t bytes, size_t alignment, void **block_out);

/* @bytes, or one if they are 0, unspecified. The caller owns them: free(). */
void *memory_block(size_t bytes);

/*
 * Whether a block of @bytes could be had just now, without the reserve: to be asked before work
 * that can be refused, and that takes its memory in pieces which cannot.
 */
bool memory_is_free(size_t bytes);

/* Like malloc(), calloc() and realloc(), NULL included, but with the reserve. */
void *memory_reserved(size_t bytes);
void *memory_reserved_zeroed(size_t count, size_t element_bytes);
void *memory_reserved_more(void *memory, size_t bytes);

/* Set 4 MiB aside, from now until memory_drop_reserve(). */
void memory_keep_reserve(void);
void memory_drop_reserve(void);

/*
 * Whether the reserve is complete, or none is wanted. What was given up is asked for again
 * here: call it before something is begun that can be refused.
 */
bool memory_has_reserve(void);

#endif /* BASE_MEMORY_H */
