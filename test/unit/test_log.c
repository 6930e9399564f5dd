#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND_NS INT64_C(1000000000)

static int64_t now_ns;
static char written[65536];

static int64_t clock_ns(void)
{
    return now_ns;
}

static void start(struct log *log, enum log_format format)
{
    const struct log_options options = {
        .file = tmpfile(), .format = format, .level = LOG_INFO, .now_ns = clock_ns};
    assert_non_null(options.file);
    now_ns = INT64_C(1772366400) * SECOND_NS + 7000000; /* 2026-03-01T12:00:00.007Z */
    log_init(log, &options);
}

/* Everything that was written; the log is at its end. */
static const char *end(struct log *log)
{
    rewind(log->options.file);
    written[fread(written, 1, sizeof(written) - 1, log->options.file)] = '\0';
    assert_int_equal(fclose(log->options.file), 0);
    return written;
}

static uint32_t count_lines(const char *text)
{
    uint32_t count = 0;
    for (; *text != '\0'; text++) {
        count += *text == '\n' ? 1 : 0;
    }
    return count;
}

static void say(struct log *log, const char *event, const char *value)
{
    const struct log_field field = log_text("value", value);
    log_say(log, LOG_WARN, event, 1, &field);
}

static void a_line_has_time_level_event_and_fields(void **state)
{
    static struct log log;
    const struct log_field fields[] = {
        log_text("workflow", "ocr"), log_text("reason", "no room"), log_number("items", -3)};
    (void)state;
    start(&log, LOG_TEXT);
    log_say(&log, LOG_ERROR, "job failed", 3, fields);
    log_say(&log, LOG_INFO, "ready", 0, NULL);
    assert_string_equal(
        end(&log), "time=2026-03-01T12:00:00.007Z level=error event=\"job failed\" workflow=ocr "
                   "reason=\"no room\" items=-3\n"
                   "time=2026-03-01T12:00:00.007Z level=info event=ready\n");
    start(&log, LOG_JSON);
    log_say(&log, LOG_ERROR, "job failed", 3, fields);
    assert_string_equal(
        end(&log), "{\"time\":\"2026-03-01T12:00:00.007Z\",\"level\":\"error\","
                   "\"event\":\"job failed\",\"workflow\":\"ocr\",\"reason\":\"no room\","
                   "\"items\":-3}\n");
}

static void dates_are_right(void **state)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},          {951782399, "2000-02-28T23:59:59.000Z"},
        {951782400, "2000-02-29T00:00:00.000Z"},  {1709164800, "2024-02-29T00:00:00.000Z"},
        {1735689599, "2024-12-31T23:59:59.000Z"}, {4107542400, "2100-03-01T00:00:00.000Z"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static struct log log;
        start(&log, LOG_TEXT);
        now_ns = cases[i].seconds * SECOND_NS;
        log_say(&log, LOG_INFO, "x", 0, NULL);
        assert_memory_equal(end(&log) + 5, cases[i].text, strlen(cases[i].text));
    }
}

/* Whatever a client or a file is called: one line, one value. */
static void text_from_outside_is_escaped(void **state)
{
    static const struct {
        const char *value;
        const char *text;
    } cases[] = {
        {"", "\"\""},
        {"a\nlevel=error", "\"a\\nlevel=error\""},
        {"\"\\\x01\x7f", "\"\\\"\\\\\\u0001\\u007f\""},
        {"gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\""},
        {"\xff\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* Ends too early. */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* A surrogate. */
        {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (enum log_format format = LOG_TEXT; format <= LOG_JSON; format++) {
            static struct log log;
            start(&log, format);
            say(&log, "x", cases[i].value);
            const char *line = end(&log);
            assert_int_equal(count_lines(line), 1);
            if (strstr(line, cases[i].text) == NULL) {
                fail_msg("case %zu: %s", i, line);
            }
        }
    }
}

static void long_text_is_cut(void **state)
{
    static struct log log;
    static char value[4000];
    struct log_field fields[LOG_FIELDS_MAX];
    (void)state;
    memset(value, 1, sizeof(value) - 1);
    for (uint32_t i = 0; i < LOG_FIELDS_MAX; i++) {
        fields[i] = log_text("an_unusually_long_key", value);
    }
    start(&log, LOG_JSON);
    log_say(&log, LOG_WARN, "x", LOG_FIELDS_MAX, fields);
    const char *line = end(&log);
    assert_int_equal(count_lines(line), 1);
    assert_non_null(strstr(line, "\\u0001...\"}"));
    memset(value, 'a', sizeof(value) - 1); /* Would need no quotes. */
    start(&log, LOG_TEXT);
    log_say(&log, LOG_WARN, "x", LOG_FIELDS_MAX, fields);
    assert_non_null(strstr(end(&log), "aaa...\"\n"));
}

static void an_event_that_comes_too_often_is_counted(void **state)
{
    static struct log log;
    (void)state;
    start(&log, LOG_TEXT);
    for (int i = 0; i < 245; i++) {
        say(&log, "flood", "v");
        now_ns += SECOND_NS / 1000;
    }
    say(&log, "other", "v"); /* Has a limit of its own. */
    assert_int_equal(log.events[0].held_back, 240);
    now_ns += SECOND_NS;
    say(&log, "flood", "again");
    const char *text = end(&log);
    assert_int_equal(count_lines(text), LOG_PER_SECOND + 3);
    const char *more = strstr(text, "level=warn event=flood more=240\n");
    assert_non_null(more);
    assert_non_null(strstr(more, "event=flood value=again\n"));
}

static void what_was_held_back_is_said_in_time(void **state)
{
    static struct log log;
    (void)state;
    start(&log, LOG_TEXT);
    for (int i = 0; i < LOG_PER_SECOND + 2; i++) {
        say(&log, "flood", "v");
    }
    log_flush(&log, /* is_end */ false);
    assert_int_equal(log.events[0].held_back, 2); /* More may come. */
    now_ns += SECOND_NS;
    log_flush(&log, /* is_end */ false);
    assert_int_equal(log.events[0].held_back, 0);
    for (int i = 0; i < LOG_PER_SECOND + 3; i++) {
        say(&log, "flood", "v");
    }
    log_flush(&log, /* is_end */ true);
    log_flush(&log, /* is_end */ true); /* Once. */
    const char *text = end(&log);
    assert_int_equal(count_lines(text), 2 * LOG_PER_SECOND + 2);
    assert_non_null(strstr(text, "more=2\n"));
    assert_non_null(strstr(text, "more=3\n"));
}

static void more_events_than_are_told_apart_share_a_limit(void **state)
{
    static struct log log;
    static char names[LOG_EVENTS_MAX + 20][16];
    (void)state;
    start(&log, LOG_TEXT);
    for (int i = 0; i < LOG_EVENTS_MAX + 20; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "e%d", i);
        log_say(&log, LOG_WARN, names[i], 0, NULL);
    }
    assert_int_equal(count_lines(end(&log)), LOG_EVENTS_MAX - 1 + LOG_PER_SECOND);
}

static void a_level_is_the_least_that_is_written(void **state)
{
    static struct log log;
    (void)state;
    start(&log, LOG_TEXT);
    log.options.level = LOG_WARN;
    log_say(&log, LOG_INFO, "ready", 0, NULL);
    log_say(&log, LOG_WARN, "late", 0, NULL);
    log_say(NULL, LOG_ERROR, "not read", 0, NULL);
    log_flush(NULL, /* is_end */ true);
    const char *text = end(&log);
    assert_int_equal(count_lines(text), 1);
    assert_non_null(strstr(text, "event=late"));
}

/* A clock that is set back must not silence an event for as long. */
static void a_clock_may_go_back(void **state)
{
    static struct log log;
    (void)state;
    start(&log, LOG_TEXT);
    for (int i = 0; i < LOG_PER_SECOND; i++) {
        say(&log, "x", "v");
    }
    now_ns -= 3600 * SECOND_NS;
    say(&log, "x", "v");
    assert_int_equal(count_lines(end(&log)), LOG_PER_SECOND + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_time_level_event_and_fields),
        cmocka_unit_test(dates_are_right),
        cmocka_unit_test(text_from_outside_is_escaped),
        cmocka_unit_test(long_text_is_cut),
        cmocka_unit_test(an_event_that_comes_too_often_is_counted),
        cmocka_unit_test(what_was_held_back_is_said_in_time),
        cmocka_unit_test(more_events_than_are_told_apart_share_a_limit),
        cmocka_unit_test(a_level_is_the_least_that_is_written),
        cmocka_unit_test(a_clock_may_go_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
