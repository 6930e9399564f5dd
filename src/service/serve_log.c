#include "service/serve_log.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/units.h"
#include "function/fork_output.h"

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* This clock is always there. */
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* The place of @word in @words, which ends with NULL; -1 if it is not there. */
static int find_word(const char *const *words, const char *word)
{
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0) {
            return i;
        }
    }
    return -1;
}

enum weft_status serve_log_open(
    const char *format, const char *level, bool has_clients, struct log *log,
    struct weft_error *error)
{
    static const char *const formats[] = {[LOG_TEXT] = "text", [LOG_JSON] = "json", NULL};
    static const char *const levels[] = {
        [LOG_ERROR] = "error", [LOG_WARN] = "warn", [LOG_INFO] = "info", NULL};
    const bool is_server = has_clients && isatty(STDERR_FILENO) != 1;
    const char *usual = levels[is_server ? LOG_INFO : LOG_WARN];
    const int format_number = find_word(formats, format == NULL ? "text" : format);
    const int level_number = find_word(levels, level == NULL ? usual : level);
    if (format_number < 0) {
        return error_set(
            error, WEFT_INVALID, "'--log-format' is 'text' or 'json', not '%s'", format);
    }
    if (level_number < 0) {
        return error_set(
            error, WEFT_INVALID, "'--log-level' is 'error', 'warn' or 'info', not '%s'", level);
    }
    const struct log_options options = {
        .file = stderr,
        .format = (enum log_format)format_number,
        .level = (enum log_level)level_number,
        .now_ns = now_ns,
    };
    log_init(log, &options);
    fork_output_set_format(options.format, options.level); /* Before anything is forked. */
    return WEFT_OK;
}
