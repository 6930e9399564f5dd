#include "function/fork_output.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { READ_BYTES = 4096, READS_MAX = 16 };

static int64_t now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* It is always there. */
    return now.tv_sec;
}

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* The same. */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static enum log_format log_format = LOG_TEXT;
static enum log_level log_level = LOG_INFO;
static int log_descriptor = STDERR_FILENO;

void fork_output_set_format(enum log_format format, enum log_level level)
{
    log_format = format;
    log_level = level;
}

void fork_output_set_log(int descriptor)
{
    log_descriptor = descriptor;
}

int fork_output_log(void)
{
    return log_descriptor;
}

/* If the line is not taken at once it is lost: this process must not wait. */
static void print(
    const struct fork_output *output, enum log_level level, const char *event, const char *text)
{
    static struct log log;
    struct pollfd ready = {.fd = log_descriptor, .events = POLLOUT};
    const struct log_field fields[] = {
        log_text(output->key, output->label), log_text("text", text)};
    if (log.options.file == NULL) {
        const struct log_options options = {
            .file = log_descriptor == STDERR_FILENO ? stderr : fdopen(log_descriptor, "w"),
            .format = log_format,
            .level = log_level,
            .now_ns = now_ns,
            .per_second = UINT32_MAX, /* Lines are counted here, by process. */
        };
        if (options.file != NULL) {
            log_init(&log, &options);
        }
    }
    if (log.options.file != NULL && poll(&ready, 1, 0) > 0 && (ready.revents & POLLOUT) != 0) {
        log_say(&log, level, event, 2, fields);
    }
}

/* Whether one more line may be passed on; begins a new second. */
static bool may_print(struct fork_output *output)
{
    const int64_t second = now_s();
    if (second != output->second) {
        if (output->dropped > 0) {
            char text[64];
            (void)snprintf(text, sizeof(text), "(%u more lines)", (unsigned)output->dropped);
            print(output, LOG_INFO, output->printed, text);
        }
        output->second = second;
        output->lines = 0;
        output->dropped = 0;
    }
    if (output->lines == FORK_LINES_PER_SECOND) {
        output->dropped++;
        return false;
    }
    output->lines++;
    return true;
}

void fork_output_open(
    struct fork_output *output, int pipe, const char *printed, const char *key, const char *label)
{
    *output = (struct fork_output){.pipe = pipe, .printed = printed, .key = key};
    (void)snprintf(output->label, sizeof(output->label), "%s", label);
}

void fork_output_say(
    struct fork_output *output, enum log_level level, const char *event, const char *text)
{
    if (may_print(output)) {
        print(output, level, event, text);
    }
}

static void end_line(struct fork_output *output)
{
    output->line[output->used] = '\0';
    if (output->used > 0) {
        fork_output_say(output, LOG_INFO, output->printed, output->line);
    }
    output->used = 0;
    output->is_cut = false;
}

static void take(struct fork_output *output, char byte)
{
    if (byte == '\n') {
        end_line(output);
    } else if (output->used == FORK_LINE_BYTES_MAX - 1) {
        output->is_cut = true; /* The rest of it is dropped. */
    } else if (!output->is_cut) {
        const bool is_plain = byte == '\t' || ((uint8_t)byte >= ' ' && (uint8_t)byte != 0x7f);
        output->line[output->used++] = (char)(is_plain ? byte : '?');
    }
}

void fork_output_read(struct fork_output *output)
{
    char bytes[READ_BYTES];
    for (uint32_t i = 0; i < READS_MAX && output->pipe >= 0; i++) {
        const ssize_t count = read(output->pipe, bytes, sizeof(bytes));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0 && errno == EAGAIN) {
            return;
        }
        if (count <= 0) {
            (void)close(output->pipe); /* No process can write to it any more. */
            output->pipe = -1;
            return;
        }
        for (ssize_t at = 0; at < count; at++) {
            take(output, bytes[at]);
        }
    }
}

void fork_output_close(struct fork_output *output)
{
    fork_output_read(output);
    end_line(output);
    if (output->dropped > 0) {
        output->second = -1; /* Say how many. */
        (void)may_print(output);
    }
    if (output->pipe >= 0) {
        (void)close(output->pipe); /* What is still in it was too much. */
        output->pipe = -1;
    }
}
