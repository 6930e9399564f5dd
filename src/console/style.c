#include "console/style.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool style_is_on(FILE *file)
{
    const char *off = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    const int descriptor = fileno(file);
    return (off == NULL || off[0] == '\0') && terminal != NULL && terminal[0] != '\0' &&
           strcmp(terminal, "dumb") != 0 && descriptor >= 0 && isatty(descriptor) == 1;
}

const char *style_begin(enum style style)
{
    static const char *const codes[] = {
        [STYLE_PLAIN] = "",       [STYLE_BOLD] = "\x1b[1m",   [STYLE_GOOD] = "\x1b[32m",
        [STYLE_BAD] = "\x1b[31m", [STYLE_FAINT] = "\x1b[90m",
    };
    return codes[style];
}

const char *style_end(enum style style)
{
    return style == STYLE_PLAIN ? "" : "\x1b[0m";
}

uint32_t style_columns(FILE *file)
{
    struct winsize size;
    const bool is_known = ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return is_known ? size.ws_col : UINT32_MAX;
}

/* How much of @line fits into @room: up to a space, if there is one. */
static size_t fitting(const char *line, size_t length, size_t room)
{
    if (length <= room) {
        return length;
    }
    for (size_t i = room; i > 0; i--) {
        if (line[i] == ' ') {
            return i;
        }
    }
    return length;
}

void style_print_line(
    FILE *file, const char *line, size_t length, uint32_t indent, bool is_indented)
{
    const uint32_t columns = style_columns(file);
    const size_t room = columns > indent ? columns - indent : 0;
    do {
        const size_t part = fitting(line, length, room);
        const size_t rest = part + (part < length ? 1 : 0); /* Without the space. */
        const int spaces = is_indented || part == 0 ? 0 : (int)indent;
        (void)fprintf(file, "%*s%.*s\n", spaces, "", (int)part, line);
        line += rest;
        length -= rest;
        is_indented = false;
    } while (length > 0);
}
