#include "trace/recent.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "model/grow.h"

struct recent {
    uint32_t capacity;
    uint64_t count; /* Ever added. */
    struct record records[];
};

/* The records of one job. */
struct own {
    uint32_t count;
    const struct record **items; /* The oldest first. */
};

struct recent *recent_create(uint32_t capacity)
{
    ASSERT(capacity > 0);
    struct recent *recent =
        memory_zeroed(1, sizeof(*recent) + (size_t)capacity * sizeof(struct record));
    recent->capacity = capacity;
    return recent;
}

void recent_destroy(struct recent *recent)
{
    free(recent);
}

void recent_add(struct recent *recent, const struct record *record)
{
    recent->records[recent->count % recent->capacity] = *record;
    recent->count++;
}

static uint64_t first_kept(const struct recent *recent)
{
    return recent->count < recent->capacity ? 0 : recent->count - recent->capacity;
}

static const struct record *at(const struct recent *recent, uint64_t place)
{
    return &recent->records[place % recent->capacity];
}

/* Whether a job of @node with at least that number has been there. */
static bool has_passed(const struct recent *recent, uint32_t node, uint64_t number)
{
    for (uint64_t i = first_kept(recent); i < recent->count; i++) {
        const struct job_id *job = &at(recent, i)->job;
        if (job->node == node && job_count(*job) >= number) {
            return true;
        }
    }
    return false;
}

static struct own find_own(const struct recent *recent, uint32_t node, uint64_t number)
{
    struct own own = {.count = 0};
    for (uint64_t i = first_kept(recent); i < recent->count; i++) {
        const struct record *record = at(recent, i);
        if (record->job.node != node || job_count(record->job) != number) {
            continue;
        }
        if (own.count > 0 && own.items[0]->job.incarnation != record->job.incarnation) {
            own.count = 0; /* The node has started again, and counts from 1. */
        }
        own.items = grow(own.items, own.count, sizeof(const struct record *));
        own.items[own.count++] = record;
    }
    return own;
}

static bool is_beginning(const struct record *record)
{
    return record->kind == RECORD_ARRIVED || record->kind == RECORD_REFUSED ||
           record->kind == RECORD_TAKEN_OVER;
}

/* Whether @record, of another job or none, is part of the story. */
static bool concerns(const struct own *own, const struct record *record)
{
    const bool is_load = record->kind == RECORD_LOADING || record->kind == RECORD_LOADED;
    if (!is_load && record->kind != RECORD_STARTED) {
        return false;
    }
    for (uint32_t i = 0; i < own->count; i++) {
        const struct record *mine = own->items[i];
        if (mine->worker == record->worker &&
            (is_load || (mine->kind == RECORD_STARTED && mine->at_ns == record->at_ns))) {
            return true;
        }
    }
    return false;
}

enum recent_answer recent_job(
    const struct recent *recent, uint32_t node, uint64_t number,
    void (*take)(void *context, const struct record *record), void *context)
{
    const struct own own = find_own(recent, node, number);
    enum recent_answer answer = RECENT_FOUND;
    if (number == 0 || own.count == 0) {
        answer = number > 0 && has_passed(recent, node, number) ? RECENT_FORGOTTEN : RECENT_UNKNOWN;
    } else if (!is_beginning(own.items[0]) && first_kept(recent) > 0) {
        answer = RECENT_FORGOTTEN;
    }
    for (uint64_t i = first_kept(recent); answer == RECENT_FOUND && i < recent->count; i++) {
        const struct record *record = at(recent, i);
        if (job_equal(record->job, own.items[0]->job) || concerns(&own, record)) {
            take(context, record);
        }
    }
    free((void *)own.items);
    return answer;
}
