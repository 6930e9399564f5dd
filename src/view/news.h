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

enum { NEWS_MAX = 64 };

struct news_entry {
    uint32_t worker;
    int32_t gpu; /* Units more, or fewer, than its row says. */
    int32_t cpu;
    uint64_t row_sequence; /* The first row that shows them. */
};

struct news {
    uint32_t count;
    uint64_t workers; /* A bit for each, modulo 64: of most workers there is no news. */
    struct news_entry entries[NEWS_MAX];
};

static inline uint64_t news_bit(uint32_t worker)
{
    return UINT64_C(1) << worker % 64;
}

/* Whether there may be news of @worker. */
static inline bool news_may_have(const struct news *news, uint32_t worker)
{
    return (news->workers & news_bit(worker)) != 0;
}

/* Drop entry @index. Those after it keep their order. */
static inline void news_drop(struct news *news, uint32_t index)
{
    news->count--;
    for (uint32_t i = index; i < news->count; i++) {
        news->entries[i] = news->entries[i + 1];
    }
    news->workers = 0;
    for (uint32_t i = 0; i < news->count; i++) {
        news->workers |= news_bit(news->entries[i].worker);
    }
}

static inline void news_add(struct news *news, const struct news_entry *entry)
{
    if (news->count == NEWS_MAX) {
        news_drop(news, 0);
    }
    news->entries[news->count] = *entry;
    news->count++;
    news->workers |= news_bit(entry->worker);
}

#endif /* VIEW_NEWS_H */
