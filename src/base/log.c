#include "base/log.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/text.h"
#include "base/units.h"

enum { TIME_BYTES = 48 };

static const char *const level_names[] = {"error", "warn", "info"};

_Static_assert(LOG_FIELDS_MAX *(LOG_VALUE_BYTES + 64) + 512 < LOG_LINE_BYTES, "a whole line fits");

void log_init(struct log *log, const struct log_options *options)
{
    *log = (struct log){.options = *options};
}

/* How many bytes the character of UTF-8 at @at has; 0 if there is none. */
static size_t character_bytes(const unsigned char *at)
{
    static const struct {
        unsigned char mask;
        unsigned char lead;
        unsigned char second_min; /* Below: not the shortest form. */
        unsigned char second_max; /* Above: a surrogate, or past the last character. */
        size_t bytes;
    } forms[] = {
        {0x80, 0x00, 0x00, 0xff, 1}, {0xff, 0xe0, 0xa0, 0xbf, 3}, {0xff, 0xed, 0x80, 0x9f, 3},
        {0xff, 0xf0, 0x90, 0xbf, 4}, {0xff, 0xf4, 0x80, 0x8f, 4}, {0xfe, 0xc0, 0xff, 0x00, 0},
        {0xe0, 0xc0, 0x80, 0xbf, 2}, {0xf0, 0xe0, 0x80, 0xbf, 3}, {0xfc, 0xf0, 0x80, 0xbf, 4},
    };
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
        if ((at[0] & forms[i].mask) != forms[i].lead) {
            continue;
        }
        if (forms[i].bytes > 1 && (at[1] < forms[i].second_min || at[1] > forms[i].second_max)) {
            return 0;
        }
        for (size_t k = 2; k < forms[i].bytes; k++) {
            if ((at[k] & 0xc0) != 0x80) {
                return 0;
            }
        }
        return forms[i].bytes;
    }
    return 0;
}

/* One character of @at, as it may stand between quotes. Returns how many bytes it had. */
static size_t add_character(struct text *line, const char *at)
{
    const unsigned char first = (unsigned char)*at;
    const size_t bytes = character_bytes((const unsigned char *)at);
    if (bytes == 0) {
        text_add(line, "\xef\xbf\xbd"); /* U+FFFD stands for what is not a character. */
        return 1;
    }
    if (first == '"' || first == '\\') {
        text_add(line, "\\%c", first);
    } else if (first == '\n') {
        text_add(line, "\\n");
    } else if (first < 0x20 || first == 0x7f) {
        text_add(line, "\\u%04x", first);
    } else {
        text_add(line, "%.*s", (int)bytes, at);
    }
    return bytes;
}

static void add_quoted(struct text *line, const char *value)
{
    const size_t start = line->length;
    text_add(line, "\"");
    while (*value != '\0' && line->length - start < LOG_VALUE_BYTES - 16) {
        value += add_character(line, value);
    }
    text_add(line, *value == '\0' ? "\"" : "...\"");
}

/* Whether @value needs no quotes in logfmt. */
static bool is_bare(const char *value)
{
    const size_t length = strlen(value);
    return length > 0 && length < LOG_VALUE_BYTES &&
           value[strspn(
               value,
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/+%[],")] == '\0';
}

static void add_field(const struct log *log, struct text *line, const struct log_field *field)
{
    const bool is_json = log->options.format == LOG_JSON;
    const bool is_first = line->length <= (is_json ? 1U : 0U);
    text_add(
        line, is_json ? "%s\"%s\":" : "%s%s=",
        is_first  ? ""
        : is_json ? ","
                  : " ",
        field->key);
    if (field->text == NULL) {
        text_add(line, "%" PRId64, field->number);
    } else if (!is_json && is_bare(field->text)) {
        text_add(line, "%s", field->text);
    } else {
        add_quoted(line, field->text);
    }
}

/* "2026-03-01T12:00:00.000Z". Days are counted in eras of 400 years, which begin in March. */
static void format_time(int64_t now_ns, char out[static TIME_BYTES])
{
    const int64_t seconds = now_ns / NS_PER_S;
    const int64_t days = seconds / 86400 + 719468; /* Since March of the year 0. */
    const int64_t era = days / 146097;
    const int64_t day_of_era = days - era * 146097;
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t month = (5 * day_of_year + 2) / 153; /* 0: March. */
    const int64_t day = day_of_year - (153 * month + 2) / 5 + 1;
    const int64_t year = year_of_era + era * 400 + (month >= 10 ? 1 : 0);
    (void)snprintf(
        out, TIME_BYTES, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", (int)year,
        (int)(month < 10 ? month + 3 : month - 9), (int)day, (int)(seconds / 3600 % 24),
        (int)(seconds / 60 % 60), (int)(seconds % 60), (int)(now_ns / 1000000 % 1000));
}

static void write_line(
    struct log *log, int64_t now_ns, const struct log_event *event, uint32_t field_count,
    const struct log_field *fields)
{
    struct text line;
    char time[TIME_BYTES];
    format_time(now_ns, time);
    const struct log_field head[] = {
        log_text("time", time),
        log_text("level", level_names[event->level]),
        log_text("event", event->name),
    };
    const bool is_json = log->options.format == LOG_JSON;
    text_init(&line, log->line, sizeof(log->line));
    text_add(&line, is_json ? "{" : "");
    for (uint32_t i = 0; i < 3; i++) {
        add_field(log, &line, &head[i]);
    }
    for (uint32_t i = 0; i < field_count; i++) {
        add_field(log, &line, &fields[i]);
    }
    text_add(&line, is_json ? "}\n" : "\n");
    ASSERT(!line.cut);
    (void)fwrite(line.bytes, 1, line.length, log->options.file); /* Nowhere else to say so. */
    (void)fflush(log->options.file);
}

static void say_held_back(struct log *log, int64_t now_ns, struct log_event *event)
{
    const struct log_field more = log_number("more", (int64_t)event->held_back);
    if (event->held_back > 0) {
        write_line(log, now_ns, event, 1, &more);
    }
    event->held_back = 0;
}

static struct log_event *find_event(struct log *log, const char *name, enum log_level level)
{
    for (uint32_t i = 0; i < log->event_count; i++) {
        if (strcmp(log->events[i].name, name) == 0) {
            return &log->events[i];
        }
    }
    if (log->event_count == LOG_EVENTS_MAX) {
        return &log->events[LOG_EVENTS_MAX - 1];
    }
    struct log_event *event = &log->events[log->event_count];
    *event = (struct log_event){.name = name, .level = level, .since_ns = INT64_MIN / 2};
    log->event_count++;
    return event;
}

void log_say(
    struct log *log, enum log_level level, const char *event, uint32_t field_count,
    const struct log_field *fields)
{
    ASSERT(field_count <= LOG_FIELDS_MAX);
    if (log == NULL || level > log->options.level) {
        return;
    }
    const int64_t now_ns = log->options.now_ns();
    struct log_event *limit = find_event(log, event, level);
    const struct log_event said = {.name = event, .level = level};
    if (now_ns - limit->since_ns >= NS_PER_S || now_ns < limit->since_ns) {
        say_held_back(log, now_ns, limit);
        limit->since_ns = now_ns;
        limit->written = 0;
    }
    const uint32_t most = log->options.per_second == 0 ? LOG_PER_SECOND : log->options.per_second;
    if (limit->written == most) {
        limit->held_back++;
        return;
    }
    limit->written++;
    write_line(log, now_ns, &said, field_count, fields);
}

void log_flush(struct log *log, bool is_end)
{
    if (log == NULL) {
        return;
    }
    const int64_t now_ns = log->options.now_ns();
    for (uint32_t i = 0; i < log->event_count; i++) {
        struct log_event *event = &log->events[i];
        if (is_end || now_ns - event->since_ns >= NS_PER_S || now_ns < event->since_ns) {
            say_held_back(log, now_ns, event);
        }
    }
}
