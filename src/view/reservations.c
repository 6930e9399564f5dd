#include "view/reservations.h"

#include "base/assert.h"

void reservations_init(struct reservations *reservations, struct pool *pool)
{
    ASSERT(pool->slot_bytes >= sizeof(struct reservation));

    *reservations = (struct reservations){.pool = pool};
    for (uint32_t i = 0; i < RESERVATION_BUCKETS; i++) {
        reservations->buckets[i] = POOL_NONE;
    }
}

uint64_t reservations_add(struct reservations *reservations, uint32_t worker, int64_t run_ns)
{
    return reservations_claim(reservations, worker, run_ns, (struct units){0});
}

uint64_t reservations_claim(
    struct reservations *reservations, uint32_t worker, int64_t run_ns, struct units units)
{
    uint32_t *head = &reservations->buckets[worker % RESERVATION_BUCKETS];
    const uint32_t slot = pool_take_raw(reservations->pool);

    ASSERT(run_ns >= 0);
    if (slot == POOL_NONE) {
        return 0;
    }
    reservations->sequence++;
    struct reservation *noted = pool_at(reservations->pool, slot);
    *noted = (struct reservation){
        .next = *head,
        .worker = worker,
        .sequence = reservations->sequence,
        .units = units,
        .run_ns = run_ns,
    };
    *head = slot;
    reservations->count++;
    return reservations->sequence;
}

/* Give back the reservation that @link leads to; @link then leads to the one after it. */
static void drop(struct reservations *reservations, uint32_t *link)
{
    const uint32_t slot = *link;
    const struct reservation *noted = pool_at(reservations->pool, slot);

    ASSERT(reservations->count > 0);
    *link = noted->next;
    pool_give(reservations->pool, slot);
    reservations->count--;
}

bool reservations_remove(struct reservations *reservations, uint32_t worker, uint64_t sequence)
{
    uint32_t *link = &reservations->buckets[worker % RESERVATION_BUCKETS];
    while (*link != POOL_NONE) {
        struct reservation *noted = pool_at(reservations->pool, *link);
        if (noted->worker == worker && noted->sequence == sequence) {
            drop(reservations, link);
            return true;
        }
        link = &noted->next;
    }
    return false;
}

void reservations_acknowledge(
    struct reservations *reservations, uint32_t worker, uint64_t sequence, uint64_t row_sequence)
{
    uint32_t slot = reservations->buckets[worker % RESERVATION_BUCKETS];
    while (slot != POOL_NONE) {
        struct reservation *noted = pool_at(reservations->pool, slot);
        /* The first acknowledgement names the first row; later ones name later rows. */
        if (noted->worker == worker && noted->row_sequence == 0 && noted->sequence <= sequence) {
            noted->row_sequence = row_sequence;
        }
        slot = noted->next;
    }
}

uint32_t reservations_settle(
    struct reservations *reservations, uint32_t worker, uint64_t row_sequence)
{
    uint32_t settled = 0;
    uint32_t *link = &reservations->buckets[worker % RESERVATION_BUCKETS];
    while (*link != POOL_NONE) {
        struct reservation *noted = pool_at(reservations->pool, *link);
        if (noted->worker == worker && noted->row_sequence != 0 &&
            noted->row_sequence <= row_sequence) {
            drop(reservations, link);
            settled++;
        } else {
            link = &noted->next;
        }
    }
    return settled;
}

void reservations_forget(struct reservations *reservations, uint32_t worker)
{
    uint32_t *link = &reservations->buckets[worker % RESERVATION_BUCKETS];
    while (*link != POOL_NONE) {
        struct reservation *noted = pool_at(reservations->pool, *link);
        if (noted->worker == worker) {
            drop(reservations, link);
        } else {
            link = &noted->next;
        }
    }
}
