/*
 * lender.h - another process whose segments are read here.
 *
 * Mapping a segment costs more than reading it, so what has been mapped stays so for the next time
 * that the same segment comes; what has not been used for longest goes first. Segments are told
 * apart by the keys that the lender gives them, so each lender has mappings of its own: a process
 * that lies about a key gets at no segment but those that it lent itself. Safe from any thread.
 */
#ifndef ENGINE_LENDER_H
#define ENGINE_LENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LENDER_MAPPINGS_MAX = 1024 }; /* Four packets of as many files as they may have. */

#define LENDER_KEPT_MAX                                                                            \
    (UINT64_C(128) << 20) /* Bytes of mappings that are not in use, at most.                       \
                           */

struct lender;

/* A segment that is mapped. */
struct mapping {
    uint64_t key;
    size_t bytes;
    void *data;
    int file;       /* To be passed on. */
    uint32_t users; /* For the lender alone, like the rest. */
    uint64_t used;  /* When it was last: a number that grows. */
};

/*
 * A lender whose ledger is in @ledger_file, which stays the caller's; -1: one that learns in
 * another way when segments are free. NULL if that is no ledger, or there is no memory. The caller
 * owns a reference.
 */
struct lender *lender_create(int ledger_file);

/* Who hears of mappings, under the lender's lock. All may be NULL. */
struct lender_watch {
    void (*mapped)(void *context, void *data, size_t bytes);
    void (*unmapped)(void *context, void *data); /* Before it is gone. */
    void *context;
};

/* From now on @watch, which is copied, hears of what @lender maps and unmaps. */
void lender_set_watch(struct lender *lender, const struct lender_watch *watch);

/* One more reference. Returns @lender. */
struct lender *lender_share(struct lender *lender);

/* One less; NULL is allowed. */
void lender_release(struct lender *lender);

/*
 * The segment with @key, whose file is @file: it is taken over. NULL if @file can shrink, has not
 * @bytes, or cannot be mapped: it stays the caller's then. Until lender_unmap().
 */
struct mapping *lender_map(struct lender *lender, uint64_t key, int file, size_t bytes);

/* @mapping is no longer used here. */
void lender_unmap(struct lender *lender, struct mapping *mapping);

/* The segment at @slot, below SEGMENTS_MAX, is no longer needed. */
void lender_free(struct lender *lender, uint32_t slot);

/* Whether @file has @bytes that cannot go away. */
bool lender_is_safe(int file, uint64_t bytes);

#endif /* ENGINE_LENDER_H */
