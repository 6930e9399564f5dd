/*
 * news.h - what workers have said of their units since the last row of theirs that is visible.
 *
 * A home hears from a worker's node when a task is offered from there, when a batch has ended,
 * and when a claim was declined. Each of these says what is free now, and which claims of the home
 * that counts. It stands for the row until one that is newer becomes visible. One entry per worker,
 * by its number: what another one overwrites only makes a view as old as its rows.
 */
#ifndef VIEW_NEWS_H
#define VIEW_NEWS_H

#include <stddef.h>
#include <stdint.h>

enum { NEWS_MAX = 128 };

struct news_entry {
    uint64_t row_sequence; /* The first row that will show it; 0: the entry is not in use. */
    uint64_t counted;      /* Reservations of this node up to that one are in it. */
    int64_t at_ns;         /* When it came. */
    uint32_t worker;
    uint32_t layout; /* As in a row. */
    uint32_t cpu;    /* Units of the machine that are free. */
    uint32_t gpu;    /* Units of the device that are free. */
};

/* All zero: there is none. */
struct news {
    struct news_entry entries[NEWS_MAX]; /* By worker, modulo their number. */
};

/* What @worker has said since its row number @row_sequence; NULL if that is the last word. */
static inline const struct news_entry *news_since(
    const struct news *news, uint32_t worker, uint64_t row_sequence)
{
    const struct news_entry *entry = &news->entries[worker % NEWS_MAX];
    return entry->worker == worker && entry->row_sequence > row_sequence ? entry : NULL;
}

static inline void news_note(struct news *news, const struct news_entry *entry)
{
    news->entries[entry->worker % NEWS_MAX] = *entry;
}

static inline void news_forget(struct news *news, uint32_t worker)
{
    struct news_entry *entry = &news->entries[worker % NEWS_MAX];
    if (entry->worker == worker) {
        entry->row_sequence = 0;
    }
}

#endif /* VIEW_NEWS_H */
