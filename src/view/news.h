/*
 * news.h - what workers have said of their units since the last row of theirs that is visible.
 *
 * A home hears that a batch has ended, or that a claim was declined, before a row says so.
 * Until that row is visible the difference is kept here. A short list: what does not fit
 * any more is forgotten, oldest first, and only makes a view as old as its rows.
 */
#ifndef VIEW_NEWS_H
#define VIEW_NEWS_H

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
    struct news_entry entries[NEWS_MAX];
};

/* Drop entry @index. Those after it keep their order. */
static inline void news_drop(struct news *news, uint32_t index)
{
    news->count--;
    for (uint32_t i = index; i < news->count; i++) {
        news->entries[i] = news->entries[i + 1];
    }
}

static inline void news_add(struct news *news, const struct news_entry *entry)
{
    if (news->count == NEWS_MAX) {
        news_drop(news, 0);
    }
    news->entries[news->count] = *entry;
    news->count++;
}

#endif /* VIEW_NEWS_H */
