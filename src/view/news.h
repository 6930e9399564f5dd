/*
 * news.h - what workers have said of their units since the last row of theirs that is visible.
 *
 * A home hears that a batch has ended, or that a claim was declined, before a row says so.
 * Until that row is visible the difference is kept here. A short list: what does not fit
 * any more is forgotten, oldest first, and only makes a view as old as its rows.
 */
#ifndef VIEW_NEWS_H
#define VIEW_NEWS_H

#include <stdbool.h>
#include <stdint.h>

enum { NEWS_MAX = 64, NEWS_BUCKETS = 64, NEWS_NONE = 0 };

struct news_entry {
    uint32_t worker;
    int32_t gpu; /* Units more, or fewer, than its row says. */
    int32_t cpu;
    uint64_t row_sequence; /* The first row that shows them. */
    uint64_t number;       /* Grows; 0: the entry is not in use. */
    uint8_t next;          /* In its bucket, or of those not in use. */
};

/* All zero: there is none. */
struct news {
    uint64_t number;               /* Of the newest entry. */
    uint32_t top;                  /* The last entry that was ever in use. */
    uint8_t unused;                /* The first of those before it that are not any more. */
    uint8_t buckets[NEWS_BUCKETS]; /* By worker, modulo their number. */
    struct news_entry entries[NEWS_MAX + 1]; /* The first one stands for NEWS_NONE. */
};

/* The first entry that may be of @worker, or NEWS_NONE; the others follow by their next. */
static inline uint32_t news_first(const struct news *news, uint32_t worker)
{
    return news->buckets[worker % NEWS_BUCKETS];
}

/* Whether there may be news of @worker. */
static inline bool news_may_have(const struct news *news, uint32_t worker)
{
    return news_first(news, worker) != NEWS_NONE;
}

static inline bool news_is_full(const struct news *news)
{
    return news->top == NEWS_MAX && news->unused == NEWS_NONE;
}

static inline void news_drop(struct news *news, uint32_t index)
{
    struct news_entry *entry = &news->entries[index];
    uint8_t *link = &news->buckets[entry->worker % NEWS_BUCKETS];
    while (*link != index) {
        link = &news->entries[*link].next;
    }
    *link = entry->next;
    entry->number = 0;
    entry->next = news->unused;
    news->unused = (uint8_t)index;
}

static inline void news_drop_oldest(struct news *news)
{
    uint32_t oldest = 1;
    for (uint32_t i = 2; i <= news->top; i++) {
        oldest = news->entries[i].number < news->entries[oldest].number ? i : oldest;
    }
    news_drop(news, oldest);
}

static inline void news_add(struct news *news, const struct news_entry *entry)
{
    if (news_is_full(news)) {
        news_drop_oldest(news);
    }
    uint32_t index = news->unused;
    if (index != NEWS_NONE) {
        news->unused = news->entries[index].next;
    } else {
        news->top++;
        index = news->top;
    }
    uint8_t *head = &news->buckets[entry->worker % NEWS_BUCKETS];
    news->number++;
    news->entries[index] = *entry;
    news->entries[index].number = news->number;
    news->entries[index].next = *head;
    *head = (uint8_t)index;
}

#endif /* VIEW_NEWS_H */
