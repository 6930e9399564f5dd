/*
 * reservations.h - work a node has sent or promised to workers whose rows do not
 * show it yet.
 *
 * Without them a node that plans twice within one row interval sees the same idle
 * worker twice. A reservation is dropped when its worker has acknowledged it and the
 * row that counts it has become visible. Sequences grow per node, so an
 * acknowledgement covers everything up to one number.
 */
#ifndef VIEW_RESERVATIONS_H
#define VIEW_RESERVATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"

enum { RESERVATION_BUCKETS = 64 };

/* Parts of a device and of its machine. */
struct units {
    uint32_t gpu;
    uint32_t cpu;
};

struct reservation {
    uint32_t next; /* In its bucket. */
    uint32_t worker;
    uint64_t sequence;
    struct units units; /* Claimed for it; none if it only joins a queue. */
    int64_t run_ns;
    uint64_t row_sequence; /* The first row that counts it; 0 until acknowledged. */
};

struct reservations {
    struct pool *pool; /* Borrowed; of struct reservation. */
    uint64_t sequence; /* The last one given out. */
    uint32_t count;
    uint32_t buckets[RESERVATION_BUCKETS];
};

void reservations_init(struct reservations *reservations, struct pool *pool);

/* Note @run_ns of work for @worker. Returns its sequence, or 0 if the pool is empty. */
uint64_t reservations_add(struct reservations *reservations, uint32_t worker, int64_t run_ns);

/* The same for a batch that is to have @units at once. */
uint64_t reservations_claim(
    struct reservations *reservations, uint32_t worker, int64_t run_ns, struct units units);

/* Take back what was noted for @worker under @sequence. False if it is gone already. */
bool reservations_remove(struct reservations *reservations, uint32_t worker, uint64_t sequence);

/* @worker counts everything up to @sequence from its row @row_sequence on. */
void reservations_acknowledge(
    struct reservations *reservations, uint32_t worker, uint64_t sequence, uint64_t row_sequence);

/* Forget what a row of @worker numbered @row_sequence already counts. Returns how many. */
uint32_t reservations_settle(
    struct reservations *reservations, uint32_t worker, uint64_t row_sequence);

/* Forget everything about @worker. */
void reservations_forget(struct reservations *reservations, uint32_t worker);

/* Whether row @row_sequence counts @noted, or what its worker said that counts up to @counted. */
static inline bool reservation_is_counted(
    const struct reservation *noted, uint64_t row_sequence, uint64_t counted)
{
    return (noted->row_sequence != 0 && noted->row_sequence <= row_sequence) ||
           noted->sequence <= counted;
}

/* What is noted for @worker and not counted by its row @row_sequence. */
static inline int64_t reservations_run_ns(
    const struct reservations *reservations, uint32_t worker, uint64_t row_sequence)
{
    int64_t run_ns = 0;
    uint32_t slot = reservations->buckets[worker % RESERVATION_BUCKETS];
    while (slot != POOL_NONE) {
        const struct reservation *noted = pool_at(reservations->pool, slot);
        if (noted->worker == worker &&
            (noted->row_sequence == 0 || noted->row_sequence > row_sequence)) {
            run_ns += noted->run_ns;
        }
        slot = noted->next;
    }
    return run_ns;
}

/* The units that are noted for @worker, but for those that reservation_is_counted() is true of. */
static inline struct units reservations_units(
    const struct reservations *reservations, uint32_t worker, uint64_t row_sequence,
    uint64_t counted)
{
    struct units units = {0};
    uint32_t slot = reservations->buckets[worker % RESERVATION_BUCKETS];
    while (slot != POOL_NONE) {
        const struct reservation *noted = pool_at(reservations->pool, slot);
        if (noted->worker == worker && !reservation_is_counted(noted, row_sequence, counted)) {
            units.gpu += noted->units.gpu;
            units.cpu += noted->units.cpu;
        }
        slot = noted->next;
    }
    return units;
}

#endif /* VIEW_RESERVATIONS_H */
