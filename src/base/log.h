/*
 * log.h - lines for those who operate a program: what happened, at which level, with fields.
 *
 *     log_say(&log, LOG_WARN, "job failed", 2, (const struct log_field[]){
 *         log_text("workflow", "ocr"), log_number("items", 3)});
 *
 *     time=2026-03-01T12:00:00.000Z level=warn event="job failed" workflow=ocr items=3
 *
 * One line per event, in logfmt or as a JSON object. Of each event only so many lines are written
 * in a second; how many more there were is said afterwards, so that no client can fill a disk.
 * Text from outside is escaped, and cut if it is long. For hosts and front ends: the core does
 * not log. One thread.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    LOG_EVENTS_MAX = 32,   /* That are told apart; the rest share a limit. */
    LOG_FIELDS_MAX = 8,    /* Of a line. */
    LOG_VALUE_BYTES = 512, /* Of a field, escaped. */
    LOG_LINE_BYTES = 8192, /* Room for all of them. */
    LOG_PER_SECOND = 5,    /* Lines of an event. */
};

enum log_level {
    LOG_ERROR, /* A person should act. */
    LOG_WARN,  /* Noticed, and gone on. */
    LOG_INFO,  /* Starts, stops, changes. */
};

enum log_format { LOG_TEXT, LOG_JSON };

struct log_field {
    const char *key;  /* Letters and underscores. */
    const char *text; /* NULL: it is the number. */
    int64_t number;
};

struct log_options {
    FILE *file; /* Borrowed. */
    enum log_format format;
    enum log_level level;    /* Nothing below it is written. */
    int64_t (*now_ns)(void); /* Since 1970. */
    uint32_t per_second;     /* Lines of an event. 0: LOG_PER_SECOND. */
};

/* How often an event has been written of late. */
struct log_event {
    const char *name; /* Borrowed: a literal. */
    enum log_level level;
    int64_t since_ns;
    uint32_t written;
    uint64_t held_back;
};

struct log {
    struct log_options options;
    uint32_t event_count;
    struct log_event events[LOG_EVENTS_MAX];
    char line[LOG_LINE_BYTES];
};

static inline struct log_field log_text(const char *key, const char *text)
{
    return (struct log_field){.key = key, .text = text == NULL ? "" : text};
}

static inline struct log_field log_number(const char *key, int64_t number)
{
    return (struct log_field){.key = key, .number = number};
}

void log_init(struct log *log, const struct log_options *options);

/* Write a line, unless there were too many of @event. @log may be NULL: nothing is written. */
void log_say(
    struct log *log, enum log_level level, const char *event, uint32_t field_count,
    const struct log_field *fields);

/* Say what was held back and is not followed by more. About once per second, and at the end. */
void log_flush(struct log *log, bool is_end);

#endif /* BASE_LOG_H */
